"""What lspci, lsusb and the kernel's own folders say about the guest: the other witness.

Shares no code and no way of reading with hostdev-helper, except that both end at the kernel.
"""

import re

SLOT = re.compile(
    r"^(?P<address>[\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.\d) .*?\[(?P<class_id>[\da-f]{4})\]: "
    r".*\[(?P<vendor>[\da-f]{4}):(?P<device>[\da-f]{4})\](?: \(rev (?P<revision>[\da-f]{2})\))?")
SUBSYSTEM = re.compile(r"^\tSubsystem: .*\[([\da-f]{4}):([\da-f]{4})\]")
DRIVER = re.compile(r"^\tKernel driver in use: (\S+)")
GROUPS = "cd /sys/kernel/iommu_groups && for f in */devices/????:??:??.?; do echo $f; done"  # not mediated devices
LINKS = "cd /sys/bus/pci/devices && readlink *"  # one program for all of them: an emulator starts few
NODES = "cd /sys/bus/pci/devices && grep -H . */numa_node"
BRIDGE = "0604"
PCI_FIELDS = {
    "address", "classId", "vendorId", "deviceId", "revision", "subsystemVendorId", "subsystemDeviceId",
    "kernelDriverInUse", "iommuGroup", "iommuGroupMembers", "numaNode", "bridges"}


def pci_fields(status):
    """What a PCIDevice's status says of what is compared here; what it does not say is left out."""
    return {k: v for k, v in status.items() if k in PCI_FIELDS and v not in ("", None)}


def parse_lspci(text):
    """Functions by address, as `lspci -Dnnk` tells them."""
    functions, current = {}, None
    for line in text.splitlines():
        if match := SLOT.match(line):
            current = functions[match["address"]] = {
                "address": match["address"], "classId": match["class_id"], "vendorId": match["vendor"],
                "deviceId": match["device"], "revision": match["revision"] or "00"}
        elif match := SUBSYSTEM.match(line):
            current["subsystemVendorId"], current["subsystemDeviceId"] = match.groups()
        elif match := DRIVER.match(line):
            current["kernelDriverInUse"] = match[1]
        else:
            assert line.startswith("\t") or not line, f"a line of lspci that is not known: {line}"
    return functions


def pci_functions(guest, bridges=False):
    """What status a PCIDevice of each function should have, by address."""
    functions = parse_lspci(guest.run("lspci", "-Dnnk"))
    for line in guest.sh(GROUPS).split():
        group, _, address = line.split("/")
        functions[address]["iommuGroup"] = group
    for line in guest.sh(NODES).split():
        path, node = line.rsplit(":", 1)
        if int(node) >= 0:
            functions[path.split("/")[0]]["numaNode"] = int(node)
    for line in guest.sh(LINKS).split():  # ../../../devices/pci0000:00/0000:00:10.0/0000:01:00.0
        *above, address = (part for part in line.split("/") if part in functions)
        if above:
            functions[address]["bridges"] = above
    members = {}
    for address, function in functions.items():
        members.setdefault(function.get("iommuGroup"), []).append(address)
    for function in functions.values():
        if group := function.get("iommuGroup"):
            function["iommuGroupMembers"] = sorted(members[group])
    return {a: f for a, f in functions.items() if bridges or f["classId"] != BRIDGE}


TREE_ROOT = re.compile(r"^/:  Bus (\d+)\.Port")
TREE_LINE = re.compile(r"^( *)\|__ Port (\d+): Dev (\d+), If \d+, Class=.*, Driver=(.*), (\d+)M")
DEVICE = re.compile(r"^Bus (\d{3}) Device (\d{3}): ID ([\da-f]{4}):([\da-f]{4})")


def parse_lsusb_tree(text):
    """(bus, device) -> its port path, drivers and speed, as `lsusb -t` tells them; root hubs are left out."""
    devices, bus, ports = {}, 0, []
    for line in text.splitlines():
        if match := TREE_ROOT.match(line):
            bus, ports = int(match[1]), []
        elif match := TREE_LINE.match(line):
            depth = len(match[1]) // 4 - 1
            ports = [*ports[:depth], match[2]]
            device = devices.setdefault((bus, int(match[3])), {"drivers": set()})
            device["portPath"] = f"{bus}-{'.'.join(ports)}"
            device["speedMbps"] = int(match[5])
            if match[4]:
                device["drivers"].add(match[4].split("/")[0])
    return devices


def parse_serials(text):
    """(bus, device) -> serial number, as `lsusb -v` tells them."""
    serials, current = {}, None
    for line in text.splitlines():
        words = line.split(maxsplit=2)
        if match := DEVICE.match(line):
            current = int(match[1]), int(match[2])
        elif words[:1] == ["iSerial"] and words[1] != "0":
            serials[current] = words[2]
    return serials


def usb_devices(guest):
    """What a USBDevice of each device that is no hub should say, by (bus, device)."""
    tree = parse_lsusb_tree(guest.run("lsusb", "-t"))
    serials = parse_serials(guest.sh("lsusb -v 2>/dev/null"))
    devices = {}
    for line in guest.run("lsusb").splitlines():
        match = DEVICE.match(line)
        key = int(match[1]), int(match[2])
        if key not in tree or "hub" in tree[key]["drivers"]:
            continue
        devices[key] = {
            **tree[key], "vendorID": match[3], "productID": match[4],
            "devicePath": f"/dev/bus/usb/{match[1]}/{match[2]}", "serialNumber": serials.get(key)}
    return devices
