"""DevicePools on a real API server: counted under churn, written seldom, by one leader at a time."""

import signal
import time
import uuid

import pytest

from cluster import WRITES, wait_until
from replicas import MERGE, OWN


@pytest.fixture
def resource():
    return f"example.com/{uuid.uuid4().hex[:8]}"


@pytest.fixture
def controller(controllers):
    """One that leads and has listed everything."""
    replica = controllers("--agent-pods", "none").start()
    wait_until(replica.leads, 30)
    replica.wait_line("have been listed")
    return replica


def pool_writes(cluster, resource_name, since=0):
    """The writes of that pool that the API server has done, as the audit log has them."""
    name = resource_name.replace("/", "-").replace(".", "-")
    return [event for event in cluster.audit()[since:]
            if event["verb"] in WRITES and event.get("userAgent", "").startswith("hostdev-controller/")
            and event.get("objectRef", {}).get("resource") == "devicepools"
            and event["objectRef"].get("name", "").startswith(name)
            and event["responseStatus"]["code"] in (200, 201)]


def runs_and_writes(controller):
    """How often it has looked at a pool, and how often it has written one."""
    return (controller.metric("hostdev_reconcile_duration_seconds_count", 'queue="devicepools"'),
            controller.metric("hostdev_api_requests_total", 'resource="devicepools"', 'verb="patch"'))


def test_a_pool_comes_with_its_first_device_and_goes_with_its_last(controller, world, node, resource):
    world.node(node)
    devices = [world.device(node, number, resource) for number in range(3)]
    wait_until(lambda: world.counts(resource) == (3, 0, 0, 0, 1), 10, lambda: world.pool(resource))

    world.claim(devices[0], node)
    world.claim(devices[1], node, ready=None)
    world.status(devices[0], {"allocations": [{"namespace": "default", "pod": "vm", "container": "compute"}]})
    wait_until(lambda: world.counts(resource) == (3, 2, 1, 1, 1), 10)
    assert world.pool(resource)["status"]["perNode"] == [
        {"nodeName": node, "devices": 3, "claimed": 2, "healthy": 1, "allocated": 1}]

    for device in devices:
        world.delete(device)
    wait_until(lambda: world.pool(resource) is None, 10)


def test_many_changes_are_one_run_a_second(controller, world, node, resource):
    """A run begins a second after the first change. One that meets more changes while it writes goes on with them, so how
    many writes it makes depends on the machine; they are fewer than the changes all the same.
    """
    changes = 59
    world.node(node)
    world.device(node, 0, resource)
    wait_until(lambda: world.counts(resource) == (1, 0, 0, 0, 1), 10)
    wait_until(lambda: controller.metric("hostdev_queue_waiting", 'queue="devicepools"') == 0, 10, "nothing due")
    began, before = time.monotonic(), runs_and_writes(controller)
    for number in range(1, changes + 1):
        world.device(node, number, resource)
    wait_until(lambda: world.counts(resource) == (changes + 1, 0, 0, 0, 1), 10)
    wait_until(lambda: runs_and_writes(controller)[0] > before[0], 10, "the end of a run")
    runs, writes = (after - earlier for after, earlier in zip(runs_and_writes(controller), before))
    seconds = time.monotonic() - began
    told = f"{runs} runs with {writes} writes of {changes} changes in {seconds} s"
    assert runs <= 2 * (seconds + 1), told
    assert writes < changes, told


def test_nothing_is_written_when_nothing_changes(controller, crds, world, node, resource):
    path = world.node(node)
    device = world.device(node, 0, resource)
    world.claim(device, node)
    wait_until(lambda: world.counts(resource) == (1, 1, 1, 0, 1), 10)
    time.sleep(1.5)
    before = len(crds.audit())
    for _ in range(5):
        world.set_ready(path, "True")
        world.status(device, {"description": f"{uuid.uuid4()}"})  # none of the pool's business
        time.sleep(0.6)
    assert pool_writes(crds, resource, before) == []


