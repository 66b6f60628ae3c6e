"""The real kubelet gives claimed devices to pods."""

import re
import time

import pytest

from claims import IGB, NIC, PAIR, SLOT, TWIN, condition
from cluster import wait_until
from kubelet import QEMU_IN_A_POD, qemu, variable
from node import pci_name


def pool_vendor(node, address):
    return node.resource_of(address).split("/")[0]


def allocations_when_there(node, address):
    wait_until(lambda: node.allocations(address), 40, f"a holder of {address}")
    return node.allocations(address)


def audit(node, address, before):
    """What the agent has told of the device since its log was that: (action, result, pod)."""
    lines = [line for line in node.agent.log()[len(before):].splitlines()
             if "msg=audit" in line and f" device={pci_name(address)} " in line]
    found = [dict(re.findall(r" (action|result|pod)=(\S+)", line)) for line in lines]
    return [(line["action"], line["result"], line.get("pod")) for line in found]


def test_a_pod_gets_what_was_claimed_and_keeps_it(node, kubelet, claims, pods, registered):
    before = node.agent.log()
    claims.bind(IGB)
    resource = node.resource_of(IGB)
    kubelet.wait_allocatable(resource, 1)

    pod = pods("vm-1", {resource: 1})
    pod.wait_running()
    group = claims.function(IGB).group()
    assert pod.exec("ls /dev/vfio").split() == sorted([group, "vfio"])
    assert pod.exec(f"stat -c %F /dev/vfio/{group}").strip() == "character special file"
    assert pod.environment()[variable(resource)] == IGB
    node.wait_allocations(IGB, "default/vm-1/main")

    claims.delete(IGB)
    claims.wait(IGB, "Ready", "False", "Held", "pod default/vm-1 has it")
    assert claims.now(IGB)["status"]["holder"] == "pod default/vm-1"
    assert claims.function(IGB).driver() == "vfio-pci"
    kubelet.wait_allocatable(resource, 0)

    pod.delete()
    claims.wait_gone(IGB, timeout=60)
    claims.wait_drivers(IGB, "igb")
    node.wait_allocations(IGB)
    told = [("bind", "Done", None), ("allocate", "Done", "default/vm-1"), ("release", "Held", None),
            ("free", "Done", "default/vm-1"), ("release", "Done", None)]
    wait_until(lambda: sorted(audit(node, IGB, before), key=str) == sorted(told, key=str), 20, "the audit trail")
    assert audit(node, IGB, before)[:3] == told[:3]
    messages = wait_until(lambda: {
        event["reason"]: event["message"] for event in node.cluster.get("events", "-n", "default")
        if event["involvedObject"]["kind"] == "PCIDevice" and event["involvedObject"]["name"] == pci_name(IGB)
        and event["reason"] in ("Bound", "Allocated", "Held", "Freed", "Released")}, 20, "the events")
    assert messages["Held"].startswith("a pod has it") and not [text for text in messages.values() if "vm-1" in text]


def test_a_claim_is_ready_when_its_node_lists_the_device(node, kubelet, claims):
    """What is read at once after the wait: nothing of it lags behind."""
    claims.apply(NIC)
    kubelet.kubectl("wait", f"pcideviceclaim/{pci_name(NIC)}", "--for=condition=Ready", "--timeout=180s")
    listed = kubelet.cluster.get("node", kubelet.node)["status"]["allocatable"]
    device, claim = node.pci_object(NIC), kubelet.cluster.get("pcideviceclaim", pci_name(NIC))
    resource = device["status"]["resourceName"]
    assert device["status"]["kernelDriverInUse"] == "vfio-pci"
    assert listed[resource] == "1"
    assert condition(claim, "Offered") == ("True", "Offered", f"node {kubelet.node} offers it as {resource}")

    before = len(kubelet.cluster.audit())
    claims.apply(TWIN)  # of the same resource, which the Node lists already
    kubelet.kubectl("wait", f"pcideviceclaim/{pci_name(TWIN)}", "--for=condition=Ready", "--timeout=180s")
    assert kubelet.allocatable(resource) == "2"
    writes = [event for event in kubelet.cluster.audit()[before:] if event["verb"] == "patch"
              and event.get("objectRef", {}).get("name") == pci_name(TWIN)
              and event["objectRef"]["resource"] == "pcideviceclaims"
              and event["userAgent"].startswith("hostdev-agent/")]
    # mark, intent, bound, Ready; on a slow machine also a step that takes long, and what the kubelet waits for
    assert 4 <= len(writes) <= 6, [event.get("requestObject") for event in writes]


