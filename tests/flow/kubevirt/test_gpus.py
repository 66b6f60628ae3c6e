"""An instance without a VirtualMachine: a device of the list gpus, and both functions of an IOMMU group."""

import json

import pytest

from bench import Machine
from claims import PAIR

pytestmark = pytest.mark.timeout(2400)

GPU = "vm1-000041000"
RESOURCE = "intel.com/82574L_GIGABIT_NETWORK_CONNECTION"
GROUP = "vm1-000007010", "vm1-000007020"


@pytest.fixture(scope="module")
def pair(clean):
    """The resource of the two functions of a group."""
    clean.claim(*GROUP)
    resource = clean.device(GROUP[0])["resourceName"]
    clean.claim(GPU)
    clean.offered(resource, 2)
    clean.offered(RESOURCE, 1)
    return resource


@pytest.fixture(scope="module")
def machine(clean, pair):
    made = clean.machine("bare", [(name, pair) for name in GROUP], [(GPU, RESOURCE)], kind="VirtualMachineInstance")
    made.wait_ready()
    return made


def test_a_virtual_machine_s_gpus_become_its_host_devices(bench, pair):
    """Harvester's own webhook does the same; KubeVirt treats a PCI device in either list alike."""
    answer = bench.ask(Machine(bench, "moved").manifest(gpus=[(GPU, RESOURCE)]))
    assert answer.returncode == 0, answer.stderr
    devices = json.loads(answer.stdout)["spec"]["template"]["spec"]["domain"]["devices"]
    assert devices["hostDevices"] == [{"name": GPU, "deviceName": RESOURCE}]
    assert not devices.get("gpus")


def test_an_instance_s_gpus_and_both_functions_of_a_group_are_passed_through(machine):
    assert machine.host_devices() == sorted([("pci", "0000:41:00.0"), *(("pci", one) for one in PAIR)])
    assert [one["name"] for one in machine.get()["spec"]["domain"]["devices"]["gpus"]] == [GPU]


def test_the_instance_sees_them(machine):
    seen = machine.seen()
    found = [words[2] for words in seen if words[0] == "PCI"]
    assert (found.count("8086:10d3"), found.count("10ec:8139")) == (1, 2)
    assert sorted(words[2] for words in seen if words[0] == "NET") == [f"52:54:00:12:00:0{n}" for n in (4, 5, 6)]
