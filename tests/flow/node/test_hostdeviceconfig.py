"""HostDeviceConfig on a real kernel with the real kubelet: device nodes and sockets in pods."""

import pytest

from cluster import wait_until
from kubelet import Pod
from node import NODE

TUN = {"resourceName": "a.io/tun", "path": "/dev/net/tun", "count": 999, "preOpen": True}
FUSE = {"resourceName": "a.io/fuse", "path": "/dev/fuse", "containerPath": "/dev/other", "count": 3, "preOpen": True}
NULL = {"resourceName": "a.io/null", "path": "/dev/null", "count": 5, "permissions": "rwm"}
QGS = {"resourceName": "a.io/tdx", "socketPath": "/var/run/tdx-qgs/qgs.socket", "count": 2,
       "owner": {"uid": 107, "gid": 107}, "seLinuxLabel": "system_u:object_r:container_file_t:s0"}
SERVE = ("import os, socket, sys; p = sys.argv[1]; os.makedirs(os.path.dirname(p), exist_ok=True); "
         "s = socket.socket(socket.AF_UNIX); s.bind(p); s.listen()")


@pytest.fixture
def config(node):
    """config(spec) makes or changes the HostDeviceConfig; gone at the end."""
    def apply(**spec):
        node.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input={
            "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
            "spec": spec})

    yield apply
    node.cluster.kubectl("delete", "hostdeviceconfig", "default", "--ignore-not-found")


@pytest.fixture
def pods(kubelet):
    made = []

    def make(name, resources):
        made.append(Pod(kubelet, name, resources))
        made[-1].create()
        made[-1].wait_running()
        return made[-1]

    yield make
    for pod in made:
        pod.delete()


def serve(node, path="/run/tdx-qgs/qgs.socket"):
    node.guest.sh(f'python3 -c "{SERVE}" {path}')


def gone(kubelet, resource):
    wait_until(lambda: kubelet.allocatable(resource) in (None, "0"), 60, f"no {resource}")


CRITICAL = [("vda", "a disk"), ("mem", "the memory of the machine"), ("nvme0", "a control node of a disk")]


def test_disks_and_memory_are_offered_only_on_demand(node, kubelet, config):
    """vda is a disk of the machine, nvme0 the controller of another one."""
    node.guest.sh("[ -e /dev/mem ] || mknod /dev/mem c 1 1")

    def entries(**more):
        return [{"resourceName": f"a.io/{name}", "path": f"/dev/{name}", "count": 1, **more} for name, _ in CRITICAL]

    def told():
        nodes = node.cluster.get("hostdeviceconfig", "default").get("status", {}).get("nodes", [])
        return {entry["resourceName"]: (entry["reason"], entry["message"])
                for one in nodes if one["node"] == NODE for entry in one.get("entries", [])}

    config(genericDevices=entries())
    wait_until(lambda: len(told()) == len(CRITICAL), 60, "what is wrong with the entries")
    for name, what in CRITICAL:
        reason, message = told()[f"a.io/{name}"]
        assert reason == "NodeHostCritical" and f"/dev/{name} is {what}" in message
        assert kubelet.allocatable(f"a.io/{name}") in (None, "0")
    config(genericDevices=entries(allowHostCritical=True))
    for name, _ in CRITICAL:
        kubelet.wait_allocatable(f"a.io/{name}", 1)
    assert told() == {}


