"""A claim is Ready when the Node lists the device: the agent on a real API server, with a kubelet's folder and a Node
that the test writes.
"""

import os

import pytest

from cluster import wait_until
from fake_kubelet import FakeKubelet
from policies import MERGE, accepted, claim
from rest import GROUP
from test_hostile_names import NIC, POOL

HEARD = "2026-01-01T00:00:00Z"


@pytest.fixture
def kubelet():
    made = FakeKubelet()
    yield made
    made.remove()


@pytest.fixture
def agent(agents, machine, node, kubelet, tmp_path):
    """With the nodes that VFIO makes of a bound device."""
    machine.bind(NIC, "vfio-pci")
    (machine.folder / "sys/module/vfio_iommu_type1").mkdir(parents=True)
    group = os.path.basename(os.path.realpath(machine.folder / f"sys/bus/pci/devices/{NIC}/iommu_group"))
    (tmp_path / "dev/vfio").mkdir(parents=True)
    for name in "vfio", group:
        (tmp_path / "dev/vfio" / name).symlink_to("/dev/null")
    made = agents(machine, node, [*kubelet.flags, "--dev-root", tmp_path / "dev"])
    yield made


def lists(rest, node, **allocatable):
    """What a kubelet writes into its Node."""
    accepted(rest.request("PATCH", f"/api/v1/nodes/{node}/status", {"status": {
        "allocatable": {"cpu": "4", **allocatable}, "conditions": [
            {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastHeartbeatTime": HEARD,
             "lastTransitionTime": HEARD}]}}, MERGE))


@pytest.fixture
def claimed(rest, node):
    """claimed() makes the claim; claimed.says(condition) -> (status, reason, message)"""

    class Claimed:
        path = f"{GROUP}/pcideviceclaims/{node}-000001001"

        def __call__(self, **more):
            rest.create("pcideviceclaims", claim(f"{node}-000001001", **more))

        def says(self, kind):
            found = rest.get(self.path).get("status", {}).get("conditions", [])
            return next(((c["status"], c["reason"], c["message"]) for c in found if c["type"] == kind), (None,) * 3)

        def wait(self, kind, *wanted):
            wait_until(lambda: self.says(kind)[:2] == wanted, 60, f"{kind} {wanted}, but {self.says(kind)}")

    yield Claimed()
    rest.remove(Claimed.path)


def test_ready_waits_until_the_node_lists_the_device(agent, rest, node, kubelet, claimed):
    lists(rest, node)
    agent.start()
    claimed()
    claimed.wait("Ready", "False", "NotOffered")
    assert claimed.says("DriverBound")[0] == "True" and claimed.says("Offered")[:2] == ("False", "NotOffered")
    assert rest.get(claimed.path)["status"]["passthroughEnabled"]  # Harvester's: bound
    assert rest.get(f"{GROUP}/pcidevices/{node}-000001001")["status"]["kernelDriverInUse"] == "vfio-pci"
    wait_until(lambda: kubelet.devices(POOL) == {NIC: True}, 20, "the device is healthy for the kubelet")

    lists(rest, node, **{POOL: "1"})  # as it still does for a while of what was released and claimed again
    agent.wait_converged()
    assert claimed.says("Ready")[:2] == ("False", "NotOffered"), "no kubelet has it"
    with kubelet.listing(POOL):
        claimed.wait("Ready", "True", "Ready")
    assert claimed.says("Offered") == ("True", "Offered", f"node {node} offers it as {POOL}")
    version = rest.get(claimed.path)["metadata"]["resourceVersion"]

    lists(rest, node, **{POOL: "0"})  # as a kubelet that begins anew
    lists(rest, node, **{POOL: "1"})
    agent.wait_converged()
    assert rest.get(claimed.path)["metadata"]["resourceVersion"] == version


def offered(rest, node, kubelet, agent, claimed, **more):
    """A claim that waits for the kubelet alone; a context in which that has the resource."""
    lists(rest, node, **{POOL: "1"})
    agent.start()
    claimed(**more)
    claimed.wait("Ready", "False", "NotOffered")
    wait_until(lambda: kubelet.devices(POOL) == {NIC: True}, 20, "the device is healthy for the kubelet")
    return kubelet.listing(POOL)


def test_what_is_not_healthy_is_not_ready(agent, rest, node, kubelet, claimed, tmp_path):
    (group,) = {path for path in (tmp_path / "dev/vfio").iterdir() if path.name != "vfio"}
    with offered(rest, node, kubelet, agent, claimed):
        claimed.wait("Ready", "True", "Ready")
        group.unlink()
        claimed.wait("Ready", "False", "Unhealthy")
        assert claimed.says("Offered") == ("False", "Unhealthy", "the kubelet is told that the device is not healthy: "
                                           f"/dev/vfio/{group.name} is not there")
        assert kubelet.devices(POOL) == {NIC: False}
        group.symlink_to("/dev/null")
        claimed.wait("Ready", "True", "Ready")
        assert claimed.says("Offered")[:2] == ("True", "Offered")


def test_another_name_is_waited_for(agent, rest, node, kubelet, claimed):
    name = "a.io/renamed"
    with offered(rest, node, kubelet, agent, claimed):
        claimed.wait("Ready", "True", "Ready")
        accepted(rest.request("PATCH", claimed.path, {"metadata": {"annotations": {
            "pcidevice.harvesterhci.io/override-resource-name": name}}}, MERGE))
        claimed.wait("Ready", "False", "NotOffered")
        wait_until(lambda: kubelet.devices(name) == {NIC: True}, 20, "the other resource")
        with kubelet.listing(name):
            lists(rest, node, **{name: "1"})
            claimed.wait("Ready", "True", "Ready")
            assert claimed.says("Offered") == ("True", "Offered", f"node {node} offers it as {name}")


def test_a_node_that_is_deleted_offers_nothing(agent, rest, node, kubelet, claimed):
    with offered(rest, node, kubelet, agent, claimed):
        claimed.wait("Ready", "True", "Ready")
        rest.remove(f"/api/v1/nodes/{node}")
        claimed.wait("Offered", "Unknown", "NodeGone")
        assert claimed.says("Ready")[:2] == ("True", "Ready"), "what was Ready stays so"


def test_a_node_without_a_kubelet_makes_nobody_wait(agent, rest, node, claimed):
    agent.start()
    claimed()
    claimed.wait("Ready", "True", "Ready")
    assert claimed.says("Offered")[:2] == ("Unknown", "NoKubelet")


def test_an_ignored_name_is_a_reason(agent, rest, node, kubelet, claimed):
    ignored = {"pcidevice.harvesterhci.io/override-resource-name": "not a name!!"}
    with offered(rest, node, kubelet, agent, claimed, annotations=ignored):
        claimed.wait("Ready", "True", "Ready")
    assert claimed.says("Offered")[:2] == ("True", "NameIgnored")
    assert "'not a name!!'" in claimed.says("Ready")[2]
