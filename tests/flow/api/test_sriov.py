"""SRIOVNetworkDevices of a made-up machine on a real API server: what is created, followed, refused and removed.

That numbers are carried out needs a kernel: tests/flow/node/test_sriov.py.
"""

import pytest

from cluster import wait_until

PF = "0000:61:00.0"
KIND = "sriovnetworkdevices"
FOUND = "hostdev.io/found-vfs"
PARENT = "harvesterhci.io/parent-sriov-network-device"


class Card:
    """A network card in the machine's tree, and its object."""

    def __init__(self, machine, crds, node):
        self.machine, self.crds, self.node = machine, crds, node
        machine.add(PF, "igb")
        for name, text in ("sriov_totalvfs", "7\n"), ("sriov_numvfs", "0\n"), ("sriov_drivers_autoprobe", "1\n"):
            (machine.device(PF) / name).write_text(text)
        self.rename("eth1")

    def rename(self, name):
        folder = self.machine.device(PF) / "net"
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.rmdir()
        (folder / name).mkdir()

    def make(self, number):
        """What a third party's write to sriov_numvfs comes to."""
        for index in range(number):
            address = f"0000:61:10.{index}"
            self.machine.add(address, "igbvf")
            (self.machine.device(PF) / f"virtfn{index}").symlink_to(self.machine.device(address))
            (self.machine.device(address) / "physfn").symlink_to(self.machine.device(PF))
        self.machine.tell()

    def object(self, name="eth1"):
        found = self.crds.kubectl("get", KIND, f"{self.node}-{name}", "--ignore-not-found", "-o", "name").stdout
        return self.crds.get(KIND, f"{self.node}-{name}") if found else None

    def ready(self):
        conditions = (self.object() or {}).get("status", {}).get("conditions", [])
        return next(((c["status"], c["reason"]) for c in conditions if c["type"] == "Ready"), None)

    def wait(self, status, reason):
        wait_until(lambda: self.ready() == (status, reason), 30, f"Ready {status} {reason}, not {self.ready()}")

    def patch(self, **spec):
        self.crds.kubectl("patch", KIND, f"{self.node}-eth1", "--type=merge", "--patch-file=/dev/stdin",
                          input={"spec": spec})


@pytest.fixture
def card(machine, crds, node):
    yield Card(machine, crds, node)
    crds.kubectl("delete", KIND, "--selector", f"nodename={node}")


def test_a_card_is_listed_and_then_nothing_is_written(card, agents, machine, node, crds):
    agent = agents(machine, node).start()
    card.wait("True", "AsFound")
    assert card.object()["spec"] == {"address": PF, "nodeName": node, "numVFs": 0}
    wait_until(agent.idle, 30)
    written = len(agent.written(crds))
    scans = agent.scans()
    for _ in range(3):
        machine.tell()
        wait_until(lambda: agent.scans() > scans, 30)
        scans = agent.scans()
    wait_until(agent.idle, 30)
    assert len(agent.written(crds)) == written


def test_what_others_make_is_followed_until_somebody_asks(card, agents, machine, node, crds):
    agents(machine, node).start()
    card.wait("True", "AsFound")
    card.make(2)
    wait_until(lambda: card.object()["spec"]["numVFs"] == 2, 30, "spec.numVFs 2")
    wait_until(lambda: card.object()["status"]["vfAddresses"] == ["0000:61:10.0", "0000:61:10.1"], 30, "the two")
    assert card.object()["metadata"]["annotations"][FOUND] == "2"
    vf = f"{node}-000061100"
    wait_until(lambda: crds.kubectl("get", "pcidevice", vf, "--ignore-not-found", "-o", "name").stdout, 30, vf)
    wait_until(lambda: crds.get("pcidevices", vf)["metadata"]["labels"].get(PARENT) == f"{node}-eth1", 30, "the label")
    card.patch(numVFs=9)
    card.wait("False", "TooManyVFs")
    assert FOUND not in card.object()["metadata"]["annotations"]


def test_an_object_without_the_label_is_taken_up(card, agents, machine, node, crds):
    crds.kubectl("create", "-f", "-", input={
        "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "SRIOVNetworkDevice",
        "metadata": {"name": f"{node}-eth1"}, "spec": {"numVFs": 0}})
    agents(machine, node).start()
    card.wait("True", "Ready")
    found = card.object()
    assert found["metadata"]["labels"] == {"nodename": node}
    assert found["spec"] == {"address": PF, "nodeName": node, "numVFs": 0}


def test_a_card_keeps_its_object_by_another_name_and_loses_it_when_it_is_gone(card, agents, machine, node, crds):
    agents(machine, node).start()
    card.wait("True", "AsFound")
    card.rename("eth7")
    machine.tell()
    key = "sriov.devices.harvesterhi.io/interface-name"
    wait_until(lambda: card.object()["metadata"]["annotations"][key] == "eth7", 30, "the new name of the interface")
    assert not card.object("eth7")
    machine.remove(PF)
    machine.tell()
    wait_until(lambda: not card.object(), 30, "no object")


def test_an_object_with_a_wish_outlives_its_card(card, agents, machine, node, crds):
    agents(machine, node).start()
    card.wait("True", "AsFound")
    card.patch(driversAutoprobe=True)
    card.wait("True", "AsFound")
    machine.remove(PF)
    machine.tell()
    card.wait("False", "DeviceGone")


def test_settings_of_functions_that_there_are_not_are_refused_or_told(card, agents, machine, node, crds):
    """Written so they are refused; that they come to be so is a condition, which is taken back."""
    agents(machine, node).start()
    card.wait("True", "AsFound")
    beyond = [{"index": 5, "vlan": 5}]
    card.patch(virtualFunctions=beyond)  # as long as there are none, they wait
    card.wait("True", "AsFound")
    card.make(2)
    card.wait("False", "NoSuchVF")
    ready = next(c for c in card.object()["status"]["conditions"] if c["type"] == "Ready")
    assert ready["message"].startswith("spec.virtualFunctions has settings for index 5, but numVFs is 2, and the 2 virtual")
    assert card.object()["status"]["vfAddresses"] == ["0000:61:10.0", "0000:61:10.1"]
    run = crds.kubectl("patch", KIND, f"{node}-eth1", "--type=merge", "--patch-file=/dev/stdin", check=False,
                       input={"spec": {"virtualFunctions": [*beyond, {"index": 6, "vlan": 5}]}})
    assert "has an index that is not below numVFs" in run.stderr
    card.patch(virtualFunctions=None)
    card.wait("True", "AsFound")


def test_deleting_the_object_leaves_the_virtual_functions(card, agents, machine, node, crds):
    """Whoever made them: the card is listed anew, as found, and nothing is written to it."""
    agents(machine, node).start()
    card.wait("True", "AsFound")
    card.make(2)
    wait_until(lambda: card.object()["spec"]["numVFs"] == 2, 30, "spec.numVFs 2")
    crds.kubectl("annotate", KIND, f"{node}-eth1", f"{FOUND}-")
    card.wait("True", "Ready")
    before = card.object()["metadata"]["uid"]
    crds.kubectl("delete", KIND, f"{node}-eth1")
    wait_until(lambda: (card.object() or {}).get("metadata", {}).get("uid", before) != before, 30, "another object")
    card.wait("True", "AsFound")
    found = card.object()
    assert found["spec"]["numVFs"] == 2 and found["metadata"]["annotations"][FOUND] == "2"
    assert found["status"]["vfAddresses"] == ["0000:61:10.0", "0000:61:10.1"]
    assert (machine.device(PF) / "sriov_numvfs").read_text() == "0\n", "this kernel's file as the test wrote it"