def test_device_nodes_are_shared_by_pods(node, kubelet, config, pods):
    node.guest.sh("mkdir -p /dev/net; [ -e /dev/net/tun ] || mknod /dev/net/tun c 10 200; "
                  "[ -e /dev/fuse ] || mknod /dev/fuse c 10 229; rmmod tun fuse 2>/dev/null || true")
    config(genericDevices=[TUN, FUSE, NULL])
    for entry in (TUN, FUSE, NULL):
        kubelet.wait_allocatable(entry["resourceName"], entry["count"])
    pod = pods("shared-1", {"a.io/tun": 1, "a.io/fuse": 3})
    other = pods("shared-2", {"a.io/tun": 2})
    assert pod.exec("stat -c '%F %t:%T' /dev/net/tun /dev/other").splitlines() == [
        "character special file a:c8", "character special file a:e5"]
    for one in (pod, other):
        assert one.exec("exec 3<>/dev/net/tun && echo opened").strip() == "opened"
    assert other.exec("ls /dev/other 2>/dev/null || echo none").strip() == "none"

    config(genericDevices=[{**TUN, "count": 7}, NULL])
    kubelet.wait_allocatable("a.io/tun", 7)
    gone(kubelet, "a.io/fuse")
    assert kubelet.allocatable("a.io/null") == "5"
    assert pod.exec("exec 3<>/dev/other && echo opened").strip() == "opened", "a running pod keeps what it has"


def test_a_node_that_goes_takes_its_units_with_it_and_back(node, kubelet, config):
    node.guest.sh("mknod /dev/hostdev-test c 1 3")
    try:
        config(genericDevices=[{**NULL, "path": "/dev/hostdev-test"}])
        kubelet.wait_allocatable("a.io/null", 5)
        node.guest.sh("rm /dev/hostdev-test")
        kubelet.wait_allocatable("a.io/null", 0)
        node.guest.sh("mknod /dev/hostdev-test c 1 3")
        kubelet.wait_allocatable("a.io/null", 5)
    finally:
        node.guest.sh("rm -f /dev/hostdev-test")


def test_a_socket_and_its_folder_made_anew(node, kubelet, config, pods):
    """#18669 of KubeVirt: systemd makes a RuntimeDirectory anew with each start of its daemon."""
    node.guest.sh("rm -rf /run/tdx-qgs")
    config(socketDevices=[QGS])
    gone(kubelet, "a.io/tdx")
    for _ in range(2):
        serve(node)
        kubelet.wait_allocatable("a.io/tdx", 2)
        for path in ("/run/tdx-qgs", "/run/tdx-qgs/qgs.socket"):
            assert node.guest.sh(f"stat -c %u:%g {path}").strip() == "107:107"
            label = node.guest.sh(f"python3 -c \"import os; print(os.getxattr('{path}', 'security.selinux'))\"")
            assert "system_u:object_r:container_file_t:s0" in label
        node.guest.sh("rm -r /run/tdx-qgs")
        kubelet.wait_allocatable("a.io/tdx", 0)
    serve(node)
    kubelet.wait_allocatable("a.io/tdx", 2)
    pod = pods("socket-1", {"a.io/tdx": 1})
    assert pod.exec("stat -c %F /var/run/tdx-qgs/qgs.socket").strip() == "socket"
    assert pod.exec("touch /var/run/tdx-qgs/x && echo writable").strip() == "writable"


def test_shared_resources_outlive_restarts(node, kubelet, config, pods):
    """Defect 2: a socket's resource was not registered anew after a restart of the kubelet."""
    serve(node, "/run/tdx-qgs/again.socket")
    config(genericDevices=[NULL], socketDevices=[{**QGS, "socketPath": "/var/run/tdx-qgs/again.socket"}])
    for resource, count in (("a.io/null", 5), ("a.io/tdx", 2)):
        kubelet.wait_allocatable(resource, count)
    pod = pods("outlives", {"a.io/null": 1, "a.io/tdx": 1})
    before = pod.identity()
    kubelet.restart()
    kubelet.wait_ready()
    node.agent.kill()
    node.agent.start()
    wait_until(node.agent.ready, 30, "the agent's readiness")
    for resource, count in (("a.io/null", 5), ("a.io/tdx", 2)):
        wait_until(lambda r=resource: node.agent.metrics().get(("hostdev_kubelet_registered", f'resource="{r}"')) == 1,
                   60, f"the registration of {resource}")
        kubelet.wait_allocatable(resource, count)
    assert pod.identity() == before
