"""Objects as Harvester's pcidevices controller writes them, and what of them it reads when it goes on.

Facts of the controller, in its own terms: a claim leads to its device by ownerReferences[0], a device goes back to
the driver that its annotation remembers, a claim's finalizer is taken off by the agent of its node. It writes with
PUT, and knows no conditions.
"""

from cluster import ROOT
from transcript import blocks, commands_of

GROUP = "devices.harvesterhci.io"
VERSION = f"{GROUP}/v1beta1"
MANAGER = "pcidevices"
DRIVER = "harvesterhci.io/pcideviceDriver"
PCI_FINALIZER = "wrangler.cattle.io/PCIDeviceClaimOnRemove"
USB_FINALIZER = "wrangler.cattle.io/usbClaimClient-device-claim-remove"
SKIP = "pcidevices.harvesterhci.io/skip-vfio-binding"
RESOURCE = "pcidevice.harvesterhci.io/override-resource-name"
PARENT_GPU = "harvesterhci.io/parentSRIOVGPUDevice"
INTERFACE = "sriov.devices.harvesterhi.io/interface-name"  # its spelling


def documented(mark):
    """The commands of docs/migration.md behind the comment that begins so."""
    for block in blocks(ROOT / "docs/migration.md"):
        if block.words == ["sh"] and block.lines[0].startswith(f"# {mark}"):
            return block.text
        found = commands_of(block) if block.words[:1] == ["console"] else []
        for comment, command in zip(found, found[1:]):
            if comment.text.startswith(f"# {mark}"):
                return command.text
    raise AssertionError(f"docs/migration.md has no commands with the comment '{mark}'")


def bare(address):
    return address.replace(":", "").replace(".", "")


def pci_name(node, address):
    return f"{node}-{bare(address)}"


def pci_device(node, address, remembered, **status):
    """remembered: the driver that it was seen on when the object was made; "" for none."""
    return {"apiVersion": VERSION, "kind": "PCIDevice", "spec": {},
            "metadata": {"name": pci_name(node, address), "labels": {"nodename": node},
                         "annotations": {DRIVER: remembered}},
            "status": {"address": address, "classId": "0200", "nodeName": node, "kernelDriverInUse": "vfio-pci",
                       "description": "Ethernet controller: as Harvester has it", **status}}


def owner(made):
    return {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": made["metadata"]["name"],
            "uid": made["metadata"]["uid"]}


def pci_claim(device, unbound, owners=True, **spec):
    """A claim that was carried out; device: as the API server has it. unbound: what it had been on."""
    status = device["status"]
    meta = {"name": device["metadata"]["name"], "finalizers": [PCI_FINALIZER]}
    if owners:
        meta["ownerReferences"] = [owner(device)]
    return {"apiVersion": VERSION, "kind": "PCIDeviceClaim", "metadata": meta,
            "spec": {"address": status["address"], "nodeName": status["nodeName"], "userName": "admin", **spec},
            "status": {"kernelDriverToUnbind": unbound, "passthroughEnabled": True}}


def usb_device(node, vendor, product, bus, device, **status):
    name = f"{node}-{vendor}-{product}-{bus:03d}{device:03d}"
    return {"apiVersion": VERSION, "kind": "USBDevice", "metadata": {"name": name, "labels": {"nodename": node}},
            "status": {"vendorID": vendor, "productID": product, "nodeName": node,
                       "resourceName": f"kubevirt.io/{name}", "devicePath": f"/dev/bus/usb/{bus:03d}/{device:03d}",
                       "description": "as Harvester has it", "classType": "Mass Storage", "enabled": True,
                       "status": "", "message": "", **status}}


def usb_claim(device):
    return {"apiVersion": VERSION, "kind": "USBDeviceClaim",
            "metadata": {"name": device["metadata"]["name"], "finalizers": [USB_FINALIZER],
                         "ownerReferences": [owner(device)]},
            "spec": {"userName": "admin"},
            "status": {"nodeName": device["status"]["nodeName"], "pciAddress": device["status"]["pciAddress"]}}


def network_card(node, interface, address, functions):
    """An SRIOVNetworkDevice whose virtual functions Harvester has made."""
    return {"apiVersion": VERSION, "kind": "SRIOVNetworkDevice",
            "metadata": {"name": f"{node}-{interface}".lower(), "labels": {"nodename": node},
                         "annotations": {INTERFACE: interface}},
            "spec": {"address": address, "nodeName": node, "numVFs": len(functions)},
            "status": {"vfAddresses": functions, "vfPCIDevices": [pci_name(node, one) for one in functions],
                       "status": "sriovNetworkDeviceEnabled"}}


