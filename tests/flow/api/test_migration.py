"""From Harvester's pcidevices controller to hostdev and back, as far as objects go: a made-up machine on a real API
server. That no device is unbound is seen on a kernel: tests/flow/node/test_migration.py.
"""

import json
import os
import shutil
import subprocess

import pytest

import harvester
from cluster import wait_until
from machine import make_tree
from programs import claimable

NIC = "0000:01:00.1"
GONE = "0000:01:0f.0"
PF, VFS = "0000:61:00.0", ["0000:61:10.0", "0000:61:10.1"]
GPU, VGPU = "0000:62:00.0", "0000:62:00.4"
TYPE = "NVIDIA A2-4C"


def ready(obj):
    found = [c for c in (obj or {}).get("status", {}).get("conditions", []) if c["type"] == "Ready"]
    return (found[0]["status"], found[0]["reason"]) if found else None


class Taken:
    """A machine as Harvester has left it, its objects, and the agent that finds them."""

    def __init__(self, crds, agents, machine, node, dev):
        self.crds, self.agents, self.machine, self.node = crds, agents, machine, node
        self.dev = dev
        self.made = []
        self.agent = None
        (dev / "vfio").mkdir(parents=True)
        (machine.folder / "sys/module/vfio_iommu_type1").mkdir(parents=True)

    def write(self, obj):
        self.made.append((obj["kind"], obj["metadata"]["name"]))
        return harvester.write(self.crds, obj)

    def group(self, address):
        return os.path.basename(os.path.realpath(self.machine.device(address) / "iommu_group"))

    def bind(self, address):
        """To vfio-pci, without a driver_override, as Harvester leaves it."""
        self.machine.bind(address, "vfio-pci")
        (self.dev / "vfio" / self.group(address)).touch()

    def device(self, address, remembered, **status):
        return self.write(harvester.pci_device(
            self.node, address, remembered,
            **{"vendorId": "8086", "deviceId": "10d3", "iommuGroup": self.group(address) if status.pop(
                "there", True) else "9", "resourceName": "intel.com/82574L_GIGABIT_NETWORK_CONNECTION", **status}))

    def start(self, *flags):
        self.agent = self.agents(self.machine, self.node, flags=["--dev-root", self.dev, *flags]).start()
        return self.agent

    def get(self, kind, name):
        found = self.crds.kubectl("get", f"{kind}.{harvester.GROUP}", name, "--ignore-not-found", "-o", "json").stdout
        return json.loads(found) if found else None

    def wait_ready(self, kind, name, status="True", reason=None):
        def so():
            seen = ready(self.get(kind, name))
            return seen and seen[0] == status and reason in (None, seen[1])
        wait_until(so, 30, lambda: f"{kind} {name}: {self.get(kind, name)}\n{self.agent.log()[-3000:]}")
        return self.get(kind, name)

    def record(self, address):
        return json.loads((self.machine.folder / f"state/devices/{address}.json").read_text())

    def clear(self):
        if self.agent:
            self.agent.stop()  # it would put its finalizer on again
        for kind, name in self.made:
            self.crds.kubectl("patch", f"{kind}.{harvester.GROUP}", name, "--type=merge", "-p",
                              '{"metadata":{"finalizers":null}}', check=False)
            self.crds.kubectl("delete", f"{kind}.{harvester.GROUP}", name, "--ignore-not-found", "--timeout=180s")


@pytest.fixture
def taken(crds, agents, machine, node, tmp_path):
    made = Taken(crds, agents, machine, node, tmp_path / "dev")
    yield made
    made.clear()


def same_object(before, after):
    return before["metadata"]["uid"] == after["metadata"]["uid"]


NATIVES = [
    # the PCIDevice's annotation, the claim's kernelDriverToUnbind, what it goes back to
    pytest.param("e1000e", "e1000e", "e1000e", id="both alike"),
    pytest.param("e1000e", "vfio-pci", "e1000e", id="the claim was written late"),
    pytest.param("vfio-pci", "e1000e", "e1000e", id="the device was made late"),
    pytest.param("", "e1000e", "e1000e", id="no driver when the device was made"),
    pytest.param("e1000e", "", "e1000e", id="nothing on the claim"),
]


@pytest.mark.parametrize("remembered, unbound, native", NATIVES)
def test_a_claimed_device_is_taken_over_and_left_so_that_harvester_goes_on(taken, cluster, node, remembered, unbound,
                                                                           native):
    taken.bind(NIC)
    device = taken.device(NIC, remembered)
    claim = taken.write(harvester.pci_claim(device, unbound))
    agent = taken.start()
    name = device["metadata"]["name"]
    after = taken.wait_ready("PCIDeviceClaim", name)
    wait_until(lambda: taken.get("PCIDevice", name)["metadata"]["annotations"][harvester.DRIVER] == native, 20,
               "the annotation")
    assert taken.record(NIC)["native"] == native
    assert same_object(claim, after) and same_object(device, taken.get("PCIDevice", name))
    assert after["spec"] == claim["spec"]
    about = [event for event in agent.audit(cluster) if event["objectRef"].get("name") == name]
    assert {event["verb"] for event in about} == {"patch"}, "it was made anew"
    for path in ("unbind", "new_id"):
        assert not list((taken.machine.folder / "sys/bus/pci/drivers").glob(f"*/{path}"))
    agent.stop()
    device = taken.get("PCIDevice", name)
    harvester.goes_on_with_device(device, node, native, taken.group(NIC))
    harvester.goes_on_with_claim(taken.get("PCIDeviceClaim", name), device, native)


