"""Claims from outside: kubectl for the wish, the guest's own sysfs for what became of it."""

import json
import re
import time
from dataclasses import dataclass

from cluster import SLOWNESS, wait_until
from guest import Guest
from node import pci_name
from node_agent import STATE

DRIVER = "harvesterhci.io/pcideviceDriver"
FINALIZER = "wrangler.cattle.io/PCIDeviceClaimOnRemove"
NIC = "0000:01:00.0"  # its twin, and one more of them on the other NUMA node
TWIN = "0000:02:00.0"
FAR_NIC = "0000:41:00.0"
IGB = "0000:03:00.0"
NVME = "0000:04:00.0"
SLOT = "0000:05:00.0"  # below the root port spare1
EDU = "0000:00:07.0"  # no driver
PAIR = "0000:07:01.0", "0000:07:02.0"  # one IOMMU group, with the bridge above them
NATIVE = {NIC: "e1000e", TWIN: "e1000e", FAR_NIC: "e1000e", IGB: "igb", NVME: "nvme", EDU: None,
          PAIR[0]: "8139cp", PAIR[1]: "8139cp"}


@dataclass(frozen=True)
class Function:
    """A PCI function of the guest, as the kernel's own folders tell it."""

    guest: Guest
    address: str

    @property
    def folder(self):
        return f"/sys/bus/pci/devices/{self.address}"

    def exists(self):
        return self.guest.try_sh(f"test -e {self.folder}")

    def driver(self):
        return self.guest.sh(f"readlink {self.folder}/driver || true").strip().split("/")[-1] or None

    def drivers(self):
        """(driver, override); None: there is no such device."""
        return drivers(self.guest).get(self.address)

    def group(self):
        return self.guest.sh(f"basename $(readlink {self.folder}/iommu_group)").strip()

    def interfaces(self):
        return self.guest.sh(f"ls {self.folder}/net 2>/dev/null || true").split()

    def disks(self):
        """Paths to NVMe namespaces, such as nvme0c0n1 of /dev/nvme0n1."""
        return self.guest.sh(f"cd {self.folder}; ls -d nvme/*/nvme*n* 2>/dev/null || true").split()

    def unbind(self):
        self.guest.write(f"{self.folder}/driver/unbind", self.address)

    def bind(self, driver):
        self.guest.write(f"/sys/bus/pci/drivers/{driver}/bind", self.address)

    def rebind(self, override):
        """What a third party does: load, override, unbind, probe; "" leads to the native driver."""
        self.guest.sh(f"[ -z '{override}' ] || modprobe {override}; echo {override} >{self.folder}/driver_override; "
                      f"! [ -e {self.folder}/driver ] || echo {self.address} >{self.folder}/driver/unbind; "
                      f"echo {self.address} >/sys/bus/pci/drivers_probe")


def drivers(guest):
    """(driver, override) of every function; None where there is none."""
    text = guest.sh("cd /sys/bus/pci/devices; grep -Hs . */driver_override || true; "
                    "stat -c %N */driver 2>/dev/null || true")
    bound, overrides = {}, {}
    for line in text.splitlines():
        if match := re.match(r"([^/]+)/driver_override:(.*)", line):
            overrides[match[1]] = None if match[2] == "(null)" else match[2]
        else:
            address, driver = re.match(r"'([^/]+)/driver' -> '.*/([^/]+)'", line).groups()
            bound[address] = driver
    return {address: (bound.get(address), override) for address, override in overrides.items()}


def condition(claim, kind):
    """(status, reason, message) of a condition; Nones where there is none."""
    for one in (claim or {}).get("status", {}).get("conditions", []):
        if one["type"] == kind:
            return one["status"], one["reason"], one["message"]
    return None, None, None


