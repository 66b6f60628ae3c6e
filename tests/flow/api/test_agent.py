"""hostdev-agent on a real API server: what it publishes, follows, repairs and leaves alone."""

import ctypes
import errno
import platform
import socket
import struct
import time
import uuid
from pathlib import Path

import pytest

from cluster import wait_until
from machine import Machine
from programs import claimable, essence
from rest import DEVICES, GROUP

NIC = "0000:01:00.1"  # a function of the made-up machine that is not in use
ADDED = "0000:00:1d.0"


def pci_name(node, address):
    return f"{node}-{address.replace(':', '').replace('.', '')}"


def claim(name):
    return {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim", "metadata": {"name": name},
            "spec": {"address": NIC, "userName": "tester"}}


@pytest.fixture
def claims(rest):
    """claims(name) makes a PCIDeviceClaim; all are removed at the end."""
    made = []

    def make(name):
        made.append(name)
        rest.create("pcideviceclaims", claim(name))

    yield make
    for name in made:
        rest.remove(f"{GROUP}/pcideviceclaims/{name}")


def test_publishes_what_inspect_prints(agents, node, tmp_path):
    machine = Machine(tmp_path / "large", functions=30, usb=3, bad=True)
    agent = agents(machine, node).start()
    agent.wait_converged()
    wanted, have = agent.inspect(), agent.objects()
    assert {kind for kind, _ in wanted} == set(DEVICES) and len(wanted) > 30
    assert {key: essence(obj) for key, obj in have.items()} == {key: essence(obj) for key, obj in wanted.items()}
    wait_until(agent.ready, 20, "lists of all kinds")


def test_not_ready_while_process_one_is_hidden(agents, machine, node):
    """As by hidepid. It lists the devices all the same, and is ready soon after process 1 is there again."""
    machine.hide_process_one()
    agent = agents(machine, node).start()
    agent.wait_converged()
    wait_until(lambda: "cannot read what the host uses: " in agent.get("/readyz")[1], 20, "the reason")
    assert agent.get("/readyz")[0] == 503
    assert claimable(agent.objects()["PCIDevice", pci_name(node, NIC)]) == ("False", "UseUnknown")
    machine.show_process_one()
    wait_until(agent.ready, 10, "an agent that has looked again by itself")
    agent.wait_converged()
    assert claimable(agent.objects()["PCIDevice", pci_name(node, NIC)]) == ("True", "Available")


def test_kubectl_has_its_columns(kubectl, agent, node):
    lines = kubectl("get", "pcidevices", "-l", f"nodename={node}").stdout.splitlines()
    assert lines[0].split() == ["NAME", "DRIVER", "CLAIMABLE", "CLAIMED", "DESCRIPTION"]
    row = next(line for line in lines if line.startswith(pci_name(node, NIC) + " "))
    for text in ("Ethernet controller: Intel Corporation 82574L", "e1000e", "True"):
        assert text in row
    wide = kubectl("get", "pcidev,usbdev", "-o", "wide", "-l", f"nodename={node}").stdout
    for text in (NIC, "8086", "10d3", node, "IOMMU GROUP", "Available", "HostNetwork", "intel.com/82574L_GIGABIT_NETWORK_CONNECTION", "PORT",
                 "1-1.1"):
        assert text in wide


UEVENT_S = 15  # even three times that is less than the minute after which an agent that hears nothing looks again


def test_a_device_that_appears_is_listed_by_its_uevent(agent, machine, node, rest):
    machine.add(ADDED)
    machine.tell()
    wait_until(lambda: ("PCIDevice", pci_name(node, ADDED)) in rest.devices(node), UEVENT_S)
    agent.wait_converged()


def test_a_device_that_vanishes_is_deleted_by_its_uevent(agent, machine, node, rest):
    machine.remove(NIC)
    machine.tell()
    wait_until(lambda: ("PCIDevice", pci_name(node, NIC)) not in rest.devices(node), UEVENT_S)
    assert agent.lines("device gone", pci_name(node, NIC))
    agent.wait_converged()


