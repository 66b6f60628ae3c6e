"""SRIOVGPUDevice, VGPUDevice and MigConfiguration of a made-up NVIDIA card on a real API server.

The card's driver is files in a tree, its commands are shell scripts: what they do is what NVIDIA's documentation says
of the real ones. None of this has been seen on a card.
"""

import os
import shutil
import time

import pytest

from cluster import wait_until
from fake_kubelet import FakeKubelet
from machine import make_tree

PF = "0000:61:00.0"
VFS = ["0000:61:00.4", "0000:61:00.5"]
A16 = (0x030200, 0x10DE, 0x25B6, (0x10DE, 0x14A9), "nvidia", "flr")
TYPES = "ID    : vGPU Name\n5     : NVIDIA A16-4C\n6     : NVIDIA A16-8C\n"
TYPE = "NVIDIA A16-4C"
SKIP = "harvesterhci.io/skip-mig-configuration"

MANAGE = """#!/bin/sh
echo "$*" >>{root}/manage.calls
cd {root}/sys/bus/pci/devices
n=0
for vf in {vfs}; do
	if [ "$1" = -e ]; then
		ln -s {devices}/$vf $vf
		ln -s {devices}/$vf {devices}/{pf}/virtfn$n
	else
		rm $vf {devices}/{pf}/virtfn$n
	fi
	n=$((n + 1))
done
"""

SMI = """#!/bin/sh
echo "$*" >>{root}/smi.calls
cd {root}
list() {{
	grep -s '^|' $1 && return
	echo "No $2 found: Not Found"
	exit 6
}}
case "$*" in
*query-gpu*) cat mig.mode ;;
*-lgip*)
	echo '| GPU   Name             ID    Instances   Memory     P2P    SM    DEC   ENC  |'
	echo '|   0  MIG 1g.5gb        19     7/7        4.75       No     14     0     0   |'
	echo '|   0  MIG 3g.20gb        9     2/2        19.62      No     42     2     0   |' ;;
*-lgi*) list gi "GPU instances" ;;
*-lci*) list ci "compute instances" ;;
*"-mig 1"*) echo Enabled >mig.mode ;;
*-cgi*)
	n=$(($(cat mig.next) + 1))
	echo $n >mig.next
	echo "|   0  MIG p$5          $5       $n          0:4     |" >>gi
	echo "|   0     $n       MIG p$5          0         0          0:4     |" >>ci ;;
*-dci*) sed -i "/^|   0     $6 /d" ci ;;
*-dgi*)
	grep -q "^|   0     $6 " ci && echo "In use by another client" && exit 19
	sed -i "/ $6          0:4/d" gi ;;
esac
"""


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def lent(kubelet):
    """The devices of the type's resource; None: there is no such resource, or its socket has just gone."""
    try:
        return kubelet.devices("nvidia.com/NVIDIA_A16-4C")
    except AssertionError:
        return None


