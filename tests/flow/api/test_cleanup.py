"""Nodes that are not well, and nodes that are gone, on a real API server: what claims say, and what goes."""

import signal
import time

import pytest

from cluster import WRITES, wait_until
from replicas import FINALIZER, MERGE, OWN, condition
from rest import GROUP

HOLD = 30  # seconds until trouble is told
GONE = 5   # of a node, for these tests


@pytest.fixture
def controller(controllers):
    """One that leads, has listed everything, and waits for a node no longer than a test can."""
    replica = controllers("--node-gone-after", f"{GONE}s").start()
    wait_until(replica.leads, 30)
    replica.wait_line("have been listed")
    return replica


def reachable(world, claim):
    return condition(world.get(claim) or {}, "NodeReachable")


def test_claims_say_that_their_node_is_not_ready_and_that_it_is_again(controller, world, node):
    path = world.node(node)
    world.agent_pod(node)
    claim = world.claim(world.device(node, 0, "example.com/a"), node)
    world.status(claim, {"kernelDriverToUnbind": "e1000e"})
    time.sleep(1)
    before = world.get(claim)
    assert reachable(world, claim) == (None, None), "nothing is said while all is well"

    world.set_ready(path, "Unknown")
    wait_until(lambda: reachable(world, claim) == ("False", "NodeNotReady"), HOLD + 10)
    after = world.get(claim)
    assert condition(after, "Ready") == condition(before, "Ready"), "the agent's conditions are the agent's"
    assert after["status"]["kernelDriverToUnbind"] == "e1000e" and after["spec"] == before["spec"]

    world.set_ready(path, "True")
    wait_until(lambda: reachable(world, claim) == ("True", "Reachable"), 10)
    settled = world.get(claim)["metadata"]["resourceVersion"]
    time.sleep(2)
    assert world.get(claim)["metadata"]["resourceVersion"] == settled


def test_claims_say_that_the_agent_does_not_run(controller, world, node):
    world.node(node)
    pod = world.agent_pod(node)
    device = world.device(node, 0, f"example.com/{node}")
    claim = world.claim(device, node)
    wait_until(lambda: world.counts(f"example.com/{node}") == (1, 1, 1, 0, 1), 10)
    world.set_ready(pod, "False")
    wait_until(lambda: reachable(world, claim) == ("False", "AgentNotRunning"), HOLD + 10)
    wait_until(lambda: world.counts(f"example.com/{node}") == (1, 1, 0, 0, 1), 10)
    world.set_ready(pod, "True")
    wait_until(lambda: reachable(world, claim) == ("True", "Reachable"), 10)
    wait_until(lambda: world.counts(f"example.com/{node}") == (1, 1, 1, 0, 1), 10)


def leftovers(world, node):
    """Some of each kind, as an agent has left them; and a claim that no agent has ever seen."""
    paths = [world.device(node, number, f"example.com/{node}") for number in range(3)]
    paths.append(world.claim(paths[0], node))
    meta = {"name": f"{node}-x", "labels": {"nodename": node}}
    for kind, plural, spec in (("USBDevice", "usbdevices", None),
                               ("SRIOVNetworkDevice", "sriovnetworkdevices", {"nodeName": node}),
                               ("SRIOVGPUDevice", "sriovgpudevices", {"nodeName": node}),
                               ("VGPUDevice", "vgpudevices", {"nodeName": node}),
                               ("MigConfiguration", "migconfigurations", {"nodeName": node})):
        body = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": kind, "metadata": meta}
        paths.append(world.create(f"{GROUP}/{plural}", body | ({"spec": spec} if spec else {})))
    for kind, plural in (("MediatedDevice", "mediateddevices"), ("MediatedDeviceParent", "mediateddeviceparents")):
        body = {"apiVersion": "hostdev.io/v1alpha1", "kind": kind, "metadata": meta}
        paths.append(world.create(f"{OWN}/{plural}", body))
    usb = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "USBDeviceClaim", "metadata": {
        "name": f"{node}-x", "finalizers": ["wrangler.cattle.io/usbClaimClient-device-claim-remove"]}}
    paths.append(world.create(f"{GROUP}/usbdeviceclaims", usb))
    return paths