@pytest.mark.parametrize("driver", ["vfio-pci", None])
def test_a_change_of_driver_shows_by_its_uevent(agent, machine, node, rest, driver):
    key = "PCIDevice", pci_name(node, NIC)
    before = agent.objects()[key]
    machine.bind(NIC, driver)
    machine.tell()
    wait_until(lambda: rest.devices(node)[key]["status"].get("kernelDriverInUse") == driver, UEVENT_S)
    after = agent.objects()[key]
    # What the device had when its object came to be is what it gets back one day.
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"] == {
        "harvesterhci.io/pcideviceDriver": "e1000e"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_a_vanished_device_that_is_claimed_is_kept_until_the_claim_goes(agent, machine, node, rest, claims):
    name = pci_name(node, NIC)
    key = "PCIDevice", name
    uid = agent.objects()[key]["metadata"]["uid"]
    claims(name)
    machine.remove(NIC)
    machine.tell()
    wait_until(lambda: claimable(rest.devices(node)[key]) == ("False", "DeviceGone"), 20)
    kept = rest.devices(node)[key]
    assert kept["status"]["address"] == NIC and kept["metadata"]["uid"] == uid

    machine.add(NIC)
    machine.tell()
    wait_until(lambda: claimable(rest.devices(node)[key])[0] == "True", 20)
    assert rest.devices(node)[key]["metadata"]["uid"] == uid

    machine.remove(NIC)
    machine.tell()
    wait_until(lambda: claimable(rest.devices(node)[key]) == ("False", "DeviceGone"), 20)
    rest.delete("pcideviceclaims", name)
    wait_until(lambda: key not in rest.devices(node), 20)


def foreign(name, label):
    return {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice",
            "metadata": {"name": name, "labels": {"nodename": label}}}


def test_objects_that_nobody_should_have_are_removed(agent, node, rest):
    left = pci_name(node, "0000:7f:00.0")
    rest.create("pcidevices", foreign(left, node))
    wait_until(lambda: ("PCIDevice", left) not in rest.devices(node), 20)
    assert agent.difference() == []


def test_two_agents_leave_each_other_alone(cluster, agents, rest, machine, node, tmp_path):
    """One name is the beginning of the other, and each machine has what the other has not."""
    other = f"{node}-b"
    larger = Machine(tmp_path / "other", functions=12, usb=2)
    pair = [agents(machine, node).start(), agents(larger, other).start()]
    strange = f"{node}-c"
    rest.create("pcidevices", foreign(pci_name(strange, NIC), strange))
    for agent in pair:
        agent.wait_converged()
    for agent in pair:
        agent.kill()
        agent.start()
        agent.wait_converged()
    machine.remove(NIC)
    machine.tell()
    wait_until(lambda: ("PCIDevice", pci_name(node, NIC)) not in rest.devices(node), 20)
    assert pair[1].difference() == []
    for agent in pair:
        names = {event["objectRef"]["name"] for event in agent.audit(cluster)}
        assert names == {name for _, name in agent.inspect()} | {pci_name(node, NIC) for a in [agent] if a is pair[0]}
    assert ("PCIDevice", pci_name(strange, NIC)) in rest.devices(strange)
    rest.delete("pcidevices", pci_name(strange, NIC))


REPAIRS = [
    pytest.param({"status": {"vendorId": "ffff", "resourceName": None}}, "status", id="a status edited by hand"),
    pytest.param({"status": None}, "status", id="a status that is gone"),
    pytest.param({"status": {"serialNumber": "00-11-22-33-44-55-66-77", "bootVGA": True, "totalVFs": 9,
                             "allocations": [{"namespace": "d", "pod": "p", "container": "c"}]}}, "status",
                 id="fields that the device does not have"),
    pytest.param({"metadata": {"labels": {"nodename": "elsewhere"}}}, None, id="another node's label"),
    pytest.param({"metadata": {"labels": None}}, None, id="labels that are gone"),
    pytest.param({"metadata": {"annotations": None}}, None, id="annotations that are gone"),
    pytest.param({"metadata": {"annotations": {"harvesterhci.io/pcideviceDriver": "vfio-pci"}}}, None,
                 id="vfio-pci as the driver to go back to"),
]


@pytest.mark.parametrize("patch, subresource", REPAIRS)
def test_what_is_edited_by_hand_is_repaired(agent, node, rest, patch, subresource):
    before = agent.objects()["PCIDevice", pci_name(node, NIC)]
    rest.patch("pcidevices", pci_name(node, NIC), patch, subresource)
    agent.wait_converged()
    assert agent.objects()["PCIDevice", pci_name(node, NIC)]["metadata"]["uid"] == before["metadata"]["uid"]


def test_a_deleted_object_comes_back(agent, node, rest):
    rest.delete("pcidevices", pci_name(node, NIC))
    agent.wait_converged()