class Gpu:
    """A card in the machine's tree, and its objects."""

    def __init__(self, machine, crds, node):
        self.machine, self.crds, self.node = machine, crds, node
        self.root, self.devices = machine.folder, machine.folder / "sys/devices/pci0000:60"
        for address in [PF, *VFS]:
            make_tree.add_function(machine.tree, address, f"sys/devices/pci0000:60/{address}", A16, 0)
        for name, text in ("sriov_totalvfs", "2\n"), ("sriov_numvfs", "0\n"), ("sriov_vf_device", "25b6\n"):
            (self.devices / PF / name).write_text(text)
        for vf in VFS:
            (machine.folder / "sys/bus/pci/devices" / vf).unlink()
            (self.devices / vf / "physfn").symlink_to(self.devices / PF)
            self.set_types(vf, "0\n", TYPES)
        (self.root / "mig.mode").write_text("[N/A]\n")
        (self.root / "mig.next").write_text("0\n")
        names = {"root": self.root, "devices": self.devices, "pf": PF, "vfs": " ".join(VFS)}
        self.manage = executable(self.root / "sriov-manage", MANAGE.format(**names))
        smi = executable(self.root / "nvidia-smi", SMI.format(**names))
        self.flags = ["--sriov-manage", self.manage, "--nvidia-smi", smi]

    def set_types(self, vf, current, creatable):
        folder = self.devices / vf / "nvidia"
        folder.mkdir(exist_ok=True)
        (folder / "current_vgpu_type").write_text(current)
        (folder / "creatable_vgpu_types").write_text(creatable)

    def current(self, vf):
        return (self.devices / vf / "nvidia/current_vgpu_type").read_text().strip()

    def calls(self, tool):
        path = self.root / f"{tool}.calls"
        return path.read_text().splitlines() if path.exists() else []

    def name(self, address):
        return f"{self.node}-{address.replace(':', '').replace('.', '')}"

    def find(self, kind, address):
        name = self.name(address)
        found = self.crds.kubectl("get", kind, name, "--ignore-not-found", "-o", "name").stdout
        return self.crds.get(kind, name) if found else None

    def reason(self, kind, address):
        conditions = (self.find(kind, address) or {}).get("status", {}).get("conditions", [])
        return next((c["reason"] for c in conditions if c["type"] == "Ready"), None)

    def wait(self, kind, address, reason):
        wait_until(lambda: self.reason(kind, address) == reason, 30,
                   f"{kind} {address} {reason}, not {self.reason(kind, address)}")
        return self.find(kind, address)

    def patch(self, kind, address, **spec):
        self.crds.kubectl("patch", kind, self.name(address), "--type=merge", "--patch-file=/dev/stdin",
                          input={"spec": spec})

    def enable(self):
        self.wait("sriovgpudevices", PF, "Disabled")
        self.patch("sriovgpudevices", PF, enabled=True)
        self.wait("sriovgpudevices", PF, "Enabled")
        for vf in VFS:
            self.wait("vgpudevices", vf, "Disabled")


@pytest.fixture
def gpu(machine, crds, node):
    yield Gpu(machine, crds, node)
    for kind in "vgpudevices", "sriovgpudevices", "migconfigurations", "mediateddevices", "mediateddeviceparents":
        crds.kubectl("delete", kind, "--selector", f"nodename={node}")
    for vf in VFS:
        crds.kubectl("delete", "pcideviceclaim", f"{node}-{vf.replace(':', '').replace('.', '')}", "--ignore-not-found")


@pytest.fixture
def start(agents, machine, node, gpu):
    return lambda: agents(machine, node, flags=gpu.flags).start()


def test_without_a_card_nothing_runs_and_nothing_is_written(agents, machine, node, crds):
    kinds = {"vgpudevices", "sriovgpudevices", "migconfigurations"}
    agent = agents(machine, node).start()
    agent.wait_converged()
    wait_until(lambda: kinds <= {event["objectRef"].get("resource") for event in crds.audit()
                                 if event.get("userAgent", "").endswith(agent.user_agent_end)
                                 and event["verb"] == "watch" and "objectRef" in event}, 30, "watches")
    assert not kinds & {event["objectRef"]["resource"] for event in agent.audit(crds)}


@pytest.mark.parametrize("enabled", [False, True])
def test_an_object_for_what_is_no_card_says_so_once(agents, machine, node, crds, enabled):
    """On a node that has no card at all: 0000:00:02.0 is its first function."""
    name, other = f"{node}-000000020", f"{node}-000000030"
    made = {"SRIOVGPUDevice": {"address": "0000:00:02.0"},
            "VGPUDevice": {"address": "0000:00:02.0", "parentGPUDeviceAddress": "", "vGPUTypeName": TYPE},
            "MigConfiguration": {"gpuAddress": "0000:00:02.0", "profileSpec": []}}
    agent = agents(machine, node).start()
    agent.wait_converged()
    try:
        for kind, spec in made.items():
            for object_name, owner in (name, node), (other, "elsewhere"):
                crds.kubectl("create", "-f-", input={
                    "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": kind,
                    "metadata": {"name": object_name, "labels": {"nodename": node}},
                    "spec": {"nodeName": owner, "enabled": enabled, **spec}})
        for kind in made:
            def ready(kind=kind):
                conditions = crds.get(kind, name).get("status", {}).get("conditions", [])
                return next((c for c in conditions if c["type"] == "Ready"), None)
            wait_until(ready, 30, f"a condition of {kind}")
            assert (ready()["status"], ready()["reason"]) == ("False", "NotSupported")
            assert f"node {node} has no" in ready()["message"]
        for _ in range(3):
            scans = agent.scans()
            machine.tell()
            wait_until(lambda scans=scans: agent.scans() > scans, 30)
        wait_until(agent.idle, 30)
        written = [event["objectRef"] for event in agent.audit(crds)
                   if event["objectRef"]["resource"] in ("sriovgpudevices", "vgpudevices", "migconfigurations")]
        assert sorted((ref["resource"], ref["name"], ref.get("subresource")) for ref in written) == [
            (kind, name, "status") for kind in ("migconfigurations", "sriovgpudevices", "vgpudevices")]
        assert not crds.get("VGPUDevice", other).get("status")
    finally:
        for kind in made:
            crds.kubectl("delete", kind, name, other, "--ignore-not-found")


