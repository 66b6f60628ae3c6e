"""crds/ on a real API server: what it accepts, refuses and shows."""

import uuid

import pytest

from crds import GROUP, KINDS, PLURAL, VERSION

LABEL = f"hostdev-test={uuid.uuid4().hex[:8]}"
by_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
NOW = "2026-01-01T00:00:00Z"


def table(*rows):
    """Rows that begin with a sentence, which becomes the test's name."""
    return [pytest.param(*row[1:], id=row[0]) for row in rows]


@pytest.fixture(scope="module", autouse=True)
def leave_nothing(crds):
    yield
    for kind in KINDS:
        crds.kubectl("delete", f"{kind.plural}.{GROUP}", "-l", LABEL)


def condition(kind, status="True", reason="Because", message=""):
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": NOW}


def manifest(kind, name=None, **parts):
    key, value = LABEL.split("=")
    node = (parts.get("spec") or {}).get("nodeName") or "janus"  # as the policy hostdev-nodes wants it
    metadata = {"name": name or f"t-{uuid.uuid4().hex[:12]}", "labels": {key: value, "nodename": node}}
    return {"apiVersion": VERSION, "kind": kind, "metadata": metadata, **parts}


def make(kubectl, kind, name=None, **parts):
    """Creates an object, and puts its status as a controller written in Go does: whole. Its name."""
    wanted = manifest(kind, name, **parts)
    kubectl("create", "-f", "-", input=wanted)
    if "status" in parts:
        kubectl("replace", "--subresource=status", "-f", "-", input=wanted)
    return wanted["metadata"]["name"]


@by_kind
def test_is_established_without_complaint(crds, kind):
    conditions = crds.get("crd", f"{kind.plural}.{GROUP}")["status"]["conditions"]
    assert {one["type"]: one["status"] for one in conditions} == {"NamesAccepted": "True", "Established": "True"}