def test_what_harvester_cannot_remember_is_not_made_up(taken):
    """It saw the device on vfio-pci both times: the kernel finds the driver when the claim ends."""
    taken.bind(NIC)
    device = taken.device(NIC, "vfio-pci")
    taken.write(harvester.pci_claim(device, "vfio-pci"))
    taken.start()
    after = taken.wait_ready("PCIDeviceClaim", device["metadata"]["name"])
    assert "kernelDriverToUnbind" not in after["status"] or not after["status"]["kernelDriverToUnbind"]
    assert "native" not in taken.record(NIC)


def test_an_unclaimed_device_stays_where_it_is(taken, node):
    taken.bind(NIC)
    device = taken.device(NIC, "e1000e")
    taken.start()
    name = device["metadata"]["name"]
    wait_until(lambda: claimable(taken.get("PCIDevice", name))[0] == "True", 30, "our facts")
    after = taken.get("PCIDevice", name)
    assert same_object(device, after)
    harvester.goes_on_with_device(after, node, "e1000e", taken.group(NIC))
    assert (taken.machine.device(NIC) / "driver_override").read_text() == "(null)\n"
    assert not (taken.machine.folder / f"state/devices/{NIC}.json").exists()


@pytest.mark.parametrize("before", [[], ["Node"]], ids=["nobody", "somebody else first"])
def test_a_claim_gets_its_device_as_the_first_owner(taken, node, before):
    """Harvester follows the first, whatever it is; of a claim without it can make nothing."""
    taken.bind(NIC)
    device = taken.device(NIC, "e1000e")
    claim = harvester.pci_claim(device, "e1000e", owners=False)
    claim["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": kind, "name": node, "uid": "11111111-2222-3333-4444-555555555555"}
        for kind in before]
    taken.write(claim)
    taken.start()
    after = taken.wait_ready("PCIDeviceClaim", device["metadata"]["name"])
    assert [one["kind"] for one in after["metadata"]["ownerReferences"]] == ["PCIDevice", *before]
    harvester.goes_on_with_claim(after, device, "e1000e")


def test_a_claim_of_a_device_that_is_gone_waits_and_can_be_deleted(taken, crds):
    device = taken.device(GONE, "e1000e", there=False)
    taken.write(harvester.pci_claim(device, "e1000e"))
    taken.start()
    name = device["metadata"]["name"]
    after = taken.wait_ready("PCIDeviceClaim", name, "False", "DeviceGone")
    assert after["metadata"]["finalizers"] == [harvester.PCI_FINALIZER]
    assert same_object(device, taken.get("PCIDevice", name))
    assert taken.get("PCIDevice", name)["metadata"]["annotations"][harvester.DRIVER] == "e1000e"
    crds.kubectl("delete", "pcideviceclaim", name, "--timeout=180s")
    wait_until(lambda: not taken.get("PCIDevice", name), 20, "the end of the device that nobody claims")


def test_a_usb_device_keeps_its_object_and_its_claim(taken, node, rest):
    (facts,) = [o["status"] for (kind, _), o in taken.agents(taken.machine, node).inspect().items()
                if kind == "USBDevice"]
    bus, number = (int(part) for part in facts["devicePath"].split("/")[-2:])
    device = taken.write(harvester.usb_device(node, facts["vendorID"], facts["productID"], bus, number,
                                              pciAddress=facts["pciAddress"]))
    claim = taken.write(harvester.usb_claim(device))
    agent = taken.start()
    name = device["metadata"]["name"]
    after = taken.wait_ready("USBDeviceClaim", name)
    wait_until(lambda: taken.get("USBDevice", name)["status"].get("portPath"), 20, "our facts")
    assert same_object(claim, after) and same_object(device, taken.get("USBDevice", name))
    assert [n for kind, n in rest.devices(node) if kind == "USBDevice"] == [name]
    agent.stop()
    harvester.goes_on_with_usb(taken.get("USBDeviceClaim", name), taken.get("USBDevice", name))


def test_virtual_functions_of_a_network_card_stay(taken, node):
    machine = taken.machine
    machine.add(PF, "igb")
    for name, text in ("sriov_totalvfs", "7\n"), ("sriov_numvfs", "2\n"), ("sriov_drivers_autoprobe", "1\n"):
        (machine.device(PF) / name).write_text(text)
    (machine.device(PF) / "net/eth1").mkdir(parents=True)
    for index, address in enumerate(VFS):
        machine.add(address, "igbvf")
        (machine.device(PF) / f"virtfn{index}").symlink_to(machine.device(address))
        (machine.device(address) / "physfn").symlink_to(machine.device(PF))
    card = taken.write(harvester.network_card(node, "eth1", PF, VFS))
    agent = taken.start()
    name = card["metadata"]["name"]
    after = taken.wait_ready("SRIOVNetworkDevice", name, "True", "Ready")
    agent.stop()
    assert same_object(card, after) and after["spec"] == card["spec"]
    assert after["metadata"]["annotations"] == card["metadata"]["annotations"]
    assert not after["metadata"].get("finalizers")
    assert {key: after["status"][key] for key in card["status"]} == card["status"]
    assert (machine.device(PF) / "sriov_numvfs").read_text() == "2\n"
    for one in VFS:
        labels = taken.get("PCIDevice", harvester.pci_name(node, one))["metadata"]["labels"]
        assert labels["harvesterhci.io/parent-sriov-network-device"] == name