def test_a_card_is_divided_and_a_function_becomes_a_vgpu_and_back(gpu, start, crds, node):
    agent = start()
    card = gpu.wait("sriovgpudevices", PF, "Disabled")
    assert card["spec"] == {"address": PF, "nodeName": node, "enabled": False}
    assert card["metadata"]["labels"] == {"nodename": node}
    gpu.enable()
    assert gpu.calls("manage") == [f"-e {PF}"]
    assert gpu.find("sriovgpudevices", PF)["status"]["vGPUDevices"] == [gpu.name(vf) for vf in VFS]
    vgpu = gpu.find("vgpudevices", VFS[0])
    assert vgpu["status"]["availableTypes"] == {TYPE: "5", "NVIDIA A16-8C": "6"}
    assert vgpu["spec"]["parentGPUDeviceAddress"] == PF

    gpu.patch("vgpudevices", VFS[0], enabled=True, vGPUTypeName=TYPE)
    vgpu = gpu.wait("vgpudevices", VFS[0], "Configured")
    assert gpu.current(VFS[0]) == "5"
    assert (vgpu["status"]["vGPUStatus"], vgpu["status"]["uuid"], vgpu["status"]["configureVGPUTypeName"]) == \
        ("vGPUConfigured", "5", TYPE)
    wait_until(lambda: gpu.find("pcideviceclaims", VFS[0]), 30, "the claim")
    claim = gpu.find("pcideviceclaims", VFS[0])
    assert claim["metadata"]["annotations"] == {
        "pcidevices.harvesterhci.io/skip-vfio-binding": "true",
        "pcidevice.harvesterhci.io/override-resource-name": "nvidia.com/NVIDIA_A16-4C"}
    assert [ref["kind"] for ref in claim["metadata"]["ownerReferences"]] == ["PCIDevice", "VGPUDevice"]
    key = "harvesterhci.io/parentSRIOVGPUDevice"
    wait_until(lambda: gpu.find("pcidevices", VFS[0])["metadata"]["labels"].get(key) == gpu.name(PF), 30, "the label")

    gpu.patch("sriovgpudevices", PF, enabled=False)
    gpu.wait("sriovgpudevices", PF, "InUse")
    gpu.patch("sriovgpudevices", PF, enabled=True)
    gpu.patch("vgpudevices", VFS[0], enabled=False)
    vgpu = gpu.wait("vgpudevices", VFS[0], "Disabled")
    assert gpu.current(VFS[0]) == "0"
    assert vgpu["status"]["uuid"] == ""
    assert not gpu.find("pcideviceclaims", VFS[0])

    gpu.patch("sriovgpudevices", PF, enabled=False)
    gpu.wait("sriovgpudevices", PF, "Disabled")
    assert gpu.calls("manage") == [f"-e {PF}", f"-d {PF}"]
    wait_until(lambda: not gpu.find("vgpudevices", VFS[0]), 30, "no VGPUDevice")
    agent.assert_alive()


def test_a_vgpu_is_lent_under_the_name_of_its_type(gpu, agents, machine, node, crds, tmp_path):
    kubelet = FakeKubelet()
    dev = tmp_path / "dev"
    group = os.path.basename(os.path.realpath(gpu.devices / VFS[0] / "iommu_group"))
    (dev / "vfio").mkdir(parents=True)
    for name in "vfio", group:
        (dev / "vfio" / name).symlink_to("/dev/null")
    agents(machine, node, flags=[*gpu.flags, *kubelet.flags, "--dev-root", dev]).start()
    try:
        gpu.enable()
        gpu.patch("vgpudevices", VFS[0], enabled=True, vGPUTypeName=TYPE)
        wait_until(lambda: lent(kubelet) == {VFS[0]: True}, 60, "the resource")
        assert gpu.wait("pcideviceclaims", VFS[0], "Ready")["status"]["passthroughEnabled"]
        gpu.patch("vgpudevices", VFS[0], enabled=False)
        wait_until(lambda: not lent(kubelet), 60, "no resource")
        assert gpu.wait("vgpudevices", VFS[0], "Disabled") and gpu.current(VFS[0]) == "0"
    finally:
        kubelet.remove()