HARVESTER_WRITES = table(
    ("a device in its first write, when Go writes every field", "PCIDevice", {
        "spec": {},
        "status": {"address": "", "vendorId": "", "deviceId": "", "classId": "", "iommuGroup": "",
                   "nodeName": "", "resourceName": "", "description": ""}}),
    ("a device without IOMMU and driver", "PCIDevice", {
        "spec": {},
        "status": {"address": "0000:00:1f.3", "vendorId": "8086", "deviceId": "a348", "classId": "0403",
                   "iommuGroup": "", "nodeName": "janus", "resourceName": "intel.com/CANNON_LAKE_PCH_CAVS",
                   "description": "Audio device: Intel Corporation Cannon Lake PCH cAVS"}}),
    ("a claimed device", "PCIDevice", {
        "spec": {},
        "status": {"address": "0000:04:00.0", "vendorId": "10de", "deviceId": "20b0", "classId": "0302",
                   "iommuGroup": "27", "nodeName": "janus", "resourceName": "nvidia.com/GA100_A100_SXM4_40GB",
                   "description": "3D controller: NVIDIA Corporation GA100 [A100 SXM4 40GB]",
                   "kernelDriverInUse": "vfio-pci"}}),
    ("a device of a VMD domain of five digits", "PCIDevice", {
        "status": {"address": "10000:e1:00.0", "vendorId": "8086", "deviceId": "0a54", "classId": "0108"}}),
    ("a device with nulls", "PCIDevice", {
        "status": {"address": None, "vendorId": None, "deviceId": None, "classId": None, "iommuGroup": None,
                   "nodeName": None, "resourceName": None, "description": None, "kernelDriverInUse": None}}),
    ("a device without spec and status", "PCIDevice", {}),
    ("a claim from the user interface", "PCIDeviceClaim", {
        "spec": {"address": "0000:04:00.0", "nodeName": "janus", "userName": "admin"},
        "status": {"kernelDriverToUnbind": "", "passthroughEnabled": False}}),
    ("a claim that is carried out", "PCIDeviceClaim", {
        "spec": {"address": "0000:04:00.0", "nodeName": "janus", "userName": "", "disableResourcePooling": True},
        "status": {"kernelDriverToUnbind": "nvidia", "passthroughEnabled": True}}),
    ("a claim with nulls", "PCIDeviceClaim", {
        "spec": {"address": None, "nodeName": None, "userName": None, "disableResourcePooling": None},
        "status": {"kernelDriverToUnbind": None}}),
    ("a claim with empty strings", "PCIDeviceClaim", {"spec": {"address": "", "nodeName": "", "userName": ""}}),
    ("a claim without spec", "PCIDeviceClaim", {}),
    ("a USB device", "USBDevice", {
        "status": {"vendorID": "0951", "productID": "1666", "nodeName": "janus",
                   "resourceName": "kubevirt.io/janus-0951-1666-001002", "devicePath": "/dev/bus/usb/001/002",
                   "description": "DataTraveler 100 G3 (Kingston Technology)", "pciAddress": "0000:00:14.0",
                   "classType": "Mass Storage", "enabled": False, "status": "", "message": ""}}),
    ("an orphaned USB device with nulls", "USBDevice", {
        "status": {"vendorID": "0951", "productID": "1666", "nodeName": "janus", "resourceName": None,
                   "devicePath": "", "description": None, "pciAddress": "", "enabled": True,
                   "status": "orphaned", "message": "device is in use"}}),
    ("a USB claim", "USBDeviceClaim", {
        "spec": {"userName": "admin"}, "status": {"nodeName": "janus", "pciAddress": "0000:00:14.0"}}),
    ("a USB claim without user, not yet seen", "USBDeviceClaim", {
        "spec": {"userName": ""}, "status": {"nodeName": "", "pciAddress": None}}),
    ("a network card that is off, its lists null", "SRIOVNetworkDevice", {
        "spec": {"address": "0000:04:00.0", "nodeName": "janus", "numVFs": 0},
        "status": {"vfAddresses": None, "vfPCIDevices": None, "status": "sriovNetworkDeviceDisabled"}}),
    ("a network card with virtual functions", "SRIOVNetworkDevice", {
        "spec": {"address": "0000:04:00.0", "nodeName": "janus", "numVFs": 2},
        "status": {"vfAddresses": ["0000:04:10.0", "0000:04:10.2"],
                   "vfPCIDevices": ["janus-000004100", "janus-000004102"], "status": "sriovNetworkDeviceEnabled"}}),
    ("a network card before its first status", "SRIOVNetworkDevice", {
        "spec": {"address": "0000:04:00.0", "nodeName": "janus", "numVFs": 0},
        "status": {"vfAddresses": [], "vfPCIDevices": [], "status": ""}}),
    ("a graphics card", "SRIOVGPUDevice", {
        "spec": {"address": "0000:08:00.0", "nodeName": "janus", "enabled": True},
        "status": {"vfAddresses": ["0000:08:00.4"], "vGPUDevices": ["janus-000008004"]}}),
    ("a vGPU that is off", "VGPUDevice", {
        "spec": {"vGPUTypeName": "", "address": "0000:08:00.4", "enabled": False, "nodeName": "janus",
                 "parentGPUDeviceAddress": "0000:08:00.0"},
        "status": {"vGPUStatus": "", "uuid": "", "availableTypes": None}}),
    ("a vGPU that is on, with the type id for a UUID", "VGPUDevice", {
        "spec": {"vGPUTypeName": "NVIDIA A2-4C", "address": "0000:08:00.4", "enabled": True, "nodeName": "janus",
                 "parentGPUDeviceAddress": "0000:08:00.0"},
        "status": {"vGPUStatus": "vGPUConfigured", "uuid": "746", "configureVGPUTypeName": "NVIDIA A2-4C",
                   "availableTypes": {"NVIDIA A2-4C": "746", "NVIDIA A2-8C": None}}}),
    ("a MIG configuration with its profiles", "MigConfiguration", {
        "spec": {"enabled": True, "gpuAddress": "0000:08:00.0", "nodeName": "janus",
                 "profileSpec": [{"name": "MIG 1g.5gb", "id": 19, "requested": 7},
                                 {"name": "MIG 1g.5gb+me", "id": 20, "requested": 0}]},
        "status": {"profileStatus": [{"name": "MIG 1g.5gb", "id": 19, "available": 0, "total": 7, "vGPUID": ["9"]},
                                     {"name": "MIG 1g.5gb+me", "id": 20, "available": 0, "total": 1,
                                      "vGPUID": None}],
                   "status": "synced", "message": ""}}),
    ("a MIG configuration that is new", "MigConfiguration", {
        "spec": {"enabled": False, "gpuAddress": "0000:08:00.0", "nodeName": "janus", "profileSpec": None},
        "status": {"profileStatus": None, "status": ""}}),
)