def test_a_kubelet_that_cannot_reach_its_api_server_takes_nothing_from_pods(node, kubelet, claims, pods):
    claims.bind(IGB)
    resource = node.resource_of(IGB)
    kubelet.wait_allocatable(resource, 1)
    pod = pods("vm-6", {resource: 1})
    pod.wait_running()
    node.wait_allocations(IGB, "default/vm-6/main")

    with kubelet.cut_off():  # it lists no pods now, although this one runs
        claims.delete(IGB)
        claims.wait(IGB, "Ready", "False", "Held", "pod default/vm-6 has it")
        time.sleep(45)  # longer than a kubelet that has reached it is given
        assert claims.now(IGB)["status"]["holder"] == "pod default/vm-6"
        assert claims.function(IGB).driver() == "vfio-pci"
    kubelet.wait_ready()
    claims.wait(IGB, "Ready", "False", "Held", "pod default/vm-6 has it")

    pod.delete()
    claims.wait_gone(IGB, timeout=90)
    claims.wait_drivers(IGB, "igb")


def test_a_qemu_in_the_pod_has_what_it_was_given_and_no_more(node, kubelet, claims, pods):
    for address in (NIC, TWIN):
        claims.bind(address)
    resource = node.resource_of(NIC)
    kubelet.wait_allocatable(resource, 2)
    # The node's QEMU, in the container: its device nodes, its control group and its environment.
    pod = pods("vm-4", {resource: 1}, **QEMU_IN_A_POD)
    pod.wait_running()

    (given,) = {NIC, TWIN} & {pod.environment()[variable(resource)]}
    (other,) = {NIC, TWIN} - {given}
    assert allocations_when_there(node, given) == ["default/vm-4/main"] and not node.allocations(other)
    assert pod.query_pci(f"host=${variable(resource)}") == ["8086:10d3"]
    refused = pod.exec(f"{qemu(f'host={other}')} </dev/null 2>&1 || true")
    assert f"Could not open '/dev/vfio/{claims.function(other).group()}': No such file" in refused


def test_two_of_a_pool_in_one_container(node, kubelet, claims, pods):
    kubelet.wait_allocatable(node.resource_of(NIC), 0)
    for address in (NIC, TWIN):
        claims.bind(address)
    resource = node.resource_of(NIC)
    assert node.resource_of(TWIN) == resource
    kubelet.wait_allocatable(resource, 2)

    pod = pods("vm-2", {resource: 2})
    pod.wait_running()
    groups = [claims.function(address).group() for address in (NIC, TWIN)]
    assert sorted(pod.exec("ls /dev/vfio").split()) == sorted([*groups, "vfio"])
    assert sorted(pod.environment()[variable(resource)].split(",")) == [NIC, TWIN]
    for address in (NIC, TWIN):
        node.wait_allocations(address, "default/vm-2/main")


