"""USB devices of the guest, and the claims of them."""

import time

from claims import condition
from cluster import SLOWNESS, wait_until
from node import claimable

GADGET = "/sys/kernel/config/usb_gadget/test"


class UsbClaims:
    """The USBDeviceClaims of a node; each has the name of its USBDevice."""

    def __init__(self, node, watch):
        self.node = node
        self.watch = watch
        self.kubectl = node.cluster.kubectl

    def apply(self, name, **metadata):
        self.kubectl("apply", "-f", "-", input={
            "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "USBDeviceClaim",
            "metadata": {"name": name, **metadata}, "spec": {"userName": "admin"}})

    def delete(self, name):
        self.kubectl("delete", "usbdeviceclaim", name, "--wait=false")

    def now(self, name):
        return self.watch.objects().get(name)

    def wait(self, name, kind, status, reason=None, message="", timeout=30):
        """The claim when its condition is so."""
        end = time.monotonic() + SLOWNESS * timeout
        while True:
            claim = self.now(name)
            seen = condition(claim, kind)
            if seen[0] == status and reason in (None, seen[1]) and message in seen[2]:
                return claim
            assert time.monotonic() < end, (
                f"{name}: {kind} is not {status} {reason} ('{message}') after {timeout} s, but {seen}; "
                f"status: {(claim or {}).get('status')}; agent: {self.node.agent.log()[-1500:]}")
            time.sleep(0.02)

    def wait_gone(self, name, timeout=30):
        wait_until(lambda: self.now(name) is None, timeout, f"the end of claim {name}")

    def events(self, name):
        """The reasons of the events about a claim, oldest first."""
        found = self.node.cluster.get("events", "-A", "--field-selector",
                                      f"involvedObject.kind=USBDeviceClaim,involvedObject.name={name}")
        return [e["reason"] for e in sorted(found, key=lambda e: e["metadata"]["creationTimestamp"])]

    def registrations(self, resource):
        """How often the kubelet took the resource."""
        return sum(value for (name, labels), value in self.node.agent.metrics().items()
                   if name == "hostdev_kubelet_registrations_total"
                   and f'resource="{resource}"' in labels and 'result="done"' in labels)

    def claim(self, port, lent=True):
        """(name, resource) of the device in a socket, claimed, Ready and, with a kubelet, lent: what its Node
        says may still be what it said of a claim before."""
        name = self.wait_device(port)["metadata"]["name"]
        resource = f"kubevirt.io/{name}"
        before = self.registrations(resource) if lent else 0
        self.apply(name)
        self.wait(name, "Ready", "True")
        if lent:
            wait_until(lambda: self.registrations(resource) > before, 60, f"the registration of {resource}")
        return name, resource

    def device(self, name):
        return self.node.usb.objects().get(name)

    def wait_device(self, port, serial=None):
        """The USBDevice in a socket; not one that is kept for its claim."""
        def found():
            for device in self.node.usb.objects().values():
                status = device.get("status", {})
                if (status.get("portPath") == port and claimable(device)[0] != "DeviceGone"
                        and serial in (None, status.get("serialNumber"))):
                    return device
            return None
        return wait_until(found, 30, f"a USBDevice in {port}")

    def path(self, port):
        """The node of the device in a socket, as the kernel has it now; None: the socket is empty."""
        numbers = self.node.guest.sh(
            f"cd /sys/bus/usb/devices/{port} 2>/dev/null && read -r bus <busnum && read -r device <devnum && "
            "printf '%03d/%03d' $bus $device || true")
        return f"/dev/bus/usb/{numbers}" if numbers else None

    def owner(self, path):
        return self.node.guest.sh(f"stat -c %u:%g {path}").strip()

    def give_back(self):
        """The end of a test: no claim."""
        self.kubectl("delete", "usbdeviceclaims", "--all", "--wait=false")
        wait_until(lambda: not self.watch.objects(), 60, "the end of all claims")


