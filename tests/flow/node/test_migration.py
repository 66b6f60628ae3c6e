"""From Harvester's pcidevices controller to hostdev and back, on a real kernel: devices that it has bound and the
objects that it has written. What becomes of objects alone: tests/flow/api/test_migration.py.
"""

import pytest

import harvester
from bindings import Bindings
from claims import FAR_NIC, NIC, SLOT, TWIN
from cluster import wait_until
from listing import pci_functions
from node import NODE, claimable, pci_name
from test_usb import STICK, XHCI, usb, usb_claim_watch  # noqa: F401

IDS = "8086 10d3"
DRIVERS = "/sys/bus/pci/drivers"
RESOURCE = "intel.com/82574L_GIGABIT_NETWORK_CONNECTION"


class Harvester:
    """Its agent, as far as this node sees it: what it does to devices, and what it writes."""

    def __init__(self, node):
        self.node, self.guest, self.cluster = node, node.guest, node.cluster

    def bind(self, address):
        """Unbind, new_id and bind; new_id may have bound it already."""
        self.guest.sh(f"modprobe vfio-pci; echo {address} >{DRIVERS}/e1000e/unbind; "
                      f"echo '{IDS}' >{DRIVERS}/vfio-pci/new_id || true; "
                      f"[ -e {DRIVERS}/vfio-pci/{address} ] || echo {address} >{DRIVERS}/vfio-pci/bind")

    def release(self, address, native):
        """From vfio-pci to the driver that the annotation has."""
        self.guest.sh(f"echo {address} >{DRIVERS}/vfio-pci/unbind; echo {address} >{DRIVERS}/{native}/bind")

    def finish(self, claim):
        """Its finalizer off, as the framework does it: with the whole object."""
        claim["metadata"]["finalizers"].remove(harvester.PCI_FINALIZER)
        self.cluster.kubectl("replace", "-f", "-", input=claim)

    def device(self, address, remembered, group, driver):
        return harvester.write(self.cluster, harvester.pci_device(
            NODE, address, remembered, vendorId="8086", deviceId="10d3", iommuGroup=group, resourceName=RESOURCE,
            kernelDriverInUse=driver))

    def claim(self, device, **more):
        return harvester.write(self.cluster, harvester.pci_claim(device, "e1000e", **more))

    def forget(self):
        """Whatever this boot's kernel would go on giving to vfio-pci."""
        self.guest.sh(f"echo '{IDS}' >{DRIVERS}/vfio-pci/remove_id || true")
        for address in NIC, TWIN, FAR_NIC:
            self.guest.sh(f"! [ -e {DRIVERS}/vfio-pci/{address} ] || echo {address} >{DRIVERS}/vfio-pci/unbind; "
                          f"[ -e /sys/bus/pci/devices/{address}/driver ] || "
                          f"echo {address} >{DRIVERS}/e1000e/bind")


@pytest.fixture
def agent(node):
    """Stopped; it runs again at the end."""
    node.wait_converged()
    node.agent.signal("TERM")
    wait_until(lambda: not node.agent.alive(), 20, "the agent's end")
    yield node.agent
    if not node.agent.alive():
        node.agent.start()


@pytest.fixture
def theirs(node, claims, agent):
    """Harvester's agent in place of ours: none of our objects is there."""
    made = Harvester(node)
    for kind in "pcidevices", "usbdevices":
        node.cluster.kubectl("delete", kind, "--selector", f"nodename={NODE}")
    yield made
    if not agent.alive():
        agent.start()
    node.cluster.kubectl("delete", "pcideviceclaims,usbdeviceclaims", "--all", "--timeout=180s")
    made.forget()


@pytest.fixture
def bindings(node):
    made = Bindings(node.guest)
    made.start()
    yield made
    made.stop()


def uids(objects):
    return {obj["metadata"]["name"]: obj["metadata"]["uid"] for obj in objects}