def left(world, paths):
    return [path for path in paths if world.get(path)]


def test_what_a_deleted_node_has_left_is_removed(controller, world, node):
    path = world.node(node)
    other = world.node(f"{node}-other")
    paths = leftovers(world, node)
    stays = world.device(f"{node}-other", 0, "example.com/b")
    unseen = world.claim(paths[1], node, marked=False, ready=None)
    time.sleep(GONE + 2)
    assert left(world, paths) == paths, "while there is the Node"

    began = time.monotonic()
    world.delete(path)
    wait_until(lambda: not left(world, paths), GONE + 20, lambda: left(world, paths))
    assert time.monotonic() - began > GONE - 1
    assert left(world, [stays, other, unseen]) == [stays, other, unseen]
    controller.wait_line("node deleted, removing its objects", node)
    wait_until(lambda: world.pool(f"example.com/{node}") is None, 10)
    wait_until(lambda: reachable(world, unseen) == ("False", "NodeGone"), HOLD + 10)


def test_a_node_that_comes_back_loses_nothing(controller, world, node):
    path = world.node(node)
    paths = leftovers(world, node)
    world.delete(path)
    time.sleep(1)
    world.node(node)
    time.sleep(GONE + 2)
    assert left(world, paths) == paths
    assert not controller.lines("node deleted, removing its objects", node)


def test_a_foreign_finalizer_is_not_ours_to_take_off(controller, world, node):
    path = world.node(node)
    claim = world.claim(world.device(node, 0, "example.com/a"), node)
    world.rest.request("PATCH", claim, {"metadata": {"finalizers": ["example.com/theirs", FINALIZER]}}, MERGE)
    world.delete(path)
    wait_until(lambda: world.get(claim)["metadata"]["finalizers"] == ["example.com/theirs"], GONE + 20)
    assert world.get(claim)["metadata"]["deletionTimestamp"]


def test_it_is_no_matter_who_else_deletes(controller, crds, world, node):
    """A garbage collector, by hand: it deletes in the same moment, in any order."""
    path = world.node(node)
    paths = leftovers(world, node)
    before = len(crds.audit())
    world.delete(path)
    wait_until(lambda: controller.lines("node deleted, removing its objects", node), GONE + 20)
    for one in paths:
        world.delete(one)
    wait_until(lambda: not left(world, paths), 20, lambda: left(world, paths))
    time.sleep(1)
    bad = [event for event in crds.audit()[before:] if event["verb"] in WRITES
           and event.get("userAgent", "").startswith("hostdev-controller/")
           and event["responseStatus"]["code"] not in (200, 201, 404, 409)]
    assert bad == []
    assert not controller.lines("level=warn", node)


def test_a_controller_that_is_killed_in_the_middle_goes_on(controllers, world, node):
    path = world.node(node)
    devices = [world.device(node, number, f"example.com/{node}") for number in range(40)]
    claims = [world.claim(device, node, ready=None) for device in devices[:20]]
    first = controllers("--node-gone-after", f"{GONE}s").start()
    wait_until(first.leads, 30)
    first.wait_line("have been listed")
    world.delete(path)
    wait_until(lambda: len(left(world, devices + claims)) < 60, GONE + 20)
    first.kill()
    second = controllers("--node-gone-after", f"{GONE}s").start()
    wait_until(second.leads, 40)
    wait_until(lambda: not left(world, devices + claims), GONE + 20, lambda: left(world, devices + claims))


def test_a_leader_that_was_stopped_removes_nothing_of_a_node_that_came_back(controllers, world, node):
    path = world.node(node)
    first, second = [controllers("--node-gone-after", "10s").start() for _ in range(2)]
    wait_until(lambda: first.leads() or second.leads(), 30)
    leader = first if first.leads() else second
    leader.wait_line("have been listed")
    paths = leftovers(world, node)
    world.delete(path)
    time.sleep(1)
    leader.signal(signal.SIGSTOP)
    time.sleep(2)
    world.node(node)
    time.sleep(18)  # the ten seconds are over, and the other one leads
    leader.signal(signal.SIGCONT)
    time.sleep(3)
    assert left(world, paths) == paths