def test_what_others_wrote_stays(agent, machine, node, rest):
    name = pci_name(node, NIC)
    condition = {"type": "Burnt", "status": "False", "reason": "Cool", "message": "",
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}
    rest.patch("pcidevices", name, {"metadata": {
        "labels": {"example.com/rack": "7"}, "annotations": {"example.com/note": "mine"},
        "finalizers": ["example.com/keep"]}})
    mine = agent.objects()["PCIDevice", name]["status"]["conditions"]
    rest.patch("pcidevices", name, {"status": {"conditions": [*mine, condition]}}, "status")
    machine.bind(NIC, "vfio-pci")
    machine.tell()
    wait_until(lambda: agent.objects()["PCIDevice", name]["status"].get("kernelDriverInUse") == "vfio-pci", 20)
    after = agent.objects()["PCIDevice", name]
    assert after["metadata"]["labels"] == {"nodename": node, "example.com/rack": "7"}
    assert after["metadata"]["annotations"]["example.com/note"] == "mine"
    assert condition in after["status"]["conditions"] and claimable(after)[0] == "True"
    rest.patch("pcidevices", name, {"metadata": {"finalizers": None}})


def harvester_object(name, node, status):
    return {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice", "spec": {}, "status": status,
            "metadata": {"name": name, "labels": {"nodename": node},
                         "annotations": {"harvesterhci.io/pcideviceDriver": "igb"}}}


HARVESTER = [
    pytest.param({"address": NIC, "vendorId": "8086", "deviceId": "10d3", "classId": "0200", "iommuGroup": "",
                  "nodeName": "n", "resourceName": "intel.com/OLD", "description": "old",
                  "kernelDriverInUse": "igb"}, id="a whole status"),
    pytest.param({"address": None, "vendorId": None, "deviceId": None, "classId": None, "iommuGroup": None,
                  "nodeName": None, "resourceName": None, "description": None, "kernelDriverInUse": None}, id="nulls"),
    pytest.param({}, id="no status"),
]


