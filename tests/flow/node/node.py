"""The node under test: what its guest, its agent and the API server say together."""

import base64
import os
import time
from dataclasses import dataclass

from cluster import SLOWNESS, wait_until
from guest import Guest
from kubectl_watch import KubectlWatch
from listing import pci_fields, pci_functions, usb_devices
from node_agent import STATE, NodeAgent

NODE = "flow" + os.environ.get("PYTEST_XDIST_WORKER", "")  # a process of its own has a machine of its own
OURS = f"nodename={NODE}"  # the label of its objects
ADDRESS = "10.0.2.15"


@dataclass
class Node:
    """The guest, its agent, the API server, and what kubectl watches there."""

    guest: Guest
    agent: NodeAgent
    cluster: object
    pci: KubectlWatch
    usb: KubectlWatch

    def boot_again(self):
        """A guest that no longer answers begins anew; its objects follow."""
        self.guest.stop()
        self.guest.start()
        self.agent.install()
        self.agent.start()
        self.wait_converged()

    def boot_with(self, devices, kept, start=None):
        """Power off and on with more devices; kept: the state directory is on a disk, as it should be."""
        folder = base64.b64encode(base64.b64decode(self.guest.sh(f"tar -C {STATE} -c . | base64"))).decode()
        self.guest.stop()
        self.guest.start(*(word for device in devices for word in ("--qemu", "-device", "--qemu", device)))
        if kept:
            self.guest.sh(f"mkdir -p {STATE}; base64 -d | tar -C {STATE} -x", input=folder)
        self.agent.install()
        (start or NodeAgent.start)(self.agent)
        wait_until(self.agent.ready, 60, "the agent's readiness")

    def get(self, kind):
        """The node's objects as `kubectl get` has them now."""
        return self.cluster.get(kind, "--selector", OURS)

    def pci_object(self, address):
        return self.pci.objects().get(pci_name(address))

    def resource_of(self, address):
        return self.pci_object(address)["status"]["resourceName"]

    def allocations(self, address):
        found = self.pci_object(address)["status"].get("allocations", [])
        return [f"{a['namespace']}/{a['pod']}/{a['container']}" for a in found]

    def wait_allocations(self, address, *wanted):
        wait_until(lambda: self.allocations(address) == list(wanted), 40, f"{wanted} as holders of {address}")

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

    def differences(self):
        """(what the object says, what lspci says) of each function where these are not the same."""
        said = {o["metadata"]["name"]: pci_fields(o.get("status", {})) for o in self.get("pcidevices")}
        real = {pci_name(address): function for address, function in pci_functions(self.guest).items()}
        return {n: (said.get(n), real.get(n)) for n in said.keys() | real.keys() if said.get(n) != real.get(n)}

    def wait_equal(self, timeout=60):
        """Until the objects say what lspci and lsusb say."""
        self.wait_converged(timeout)
        end = time.monotonic() + SLOWNESS * timeout
        while different := self.differences():
            assert time.monotonic() < end, f"(object, lspci) differ after {timeout} s: {different}"

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
    end = time.monotonic() + SLOWNESS * 30
    while True:
        is_reason, is_message = claimable(find())
        if is_reason == reason and message in is_message:
            return
        assert time.monotonic() < end, f"{what} is {is_reason} ({is_message}), not {reason} ('{message}')"
        time.sleep(0.05)