@pytest.mark.parametrize("kind, parts", HARVESTER_WRITES)
def test_keeps_what_harvester_writes(crds, kubectl, kind, parts):
    stored = crds.get(PLURAL[kind], make(kubectl, kind, **parts))
    assert {part: stored.get(part) for part in ("spec", "status")} == {
        part: parts.get(part) for part in ("spec", "status")
    }


OURS = table(
    ("a device", "PCIDevice", {"status": {
        "shortDescription": "s" * 72, "numaNode": 0, "subsystemVendorId": "1af4", "subsystemDeviceId": "1100", "revision": "0a",
        "bridges": ["0000:00:1c.0", "0000:02:00.0"],
        "iommuGroupMembers": ["0000:04:00.0", "0000:04:00.1"], "role": "VirtualFunction",
        "physicalFunction": "0000:04:00.0", "totalVFs": 63, "numVFs": 0,
        "serialNumber": "00-11-22-33-44-55-66-77", "resetMethods": ["flr", "bus"], "bootVGA": False,
        "allocations": [{"namespace": "default", "pod": "vm-1", "container": "compute"}],
        "conditions": [condition("Claimable", "False", "HostNetwork", "eth0 has the default route")]}}),
    ("a claim", "PCIDeviceClaim", {
        "spec": {"includeIOMMUGroup": True, "driver": "mlx5_vfio_pci", "release": "None"},
        "status": {"observedGeneration": 1, "iommuGroup": "27", "iommuGroupMembers": ["0000:04:00.0"],
                   "step": "Unbind", "holder": "qemu-system-x86 (pid 4711)", "conditions": [condition("Ready")]}}),
    ("a claim whose status is as large as it may be", "PCIDeviceClaim", {
        "spec": {"includeIOMMUGroup": False, "driver": "d" * 63},
        "status": {"iommuGroup": "4294967295", "iommuGroupMembers": ["ffffffff:ff:1f.7"] * 1024, "step": "s" * 64,
                   "holder": "h" * 1024}}),
    ("a USB device", "USBDevice", {"status": {
        "portPath": "1-4.2", "serialNumber": "0123456789", "speedMbps": 480, "hub": False,
        "interfaces": [{"class": "08", "subclass": "06", "protocol": "50", "driver": "usb-storage"}],
        "holder": "pod default/vm-1, driver usb-storage",
        "allocations": [{"namespace": "default", "pod": "vm-1", "container": "compute"}], "conditions": [condition("Claimable")]}}),
    ("a USB bus, of whose interface the kernel says little", "USBDevice", {"status": {
        "portPath": "usb1", "hub": True, "interfaces": [{"class": "09", "subclass": "", "protocol": ""}]}}),
    ("a USB claim", "USBDeviceClaim", {"status": {"observedGeneration": 1, "conditions": [condition("Ready")]}}),
)


@pytest.mark.parametrize("kind, parts", OURS)
def test_keeps_our_own_fields(crds, kubectl, kind, parts):
    stored = crds.get(PLURAL[kind], make(kubectl, kind, **parts))
    assert {part: stored[part] for part in parts} == parts


