"""What is plugged, pulled, bound or made virtual is seen by a kubectl that watches."""

import pytest

from node import claimable, pci_name

NIC = "0000:01:00.0"
IGB = "0000:03:00.0"
NVME = "0000:04:00.0"
SLOT = "0000:05:00.0"  # below the root port spare1
DRIVER = "harvesterhci.io/pcideviceDriver"


def named(name, *types):
    return lambda event: event.name == name and event.type in (types or ("ADDED", "MODIFIED"))


def driver_is(address, driver):
    """An event in which the function has this driver (None: no driver)."""
    def check(event):
        said = event.object.get("status", {}).get("kernelDriverInUse") or None
        return event.name == pci_name(address) and said == driver
    return check


def on_port(port, *types):
    return lambda event: event.type in types and event.object.get("status", {}).get("portPath") == port


@pytest.fixture
def plugged(node):
    """plugged(kind, *words): a device that is pulled at the end if it is still there."""
    ids = []

    def plug(kind, *words):
        ids.append(node.guest.plug(kind, "--id", f"test-{kind}", *words))
        return ids[-1]

    def pull(device_id):
        ids.remove(device_id)
        node.guest.unplug(device_id)

    plug.pull = pull
    yield plug
    for device_id in list(ids):
        pull(device_id)
    node.wait_converged()


def test_a_nic_that_is_plugged_and_pulled(node, plugged):
    mark = node.pci.mark()
    device_id = plugged("nic", "--bus", "spare1")
    event = node.pci.wait(mark, driver_is(SLOT, "e1000e"), what=f"{SLOT} with e1000e")
    status = event.object["status"]
    assert (status["vendorId"], status["deviceId"], status["classId"]) == ("8086", "10d3", "0200")
    assert status["iommuGroupMembers"] == [SLOT]
    plugged.pull(device_id)
    node.pci.wait(mark, named(pci_name(SLOT), "DELETED"), what="the end of it")


def test_a_stick_that_is_plugged_and_pulled(node, plugged):
    mark = node.usb.mark()
    device_id = plugged("usb", "--serial", "WATCHED")

    def is_stick(event):
        status = event.object.get("status", {})
        return status.get("serialNumber") == "WATCHED" and "usb-storage" in status.get("holder", "")
    event = node.usb.wait(mark, is_stick, what="the stick")
    assert event.object["status"]["vendorID"] == "46f4"
    assert event.object["status"]["pciAddress"] == "0000:00:06.0"
    plugged.pull(device_id)
    node.usb.wait(mark, named(event.name, "DELETED"), what="the end of it")


def test_a_hub_is_not_listed_and_what_hangs_on_it_is(node):
    mark = node.usb.mark()
    node.guest.qmp("device_add", driver="usb-hub", id="test-hub", bus="xhci.0", port="3")
    node.guest.qmp("device_add", driver="usb-mouse", id="test-mouse", bus="xhci.0", port="3.2")
    try:
        mouse = node.usb.wait(mark, on_port("1-3.2", "ADDED", "MODIFIED"), what="a mouse behind a hub")
        assert node.usb_object("1-3") is None
        shown = [o["status"]["portPath"] for (kind, _), o in node.agent.inspect("--show-hubs").items()
                 if kind == "USBDevice" and o["status"].get("hub")]
        assert shown == ["1-3"]
    finally:
        node.guest.qmp("device_del", id="test-mouse")
        node.guest.qmp("device_del", id="test-hub")
    node.usb.wait(mark, named(mouse.name, "DELETED"), what="the end of it")


def test_a_driver_that_is_unbound_and_bound(node):
    mark = node.pci.mark()
    node.guest.write("/sys/bus/pci/drivers/e1000e/unbind", NIC)
    unbound = node.pci.wait(mark, driver_is(NIC, None), what=f"{NIC} without a driver")
    assert unbound.object["metadata"]["annotations"][DRIVER] == "e1000e"
    mark = node.pci.mark()
    node.guest.write("/sys/bus/pci/drivers/e1000e/bind", NIC)
    node.pci.wait(mark, driver_is(NIC, "e1000e"), what=f"{NIC} with e1000e again")


def rebind(guest, address, override):
    """What a claim will do: driver_override, unbind, probe."""
    device = f"/sys/bus/pci/devices/{address}"
    guest.write(f"{device}/driver_override", f"{override}\n")
    guest.write(f"{device}/driver/unbind", address)
    guest.write("/sys/bus/pci/drivers_probe", address)


def test_a_function_lent_to_vfio_pci_remembers_its_driver(node):
    mark = node.pci.mark()
    rebind(node.guest, NIC, "vfio-pci")
    try:
        lent = node.pci.wait(mark, driver_is(NIC, "vfio-pci"), what=f"{NIC} with vfio-pci")
        assert lent.object["metadata"]["annotations"][DRIVER] == "e1000e"
        assert claimable(lent.object)[0] == "Available"
    finally:
        mark = node.pci.mark()
        rebind(node.guest, NIC, "")
    back = node.pci.wait(mark, driver_is(NIC, "e1000e"), what=f"{NIC} with e1000e again")
    assert back.object["metadata"]["annotations"][DRIVER] == "e1000e"


def numvfs(node, address, count):
    node.guest.write(f"/sys/bus/pci/devices/{address}/sriov_numvfs", str(count))


@pytest.mark.parametrize("pf, count, first", [(IGB, 3, "0000:03:10.0"), (NVME, 4, "0000:04:00.1")])
def test_virtual_functions_come_and_go(node, pf, count, first):
    node.guest.write(f"/sys/bus/pci/devices/{pf}/sriov_drivers_autoprobe", "0")
    mark = node.pci.mark()
    numvfs(node, pf, count)
    try:
        event = node.pci.wait(mark, lambda e: e.name == pci_name(first) and "status" in e.object, what="a VF")
        assert event.object["status"]["role"] == "VirtualFunction"
        assert event.object["status"]["physicalFunction"] == pf
        node.wait_reason(pf, "VirtualFunctionsActive", str(count))
        node.wait_converged()
        vfs = [o for o in node.pci.objects().values() if o["status"].get("physicalFunction") == pf]
        assert len(vfs) == count == node.pci_object(pf)["status"]["numVFs"]
    finally:
        mark = node.pci.mark()
        numvfs(node, pf, 0)
        node.guest.write(f"/sys/bus/pci/devices/{pf}/sriov_drivers_autoprobe", "1")
    node.pci.wait(mark, named(pci_name(first), "DELETED"), what="the end of the VF")
    node.wait_reason(pf, "Available")
    node.wait_converged()
