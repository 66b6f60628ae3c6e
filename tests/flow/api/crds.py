"""What crds/ promises: its files, a walk over a schema, and the fields and columns of Harvester."""

from collections import namedtuple

import yaml

from cluster import ROOT

GROUP = "devices.harvesterhci.io"
VERSION = f"{GROUP}/v1beta1"
OWN_GROUP = "hostdev.io"
OWN_VERSION = f"{OWN_GROUP}/v1alpha1"

Kind = namedtuple("Kind", "kind plural short columns fields group version", defaults=(GROUP, VERSION))

S, B, I, L, M = "string", "boolean", "integer", "array", "object"

# Harvester's own: its columns and its fields with their types.
KINDS = [
    Kind(
        "PCIDevice", "pcidevices", "pcidev",
        "Address, Vendor Id, Device Id, Node Name, Description, Kernel Driver In Use",
        {
            "status.address": S, "status.vendorId": S, "status.deviceId": S, "status.classId": S,
            "status.iommuGroup": S, "status.nodeName": S, "status.resourceName": S,
            "status.description": S, "status.kernelDriverInUse": S,
        },
    ),
    Kind(
        "PCIDeviceClaim", "pcideviceclaims", "pciclaim",
        "Address, Node Name, User Name, Kernel Driver To Unbind, Passthrough Enabled",
        {
            "spec.address": S, "spec.nodeName": S, "spec.userName": S, "spec.disableResourcePooling": B,
            "status.kernelDriverToUnbind": S, "status.passthroughEnabled": B,
        },
    ),
    Kind(
        "SRIOVNetworkDevice", "sriovnetworkdevices", "sriovnet",
        "Address, Node Name, NumVFs, VF Addresses",
        {
            "spec.address": S, "spec.nodeName": S, "spec.numVFs": I,
            "status.vfAddresses": L, "status.vfAddresses[]": S, "status.vfPCIDevices": L,
            "status.vfPCIDevices[]": S, "status.status": S,
        },
    ),
    Kind(
        "SRIOVGPUDevice", "sriovgpudevices", "sriovgpu",
        "Address, Node Name, Enabled, VGPUDevices",
        {
            "spec.address": S, "spec.nodeName": S, "spec.enabled": B,
            "status.vfAddresses": L, "status.vfAddresses[]": S, "status.vGPUDevices": L, "status.vGPUDevices[]": S,
        },
    ),
    Kind(
        "VGPUDevice", "vgpudevices", "vgpu",
        "Address, Node Name, Enabled, UUID, VGPUType, ParentGPUDevice",
        {
            "spec.vGPUTypeName": S, "spec.address": S, "spec.enabled": B, "spec.nodeName": S,
            "spec.parentGPUDeviceAddress": S, "status.vGPUStatus": S, "status.uuid": S,
            "status.configureVGPUTypeName": S, "status.availableTypes": M, "status.availableTypes{}": S,
        },
    ),
    Kind(
        "USBDevice", "usbdevices", "usbdev",
        "Vendor ID, Product ID, Node Name, Description, Resource Name, PCI Address, Enabled",
        {
            "status.vendorID": S, "status.productID": S, "status.nodeName": S, "status.resourceName": S,
            "status.devicePath": S, "status.description": S, "status.pciAddress": S, "status.classType": S,
            "status.enabled": B, "status.status": S, "status.message": S,
        },
    ),
    Kind(
        "USBDeviceClaim", "usbdeviceclaims", "usbclaim",
        "Node Name, PCI Address, User Name",
        {"spec.userName": S, "status.nodeName": S, "status.pciAddress": S},
    ),
    Kind(
        "MigConfiguration", "migconfigurations", "mig",
        "Node Name, Address, Enabled, Status, Message",
        {
            "spec.enabled": B, "spec.gpuAddress": S, "spec.nodeName": S, "spec.profileSpec": L,
            "spec.profileSpec[].name": S, "spec.profileSpec[].id": I, "spec.profileSpec[].requested": I,
            "status.profileStatus": L, "status.profileStatus[].name": S, "status.profileStatus[].id": I,
            "status.profileStatus[].available": I, "status.profileStatus[].total": I,
            "status.profileStatus[].vGPUID": L, "status.profileStatus[].vGPUID[]": S,
            "status.status": S, "status.message": S,
        },
    ),
]

# Our own, of which nobody else expects anything.
OWN = [
    Kind("DevicePool", "devicepools", "devpool", "", {}, OWN_GROUP, OWN_VERSION),
    Kind("HostDeviceConfig", "hostdeviceconfigs", "hostdevconf", "", {}, OWN_GROUP, OWN_VERSION),
    Kind("MediatedDevice", "mediateddevices", "mdev", "", {}, OWN_GROUP, OWN_VERSION),
    Kind("MediatedDeviceParent", "mediateddeviceparents", "mdevparent", "", {}, OWN_GROUP, OWN_VERSION),
]

ALL = KINDS + OWN
PLURAL = {kind.kind: kind.plural for kind in KINDS}


def crd(kind):
    """The definition of a kind, as the file in crds/ has it."""
    return yaml.safe_load((ROOT / f"crds/{kind.group}_{kind.plural}.yaml").read_text())


def version(kind):
    """Its only version."""
    (only,) = crd(kind)["spec"]["versions"]
    return only


def walk(schema, path=""):
    """Every (path, schema) below a schema: fields as a.b, items as a[], values of a map as a{}."""
    for name, child in schema.get("properties", {}).items():
        yield from descend(child, f"{path}.{name}".lstrip("."))
    if "items" in schema:
        yield from descend(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from descend(schema["additionalProperties"], path + "{}")


def descend(child, path):
    yield path, child
    yield from walk(child, path)


def fields(kind):
    return dict(walk(version(kind)["schema"]["openAPIV3Schema"]))