UUID = "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001"


def make_mdev(gpu, dev, *groups):
    """The first function has a mediated device, as drivers of older kernels do; `dev` gets its group's node and those
    of `groups`."""
    os.spawnv(os.P_WAIT, gpu.manage, ["sriov-manage", "-e", PF])
    sys, vf = gpu.root / "sys", gpu.devices / VFS[0]
    shutil.rmtree(vf / "nvidia")
    kind = vf / "mdev_supported_types/nvidia-746"
    kind.mkdir(parents=True)
    for name, text in ("name", "NVIDIA A16-4C\n"), ("available_instances", "0\n"), ("device_api", "vfio-pci\n"):
        (kind / name).write_text(text)
    (vf / UUID).mkdir()
    (vf / UUID / "mdev_type").symlink_to("../mdev_supported_types/nvidia-746")
    (vf / UUID / "iommu_group").symlink_to(sys / "kernel/iommu_groups/77")
    for folder, name, target in ("class/mdev_bus", VFS[0], vf), ("bus/mdev/devices", UUID, vf / UUID):
        (sys / folder).mkdir(parents=True, exist_ok=True)
        (sys / folder / name).symlink_to(target)
    (dev / "vfio").mkdir(parents=True)
    for name in "vfio", "77", *groups:
        (dev / "vfio" / name).symlink_to("/dev/null")


def test_a_vgpu_that_is_a_mediated_device_is_adopted_and_lent_by_its_uuid(gpu, agents, machine, node, tmp_path):
    """Drivers of older kernels; that one is made and removed needs a kernel."""
    make_mdev(gpu, tmp_path / "dev")
    kubelet = FakeKubelet()
    agents(machine, node, flags=[*gpu.flags, *kubelet.flags, "--dev-root", tmp_path / "dev"]).start()
    try:
        vgpu = gpu.wait("vgpudevices", VFS[0], "Configured")
        assert vgpu["spec"]["enabled"] and vgpu["status"]["uuid"] == UUID
        wait_until(lambda: lent(kubelet) == {UUID: True}, 60, "the resource")
        assert not gpu.find("pcideviceclaims", VFS[0])
        gpu.patch("vgpudevices", VFS[0], enabled=False)
        vgpu = gpu.wait("vgpudevices", VFS[0], "WriteFailed")
        assert "remove it on the node" in vgpu["status"]["conditions"][0]["message"]
        wait_until(lambda: not lent(kubelet), 60, "no resource")
    finally:
        kubelet.remove()


def test_a_vgpu_says_that_claimed_devices_have_its_name(gpu, agents, machine, node, crds, tmp_path):
    """Of one name claimed PCI devices go first, and who loses is told, until they have another."""
    address = "0000:00:1e.0"
    machine.add(address, driver="vfio-pci")
    group = os.path.basename(os.path.realpath(machine.device(address) / "iommu_group"))
    make_mdev(gpu, tmp_path / "dev", group)
    kubelet = FakeKubelet()
    agents(machine, node, flags=[*gpu.flags, *kubelet.flags, "--dev-root", tmp_path / "dev"]).start()
    override = "pcidevice.harvesterhci.io/override-resource-name"
    claim = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
             "metadata": {"name": gpu.name(address), "annotations": {override: "nvidia.com/NVIDIA_A16-4C"}}}
    try:
        gpu.wait("vgpudevices", VFS[0], "Configured")
        wait_until(lambda: gpu.find("pcidevices", address), 30, "the PCIDevice")
        crds.kubectl("apply", "-f", "-", input=claim)
        wait_until(lambda: address in (lent(kubelet) or {}), 60, "the claimed device, on a kernel without IOMMU")
        vgpu = gpu.wait("vgpudevices", VFS[0], "NameTaken")
        ready = next(c for c in vgpu["status"]["conditions"] if c["type"] == "Ready")
        assert ready["status"] == "False" and "nvidia.com/NVIDIA_A16-4C" in ready["message"]
        crds.kubectl("annotate", "--overwrite", "pcideviceclaim", gpu.name(address), f"{override}=example.com/other")
        gpu.wait("vgpudevices", VFS[0], "Configured")
        wait_until(lambda: lent(kubelet) == {UUID: True}, 60, "the vGPU under the name")
    finally:
        kubelet.remove()
        crds.kubectl("delete", "pcideviceclaim", gpu.name(address), "--wait=false")
        # The agent may have released it by then.
        crds.kubectl("patch", "pcideviceclaim", gpu.name(address), "--type=merge", "-p", '{"metadata":{"finalizers":null}}',
                     check=False)