class TestOneGroup:
    """Two functions of one IOMMU group, which one pod at a time may have."""

    @pytest.fixture
    def pool(self, node, kubelet, claims):
        """The name under which both are lent; the kubelet has forgotten those of the test before."""
        kubelet.wait_allocatable(node.resource_of(PAIR[0]), 0)
        for address in PAIR:
            claims.apply(address)
        for address in PAIR:
            claims.wait_ready(address)
        resource = node.resource_of(PAIR[0])
        assert node.resource_of(PAIR[1]) == resource
        kubelet.wait_allocatable(resource, 2)
        return resource

    def test_an_init_container_has_one_and_the_container_after_it_both(self, pods, pool):
        pod = pods("vm-group", {pool: 2}, first={pool: 1})
        pod.wait_running()
        assert sorted(pod.environment()[variable(pool)].split(",")) == [*PAIR]

    def test_what_is_left_of_it_is_no_other_pods(self, node, kubelet, pods, pool):
        first = pods("vm-first", {pool: 1})
        first.wait_running()
        second = pods("vm-second", {pool: 1})
        second.wait_failed("Allocate failed")
        kubelet.wait_allocatable(pool, 1)
        first.delete()
        kubelet.wait_allocatable(pool, 2)

    def test_a_container_has_both_under_names_of_their_own(self, node, kubelet, claims, pods):
        for address in PAIR:
            claims.apply(address, disableResourcePooling=True)
        for address in PAIR:
            claims.wait_ready(address)
        names = [f"{pool_vendor(node, address)}/{pci_name(address)}" for address in PAIR]
        for name in names:
            kubelet.wait_allocatable(name, 1)
        pod = pods("vm-both", {name: 1 for name in names})
        pod.wait_running()
        environment = pod.environment()
        assert [environment[variable(name)] for name in names] == [*PAIR]

    def test_of_two_pods_at_once_one_gets_it(self, node, kubelet, claims, pods):
        """Each asks for a function by a name of its own, and the kubelet admits one right after the other."""
        names = [f"{pool_vendor(node, address)}/{pci_name(address)}" for address in PAIR]
        for name in names:
            kubelet.wait_allocatable(name, 0)  # what an earlier test had by this name is gone
        for address in PAIR:
            claims.apply(address, disableResourcePooling=True)
        for address in PAIR:
            claims.wait_ready(address)
        for name in names:
            kubelet.wait_allocatable(name, 1)
        with kubelet.paused():
            both = [pods(f"vm-at-once-{i}", {name: 1}) for i, name in enumerate(names)]
        ends = [wait_until(lambda pod=pod: pod.get()["status"]["phase"] in ("Running", "Failed")
                           and pod.get()["status"], 120, f"{pod.name}") for pod in both]
        assert sorted(end["phase"] for end in ends) == ["Failed", "Running"]
        (refused,) = [end["message"] for end in ends if end["phase"] == "Failed"]
        assert "serves one pod at a time" in refused
        time.sleep(5)  # until the kubelet's list was asked for again
        assert sum(bool(node.allocations(address)) for address in PAIR) == 1


def test_a_node_that_is_removed_is_told_at_once(node, kubelet, claims):
    claims.bind(IGB)
    resource, path = node.resource_of(IGB), f"/dev/vfio/{claims.function(IGB).group()}"
    kubelet.wait_allocatable(resource, 1)

    def healthy():
        return node.agent.metrics().get(("hostdev_plugin_devices", f'resource="{resource}",health="healthy"'))

    assert healthy() == 1
    node.guest.sh(f"mv {path} /dev/aside")
    wait_until(lambda: healthy() == 0, 15, "a device that is not healthy")  # not only when it looks, once a minute
    kubelet.wait_allocatable(resource, 0)
    node.guest.sh(f"mv /dev/aside {path}")
    wait_until(lambda: healthy() == 1, 15, "a healthy device")
    kubelet.wait_allocatable(resource, 1)