def vgpu(node, address, card, kind, number, types):
    """A vGPU that Harvester has made of a virtual function."""
    return {"apiVersion": VERSION, "kind": "VGPUDevice",
            "metadata": {"name": pci_name(node, address),
                         "labels": {"nodename": node, PARENT_GPU: pci_name(node, card)}},
            "spec": {"vGPUTypeName": kind, "address": address, "enabled": True, "nodeName": node,
                     "parentGPUDeviceAddress": card},
            "status": {"vGPUStatus": "vGPUConfigured", "uuid": number, "configureVGPUTypeName": kind,
                       "availableTypes": types}}


def vgpu_claim(device, made):
    """Of the function, owned by both, which leaves the function on NVIDIA's driver."""
    claim = pci_claim(device, "nvidia")
    meta = claim["metadata"]
    meta["ownerReferences"].append(owner(made))
    meta["labels"] = {PARENT_GPU: made["metadata"]["labels"][PARENT_GPU]}
    meta["annotations"] = {SKIP: "true", RESOURCE: "nvidia.com/" + made["spec"]["vGPUTypeName"].replace(" ", "_")}
    return claim


def write(cluster, obj):
    """Made, and its status written whole; what the API server has then."""
    cluster.kubectl("create", "-f", "-", "--field-manager", MANAGER, input=obj)
    if "status" in obj:
        cluster.kubectl("replace", "--subresource=status", "-f", "-", "--field-manager", MANAGER, input=obj)
    return cluster.get(f"{obj['kind']}.{GROUP}", obj["metadata"]["name"])


def goes_on_with_device(device, node, native, group, driver="vfio-pci"):
    """What its agent reads of a PCIDevice; the paragraphs are those of shared facts on Harvester's API."""
    meta, status = device["metadata"], device["status"]
    assert meta["name"] == pci_name(node, status["address"])  # it GETs that name for each address, and deletes others
    assert meta["labels"]["nodename"] == node                 # by which it finds those that are to be deleted
    assert meta["annotations"][DRIVER] == native              # what a release binds again
    assert not meta.get("finalizers") and not meta.get("ownerReferences")  # it deletes the object with the device
    assert status["nodeName"] == node                         # whose it is, in every handler
    assert status["iommuGroup"] == group                      # compared with sysfs before anything is done
    assert status["kernelDriverInUse"] == driver              # what is unbound: nothing where it is on vfio-pci
    assert status["vendorId"] and status["deviceId"]          # of new_id, and of the KubeVirt's selector
    assert "/" in status["resourceName"]                      # the plugin that the device is in


def goes_on_with_claim(claim, device, native):
    meta, status = claim["metadata"], claim["status"]
    first = meta["ownerReferences"][0]
    assert (first["kind"], first["name"], first["uid"]) == (
        "PCIDevice", device["metadata"]["name"], device["metadata"]["uid"])  # the only way from claim to device
    assert meta["finalizers"] == [PCI_FINALIZER]              # its own; another one would keep what it has removed
    assert claim["spec"]["address"] == device["status"]["address"]
    assert claim["spec"]["nodeName"] == device["status"]["nodeName"]  # which agent has to do with it
    assert status["passthroughEnabled"] is True               # else it writes the first status anew
    assert status["kernelDriverToUnbind"] == native


def goes_on_with_usb(claim, device):
    meta = claim["metadata"]
    assert meta["finalizers"] == [USB_FINALIZER]
    assert [(one["kind"], one["uid"]) for one in meta["ownerReferences"]] == [("USBDevice", device["metadata"]["uid"])]
    assert claim["status"]["nodeName"] == device["status"]["nodeName"]
    assert claim["status"]["pciAddress"] == device["status"]["pciAddress"]
    assert device["metadata"]["labels"]["nodename"] == device["status"]["nodeName"]
    assert device["status"]["resourceName"] == f"kubevirt.io/{device['metadata']['name']}"
    assert device["status"]["devicePath"].startswith("/dev/bus/usb/")  # by which it knows its objects
    assert device["status"]["enabled"] is True