A, B = "0000:04:00.0", "0000:04:00.1"
REFUSED = table(
    ("a claim with half an address", "PCIDeviceClaim", {"spec": {"address": "04:00.0"}},
     "spec.address: Invalid value: \"string\": must be a whole PCI address in lower-case hexadecimal, "
     "such as 0000:04:00.0"),
    ("a claim with an address in capitals", "PCIDeviceClaim", {"spec": {"address": "0000:AF:00.0"}}, "lower-case"),
    ("a claim with a path for a driver", "PCIDeviceClaim", {"spec": {"driver": "../../etc"}},
     "must be the name of a kernel driver, such as vfio-pci"),
    ("a claim with a driver name without end", "PCIDeviceClaim", {"spec": {"driver": "d" * 64}},
     "spec.driver: Too long: may not be more than 63"),
    ("a claim with another way back", "PCIDeviceClaim", {"spec": {"release": "none"}},
     'spec.release: Unsupported value: "none"'),
    ("a claim with text for its group", "PCIDeviceClaim", {"spec": {"includeIOMMUGroup": "yes"}},
     'must be of type boolean: "string"'),
    ("a claim's step without end", "PCIDeviceClaim", {"status": {"step": "s" * 65}},
     "status.step: Too long: may not be more than 64"),
    ("a claim's holder without end", "PCIDeviceClaim", {"status": {"holder": "h" * 1025}},
     "status.holder: Too long: may not be more than 1024"),
    ("a claim's group that is no number", "PCIDeviceClaim", {"status": {"iommuGroup": "none"}}, "status.iommuGroup"),
    ("a claim's group number without end", "PCIDeviceClaim", {"status": {"iommuGroup": "1" * 11}},
     "status.iommuGroup: Too long: may not be more than 10"),
    ("a claim's group of 1025", "PCIDeviceClaim", {"status": {"iommuGroupMembers": [A] * 1025}},
     "status.iommuGroupMembers: Too many: 1025: must have at most 1024 items"),
    ("a claim's group with half an address", "PCIDeviceClaim", {"status": {"iommuGroupMembers": ["04:00.0"]}},
     "status.iommuGroupMembers[0]"),
    ("a claim with an unknown field", "PCIDeviceClaim", {"spec": {"adress": "0000:04:00.0"}},
     'unknown field "spec.adress"'),
    ("a claim with text for a truth value", "PCIDeviceClaim", {"spec": {"disableResourcePooling": "yes"}},
     'must be of type boolean: "string"'),
    ("a claim with a node name without end", "PCIDeviceClaim", {"spec": {"nodeName": "n" * 254}},
     "spec.nodeName: Too long: may not be more than 253"),
    ("a negative number of virtual functions", "SRIOVNetworkDevice", {"spec": {"numVFs": -1}},
     "spec.numVFs in body should be greater than or equal to 0"),
    ("a virtual function with a group address", "SRIOVNetworkDevice",
     {"spec": {"virtualFunctions": [{"index": 0, "macAddress": "01:00:5e:00:00:01"}]}}, "macAddress"),
    ("a virtual function with no address but zeros", "SRIOVNetworkDevice",
     {"spec": {"virtualFunctions": [{"index": 0, "macAddress": "00:00:00:00:00:00"}]}}, "must not be all zeros"),
    ("a priority without a VLAN", "SRIOVNetworkDevice",
     {"spec": {"virtualFunctions": [{"index": 0, "qos": 3}]}}, "needs a vlan"),
    ("a VLAN beyond the last", "SRIOVNetworkDevice", {"spec": {"virtualFunctions": [{"index": 0, "vlan": 4095}]}},
     "spec.virtualFunctions[0].vlan in body should be less than or equal to 4094"),
    ("settings of no virtual function", "SRIOVNetworkDevice", {"spec": {"virtualFunctions": [{"vlan": 1}]}},
     "spec.virtualFunctions[0].index: Required value"),
    ("settings of a virtual function beyond the last", "SRIOVNetworkDevice",
     {"spec": {"numVFs": 4, "virtualFunctions": [{"index": 3, "vlan": 1}, {"index": 4, "vlan": 1}]}},
     "has an index that is not below numVFs"),
    ("two settings of one virtual function", "SRIOVNetworkDevice",
     {"spec": {"virtualFunctions": [{"index": 1, "vlan": 1}, {"index": 1, "vlan": 2}]}}, "Duplicate value"),
    ("trust that is neither on nor off", "SRIOVNetworkDevice",
     {"spec": {"virtualFunctions": [{"index": 1, "trust": "true"}]}}, 'supported values: "on", "off"'),
    ("a vGPU that is on without a type", "VGPUDevice", {"spec": {"enabled": True}},
     "must be one of status.availableTypes when spec.enabled is true"),
    ("eight MIG instances", "MigConfiguration",
     {"spec": {"profileSpec": [{"name": "a", "requested": 4}, {"name": "b", "requested": 4}]}},
     "more than 7 instances requested"),
    ("a vendor id with 0x", "PCIDevice", {"status": {"vendorId": "0x10de"}}, "status.vendorId"),
    ("a role that there is not", "PCIDevice", {"status": {"role": "Bridge"}},
     'supported values: "Function", "PhysicalFunction", "VirtualFunction"'),
    ("a NUMA node below 0", "PCIDevice", {"status": {"numaNode": -1}}, "status.numaNode"),
    ("an IOMMU group of 1025", "PCIDevice", {"status": {"iommuGroupMembers": ["0000:00:00.0"] * 1025}},
     "status.iommuGroupMembers: Too many: 1025: must have at most 1024 items"),
    ("a condition without reason", "PCIDevice",
     {"status": {"conditions": [{"type": "Claimable", "status": "True", "message": "", "lastTransitionTime": NOW}]}},
     "status.conditions[0].reason: Required value"),
    ("a condition that is there twice", "PCIDevice",
     {"status": {"conditions": [condition("Claimable"), condition("Claimable")]}}, "Duplicate value"),
    ("a port path without bus", "USBDevice", {"status": {"portPath": "4.2"}}, "status.portPath"),
)


