"""SRIOVNetworkDevice on a real kernel: an igb with seven virtual functions, an NVMe controller with four."""

import time

import pytest

from cards import FOUND, INTERFACE, KIND, PARENT, Card, own_object
from claims import IGB, NVME
from cluster import wait_until
from node import NODE, pci_name
from vfio_user import Holder

MAC = "02:00:00:00:00:0a"
SETTINGS = [{"index": 0, "macAddress": MAC.upper(), "vlan": 100, "qos": 3, "trust": "on", "spoofCheck": "off"},
            {"index": 6, "vlan": 7}]


@pytest.fixture
def card(node, claims):
    """The igb, with an object that nobody has asked anything of; claims end before it does."""
    made = Card(node, IGB)
    wait_until(lambda: made.object(), 30, "the card's object")
    yield made
    claims.give_back()
    made.give_back()


def assert_set(card, spoof="off"):
    said = card.settings(0)
    for part in (MAC, "vlan 100", "qos 3", "trust on", f"spoof checking {spoof}"):
        assert part in said, said


def test_a_card_has_an_object_as_harvester_makes_it(card):
    """A new one: another test may have had its interface renamed, and the object keeps its name."""
    card.node.cluster.kubectl("delete", KIND, card.name())
    wait_until(lambda: card.object(), 30, "another object")
    card.wait("True", "AsFound")
    found = card.object()
    interface = card.interface()
    assert found["metadata"]["name"] == f"{NODE}-{interface}"
    assert found["metadata"]["labels"] == {"nodename": NODE}
    assert found["metadata"]["annotations"] == {INTERFACE: interface, FOUND: "0"}
    assert found["spec"] == {"address": IGB, "nodeName": NODE, "numVFs": 0}
    said = found["status"]
    assert "vfAddresses" not in said and "vfPCIDevices" not in said and said["status"] == "sriovNetworkDeviceDisabled"
    assert (said["address"], said["device"]) == (IGB, "8086:10c9")
    assert [o["spec"]["address"] for o in card.node.get(KIND)] == [IGB], "no other card of this machine gets one"


def test_a_number_that_nobody_has_set_follows_the_card(card):
    card.wait("True", "AsFound")
    card.write_number(3)
    wait_until(lambda: card.object()["spec"]["numVFs"] == 3, 30, "spec.numVFs 3")
    card.wait("True", "AsFound", "the 3 existing virtual functions stay as they are")
    assert card.object()["metadata"]["annotations"][FOUND] == "3"
    card.write_number(0)
    wait_until(lambda: card.object()["spec"]["numVFs"] == 0, 30, "spec.numVFs 0")
    assert card.number() == 0


def test_numbers_from_none_to_seven_and_back(card):
    for number in (2, 7, 3):
        card.patch(numVFs=number)
        functions = card.wait_number(number)
        assert card.read("sriov_drivers_autoprobe") == "0", "nor do drivers take them that are loaded later"
        for one in functions:
            assert card.node.guest.try_sh(f"! [ -e /sys/bus/pci/devices/{one}/driver ]"), "the node takes none"
            wait_until(lambda: card.node.pci_object(one)["metadata"]["labels"].get(PARENT) == card.name(), 30,
                       "the label that names the card")
    assert FOUND not in card.object()["metadata"]["annotations"]
    card.patch(numVFs=0)
    card.wait_number(0)
    wait_until(lambda: card.read("sriov_drivers_autoprobe") == "1", 30, "autoprobe put back")
    wait_until(lambda: not card.node.guest.try_sh("ls /run/hostdev-state/autoprobe/0* 2>/dev/null"), 30, "the record gone")
    assert ("Normal", "Applied") in card.events()


def test_drivers_of_the_node_take_them_if_the_spec_says_so(card):
    card.patch(numVFs=2, driversAutoprobe=True)
    functions = card.wait_number(2)
    for one in functions:
        wait_until(lambda: card.node.guest.try_sh(f"readlink /sys/bus/pci/devices/{one}/driver | grep -q igbvf"), 30,
                   "igbvf")


def test_a_function_goes_back_to_its_driver_also_where_autoprobe_is_off(card, claims):
    """The kernel lets no driver have it then, but for an override (pci_device_can_probe())."""
    card.write_number(1)
    (function,) = wait_until(card.functions, 10, "the virtual function")
    one = claims.function(function)
    wait_until(lambda: one.driver() == "igbvf", 30, "its driver")
    card.node.guest.write(f"{card.folder}/sriov_drivers_autoprobe", "0")
    try:
        claims.bind(function)
        assert one.driver() == "vfio-pci"
        claims.release(function)
        assert one.drivers() == ("igbvf", None)
    finally:
        card.node.guest.write(f"{card.folder}/sriov_drivers_autoprobe", "1")


def test_more_than_the_card_can_make(card):
    card.patch(numVFs=2)
    card.wait_number(2)
    card.patch(numVFs=8)
    card.wait("False", "TooManyVFs", "supports 7 virtual functions, not 8")
    assert card.condition("Accepted")[:2] == ("False", "TooManyVFs")
    assert card.number() == 2


def test_nothing_is_removed_while_one_is_claimed(card, claims):
    card.patch(numVFs=2)
    functions = card.wait_number(2)
    claims.bind(functions[1])
    card.patch(numVFs=3)
    card.wait("False", "VFsInUse", f"{functions[1]} is claimed by {pci_name(functions[1])}")
    assert card.number() == 2
    assert claims.function(functions[1]).driver() == "vfio-pci"
    claims.release(functions[1])
    card.wait_number(3)