def test_what_others_write_or_delete_is_put_right(controller, world, node, resource):
    world.node(node)
    world.device(node, 0, resource)
    wait_until(lambda: world.counts(resource) == (1, 0, 0, 0, 1), 10)
    name = world.pool(resource)["metadata"]["name"]
    path = f"{OWN}/devicepools/{name}"
    world.rest.request("PATCH", f"{path}/status", {"status": {"devices": 77}}, MERGE)
    wait_until(lambda: world.counts(resource) == (1, 0, 0, 0, 1), 10)
    world.delete(path)
    wait_until(lambda: world.counts(resource) == (1, 0, 0, 0, 1), 10)

    stray = {"apiVersion": "hostdev.io/v1alpha1", "kind": "DevicePool", "metadata": {"name": "stray"},
             "spec": {"resourceName": "example.com/nothing"}}
    assert world.rest.request("POST", f"{OWN}/devicepools", stray)[0] == 201
    wait_until(lambda: world.get(f"{OWN}/devicepools/stray") is None, 10)


def test_a_device_without_pooling_has_a_pool_of_its_own(controller, world, node, resource):
    world.node(node)
    devices = [world.device(node, number, resource) for number in range(2)]
    claim = world.claim(devices[0], node)
    wait_until(lambda: world.counts(resource) == (2, 1, 1, 0, 1), 10)
    world.rest.request("PATCH", claim, {"spec": {"disableResourcePooling": True}}, MERGE)
    own = f"example.com/{node}-000000000"
    wait_until(lambda: world.counts(own) == (1, 1, 1, 0, 1), 10)
    wait_until(lambda: world.counts(resource) == (1, 0, 0, 0, 1), 10)


def test_another_leader_goes_on_where_the_first_was_killed(controllers, world, node, resource):
    first, second = controllers("--agent-pods", "none").start(), controllers("--agent-pods", "none")
    wait_until(first.leads, 30)
    second.start()
    second.wait_line("have been listed")
    world.node(node)
    world.device(node, 0, resource)
    wait_until(lambda: world.counts(resource) == (1, 0, 0, 0, 1), 10)
    first.kill()
    world.device(node, 1, resource)
    wait_until(lambda: world.counts(resource) == (2, 0, 0, 0, 1), 40)
    assert second.leads()


@pytest.mark.parametrize("pause", [60])
def test_a_leader_that_was_stopped_writes_nothing_after_the_other_has(controllers, crds, world, node, resource,
                                                                      pause):
    first, second = controllers("--agent-pods", "none").start(), controllers("--agent-pods", "none")
    wait_until(first.leads, 30)
    second.start()
    second.wait_line("have been listed")
    first.wait_line("have been listed")
    world.node(node)
    for number in range(5):
        world.device(node, number, resource)
    wait_until(lambda: world.counts(resource)[0] == 5, 10)

    world.device(node, 5, resource)  # its write is due in a second
    time.sleep(0.8)
    first.signal(signal.SIGSTOP)
    began = time.monotonic()
    before = len(crds.audit())
    for number in range(6, 30):
        world.device(node, number, resource)
    wait_until(second.leads, 40)
    wait_until(lambda: world.counts(resource)[0] == 30, 10)
    time.sleep(max(0, pause - (time.monotonic() - began)))
    told = world.pool(resource)["metadata"]["resourceVersion"]
    handed_over = len(crds.audit())
    first.signal(signal.SIGCONT)
    for number in range(30, 40):
        world.device(node, number, resource)
        time.sleep(0.2)
    wait_until(lambda: world.counts(resource)[0] == 40, 10)
    time.sleep(1.5)
    assert not first.leads() and second.leads()
    assert world.pool(resource)["metadata"]["resourceVersion"] != told

    # What the API server has done since is what the second one says that it has asked for.
    written = len(pool_writes(crds, resource, before))
    patched = second.metric("hostdev_api_requests_total", 'resource="devicepools"', 'verb="patch"', 'code="200"')
    assert written == patched, "somebody else has written, too"
    assert pool_writes(crds, resource, handed_over)
