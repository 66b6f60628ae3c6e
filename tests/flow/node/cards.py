"""SRIOVNetworkDevices from outside: kubectl for the wish, the guest's own sysfs and ip(8) for what became of it."""

import re
import time
from dataclasses import dataclass

from claims import condition
from cluster import SLOWNESS, wait_until
from node import NODE, Node, pci_name

KIND = "sriovnetworkdevices"
INTERFACE = "sriov.devices.harvesterhi.io/interface-name"
FOUND = "hostdev.io/found-vfs"
PARENT = "harvesterhci.io/parent-sriov-network-device"


@dataclass
class Card:
    """The card at an address, and its object."""

    node: Node
    address: str

    @property
    def folder(self):
        return f"/sys/bus/pci/devices/{self.address}"

    def read(self, name):
        return self.node.guest.sh(f"cat {self.folder}/{name}").strip()

    def number(self):
        return int(self.read("sriov_numvfs"))

    def write_number(self, number):
        """What a third party does."""
        self.node.guest.write(f"{self.folder}/sriov_numvfs", str(number))

    def functions(self):
        """Addresses of the virtual functions, by index."""
        return self.node.guest.sh(
            f"cd {self.folder}; i=0; while [ -e virtfn$i ]; do basename $(readlink virtfn$i); i=$((i+1)); done").split()

    def interface(self):
        return self.node.guest.sh(f"ls {self.folder}/net").strip()

    def settings(self, index):
        """What ip(8) shows of a virtual function, on one line."""
        text = self.node.guest.sh(f"ip link show dev {self.interface()}")
        return re.search(rf"^ +vf {index} .*$", text, re.M)[0]

    def object(self):
        found = [o for o in self.node.get(KIND) if o["spec"].get("address") == self.address]
        return found[0] if found else None

    def name(self):
        return self.object()["metadata"]["name"]

    def patch(self, **spec):
        self.node.cluster.kubectl("patch", KIND, self.name(), "--type=merge", "--patch-file=/dev/stdin",
                                  input={"spec": spec})

    def condition(self, kind):
        return condition(self.object(), kind)

    def wait(self, status, reason, message="", timeout=60):
        """Until Ready says so of the spec as it is now."""
        end = time.monotonic() + SLOWNESS * timeout
        while True:
            seen = self.object()
            said = condition(seen, "Ready")
            fresh = seen and seen.get("status", {}).get("observedGeneration") == seen["metadata"]["generation"]
            if fresh and said[:2] == (status, reason) and message in said[2]:
                return seen
            assert time.monotonic() < end, (
                f"{self.address}: Ready is not {status} {reason} ('{message}') after {timeout} s, but {said}; "
                f"agent: {self.node.agent.log()[-2500:]}")
            time.sleep(0.05)

    def wait_number(self, number, timeout=60):
        """Until there are so many, the status says so, and their PCIDevices are there."""
        self.wait("True", "Ready", f"{number} virtual functions", timeout)
        functions = self.functions()
        assert len(functions) == self.number() == number
        wait_until(lambda: self.object()["status"].get("vfAddresses", []) == functions, 30, "the virtual functions listed")
        said = self.object()["status"]
        assert said.get("vfPCIDevices", []) == [pci_name(one) for one in functions]
        assert said["status"] == f"sriovNetworkDevice{'Enabled' if number else 'Disabled'}"
        wait_until(lambda: all(self.node.pci_object(one) for one in functions), 30, "their PCIDevices")
        return functions

    def events(self):
        about = f"involvedObject.kind=SRIOVNetworkDevice,involvedObject.name={self.name()}"
        return [(e["type"], e["reason"]) for e in self.node.cluster.get("events", "-A", "--field-selector", about)]

    def give_back(self):
        """The end of a test: no virtual functions, and an object that nobody has asked anything of."""
        if found := self.object():
            self.patch(numVFs=0, virtualFunctions=None, driversAutoprobe=None)
            wait_until(lambda: self.number() == 0, 60, "no virtual functions")
            self.node.cluster.kubectl("delete", KIND, found["metadata"]["name"])
        if self.number():
            self.write_number(0)


def own_object(address, name, **spec):
    """One that somebody makes for a card that gets none by itself."""
    return {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "SRIOVNetworkDevice",
            "metadata": {"name": name, "labels": {"nodename": NODE}},
            "spec": {"address": address, "nodeName": NODE, **spec}}
