"""Pods keep their devices when the kubelet or the agent restarts, or their sockets are removed."""

import os

from claims import IGB, condition
from cluster import wait_until
from registrations import LISTENS, after_the_kubelet_began

ROUNDS = int(os.environ.get("HOSTDEV_RESTART_ROUNDS", "1"))  # of restarts; more take long
FOLDERS = ("device-plugins", "plugins_registry", "plugins/hostdev")


def registrations(node, resource):
    """How often the kubelet took the resource."""
    return sum(value for (name, labels), value in node.agent.metrics().items()
               if name == "hostdev_kubelet_registrations_total"
               and f'resource="{resource}"' in labels and 'result="done"' in labels)


def open_files(node):
    return int(node.guest.sh(f"ls /proc/{node.agent.pid}/fd | wc -l"))


def test_the_pod_and_the_resource_outlive_restarts_and_wipes(node, kubelet, claims, pods, registered):
    claims.bind(IGB)
    resource = node.resource_of(IGB)
    kubelet.wait_allocatable(resource, 1)
    pod = pods("vm-3", {resource: 1})
    pod.wait_running()
    node.wait_allocations(IGB, "default/vm-3/main")
    before = pod.identity()

    def unhurt():
        wait_until(lambda: node.agent.metrics().get(("hostdev_kubelet_registered", f'resource="{resource}"')) == 1,
                   60, "the registration")
        kubelet.wait_allocatable(resource, 1)
        assert pod.identity() == before
        assert node.allocations(IGB) == ["default/vm-3/main"]
        assert condition(claims.now(IGB), "Ready")[0] == "True"

    for _ in range(ROUNDS):
        files = open_files(node)
        kubelet.restart()
        kubelet.wait_ready()
        unhurt()
        wait_until(lambda most=files: open_files(node) <= most, 30, "no more open files than before")
        node.agent.restart("--registration", registered)
        unhurt()
        node.agent.restart("--registration", registered, signal="KILL")
        unhurt()
        node.agent.kill()
        kubelet.restart()
        node.agent.start("--registration", registered)
        wait_until(node.agent.ready, 30, "the agent's readiness")
        unhurt()


def test_a_kubelet_that_begins_anew_has_the_resource(node, kubelet, claims, registered):
    """A restarted kubelet admits pods even if the plugin has not registered yet. How soon the plugin registers depends
    on the machine, so the test prints the time and does not check it.
    """
    claims.bind(IGB)
    resource = node.resource_of(IGB)
    for _ in range(max(ROUNDS, 2)):
        kubelet.wait_allocatable(resource, 1)
        lines = kubelet.log().count(LISTENS)
        kubelet.restart()
        wait_until(lambda most=lines: kubelet.log().count(LISTENS) > most, 90, "a kubelet that takes registrations")
        took = wait_until(lambda: after_the_kubelet_began(kubelet.log(), resource), 60, f"{resource} at the kubelet")
        print(f"{registered}: {took:.2f} s until the kubelet had the resource")


def test_sockets_wiped_again_and_again(node, kubelet, claims, pods, registered):
    claims.bind(IGB)
    resource = node.resource_of(IGB)
    kubelet.wait_allocatable(resource, 1)
    pod = pods("vm-5", {resource: 1})
    pod.wait_running()
    node.wait_allocations(IGB, "default/vm-5/main")
    container = pod.identity()
    before = open_files(node)
    pid = node.agent.pid

    for _ in range(8 * ROUNDS):
        taken = registrations(node, resource)
        node.guest.sh("cd /var/lib/kubelet/device-plugins && mv kubelet.sock aside; "
                      "rm -f " + " ".join(f"/var/lib/kubelet/{f}/hostdev-*" for f in FOLDERS) + "; "
                      "sleep 0.2; mv aside kubelet.sock")
        wait_until(lambda: registrations(node, resource) > taken, 60, "the next registration")
    kubelet.wait_allocatable(resource, 1)
    assert node.agent.alive() and node.agent.pid == pid
    assert pod.identity() == container and node.allocations(IGB) == ["default/vm-5/main"]
    wait_until(lambda: open_files(node) <= before, 30, "no more open files than before")