@pytest.mark.parametrize("status", HARVESTER)
def test_what_harvester_wrote_is_taken_over(agents, rest, machine, node, status):
    """Its objects keep their identity; what a device that nobody claims goes back to is the driver it has."""
    obj = harvester_object(pci_name(node, NIC), node, status)
    made = rest.create("pcidevices", obj)
    obj["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
    rest.put("pcidevices", obj, "status")
    agent = agents(machine, node).start()
    key = "PCIDevice", pci_name(node, NIC)
    wait_until(lambda: agent.difference() == [], 30)
    after = agent.objects()[key]
    assert essence(after) == essence(agent.inspect()[key])
    assert after["metadata"]["annotations"]["harvesterhci.io/pcideviceDriver"] == "e1000e"
    assert after["metadata"]["uid"] == made["metadata"]["uid"]


NODE_NAMES = [
    pytest.param("a.node-with.dots", id="with dots"),
    pytest.param("x" * 63, id="as long as a label"),
    pytest.param("x" * 64, id="longer than a label"),
    pytest.param(".".join(["y" * 62] * 4)[:251] + "zz", id="of 253 characters"),
    pytest.param("7", id="of one digit"),
]


@pytest.mark.parametrize("name", NODE_NAMES)
def test_every_node_name_will_do(agents, machine, name):
    assert len(name) <= 253
    agent = agents(machine, name).start()
    agent.wait_converged()
    for obj in agent.objects().values():
        assert obj["status"]["nodeName"] == name


ODD = [
    # attribute, its bytes (None: missing), a text of the log line
    ("numa_node", b"", "numa_node"),
    ("numa_node", b"n" * 4096, "more than 4095"),
    ("numa_node", b"99999999999999999999\n", "not a number"),
    ("uevent", None, "uevent"),
    ("uevent", b"PCI_ID=8086:10D3\nDRIVER=\xff\xfe\nPCI_CLASS=20000\n", "not UTF-8"),
    ("uevent", b"PCI_ID=8086:10D3\nPCI_CLASS=zz\n", "PCI_CLASS=zz"),
    ("reset_method", b"\xff\xfe\n", None),
    ("revision", b"0x\n", None),
    ("class", b"\n", None),
]


@pytest.mark.parametrize("attribute, value, text", ODD)
def test_one_odd_attribute_spoils_nothing_else(agents, machine, node, rest, attribute, value, text):
    path = machine.device(NIC) / attribute
    path.unlink()
    if value is not None:
        path.write_bytes(value)
    agent = agents(machine, node).start()
    agent.wait_converged()
    assert len(agent.objects()) == 6
    others = [obj for (kind, name), obj in agent.objects().items() if kind == "PCIDevice" and NIC not in name]
    assert all(obj["status"]["vendorId"] == "8086" for obj in others if obj["status"]["address"] != NIC)
    if text:
        assert agent.lines("device attribute cannot be used", NIC, text)


def test_a_device_that_vanishes_during_the_scan_spoils_nothing(agents, machine, node, rest):
    """A link into nothing, as bus/pci/devices has one between two reads."""
    (machine.folder / "sys/bus/pci/devices/0000:1e:00.0").symlink_to("../../../devices/pci0000:00/gone")
    agent = agents(machine, node).start()
    agent.wait_converged()
    assert len(agent.objects()) == 6


QUIET_S = 0.02  # RESCAN_DEVICE_QUIET_MS: a longer pause ends a storm


def off_processor_s(agent):
    """How long the agent could have run and did not, in seconds."""
    return int(Path(f"/proc/{agent.process.pid}/schedstat").read_text().split()[1]) / 1e9


def test_a_storm_of_uevents_is_one_look(cluster, agent, machine):
    """5,000 uevents that change nothing cause few scans. A pause between two uevents, or a time in which the agent does not
    run, may cause one more scan; a long storm causes one every five seconds.
    """
    scans, writes, waited = agent.scans(), len(agent.audit(cluster)), off_processor_s(agent)
    hints = agent.metric("hostdev_change_hints_total")
    began = time.monotonic()
    pauses = machine.tell(5000)
    pauses += (time.monotonic() - began) // 5
    wait_until(lambda: agent.metric("hostdev_change_hints_total") - hints >= 5000
               or agent.metric("hostdev_change_hints_total", 'source="uevents lost"'), 30)
    wait_until(lambda: agent.scans() > scans, 30)
    settled = agent.scans()
    pauses += (off_processor_s(agent) - waited) // QUIET_S
    wait_until(lambda: agent.get("/readyz")[0] == 200, 10)
    assert 1 <= settled - scans <= 3 + 2 * pauses
    assert len(agent.audit(cluster)) == writes
    machine.add(ADDED)
    machine.tell()
    agent.wait_converged()


SOCKET = {"x86_64": 41, "aarch64": 198}  # its number as a system call


def deny_uevents():
    """No socket of NETLINK_KOBJECT_UEVENT for this process and what it starts, by a seccomp filter."""
    load, equal, back = 0x20, 0x15, 0x06  # of struct sock_filter, linux/filter.h: words of struct seccomp_data
    filters = [(load, 0, 0, 0), (equal, 0, 5, SOCKET[platform.machine()]), (load, 0, 0, 16), (equal, 0, 3, socket.AF_NETLINK),
               (load, 0, 0, 32), (equal, 0, 1, 15), (back, 0, 0, 0x00050000 | errno.EPERM), (back, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in filters))
    program = struct.pack("HxxxxxxQ", len(filters), ctypes.addressof(code))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS"
    assert libc.prctl(22, 2, program, 0, 0) == 0, "PR_SET_SECCOMP"


def test_row_20_without_uevents_the_net_is_a_minute(agents, machine, node, rest):
    agent = agents(machine, node)
    agent.prepare = deny_uevents
    agent.start()
    agent.wait_converged()
    agent.wait_line("no uevents, scanning periodically", "interval_ms=60000")
    assert agent.metric("hostdev_uevents_heard") == 0
    machine.add(ADDED)
    machine.tell()
    time.sleep(3)
    assert ("PCIDevice", pci_name(node, ADDED)) not in rest.devices(node), "somebody told"
    wait_until(lambda: ("PCIDevice", pci_name(node, ADDED)) in rest.devices(node), 65)


def test_an_event_says_that_the_devices_cannot_be_read(agents, machine, node, rest, kubectl, tmp_path):
    kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    try:
        helper = tmp_path / "hostdev-helper"
        helper.write_text("#!/bin/sh\nexit 3\n")
        helper.chmod(0o755)
        agent = agents(machine, node, flags=("--helper", helper)).start()
        agent.wait_line("scan of the devices failed", "exited with status 3")
        about = f"involvedObject.name={node}"
        events = wait_until(lambda: rest.get("/api/v1/events", fieldSelector=about)["items"], 30)
        assert events[0]["reason"] == "DeviceScanFailed" and "status 3" in events[0]["message"]
        assert not agent.ready()
        assert agent.metric("hostdev_scans_total", 'result="failed"') >= 1
    finally:
        kubectl("delete", "node", node)


def test_an_object_of_another_node_may_have_our_name(agents, machine, node, rest):
    """Somebody else's label on a name of ours: the object is ours, and is taken over."""
    name = pci_name(node, NIC)
    rest.create("pcidevices", foreign(name, f"other-{uuid.uuid4().hex[:6]}"))
    agent = agents(machine, node).start()
    agent.wait_converged()
    assert agent.objects()["PCIDevice", name]["metadata"]["labels"] == {"nodename": node}