def numbers(path):
    """"1:5" for /dev/bus/usb/001/005."""
    bus, device = path.split("/")[-2:]
    return f"{int(bus)}:{int(device)}"


class Gadget:
    """A USB device made of software: dummy_hcd's controller and a gadget of configfs."""

    def __init__(self, guest):
        self.guest = guest

    def make(self, serial, product="0x0104"):
        self.guest.sh(
            "modprobe dummy_hcd; modprobe libcomposite; "
            "mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config; "
            f"mkdir {GADGET}; cd {GADGET}; echo 0x1d6b >idVendor; "
            f"echo {product} >idProduct; mkdir strings/0x409 configs/c.1 functions/acm.0; "
            f"echo {serial} >strings/0x409/serialnumber; ln -s functions/acm.0 configs/c.1")

    def plug(self):
        self.guest.sh(f"ls /sys/class/udc | head -1 >{GADGET}/UDC")

    def pull(self):
        self.guest.sh(f"echo >{GADGET}/UDC")

    def set_serial(self, serial):
        self.guest.write(f"{GADGET}/strings/0x409/serialnumber", serial)

    def port(self):
        """The socket that it is in."""
        return self.guest.sh(
            "for d in /sys/bus/usb/devices/*; do case $(readlink -f $d) in */dummy_hcd.*) "
            "case ${d##*/} in usb*|*:*) ;; *) echo ${d##*/} ;; esac ;; esac; done").strip()

    def storm(self, times):
        """Plugged and pulled so often, and plugged at the end."""
        self.guest.sh(f"u=$(ls /sys/class/udc | head -1); for i in $(seq {times}); do echo >{GADGET}/UDC; "
                      f"echo $u >{GADGET}/UDC; sleep 0.15; done")

    def remove(self):
        self.guest.sh(f"[ -d {GADGET} ] || exit 0; cd {GADGET}; echo >UDC 2>/dev/null || true; "
                      "rm -f configs/c.1/acm.0; rmdir configs/c.1 functions/acm.0 strings/0x409; cd ..; rmdir test")


class OpenDescriptor:
    """A program of the guest that has the node of a USB device open, as one that a pod has passed it on to."""

    PROGRAM = """
import array, fcntl, os, struct, sys, time
node, folder = sys.argv[1:]
fd = os.open(node, os.O_RDWR)
def try_control():  # the device's descriptor, by USBDEVFS_CONTROL
    data = array.array("B", bytes(18))
    request = struct.pack("=BBHHHI4xQ", 0x80, 6, 0x100, 0, 18, 1000, data.buffer_info()[0])
    return fcntl.ioctl(fd, 0xC0185500, request) and bytes(data)[8:12].hex()
def attempt(call):
    try:
        return call()
    except OSError as error:
        return error.strerror
while True:
    lines = f"{attempt(try_control)}|{attempt(lambda: os.pread(fd, 18, 0)[8:12].hex())}"
    with open(f"{folder}/new", "w") as file:
        file.write(lines)
    os.rename(f"{folder}/new", f"{folder}/now")
    time.sleep(0.1)
"""

    def __init__(self, guest, path):
        self.guest = guest
        self.folder = guest.sh("mktemp -d /run/open-descriptor-XXXXXX").strip()
        guest.write(f"{self.folder}/program.py", self.PROGRAM)
        self.pid = guest.sh(f"setsid python3 {self.folder}/program.py {path} {self.folder} </dev/null "
                            f">{self.folder}/log 2>&1 & echo $!").strip()

    def wait(self, wanted, timeout=30):
        """What a control transfer and a read of the descriptor give: the device's ids, or the error."""
        wait_until(lambda: self.guest.sh(f"cat {self.folder}/now 2>/dev/null || true") == f"{wanted}|{wanted}", timeout,
                   f"{wanted} of the open descriptor")

    def close(self):
        self.guest.sh(f"kill -9 {self.pid} || true; while [ -e /proc/{self.pid} ]; do sleep 0.1; done; rm -r {self.folder}")
