"""Every device of the node is an object, and says what lspci, lsusb and the kernel say."""

import pytest

from listing import pci_fields, pci_functions, usb_devices
from node import NODE, pci_name


def test_pcidevices_say_what_lspci_says(node):
    node.wait_equal()


def test_pcidevices_are_named_and_labelled_after_node_and_address(node):
    for obj in node.get("pcidevices"):
        assert obj["metadata"]["name"] == pci_name(obj["status"]["address"])
        assert obj["metadata"]["labels"] == {"nodename": NODE}
        assert obj["status"]["nodeName"] == NODE


def test_the_driver_annotation_is_the_driver(node):
    drivers = {a: f.get("kernelDriverInUse") or "" for a, f in pci_functions(node.guest).items()}
    said = {o["status"]["address"]: o["metadata"].get("annotations", {}).get("harvesterhci.io/pcideviceDriver")
            for o in node.get("pcidevices")}
    assert said == drivers


def test_bridges_are_listed_when_asked_for(node):
    listed = {o["status"]["address"]: o for (kind, _), o in node.agent.inspect("--show-bridges").items()
              if kind == "PCIDevice"}
    functions = pci_functions(node.guest, bridges=True)
    assert {address: pci_fields(o["status"]) for address, o in listed.items()} == functions
    bridges = [a for a, f in functions.items() if f["classId"] == "0604"]
    assert bridges
    for address in bridges:
        assert [c["reason"] for c in listed[address]["status"]["conditions"]] == ["HostBridge"]


def test_inspect_prints_what_the_agent_applied(node):
    applied = {(o["kind"], o["metadata"]["name"]): o["status"]
               for kind in ("pcidevices", "usbdevices", "mediateddevices", "mediateddeviceparents")
               for o in node.get(kind)}
    printed = {key: o["status"] for key, o in node.agent.inspect().items()}
    for status in [*applied.values(), *printed.values()]:
        status.pop("enabled", None)  # of the claim, printed because Harvester's objects always have it
        for condition in status.get("conditions", []):
            del condition["lastTransitionTime"]
    assert printed.keys() == applied.keys()
    for key, status in printed.items():
        # An API server fills in defaults; what is printed must be there as it is.
        assert status == {k: v for k, v in applied[key].items() if k in status}, key


def test_usbdevices_say_what_lsusb_says(node):
    objects = node.get("usbdevices")
    said = {}
    for obj in objects:
        status = obj["status"]
        bus, device = (int(part) for part in status["devicePath"].split("/")[-2:])
        said[bus, device] = {
            **{k: status.get(k) for k in ("vendorID", "productID", "devicePath", "serialNumber", "portPath",
                                          "speedMbps")},
            "drivers": {i["driver"] for i in status["interfaces"] if i.get("driver")}}
        assert obj["metadata"]["labels"] == {"nodename": NODE}
        assert obj["metadata"]["name"] == (
            f"{NODE}-{status['vendorID']}-{status['productID']}-{bus:03}{device:03}")
    assert said == usb_devices(node.guest)


@pytest.mark.parametrize("address, role, total", [
    ("0000:03:00.0", "PhysicalFunction", 7),
    ("0000:04:00.0", "PhysicalFunction", 4),
    ("0000:01:00.0", "Function", 0),
])
def test_sriov_is_told_by_role(node, address, role, total):
    status = node.pci_object(address)["status"]
    assert (status["role"], status.get("totalVFs", 0), status.get("numVFs", 0)) == (role, total, 0)