def test_a_card_at_rest_is_not_written_about(gpu, start, machine, crds):
    agent = start()
    gpu.enable()
    gpu.patch("vgpudevices", VFS[0], enabled=True, vGPUTypeName=TYPE)
    gpu.wait("vgpudevices", VFS[0], "Configured")
    wait_until(lambda: gpu.find("pcideviceclaims", VFS[0]), 30, "the claim")
    scans = agent.scans()
    machine.tell()
    wait_until(lambda: agent.scans() > scans, 30)
    time.sleep(1)
    wait_until(agent.idle, 30)
    written = len(agent.written(crds))
    scans = agent.scans()
    for _ in range(3):
        machine.tell()
        wait_until(lambda: agent.scans() > scans, 30)
        scans = agent.scans()
    wait_until(agent.idle, 30)
    assert len(agent.written(crds)) == written


def test_a_vgpu_that_was_made_outside_is_adopted_and_never_switched_off(gpu, start, machine):
    for command in ("-e", PF),:
        os.spawnv(os.P_WAIT, gpu.manage, ["sriov-manage", *command])
    gpu.set_types(VFS[0], "5\n", "ID    : vGPU Name\n")
    start()
    vgpu = gpu.wait("vgpudevices", VFS[0], "Configured")
    assert vgpu["spec"]["enabled"] and vgpu["spec"]["vGPUTypeName"] == TYPE
    assert gpu.find("sriovgpudevices", PF)["spec"]["enabled"]
    # Also one that is made behind our back, while the object is there.
    gpu.wait("vgpudevices", VFS[1], "Disabled")
    gpu.set_types(VFS[1], "6\n", TYPES)
    machine.tell()
    vgpu = gpu.wait("vgpudevices", VFS[1], "Configured")
    assert vgpu["spec"]["enabled"] and vgpu["spec"]["vGPUTypeName"] == "NVIDIA A16-8C"
    assert (gpu.current(VFS[0]), gpu.current(VFS[1])) == ("5", "6")


def test_a_reboot_brings_everything_back(gpu, start, machine):
    agent = start()
    gpu.enable()
    gpu.patch("vgpudevices", VFS[0], enabled=True, vGPUTypeName=TYPE)
    gpu.wait("vgpudevices", VFS[0], "Configured")
    agent.stop()
    os.spawnv(os.P_WAIT, gpu.manage, ["sriov-manage", "-d", PF])
    gpu.set_types(VFS[0], "0\n", TYPES)
    start()
    wait_until(lambda: gpu.current(VFS[0]) == "5", 30, "the vGPU")
    gpu.wait("vgpudevices", VFS[0], "Configured")


def test_a_command_that_is_not_there_or_fails_is_told(gpu, start, machine):
    start()
    gpu.wait("sriovgpudevices", PF, "Disabled")
    os.rename(gpu.manage, gpu.root / "elsewhere")
    gpu.patch("sriovgpudevices", PF, enabled=True)
    card = gpu.wait("sriovgpudevices", PF, "ToolMissing")
    assert str(gpu.manage) in card["status"]["conditions"][0]["message"]
    executable(gpu.manage, "#!/bin/sh\necho 'GPU at 0000:61:00.0 is in use'\nexit 1\n")
    card = gpu.wait("sriovgpudevices", PF, "ToolFailed")
    assert "is in use" in card["status"]["conditions"][0]["message"]


def test_a_card_without_mig_has_no_configuration(gpu, start):
    start()
    gpu.enable()
    wait_until(lambda: gpu.calls("smi"), 30, "a question")
    assert set(gpu.calls("smi")) == {f"-i {PF} --query-gpu=mig.mode.current --format=csv,noheader"}
    assert not gpu.find("migconfigurations", PF)


