"""The guest's mediated devices as sysfs has them, and the HostDeviceConfig that asks for some."""

import re
import time

from cluster import SLOWNESS, wait_until
from node import OURS
from vfio_user import Process, Qemu

BUS = "/sys/bus/mdev/devices"
PARENTS = "/sys/class/mdev_bus"


class Mdevs:
    """What the kernel, the API server and the config say of the node's mediated devices."""

    def __init__(self, node):
        self.node = node
        self.guest = node.guest
        self.cluster = node.cluster

    # --- the kernel ---------------------------------------------------------------------------

    def instances(self):
        """{uuid: (parent, type id)}; what goes while it is looked at is not there."""
        text = self.guest.sh(f"cd {BUS}; find . -maxdepth 1 -type l -printf 'parent %f %l\\n' || true; "
                             "find ./*/ -maxdepth 1 -name mdev_type -printf 'type %h %l\\n' 2>/dev/null || true")
        found = {"parent": {}, "type": {}}
        for what, path, *target in (line.split() for line in text.splitlines()):
            if target:
                part = target[0].split("/")
                found[what][path.strip("./")] = part[-2] if what == "parent" else part[-1]
        return {uuid: (found["parent"][uuid], kind) for uuid, kind in found["type"].items() if uuid in found["parent"]}

    def number(self):
        """How many there are, at once."""
        return int(self.guest.sh(f"ls {BUS} | wc -l"))

    def count(self, parent, kind):
        return sum(1 for one in self.instances().values() if one == (parent, kind))

    def create(self, parent, kind, uuid):
        """As somebody else does it."""
        self.guest.write(f"{PARENTS}/{parent}/mdev_supported_types/{kind}/create", uuid)

    def remove(self, uuid):
        self.guest.write(f"{BUS}/{uuid}/remove", "1")

    def group(self, uuid):
        return self.guest.sh(f"basename $(readlink {BUS}/{uuid}/iommu_group)").strip()

    # --- the API server --------------------------------------------------------------------------

    def objects(self):
        """{uuid: status} of the MediatedDevices."""
        return {o["status"]["uuid"]: o["status"] for o in self.cluster.get("mediateddevices", "--selector", OURS)
                if o.get("status")}

    def parent(self, name):
        """The MediatedDeviceParent's status."""
        found = [o["status"] for o in self.cluster.get("mediateddeviceparents", "--selector", OURS)
                 if o.get("status", {}).get("parent") == name]
        return found[0] if found else {}

    def fares(self, name):
        """(status, reason, message) of the parent's condition."""
        for condition in self.parent(name).get("conditions", []):
            if condition["type"] == "Configured":
                return condition["status"], condition["reason"], condition["message"]
        return None, None, ""

    def configure(self, **spec):
        self.cluster.kubectl("apply", "-f", "-", input={
            "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
            "spec": spec})

    def want(self, *types, **more):
        self.configure(mediatedDevicesConfiguration={"mediatedDeviceTypes": list(types)}, **more)

    def wait_count(self, parent, kind, count, timeout=30):
        wait_until(lambda: self.count(parent, kind) == count, timeout, f"{count} instances of {kind} on {parent}")

    def wait_reason(self, parent, reason, message="", timeout=30):
        end = time.monotonic() + SLOWNESS * timeout
        while True:
            _, is_reason, is_message = self.fares(parent)
            if is_reason == reason and re.search(message, is_message):
                return
            assert time.monotonic() < end, f"{parent} is {is_reason} ({is_message}), not {reason} ('{message}')"
            time.sleep(0.2)

    def wait_equal(self, timeout=30):
        """Until there is an object for each instance, and no other."""
        wait_until(lambda: set(self.objects()) == set(self.instances()), timeout, "an object for each instance")

    def give_back(self):
        """No instance is left, whoever has made it, and nobody wants one."""
        self.cluster.kubectl("delete", "hostdeviceconfig", "default", "--ignore-not-found")
        wait_until(lambda: not any(o["createdByHostdev"] for o in self.objects().values()), 60, "the last of ours")
        for uuid in self.instances():  # one that has no object yet may be ours, and goes at the same time
            self.guest.sh(f"(echo 1 >{BUS}/{uuid}/remove) 2>/dev/null || [ ! -e {BUS}/{uuid} ]")
        self.wait_equal()


class MdevQemu(Qemu):
    """A QEMU that has one mediated device; its processor never runs."""

    def __init__(self, guest, uuid):
        Process.__init__(self, guest, f"/run/qemu-{uuid}.log")
        self.socket = f"/run/qemu-{uuid}.sock"
        guest.sh(f"rm -f {self.socket}")
        self.start("qemu-system-x86_64 -accel tcg -machine q35 -m 64 -nodefaults -display none -S "
                   f"-qmp unix:{self.socket},server=on,wait=off -device vfio-pci,sysfsdev={BUS}/{uuid},id=lent")