def test_settings_are_put_in_place_and_again_when_others_change_them(card):
    card.patch(numVFs=2, virtualFunctions=SETTINGS[:1])
    card.wait_number(2)
    assert_set(card)
    card.write_number(0)
    card.wait("True", "Ready")
    wait_until(lambda: card.number() == 2, 60, "two again")
    card.wait_number(2)
    wait_until(lambda: MAC in card.settings(0), 30, "the settings")
    assert_set(card)
    assert ("Warning", "Drifted") in card.events()
    card.node.guest.sh(f"cd {card.folder}; echo 0 >sriov_numvfs; echo 2 >sriov_numvfs")
    wait_until(lambda: MAC in card.settings(0), 30, "the settings, of as many that are others")
    assert_set(card)


def test_settings_that_too_few_functions_are_left_for_are_told(card):
    card.patch(numVFs=7, virtualFunctions=SETTINGS)
    card.wait_number(7)
    card.patch(numVFs=2)
    card.wait("False", "NoSuchVF", "settings for index 6, but numVFs is 2")
    assert card.number() == 2
    assert_set(card)
    card.patch(virtualFunctions=SETTINGS[:1])
    card.wait("True", "Ready")


def test_one_that_a_process_has_without_a_claim_is_not_removed(card, claims):
    card.patch(numVFs=2)
    function = claims.function(card.wait_number(2)[0])
    function.rebind("vfio-pci")
    with Holder(function) as holder:
        card.patch(numVFs=0)
        card.wait("False", "Held", f"process {holder.pid}")
        assert card.number() == 2
    card.wait_number(0)


@pytest.mark.parametrize("seconds", [0, 0.3, 0.8], ids=["at-once", "in-the-middle", "later"])
def test_an_agent_that_is_killed_meanwhile_goes_on(card, node, seconds):
    card.patch(numVFs=7, virtualFunctions=SETTINGS)
    time.sleep(seconds)
    node.agent.kill()
    node.agent.start()
    card.wait_number(7, timeout=90)
    assert_set(card)
    assert "vlan 7" in card.settings(6)
    assert card.read("sriov_drivers_autoprobe") == "0"


def test_row_21_virtual_functions_that_vanish_under_their_claims(card, claims, node):
    node.guest.sh(f"cd /sys/bus/pci/devices/{NVME}; echo 0 >sriov_drivers_autoprobe; echo 1 >sriov_numvfs; "
                  "echo 1 >sriov_drivers_autoprobe")
    try:
        (other,) = Card(node, NVME).functions()
        claims.bind(other)
        card.patch(numVFs=2, virtualFunctions=SETTINGS[:1])
        functions = card.wait_number(2)
        for one in functions:
            claims.bind(one)
        mark = claims.watch.mark()
        card.write_number(0)
        for one in functions:
            claims.watch.wait(mark, lambda event: event.name == pci_name(one) and any(
                c["type"] == "Ready" and c["status"] == "False" for c in event.object["status"]["conditions"]))
        card.wait_number(2)
        for one in functions:
            claims.wait_ready(one, timeout=60)
            claims.wait_drivers(one, "vfio-pci", "vfio-pci")
        assert_set(card)
        assert claims.function(other).drivers() == ("vfio-pci", "vfio-pci"), "another card's function"
        claims.release(other, *functions)
    finally:
        claims.give_back()
        Card(node, NVME).write_number(0)


def test_row_19_seven_at_once_are_written_once_each(card, node):
    mark = node.pci.mark()
    card.patch(numVFs=7)
    functions = card.wait_number(7)
    names = {pci_name(one) for one in functions}
    seen = [e for e in node.pci.events[mark:] if e.name in names]
    assert {e.name for e in seen if e.type == "ADDED"} == names
    assert all(sum(e.name == name for e in seen) <= 3 for name in names), "created, told, and perhaps named"


def test_nothing_is_written_at_rest(card, node):
    card.patch(numVFs=2, virtualFunctions=SETTINGS[:1])
    card.wait_number(2)
    versions = {o["metadata"]["name"]: o["metadata"]["resourceVersion"]
                for kind in (KIND, "pcidevices") for o in node.get(kind)}
    for _ in range(5):
        node.guest.sh(f"echo change >{card.folder}/uevent; sleep 0.5")
    assert versions == {o["metadata"]["name"]: o["metadata"]["resourceVersion"]
                        for kind in (KIND, "pcidevices") for o in node.get(kind)}


def test_a_card_of_another_kind_by_an_object_of_ones_own(node, claims):
    nvme = Card(node, NVME)
    node.cluster.kubectl("apply", "-f", "-", input=own_object(NVME, f"{NODE}-nvme", numVFs=3))
    try:
        functions = nvme.wait_number(3)
        claims.bind(functions[2])
        claims.release(functions[2])
        nvme.patch(virtualFunctions=[{"index": 0, "vlan": 1}])
        nvme.wait("False", "NoInterface")
    finally:
        claims.give_back()
        nvme.give_back()
    assert nvme.number() == 0


def test_row_24_virtual_functions_and_their_claims_after_a_reboot(booted, card, claims):
    card.patch(numVFs=2, virtualFunctions=SETTINGS[:1])
    functions = card.wait_number(2)
    claims.bind(functions[1])
    name = card.name()
    booted.boot_with((), kept=True)
    card.wait_number(2, timeout=120)
    assert card.name() == name
    assert card.functions() == functions
    assert_set(card)
    claims.wait_ready(functions[1], timeout=60)
    claims.wait_drivers(functions[1], "vfio-pci", "vfio-pci")
    claims.release(functions[1])