@pytest.mark.parametrize("kind, parts, message", REFUSED)
def test_refuses(kubectl, kind, parts, message):
    wanted = manifest(kind, **parts)
    if "status" in parts:
        make(kubectl, kind, wanted["metadata"]["name"])
        run = kubectl("replace", "--subresource=status", "-f", "-", input=wanted, check=False)
    else:
        run = kubectl("create", "-f", "-", input=wanted, check=False)
    assert run.returncode == 1
    assert message in run.stderr


CHANGES = table(
    ("a claim's address", "PCIDeviceClaim", {"address": A}, {"address": B}, "spec.address: "),
    ("a claim's address away", "PCIDeviceClaim", {"address": A}, {"address": None}, "spec.address: "),
    ("a claim's address to nothing", "PCIDeviceClaim", {"address": A}, {"address": ""}, "spec.address: "),
    ("a claim's whole spec away", "PCIDeviceClaim", {"address": A}, None, "spec.address: "),
    ("a claim's node", "PCIDeviceClaim", {"nodeName": "a"}, {"nodeName": "b"}, "spec.nodeName: "),
    ("a claim's user", "PCIDeviceClaim", {"userName": "a"}, {"userName": "b"}, "spec.userName: "),
    ("a claim's driver", "PCIDeviceClaim", {"driver": "vfio-pci"}, {"driver": "x"}, "spec.driver: "),
    ("a claim's empty address", "PCIDeviceClaim", {"address": ""}, {"address": A}, None),
    ("a claim's missing address", "PCIDeviceClaim", {}, {"address": A}, None),
    ("a claim's null address", "PCIDeviceClaim", {"address": None}, {"address": A}, None),
    ("a claim's missing spec", "PCIDeviceClaim", None, {"address": A, "nodeName": "a", "userName": "a"}, None),
    ("a claim's empty user", "PCIDeviceClaim", {"userName": ""}, {"userName": "a"}, None),
    ("a claim's pooling", "PCIDeviceClaim", {"address": A, "disableResourcePooling": False},
     {"disableResourcePooling": True}, None),
    ("a claim's driver away", "PCIDeviceClaim", {"driver": "vfio-pci"}, {"driver": None}, "spec.driver: "),
    ("a claim's missing driver", "PCIDeviceClaim", {"address": A}, {"driver": "mlx5_vfio_pci"}, "spec.driver: "),
    ("a claim's group", "PCIDeviceClaim", {"address": A}, {"includeIOMMUGroup": True}, None),
    ("a claim's group that was left out by name", "PCIDeviceClaim", {"includeIOMMUGroup": False},
     {"includeIOMMUGroup": True}, None),
    ("a claim's group back", "PCIDeviceClaim", {"includeIOMMUGroup": True}, {"includeIOMMUGroup": False},
     "spec.includeIOMMUGroup: "),
    ("a claim's group away", "PCIDeviceClaim", {"includeIOMMUGroup": True}, {"includeIOMMUGroup": None},
     "spec.includeIOMMUGroup: "),
    ("a claim's whole spec away, with its group", "PCIDeviceClaim", {"includeIOMMUGroup": True}, None,
     "spec.includeIOMMUGroup: "),
    ("a claim's way back", "PCIDeviceClaim", {"release": "Driver"}, {"release": "None"}, None),
    ("a claim's missing way back", "PCIDeviceClaim", {"address": A}, {"release": "None"}, None),
    ("a claim's way back to a driver", "PCIDeviceClaim", {"release": "None"}, {"release": "Driver"}, "spec.release: "),
    ("a claim's way back away", "PCIDeviceClaim", {"release": "None"}, {"release": None}, "spec.release: "),
    ("another field of a claim with its group", "PCIDeviceClaim", {"includeIOMMUGroup": True}, {"address": A}, None),
    ("a USB claim's user", "USBDeviceClaim", {"userName": "a"}, {"userName": "b"}, "spec.userName: "),
    ("a USB claim's empty user", "USBDeviceClaim", {"userName": ""}, {"userName": "a"}, None),
    ("a network card's node", "SRIOVNetworkDevice", {"nodeName": "a"}, {"nodeName": "b"}, "spec.nodeName: "),
    ("a network card's address, as cards move", "SRIOVNetworkDevice", {"address": A}, {"address": B}, None),
    ("a network card's virtual functions", "SRIOVNetworkDevice", {"numVFs": 0}, {"numVFs": 4}, None),
    ("their number to less than there are settings for", "SRIOVNetworkDevice",
     {"numVFs": 4, "virtualFunctions": [{"index": 3, "vlan": 1}]}, {"numVFs": 2}, None),
    ("their number from none to less than that", "SRIOVNetworkDevice",
     {"numVFs": 0, "virtualFunctions": [{"index": 3, "vlan": 1}]}, {"numVFs": 2}, None),
    ("a graphics card's address", "SRIOVGPUDevice", {"address": A}, {"address": B}, "spec.address: "),
    ("a graphics card's switch", "SRIOVGPUDevice", {"address": A, "enabled": False}, {"enabled": True}, None),
    ("a vGPU's address", "VGPUDevice", {"address": A}, {"address": B}, "spec.address: "),
    ("a vGPU's type and switch", "VGPUDevice", {"enabled": False}, {"enabled": True, "vGPUTypeName": "x"}, None),
    ("a MIG configuration's card", "MigConfiguration", {"gpuAddress": A}, {"gpuAddress": B}, "spec.gpuAddress: "),
)