def test_what_harvester_has_bound_is_taken_over_as_it_is(node, claims, usb, bindings, theirs, agent):  # noqa: F811
    """A claimed NIC and its unclaimed twin on vfio-pci, a NIC on its driver, a stick, a claim of what is gone."""
    groups = {one: claims.function(one).group() for one in (NIC, TWIN, FAR_NIC)}
    for address in NIC, TWIN:
        theirs.bind(address)
    devices = [theirs.device(NIC, "e1000e", groups[NIC], "vfio-pci"),
               theirs.device(TWIN, "e1000e", groups[TWIN], "vfio-pci"),
               theirs.device(FAR_NIC, "e1000e", groups[FAR_NIC], "e1000e"),
               theirs.device(SLOT, "e1000e", "99", "vfio-pci")]
    made = [theirs.claim(devices[0]), theirs.claim(devices[3])]
    bus, number = map(int, usb.path(STICK).split("/")[-2:])
    stick = harvester.write(node.cluster, harvester.usb_device(NODE, "46f4", "0001", bus, number, pciAddress=XHCI))
    stick_claim = harvester.write(node.cluster, harvester.usb_claim(stick))
    bindings.forget()
    links = {one: bindings.link(one) for one in (NIC, TWIN, FAR_NIC)}
    marks = claims.watch.mark()

    agent.start()
    claims.wait_ready(NIC)
    claims.wait(SLOT, "Ready", "False", "DeviceGone")
    usb.wait(stick["metadata"]["name"], "Ready", "True")
    wait_until(lambda: claimable(node.pci_object(TWIN))[0] == "Available", 30, "our facts of the twin")
    assert bindings.seen() == []
    assert {one: bindings.link(one) for one in links} == links
    assert claims.function(NIC).drivers() == ("vfio-pci", "vfio-pci")
    assert claims.function(TWIN).drivers() == ("vfio-pci", None)
    assert claims.function(FAR_NIC).drivers() == ("e1000e", None)
    assert {a: r["native"] for a, r in claims.records().items()} == {NIC: "e1000e"}

    now = uids(node.get("pcidevices"))
    assert uids(devices).items() <= now.items()
    assert now.keys() == {pci_name(one) for one in [*pci_functions(node.guest), SLOT]}
    assert uids(node.get("usbdevices"))[stick["metadata"]["name"]] == stick["metadata"]["uid"]
    assert uids(made) == uids(map(claims.now, (NIC, SLOT)))
    assert usb.now(stick["metadata"]["name"])["metadata"]["uid"] == stick_claim["metadata"]["uid"]
    told = [e.object["status"].get("passthroughEnabled") for e in claims.watch.events[marks:] if e.name == pci_name(NIC)]
    assert told and all(told), "it was said to be lost"

    claims.release(NIC, SLOT)
    claims.wait_drivers(NIC, "e1000e")
    assert claims.function(TWIN).drivers() == ("vfio-pci", None)
    claims.bind(TWIN)
    claims.release(TWIN)
    assert claims.function(TWIN).drivers() == ("vfio-pci", None)
    assert [(action, address) for action, address in bindings.seen() if address == TWIN] == []
    theirs.release(TWIN, "e1000e")
    claims.wait_drivers(TWIN, "e1000e")
    usb.delete(stick["metadata"]["name"])
    usb.wait_gone(stick["metadata"]["name"])
    node.wait_equal()


def test_a_release_that_harvester_has_begun_comes_to_its_end(node, claims, theirs, agent):
    theirs.bind(NIC)
    device = theirs.device(NIC, "e1000e", claims.function(NIC).group(), "vfio-pci")
    theirs.claim(device)
    claims.delete(NIC)
    agent.start()
    claims.wait_gone(NIC)
    claims.wait_drivers(NIC, "e1000e")


def test_harvester_goes_on_with_what_hostdev_leaves(node, claims, usb, bindings):  # noqa: F811
    """The way back of docs/migration.md; what Harvester then does is done by hand."""
    theirs = Harvester(node)
    claims.bind(NIC)
    name, _ = usb.claim(STICK, lent=False)
    wait_until(lambda: usb.device(name)["status"]["enabled"], 20, "the stick's object")
    wait_until(lambda: node.pci_object(NIC)["status"]["kernelDriverInUse"] == "vfio-pci", 20, "the NIC's object")
    bindings.forget()
    node.agent.signal("TERM")
    wait_until(lambda: not node.agent.alive(), 20, "the agent's end")
    try:
        node.guest.sh(harvester.documented("on each node that has claimed devices"))
        assert claims.function(NIC).drivers() == ("vfio-pci", None)
        assert bindings.seen() == []
        device, claim = node.cluster.get("pcidevice", pci_name(NIC)), node.cluster.get("pcideviceclaim", pci_name(NIC))
        harvester.goes_on_with_device(device, NODE, "e1000e", claims.function(NIC).group())
        harvester.goes_on_with_claim(claim, device, "e1000e")
        harvester.goes_on_with_usb(node.cluster.get("usbdeviceclaim", name), node.cluster.get("usbdevice", name))
        assert node.guest.try_sh("grep -q ^vfio_pci /proc/modules && grep -q ^vfio_iommu_type1 /proc/modules")

        claims.delete(NIC)
        theirs.release(NIC, device["metadata"]["annotations"][harvester.DRIVER])
        theirs.finish(node.cluster.get("pcideviceclaim", pci_name(NIC)))
        claims.wait_gone(NIC)
        assert claims.function(NIC).drivers() == ("e1000e", None)
        assert NIC in claims.records()
        bindings.forget()
    finally:
        node.agent.start()
    wait_until(lambda: not claims.records(), 30, "the end of the record that is out of date")
    assert bindings.seen() == []
    assert claims.function(NIC).drivers() == ("e1000e", None)
