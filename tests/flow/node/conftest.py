"""One API server, one virtual machine and one agent in it for all tests of this folder.

Every test finds the agent running and the objects equal to the devices of the boot, and leaves
them so. HOSTDEV_TEST_KEEP_VM=1 uses a machine that runs already and leaves it running.
"""

import os
import time
from dataclasses import dataclass

import pytest

from cluster import ROOT, wait_until
from guest import Guest
from kubectl_watch import KubectlWatch
from listing import pci_functions, usb_devices
from node_agent import NodeAgent

NODE = "flow"
ADDRESS = "10.0.2.15"


@dataclass
class Node:
    """The guest, its agent, the API server, and what kubectl watches there."""

    guest: Guest
    agent: NodeAgent
    cluster: object
    pci: KubectlWatch
    usb: KubectlWatch

    def pci_object(self, address):
        return self.pci.objects().get(pci_name(address))

    def usb_object(self, port):
        return next((o for o in self.usb.objects().values() if o.get("status", {}).get("portPath") == port), None)

    def wait_reason(self, address, reason, message=""):
        """Until kubectl's watch says so of the function."""
        _wait_claimable(lambda: self.pci_object(address), address, reason, message)

    def wait_usb(self, port, reason, message=""):
        """The same of the USB device at a port."""
        _wait_claimable(lambda: self.usb_object(port), port, reason, message)

    def names_are_the_devices(self):
        """Is there an object for each device that lspci and lsusb list, and no other?"""
        wanted = {pci_name(a) for a in pci_functions(self.guest)}
        ports = {d["portPath"] for d in usb_devices(self.guest).values()}
        return set(self.pci.objects()) == wanted and {
            o.get("status", {}).get("portPath") for o in self.usb.objects().values()} == ports

    def wait_converged(self, timeout=60):
        wait_until(self.names_are_the_devices, timeout, "an object for each device and no other")


def pci_name(address):
    return f"{NODE}-{address.replace(':', '').replace('.', '')}"


def claimable(obj):
    """(reason, message) of the condition; (None, None) without object or condition."""
    for condition in (obj or {}).get("status", {}).get("conditions", []):
        if condition["type"] == "Claimable":
            return condition["reason"], condition["message"]
    return None, None


def _wait_claimable(find, what, reason, message):
    end = time.monotonic() + 30
    while True:
        is_reason, is_message = claimable(find())
        if is_reason == reason and message in is_message:
            return
        assert time.monotonic() < end, f"{what} is {is_reason} ({is_message}), not {reason} ('{message}')"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def guest():
    machine = Guest(NODE)
    keep = os.environ.get("HOSTDEV_TEST_KEEP_VM")
    if not keep:
        machine.stop()
    machine.start()
    yield machine
    if not keep:
        machine.stop()


@pytest.fixture(scope="session")
def deployed(crds):
    """The cluster with the agent's rights, and a Node for it."""
    crds.kubectl("apply", "--server-side", "--force-conflicts", "-k", ROOT / "manifests/overlays/local")
    crds.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    crds.kubectl("patch", "node", NODE, "--subresource=status", "--type=merge", "-p",
                 f'{{"status": {{"addresses": [{{"type": "InternalIP", "address": "{ADDRESS}"}}]}}}}')
    return crds


@pytest.fixture(scope="session")
def booted(deployed, guest):
    """The Node, its agent started once and everything listed."""
    agent = NodeAgent(guest, deployed)
    agent.install()
    watches = KubectlWatch(deployed, "pcidevices"), KubectlWatch(deployed, "usbdevices")
    made = Node(guest, agent, deployed, *watches)
    agent.start()
    try:
        made.wait_converged()
        yield made
    finally:
        for watch in watches:
            watch.close()
        if agent.alive():
            agent.kill()


@pytest.fixture
def node(booted):
    """The Node with its agent alive and ready."""
    if not booted.agent.alive():
        booted.agent.start()
    wait_until(booted.agent.ready, 30, "the agent's readiness")
    return booted