@pytest.mark.parametrize("kind, before, change, refused", CHANGES)
def test_changing(crds, kubectl, kind, before, change, refused):
    name = make(kubectl, kind, **({} if before is None else {"spec": before}))
    patch = manifest(kind, spec=change)
    del patch["metadata"]
    run = kubectl("patch", PLURAL[kind], name, "--type=merge", "--patch-file=/dev/stdin", input=patch, check=False)
    if refused:
        assert refused in run.stderr and "cannot change" in run.stderr
        assert crds.get(PLURAL[kind], name)["spec"] == before
    else:
        assert run.stderr == ""
        assert change.items() <= crds.get(PLURAL[kind], name)["spec"].items()


OTHER = str(uuid.uuid4())


@pytest.mark.parametrize("subresource, told, answer", table(
    ("the claim as it is now", None, {}, ""),
    ("its status as it is now", "status", {}, ""),
    ("the claim as it was before", None, {"resourceVersion": "1"}, "(Conflict)"),
    ("its status as it was before", "status", {"resourceVersion": "1"}, "(Conflict)"),
    ("another claim of that name", None, {"resourceVersion": "1", "uid": OTHER}, "(Conflict)"),
    ("another's status", "status", {"resourceVersion": "1", "uid": OTHER}, "(Conflict)"),
    ("another claim in whatever state", None, {"resourceVersion": None, "uid": OTHER}, "metadata.uid: Invalid value"),
    ("another's status, whose uid alone nobody looks at", "status", {"resourceVersion": None, "uid": OTHER}, ""),
))
def test_a_patch_of_a_claim_may_say_what_it_was_made_for(crds, kubectl, subresource, told, answer):
    """The agent's writes carry uid and version: a claim that was made anew is not taken for the old one."""
    name = make(kubectl, "PCIDeviceClaim")
    now = crds.get("pcideviceclaims", name)["metadata"]
    told = {"uid": now["uid"], "resourceVersion": now["resourceVersion"], **told}
    patch = {"metadata": {key: value for key, value in told.items() if value},
             "spec": {"address": A}, "status": {"step": "Bind"}}
    flags = [f"--subresource={subresource}"] if subresource else []
    run = kubectl("patch", "pcideviceclaims", name, *flags, "--type=merge", "--patch-file=/dev/stdin",
                  input=patch, check=False)
    stored = crds.get("pcideviceclaims", name)
    written = {"spec": {"address": A}} if not subresource else {"status": {"step": "Bind"}}
    assert answer in run.stderr and (run.returncode == 0) == (answer == "")
    assert {part: stored[part] for part in ("spec", "status") if part in stored} == ({} if answer else written)