def test_a_number_that_comes_back_is_lent_to_nobody(node, kubelet, claims, pods):
    """A pod keeps the node of a NIC that is pulled; the kernel gives its number to the next group, which the pod could open.
    The agent therefore binds nothing, and does not offer a device that somebody binds by hand."""
    nic = node.guest.plug("nic", "--bus", "spare1", "--model", "e1000e", "--mac", "52:54:00:12:01:07")
    claims.wait_drivers(SLOT, "e1000e")
    claims.bind(SLOT, disableResourcePooling=True)
    own = f"intel.com/{pci_name(SLOT)}"
    kubelet.wait_allocatable(own, 1)
    eve = pods("eve", {own: 1}, restarts=True)
    eve.wait_running()
    node.wait_allocations(SLOT, "default/eve/main")
    eve.end()
    wait_until(lambda: eve.restarts_so_far() == 1, 30, "its next life")
    number = eve.exec(f"stat -c %t:%T /dev/vfio/{claims.function(SLOT).group()}").strip()
    node.guest.unplug(nic)
    claims.wait(SLOT, "Ready", "False", "DeviceGone", timeout=20)

    claims.apply(IGB)
    claims.wait(IGB, "Ready", "False", "Held", f"the device node that it was given for {SLOT}, which is gone", timeout=30)
    assert claims.function(IGB).drivers() == ("igb", None)
    node.guest.sh(f"cd /sys/bus/pci/devices/{IGB} && echo vfio-pci >driver_override && echo {IGB} >driver/unbind && "
                  f"echo {IGB} >/sys/bus/pci/drivers/vfio-pci/bind")
    claims.wait(IGB, "Ready", "False", "Unhealthy", f"which pod default/eve was given for {SLOT}", timeout=30)
    group = claims.function(IGB).group()
    assert node.guest.sh(f"stat -c %t:%T /dev/vfio/{group}").strip() == number, "the kernel counts otherwise now"
    kubelet.wait_allocatable(node.resource_of(IGB), 0)
    assert node.allocations(SLOT) == ["default/eve/main"]
    eve.end()  # the kubelet would give it the node of its group's number again
    eve.wait_not_started("has been stopped")  # what the kubelet asks first: the resource has no device any more
    assert node.allocations(SLOT) == ["default/eve/main"]

    eve.delete()
    node.wait_allocations(SLOT)  # or its claim could never be deleted
    claims.wait_ready(IGB)
    kubelet.wait_allocatable(node.resource_of(IGB), 1)
    claims.release(IGB)
    node.guest.sh(f"cd /sys/bus/pci/devices/{IGB} && echo >driver_override && echo {IGB} >driver/unbind && "
                  f"echo {IGB} >/sys/bus/pci/drivers_probe")


def test_what_an_init_container_was_given_is_its_pods_until_that_ends(node, kubelet, claims, pods):
    """The kubelet keeps the device for the pod, but lists no init containers."""
    claims.bind(IGB)
    resource = node.resource_of(IGB)
    kubelet.wait_allocatable(resource, 1)
    pod = pods("vm-init", {}, first={resource: 1})
    pod.wait_running()
    time.sleep(22)  # no longer counted as a pod that is being started
    claims.delete(IGB)
    claims.wait(IGB, "Ready", "False", "Held", f"an init container of the pod with the UID {pod.get()['metadata']['uid']}")
    assert claims.function(IGB).drivers()[0] == "vfio-pci"
    pod.delete()
    claims.wait_gone(IGB, timeout=60)  # it is asked for twice a minute
    assert claims.function(IGB).drivers()[0] == "igb"


def hung_with_igb(node, kubelet, claims, pods):
    """A pod that the kubelet cannot end, and the resource that it has."""
    claims.bind(IGB)
    resource = node.resource_of(IGB)
    kubelet.wait_allocatable(resource, 1)
    pod = pods("vm-hung", {resource: 1}, hangs=True)
    node.wait_allocations(IGB, "default/vm-hung/main")
    pod.wait_hung()
    return pod, resource


def test_a_process_of_a_deleted_pod_keeps_its_device(node, kubelet, claims, pods):
    """The kubelet forgets a pod that is deleted by force before it ends its processes; here it waits for a hook. The next
    agent has only the file of the one before."""
    pod, _ = hung_with_igb(node, kubelet, claims, pods)
    pod.delete()  # by force, as it has no grace period
    node.wait_allocations(IGB)
    claims.delete(IGB)
    held = f" of a deleted pod (UID {pod.uid}) has it"
    claims.wait(IGB, "Ready", "False", "Held", held)
    told = re.search(r"process (\d+) of", condition(claims.now(IGB), "Ready")[2])
    assert told[1] in pod.processes()
    node.agent.restart(signal="KILL")
    time.sleep(5)
    assert held in condition(claims.now(IGB), "Ready")[2] and claims.function(IGB).driver() == "vfio-pci"
    pod.kill()
    claims.wait_gone(IGB, timeout=60)
    claims.wait_drivers(IGB, "igb")
    assert not pod.processes()