class Claims:
    """The claims of a node; each is named by the address of its device."""

    def __init__(self, node, watch):
        self.node = node
        self.watch = watch
        self.kubectl = node.cluster.kubectl

    def function(self, address):
        return Function(self.node.guest, address)

    def apply(self, address, /, owners=None, **spec):
        """kubectl apply, with nothing but what is given."""
        metadata = {"name": pci_name(address)}
        if owners:
            metadata["ownerReferences"] = owners
        self.kubectl("apply", "-f", "-", input={
            "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
            "metadata": metadata, "spec": spec})

    def delete(self, *addresses):
        """kubectl delete, without waiting for the end."""
        self.kubectl("delete", "pcideviceclaims", "--wait=false", *map(pci_name, addresses))

    def now(self, address):
        """What kubectl's watch has last shown; None: no such claim."""
        return self.watch.objects().get(pci_name(address))

    def wait(self, address, kind, status, reason=None, message="", timeout=30):
        """The claim when its condition is so."""
        end = time.monotonic() + SLOWNESS * timeout
        while True:
            claim = self.now(address)
            seen = condition(claim, kind)
            if seen[0] == status and reason in (None, seen[1]) and message in seen[2]:
                return claim
            assert time.monotonic() < end, (
                f"{address}: {kind} is not {status} {reason} ('{message}') after {timeout} s, but {seen}; "
                f"status: {(claim or {}).get('status')}; agent: {self.node.agent.log()[-1500:]}")
            time.sleep(0.02)

    def wait_ready(self, address, timeout=60):
        return self.wait(address, "Ready", "True", timeout=timeout)

    def wait_gone(self, *addresses, timeout=30):
        end = time.monotonic() + SLOWNESS * timeout
        while there := [a for a in addresses if self.now(a)]:
            assert time.monotonic() < end, (
                f"after {timeout} s there is still {[self.now(a) for a in there]}; "
                f"agent: {self.node.agent.log()[-1500:]}")
            time.sleep(0.02)

    def bind(self, address, /, **spec):
        """apply and wait_ready."""
        self.apply(address, **spec)
        return self.wait_ready(address)

    def release(self, *addresses, timeout=30):
        """delete and wait_gone."""
        self.delete(*addresses)
        self.wait_gone(*addresses, timeout=timeout)

    def events(self, address):
        """(type, reason, message) of the events about a claim, oldest first."""
        about = f"involvedObject.kind=PCIDeviceClaim,involvedObject.name={pci_name(address)}"
        found = self.node.cluster.get("events", "-A", "--field-selector", about)
        return [(e["type"], e["reason"], e["message"])
                for e in sorted(found, key=lambda e: e["metadata"]["creationTimestamp"])]

    def wait_event(self, address, kind, reason, message=""):
        end = time.monotonic() + SLOWNESS * 10
        while True:
            seen = self.events(address)
            if any((t, r) == (kind, reason) and message in m for t, r, m in seen):
                return
            assert time.monotonic() < end, f"no event {kind} {reason} ('{message}') of {address}, but {seen}"
            time.sleep(0.2)

    def records(self):
        """What the state directory says, by address."""
        return read_records(self.node.guest)

    def wait_drivers(self, address, driver, override=None, timeout=30):
        function = self.function(address)
        wait_until(lambda: function.drivers() == (driver, override), timeout,
                   f"{address} on {driver} with the override {override}")

    def give_back(self):
        """The end of a test: no claim, no record, every device of the boot on its native driver."""
        self.kubectl("delete", "pcideviceclaims", "--all", "--wait=false")
        end = time.monotonic() + SLOWNESS * 120  # a kubelet that has just begun is believed late
        while self.watch.objects() or self.records():
            assert time.monotonic() < end, (
                f"these claims stay: {list(self.watch.objects().values())}, these records: {self.records()}; "
                f"agent: {self.node.agent.log()[-2000:]}")
            time.sleep(0.05)
        native = {address: (driver, None) for address, driver in NATIVE.items()}
        wait_until(lambda: native.items() <= drivers(self.node.guest).items(), 30, "the drivers of the boot")


def read_records(guest):
    text = guest.sh(f"cat {STATE}/devices/*.json 2>/dev/null || true")
    decoder, found, at = json.JSONDecoder(), {}, 0
    while at < len(text):
        record, at = decoder.raw_decode(text, at)
        found[record["address"]] = record
        while at < len(text) and text[at].isspace():
            at += 1
    return found
