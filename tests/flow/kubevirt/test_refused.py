"""Virtual machines that cannot have what they name: hostdev's webhook says so, or KubeVirt's controller. None is started."""

import pytest

import harvester
from bench import Machine
from cluster import wait_until

NIC = "vm1-000001000"
ELSEWHERE = "vm2-000001000"
RESOURCE = "intel.com/82574L_GIGABIT_NETWORK_CONNECTION"


@pytest.fixture(scope="module")
def elsewhere(clean):
    """A device of another node."""
    clean.claim(NIC)
    device = harvester.pci_device("vm2", "0000:01:00.0", "e1000e", vendorId="8086", deviceId="10d3", resourceName=RESOURCE)
    harvester.write(clean.cluster, device)
    yield ELSEWHERE
    clean.kubectl("delete", "pcidevice", ELSEWHERE, "--ignore-not-found")


def create(bench, *devices):
    return bench.ask(Machine(bench, "torn").manifest(devices))


def test_devices_of_two_nodes(bench, elsewhere):
    answer = create(bench, (NIC, RESOURCE), (elsewhere, RESOURCE))
    assert answer.returncode != 0
    assert f"device '{NIC}' is on node vm1, but '{elsewhere}' on node vm2: a machine runs on one node" in answer.stderr


def test_a_device_of_another_node_than_its_own(bench, elsewhere):
    answer = create(bench, (elsewhere, RESOURCE))
    assert answer.returncode == 0
    assert f"its nodeSelector selects node vm1, but device '{elsewhere}' is on node vm2" in answer.stderr


def test_a_resource_that_no_node_offers(bench, elsewhere):
    answer = create(bench, ("stick", "kubevirt.io/vm2-46f4-0001-002002"))
    assert answer.returncode != 0
    assert "requests resource 'kubevirt.io/vm2-46f4-0001-002002', which no device has and no node offers" in answer.stderr


def test_kubevirt_starts_no_instance_with_a_resource_that_is_not_permitted(bench, elsewhere):
    """An instance without a VirtualMachine does not pass hostdev's webhook."""
    machine = bench.machine("torn", [("stick", "kubevirt.io/vm2-46f4-0001-002002")], kind="VirtualMachineInstance")

    def said():
        return [c.get("message", "") for c in (machine.instance() or {}).get("status", {}).get("conditions", [])]
    wait_until(lambda: any("kubevirt.io/vm2-46f4-0001-002002 is not permitted in permittedHostDevices" in one
                           for one in said()), 180, lambda: f"KubeVirt's word on it: {said()}")
    assert not bench.cluster.get("pods", "-n", "default")