def test_mig_instances_are_made_repaired_and_removed(gpu, start, machine, rest):
    (gpu.root / "mig.mode").write_text("Disabled\n")
    start()
    gpu.enable()
    config = gpu.wait("migconfigurations", PF, "Disabled")
    assert [(p["name"], p["requested"]) for p in config["spec"]["profileSpec"]] == [("MIG 1g.5gb", 0), ("MIG 3g.20gb", 0)]
    assert config["metadata"]["ownerReferences"][0]["kind"] == "SRIOVGPUDevice"
    assert not [call for call in gpu.calls("smi") if "-mig" in call], "MIG mode is nobody's wish yet"

    gpu.patch("migconfigurations", PF, enabled=True, profileSpec=[
        {"name": "MIG 1g.5gb", "id": 19, "requested": 1}, {"name": "MIG 3g.20gb", "id": 9, "requested": 1}])
    config = gpu.wait("migconfigurations", PF, "Synced")
    assert [call for call in gpu.calls("smi") if "-cgi" in call or "-mig" in call] == [
        f"-i {PF} -mig 1", f"mig -i {PF} -cgi 9 -C", f"mig -i {PF} -cgi 19 -C"], "the largest first"
    assert config["status"]["status"] == "synced"
    assert [p["vGPUID"] for p in config["status"]["profileStatus"]] == [["2"], ["1"]]

    gpu.patch("migconfigurations", PF, enabled=False)
    config = gpu.wait("migconfigurations", PF, "Disabled")
    assert config["status"]["status"] == "disabled"
    assert (gpu.root / "gi").read_text() == "" and (gpu.root / "mig.mode").read_text() == "Enabled\n"


@pytest.mark.parametrize("when", ["before", "while"])
def test_a_mig_configuration_without_the_label_as_harvester_writes_it_is_taken_up(gpu, start, crds, node, when):
    (gpu.root / "mig.mode").write_text("Disabled\n")

    def write():
        crds.kubectl("create", "-f-", input={
            "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "MigConfiguration",
            "metadata": {"name": gpu.name(PF)},
            "spec": {"gpuAddress": PF, "nodeName": node, "enabled": False,
                     "profileSpec": [{"name": "MIG 1g.5gb", "id": 19, "requested": 0}]}})
    if when == "before":
        write()
    agent = start()
    if when == "while":
        gpu.wait("sriovgpudevices", PF, "Disabled")
        wait_until(lambda: {event["objectRef"]["resource"] for event in crds.audit() if event["verb"] == "list" and
                            event.get("userAgent", "").endswith(agent.user_agent_end) and
                            "%21nodename" in event["requestURI"]} >= {"migconfigurations"}, 30, "the list")
        write()
    gpu.enable()
    assert gpu.wait("migconfigurations", PF, "Disabled")["metadata"]["labels"] == {"nodename": node}
    gpu.patch("migconfigurations", PF, enabled=True,
              profileSpec=[{"name": "MIG 1g.5gb", "id": 19, "requested": 1}])
    gpu.wait("migconfigurations", PF, "Synced")
    refused = [event for event in agent.audit(crds) if event["verb"] == "create"
               and event["objectRef"]["resource"] == "migconfigurations"]
    assert len(refused) < 10, "a create that is refused is not repeated for ever"


def test_an_object_of_another_node_in_the_way_is_told(gpu, start, crds, node):
    (gpu.root / "mig.mode").write_text("Disabled\n")
    crds.kubectl("create", "-f-", input={
        "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "MigConfiguration",
        "metadata": {"name": gpu.name(PF)}, "spec": {"gpuAddress": PF, "nodeName": "elsewhere", "enabled": False}})
    try:
        agent = start()
        gpu.enable()
        wait_until(lambda: "an object that this node needs is another node's" in agent.log(), 30, "a word in the log")
        assert "labels" not in gpu.find("migconfigurations", PF)["metadata"]
    finally:
        crds.kubectl("delete", "migconfigurations", gpu.name(PF))


def test_mig_is_left_alone_where_the_annotation_says_so(gpu, start, crds):
    (gpu.root / "mig.mode").write_text("Disabled\n")
    start()
    gpu.wait("sriovgpudevices", PF, "Disabled")
    crds.kubectl("annotate", "sriovgpudevice", gpu.name(PF), f"{SKIP}=true")
    gpu.enable()
    time.sleep(1)
    assert gpu.calls("smi") == []
    assert not gpu.find("migconfigurations", PF)