@by_kind
def test_status_is_written_by_its_subresource_only(crds, kubectl, kind):
    name = manifest(kind.kind)["metadata"]["name"]
    column, value = {"SRIOVGPUDevice": ("vGPUDevices", ["x"]), "USBDeviceClaim": ("nodeName", "x"),
                     "PCIDeviceClaim": ("step", "x"), "VGPUDevice": ("uuid", "x"),
                     "PCIDevice": ("nodeName", "x")}.get(kind.kind, ("status", "x"))
    wanted = manifest(kind.kind, name, status={column: value})
    kubectl("create", "-f", "-", input=wanted)
    assert "status" not in crds.get(kind.plural, name)
    kubectl("replace", "--subresource=status", "-f", "-", input=wanted)
    assert crds.get(kind.plural, name)["status"] == {column: value}
    kubectl("replace", "-f", "-", input=manifest(kind.kind, name))
    assert crds.get(kind.plural, name)["status"] == {column: value}


def test_two_writers_of_conditions_keep_each_others(crds, kubectl):
    name = make(kubectl, "PCIDeviceClaim")
    for writer, type in ("agent", "Ready"), ("controller", "Accepted"):
        wanted = manifest("PCIDeviceClaim", name, status={"conditions": [condition(type)]})
        kubectl("apply", "--server-side", "--subresource=status", f"--field-manager={writer}", "-f", "-", input=wanted)
    stored = crds.get("pcideviceclaims", name)["status"]["conditions"]
    assert {one["type"] for one in stored} == {"Ready", "Accepted"}


LISTED = table(
    ("a device at a glance", "PCIDevice", ["pcidev"], {"status": {
        "address": A, "vendorId": "10de", "deviceId": "20b0", "nodeName": "janus", "shortDescription": "A100",
        "kernelDriverInUse": "nvidia", "conditions": [condition("Claimable", "False", "Console")]}},
     "NAME DRIVER CLAIMABLE CLAIMED DESCRIPTION", "nvidia False A100"),
    ("a device that is claimed", "PCIDevice", ["pcidev"], {"status": {
        "address": A, "vendorId": "10de", "deviceId": "20b0", "nodeName": "janus", "shortDescription": "A100",
        "kernelDriverInUse": "vfio-pci", "conditions": [condition("Claimable"), condition("Claimed")]}},
     "NAME DRIVER CLAIMABLE CLAIMED DESCRIPTION", "vfio-pci True True A100"),
    ("a device in full", "PCIDevice", ["pcidevices", "-o", "wide"], {"status": {
        "address": A, "vendorId": "10de", "deviceId": "20b0", "nodeName": "janus", "description": "A100 80GB",
        "shortDescription": "A100", "kernelDriverInUse": "nvidia", "iommuGroup": "27", "numaNode": 0, "role": "Function",
        "resourceName": "nvidia.com/A100", "conditions": [condition("Claimable", "False", "Console"), condition("Claimed")],
        "allocations": [{"namespace": "default", "pod": "vm-1", "container": "compute"}]}},
     "NAME DRIVER CLAIMABLE CLAIMED REASON AGE ADDRESS NODE_NAME VENDOR_ID DEVICE_ID KERNEL_DRIVER_IN_USE IOMMU_GROUP NUMA_NODE "
     "ROLE RESOURCE_NAME POD DESCRIPTION FULL_DESCRIPTION",
     f"nvidia False True Console AGE {A} janus 10de 20b0 nvidia 27 0 Function nvidia.com/A100 vm-1 A100 A100 80GB"),
    ("a claim at a glance", "PCIDeviceClaim", ["pciclaim"], {
        "spec": {"address": A, "nodeName": "janus", "userName": "admin"},
        "status": {"kernelDriverToUnbind": "nvidia", "passthroughEnabled": True, "conditions": [condition("Ready")]}},
     "NAME ADDRESS NODE_NAME USER_NAME READY AGE", f"{A} janus admin True AGE"),
    ("a USB device in full", "USBDevice", ["usbdev", "-o", "wide"], {"status": {
        "vendorID": "0951", "productID": "1666", "nodeName": "janus", "description": "stick",
        "resourceName": "kubevirt.io/x", "pciAddress": A, "enabled": False, "serialNumber": "123",
        "portPath": "1-4", "speedMbps": 480, "classType": "Storage", "holder": "/srv",
        "allocations": [{"namespace": "default", "pod": "vm-1", "container": "compute"}],
        "conditions": [condition("Claimable")]}},
     "NAME ENABLED CLAIMABLE REASON AGE NODE_NAME VENDOR_ID PRODUCT_ID RESOURCE_NAME PCI_ADDRESS SERIAL PORT SPEED "
     "CLASS HOLDER POD DESCRIPTION",
     f"false True Because AGE janus 0951 1666 kubevirt.io/x {A} 123 1-4 480 Storage /srv vm-1 stick"),
    ("a network card in full", "SRIOVNetworkDevice", ["sriovnet", "-o", "wide"], {
        "spec": {"address": A, "nodeName": "janus", "numVFs": 1},
        "status": {"vfAddresses": [B], "status": "on", "conditions": [condition("Ready")]}},
     "NAME ADDRESS NODE_NAME NUMVFS READY AGE INTERFACE STATUS REASON VF_ADDRESSES MESSAGE",
     f'{A} janus 1 True AGE eno1 on Because ["{B}"]'),
)