def test_the_next_pod_gets_the_device_that_no_process_has(node, kubelet, claims, pods):
    """The kubelet counts both of a pool as free."""
    claims.bind(NIC)
    claims.bind(TWIN)
    resource = node.resource_of(NIC)
    kubelet.wait_allocatable(resource, 2)
    former = pods("vm-former", {resource: 1}, hangs=True)
    node.wait_allocations(NIC, "default/vm-former/main")  # the first of the list, as long as both are free
    former.wait_hung()
    former.delete()
    node.wait_allocations(NIC)
    pod = pods("vm-next", {resource: 1})
    pod.wait_running()
    node.wait_allocations(TWIN, "default/vm-next/main")
    assert former.processes()
    former.kill()


def test_a_container_waits_for_the_processes_of_a_former_pod(node, kubelet, claims, pods):
    """The kubelet gives the device of a pod that is deleted by force to the next pod, before it has ended the processes."""
    former, resource = hung_with_igb(node, kubelet, claims, pods)
    former.delete()
    pod = pods("vm-next", {resource: 1})
    pod.wait_not_started(f" of a deleted pod (UID {former.uid}) still has {IGB}")
    assert former.processes()
    former.kill()
    pod.wait_running(180)  # the kubelet backs off between its tries
    assert not former.processes()
    node.wait_allocations(IGB, "default/vm-next/main")


def test_a_claim_without_pooling_has_a_resource_of_its_own(node, kubelet, claims):
    claims.bind(NIC, disableResourcePooling=True)
    own = f"intel.com/{pci_name(NIC)}"
    wait_until(lambda: node.resource_of(NIC) == own, 10, "its own name")
    kubelet.wait_allocatable(own, 1)

    claims.kubectl("patch", "pcideviceclaim", pci_name(NIC), "--type=merge", "-p",
                   '{"spec": {"disableResourcePooling": false}}')
    wait_until(lambda: node.resource_of(NIC) != own, 10, "the pool's name")
    kubelet.wait_allocatable(node.resource_of(NIC), 1)
    wait_until(lambda: kubelet.allocatable(own) in (None, "0"), 60, "no device of its own name")


def test_a_container_runtime_without_cdi_gets_nothing_by_dra(node, kubelet, claims):
    """containerd 1.6 would start the pod without its device, and without an error."""
    claims.bind(IGB)
    resource = node.resource_of(IGB)
    kubelet.wait_allocatable(resource, 1)
    info = kubelet.cluster.get("node", kubelet.node)["status"]["nodeInfo"]
    assert info["containerRuntimeVersion"].startswith("containerd://1.6")
    kubelet.kubectl("apply", "-f", "-", input={
        "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
        "spec": {"pciHostDevices": [{"resourceName": "example.com/igb", "pciVendorSelector": "8086:10c9",
                                     "dra": {"mode": "Claimed"}}]}})

    def told():
        nodes = kubelet.cluster.get("hostdeviceconfig", "default").get("status", {}).get("nodes", [])
        return [(entry["reason"], entry["message"]) for one in nodes if one["node"] == kubelet.node for entry in one["entries"]]
    try:
        ((reason, message),) = wait_until(told, 30, "an entry that the node does not apply")
        assert reason == "NoCDI" and "containerd://1.6" in message
        kubelet.wait_allocatable(resource, 0)
        time.sleep(2)
        assert not [one for one in kubelet.cluster.get("resourceslices") if one["spec"].get("nodeName") == kubelet.node]
    finally:
        kubelet.kubectl("delete", "hostdeviceconfig", "default")
    kubelet.wait_allocatable(resource, 1)