def nvidia(machine):
    """A card with one virtual function that is a vGPU."""
    function = list(make_tree.ENDPOINTS[2])
    function[4] = "nvidia"
    for address in GPU, VGPU:
        make_tree.add_function(machine.tree, address, f"sys/devices/pci0000:62/{address}", function, 0)
    card, vf = machine.device(GPU), machine.device(VGPU)
    for name, text in ("sriov_totalvfs", "1\n"), ("sriov_numvfs", "1\n"), ("sriov_vf_device", "25b6\n"):
        (card / name).write_text(text)
    (card / "virtfn0").symlink_to(vf)
    (vf / "physfn").symlink_to(card)
    (vf / "nvidia").mkdir()
    (vf / "nvidia/current_vgpu_type").write_text("1146\n")
    (vf / "nvidia/creatable_vgpu_types").write_text("ID    : vGPU Name\n")
    return vf / "nvidia/current_vgpu_type"


def test_a_vgpu_stays_what_it_is_with_its_claim(taken, node):
    current = nvidia(taken.machine)
    device = taken.device(VGPU, "nvidia", deviceId="20b5", vendorId="10de", kernelDriverInUse="nvidia")
    made = taken.write(harvester.vgpu(node, VGPU, GPU, TYPE, "1146", {TYPE: "1146"}))
    claim = taken.write(harvester.vgpu_claim(device, made))
    agent = taken.start("--sriov-manage", "/bin/false", "--nvidia-smi", "/bin/false")
    try:
        name = made["metadata"]["name"]
        after = taken.wait_ready("VGPUDevice", name, "True", "Configured")
        lent = taken.wait_ready("PCIDeviceClaim", name)
        agent.stop()
        assert current.read_text() == "1146\n"
        assert same_object(made, after) and same_object(claim, lent)
        assert after["spec"] == made["spec"]
        assert {key: after["status"][key] for key in made["status"]} == made["status"]
        for key in ("annotations", "labels", "finalizers", "ownerReferences"):
            assert lent["metadata"][key] == claim["metadata"][key]
    finally:
        taken.crds.kubectl("delete", "sriovgpudevices,vgpudevices,migconfigurations", "--selector", f"nodename={node}")
        shutil.rmtree(taken.machine.device(VGPU) / "nvidia")


MACHINES = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "virtualmachineinstances.kubevirt.io"},
            "spec": {"group": "kubevirt.io", "scope": "Namespaced",
                     "names": {"plural": "virtualmachineinstances", "kind": "VirtualMachineInstance"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


@pytest.fixture
def standing(crds, node):
    """A Node and a machine with Harvester's finalizers, and somebody else's."""
    keep = "example.com/keep"
    crds.kubectl("create", "-f", "-", input=MACHINES)
    crds.kubectl("wait", "--for=condition=Established", "crd/virtualmachineinstances.kubevirt.io")
    for obj in ({"apiVersion": "v1", "kind": "Node", "metadata": {
                    "name": node, "finalizers": ["wrangler.cattle.io/node-remove", keep]}},
                {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {
                    "name": node, "namespace": "default", "finalizers": [
                        keep, "wrangler.cattle.io/virtual-machine-deletion"]}}):
        wait_until(lambda obj=obj: crds.kubectl("create", "-f", "-", input=obj, check=False).returncode == 0, 20)
    kinds = ["node", "virtualmachineinstance"]
    yield lambda: [crds.get(kind, node, "-n", "default")["metadata"].get("finalizers") for kind in kinds]
    for kind in kinds:
        crds.kubectl("patch", kind, node, "-n", "default", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        crds.kubectl("delete", kind, node, "-n", "default")
    crds.kubectl("delete", "crd", "virtualmachineinstances.kubevirt.io")


@pytest.mark.parametrize("mark, left", [
    ("finalizers of Nodes", [["example.com/keep"], ["example.com/keep", "wrangler.cattle.io/virtual-machine-deletion"]]),
    ("finalizers of machines", [["wrangler.cattle.io/node-remove", "example.com/keep"], ["example.com/keep"]]),
])
def test_the_documented_commands_take_harvesters_finalizers_off(crds, standing, mark, left):
    words = {"KUBECONFIG": str(crds.kubeconfig), "PATH": f"{crds.folder}/bin:{os.environ['PATH']}"}
    subprocess.run(["bash", "-euo", "pipefail", "-c", harvester.documented(mark)], env=os.environ | words, check=True)
    assert standing() == left