@pytest.mark.parametrize("kind, what, parts, header, cells", LISTED)
def test_lists(kubectl, kind, what, parts, header, cells):
    name = make(kubectl, kind, **parts)
    if kind == "SRIOVNetworkDevice":
        kubectl("annotate", what[0], name, "sriov.devices.harvesterhi.io/interface-name=eno1")
    lines = kubectl("get", *what, "--selector", LABEL).stdout.splitlines()
    for column in header.split():
        lines[0] = lines[0].replace(column.replace("_", " "), column)
    assert lines[0].split() == header.split()
    (row,) = (line.split() for line in lines if line.startswith(name))
    if "AGE" in header.split():
        row[header.split().index("AGE")] = "AGE"
    assert row[1:] == cells.split()


def test_the_category_lists_every_kind(kubectl):
    for kind in KINDS:
        make(kubectl, kind.kind)
    listed = kubectl("get", "hostdev", "-o", "name", "--selector", LABEL).stdout.split()
    assert {line.split(".")[0] for line in listed} == {kind.kind.lower() for kind in KINDS}


@pytest.mark.parametrize("kind, selector, parts", table(
    ("devices of a node", "PCIDevice", "status.nodeName=n-{}", {"status": {"nodeName": "n-{}"}}),
    ("devices of a resource", "PCIDevice", "status.resourceName=x/{}", {"status": {"resourceName": "x/{}"}}),
    ("claims of a node", "PCIDeviceClaim", "spec.nodeName=n-{}", {"spec": {"nodeName": "n-{}"}}),
    ("claims of a user", "USBDeviceClaim", "spec.userName=u-{}", {"spec": {"userName": "u-{}"}}),
    ("USB devices of a node", "USBDevice", "status.nodeName=n-{}", {"status": {"nodeName": "n-{}"}}),
    ("cards of a node", "SRIOVNetworkDevice", "spec.nodeName=n-{}", {"spec": {"nodeName": "n-{}"}}),
))
def test_field_selector_finds(crds, kubectl, kind, selector, parts):
    unique = uuid.uuid4().hex[:8]
    filled = {part: {key: text.format(unique) for key, text in values.items()} for part, values in parts.items()}
    name = make(kubectl, kind, **filled)
    make(kubectl, kind)
    found = crds.get(PLURAL[kind], "--field-selector", selector.format(unique))
    assert [one["metadata"]["name"] for one in found] == [name]


def test_explain_tells_what_a_field_is(kubectl):
    text = " ".join(kubectl("explain", "pcidevices.status.iommuGroup").stdout.split())
    assert "KIND: PCIDevice" in text
    assert "so a group can be claimed only as a whole" in text
