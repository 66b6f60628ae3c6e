"""GPUs of AMD and Intel of a made-up node for containers (--amd, --intel), and a kubelet's folder that the test reads."""

import re
import socket

import pytest

from cluster import wait_until
from fake_kubelet import FakeKubelet
from machine import make_tree
from policies import claim
from rest import GROUP

AMD, INTEL = "amd.com/gpu", "gpu.intel.com/i915"
MI300X = (0x120000, 0x1002, 0x74A1, (0x1002, 0x74A1), "amdgpu", "flr")
ARC = (0x030000, 0x8086, 0x56A0, (0x8086, 0x1020), "i915", "flr")
WHOLE, DIVIDED, ARC_AT = "0000:60:00.0", "0000:61:00.0", "0000:62:00.0"
PART = "amdgpu_xcp_0"
ALL = {WHOLE: True, DIVIDED: True, PART: True}


def make_gpu(machine, address, function, number):
    tree, folder = machine.tree, f"sys/devices/pci0000:60/{address}"
    make_tree.add_function(tree, address, folder, function, 0)
    tree.link(f"sys/bus/pci/drivers/{function[4]}/{address}", folder)
    add_nodes(machine, folder, number)


def add_nodes(machine, folder, number):
    for name in (f"card{number}", f"renderD{128 + number}"):
        (machine.folder / folder / "drm" / name).mkdir(parents=True)
        (machine.folder / "dev/dri").mkdir(parents=True, exist_ok=True)
        (machine.folder / "dev/dri" / name).touch()


@pytest.fixture
def gpus(machine):
    """Flags for the nodes of three cards, one of AMD in two parts."""
    make_gpu(machine, WHOLE, MI300X, 0)
    make_gpu(machine, DIVIDED, MI300X, 1)
    make_gpu(machine, ARC_AT, ARC, 2)
    add_nodes(machine, f"sys/devices/platform/{PART}", 3)
    (machine.folder / "dev/kfd").touch()
    for node, minor, location in ((1, 128, 0x6000), (2, 129, 0x6100), (3, 131, 0x10006100)):
        machine.tree.write(f"sys/class/kfd/kfd/topology/nodes/{node}/properties",
                           f"location_id {location}\ndomain 0\ndrm_render_minor {minor}\nhive_id 0\n")
    return ["--amd", "--intel", "--dev-root", machine.folder / "dev"]


@pytest.fixture
def kubelet():
    made = FakeKubelet()
    yield made
    made.remove()


@pytest.fixture
def start(agents, machine, node, kubelet):
    return lambda *flags: agents(machine, node, [*kubelet.flags, *flags]).start()


@pytest.fixture
def agent(start, kubelet, gpus):
    agent = start(*gpus, "--intel-shared-dev-num", "2")
    wait_until(lambda: {AMD, INTEL} <= set(kubelet.endpoints()), 30, "the GPUs are offered")
    return agent


def test_nothing_is_offered_without_the_flags(start, kubelet, gpus):
    start(*gpus[2:]).wait_converged()
    assert kubelet.devices(AMD) is None and kubelet.devices(INTEL) is None


def nodes(*paths):
    return [(path, path, "rw") for path in paths]


def test_containers_get_what_the_vendors_plugins_answer(agent, kubelet):
    assert kubelet.devices(AMD).keys() == ALL.keys()
    assert kubelet.devices(INTEL).keys() == {"card2-0", "card2-1"}
    (got,) = kubelet.allocate(AMD, [WHOLE, PART])
    assert got == {"envs": {}, "mounts": [], "devices": nodes(
        "/dev/kfd", "/dev/dri/card0", "/dev/dri/renderD128", "/dev/dri/card3", "/dev/dri/renderD131")}
    (got,) = kubelet.allocate(INTEL, ["card2-0", "card2-1"])
    assert got == {"envs": {}, "mounts": [], "devices": nodes("/dev/dri/card2", "/dev/dri/renderD130")}
    assert sorted(kubelet.prefer(AMD, 2, list(ALL))) == [DIVIDED, PART]


@pytest.mark.parametrize("given", [None, PART, DIVIDED])
def test_a_claim_withdraws_a_gpu_with_its_parts_and_waits_for_containers(agent, kubelet, rest, node, given):
    name = f"{node}-{re.sub('[:.]', '', DIVIDED)}"
    path = f"{GROUP}/pcideviceclaims/{name}"

    def condition(path, kind):
        code, found = rest.request("GET", path)
        found = found.get("status", {}).get("conditions", []) if code == 200 else []
        return next(((c["status"], c["reason"], c["message"]) for c in found if c["type"] == kind), (None,) * 3)

    device = path.replace("pcideviceclaims", "pcidevices")
    wait_until(lambda: condition(device, "Offered") == ("True", "Offered", f"the agent (--amd) offers it as {AMD}"), 20,
               lambda: rest.get(device))
    with kubelet.messages(AMD) as messages:
        wait_until(lambda: messages == [ALL], 10)
        if given:
            kubelet.allocate(AMD, [given])
        rest.create("pcideviceclaims", claim(name))
        try:
            wait_until(lambda: messages[1:] == [ALL | {DIVIDED: False, PART: False}], 10, lambda: messages)
            with pytest.raises(AssertionError, match=f"the PCIDeviceClaim '{name}' takes it"):
                kubelet.allocate(AMD, [PART])
            wait_until(lambda: condition(path, "Accepted")[0] == ("False" if given else "True"), 20, lambda: rest.get(path))
            assert condition(path, "Accepted")[1] == ("Held" if given else "Accepted"), rest.get(path)
        finally:
            rest.delete("pcideviceclaims", name)
        wait_until(lambda: messages[-1] == ALL, 60, "all are offered again")
        wait_until(lambda: rest.request("GET", path)[0] == 404, 60, lambda: rest.get(path))


def test_nothing_is_offered_while_the_vendor_s_plugin_is_there(agent, kubelet):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(kubelet.folder / "device-plugins/amd.com_gpu"))
        sock.listen(16)
        agent.wait_line("GPUs are not offered while their vendor's device plugin runs", "vendor=amd")
        wait_until(lambda: AMD not in kubelet.endpoints(), 20, "it is withdrawn")
        assert INTEL in kubelet.endpoints()
    wait_until(lambda: AMD in kubelet.endpoints(), 20, "it is offered again")


def test_a_gpu_of_another_driver_is_withdrawn(agent, kubelet, machine):
    with kubelet.messages(INTEL) as messages:
        wait_until(lambda: len(messages) == 1, 10)
        (machine.folder / "sys/bus/pci/drivers/i915" / ARC_AT).unlink()
        machine.bind(ARC_AT, "vfio-pci")
        machine.tell()
        wait_until(lambda: INTEL not in kubelet.endpoints(), 30, "it is withdrawn")
