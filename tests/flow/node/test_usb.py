"""Claimed USB devices are lent by the real kubelet, and stay themselves when they are plugged in again."""

import time

import pytest

from cluster import wait_until
from kubectl_watch import KubectlWatch
from node import NODE
from kubelet import Pod
from usb_claims import Gadget, OpenDescriptor, UsbClaims, numbers

STICK = "2-2"  # of the boot: serial number STICK0001
XHCI = "0000:00:06.0"  # its controller
IDS = "f4460100"  # 46f4:0001, as its descriptor has them
QEMU = "107:107"
ROOT = "0:0"


@pytest.fixture(scope="module")
def usb_claim_watch(deployed):
    watch = KubectlWatch(deployed, "usbdeviceclaims", "")
    yield watch
    watch.close()


@pytest.fixture
def usb(node, usb_claim_watch):
    made = UsbClaims(node, usb_claim_watch)
    yield made
    made.give_back()
    node.wait_converged()


@pytest.fixture
def pods(kubelet, usb):
    made = []

    def make(name, resources):
        made.append(Pod(kubelet, name, resources))
        made[-1].create()
        return made[-1]

    yield make
    for pod in made:
        pod.delete()


class Socket:
    """Socket 2-3 of the guest, and a stick that is plugged into it or another one."""

    PORT = "2-3"

    def __init__(self, guest):
        self.guest = guest
        self.ids = []

    def plug(self, serial, port=PORT):
        self.ids.append(f"usb-{serial.lower()}-{port}")
        self.guest.qmp("blockdev-add", driver="null-co", **{"node-name": f"d-{self.ids[-1]}"}, size=1 << 20)
        self.guest.qmp("device_add", driver="usb-storage", id=self.ids[-1], bus="xhci.0", port=port[2:],
                       drive=f"d-{self.ids[-1]}", serial=serial)

    def pull(self):
        gone = self.ids.pop()
        self.guest.unplug(gone)
        self.guest.qmp("blockdev-del", **{"node-name": f"d-{gone}"})


@pytest.fixture
def socket(node):
    made = Socket(node.guest)
    yield made
    while made.ids:
        made.pull()


@pytest.fixture
def gadget(node):
    made = Gadget(node.guest)
    made.remove()
    yield made
    made.remove()


def given(pod, resource):
    """The variable that says what a pod has; a shell would not pass a name with hyphens on."""
    name = "USB_RESOURCE_" + resource.upper().replace("/", "_").replace(".", "_")
    lines = pod.exec("tr '\\0' '\\n' </proc/1/environ").splitlines()
    return dict(line.split("=", 1) for line in lines).get(name)


def allocatable_is(kubelet, resource, count, timeout=30):
    kubelet.wait_allocatable(resource, count, timeout)


def test_a_pod_gets_the_node_of_a_stick_and_the_node_gets_it_back(kubelet, usb, pods):
    name, resource = usb.claim(STICK)
    claim = usb.now(name)
    assert {k: claim["status"][k] for k in ("nodeName", "portPath", "serialNumber", "pciAddress")} == {
        "nodeName": NODE, "portPath": STICK, "serialNumber": "STICK0001", "pciAddress": "0000:00:06.0"}
    assert claim["metadata"]["finalizers"] == ["wrangler.cattle.io/usbClaimClient-device-claim-remove"]
    assert [o["name"] for o in claim["metadata"]["ownerReferences"]] == [name]
    wait_until(lambda: usb.device(name)["status"]["enabled"], what="enabled")
    kubelet.wait_allocatable(resource, 1)
    path = usb.path(STICK)
    assert usb.owner(path) == ROOT

    pod = pods("usb-1", {resource: 1})
    pod.wait_running()
    assert given(pod, resource) == numbers(path)
    assert pod.exec(f"stat -c '%F %u:%g' {path}").strip() == f"character special file {QEMU}"
    assert pod.exec("ls /dev/bus/usb").split() == [path.split("/")[-2]]
    assert usb.owner(path) == QEMU
    wait_until(lambda: usb.device(name)["status"].get("holder", "").startswith("pod default/usb-1"), 40, "the holder")
    assert [a["pod"] for a in usb.device(name)["status"]["allocations"]] == ["usb-1"]

    usb.delete(name)
    held = usb.wait(name, "Ready", "False", "Held",
                    "in use by pod default/usb-1; the device will be released when that ends")
    assert held["status"]["holder"] == "pod default/usb-1"
    allocatable_is(kubelet, resource, 0)
    pod.delete()
    usb.wait_gone(name, timeout=60)
    assert usb.owner(path) == ROOT
    wait_until(lambda: not usb.device(name)["status"]["enabled"], what="not enabled")
    wait_until(lambda: not usb.device(name)["status"].get("allocations"), what="no holder")
    assert "pod" not in usb.device(name)["status"].get("holder", "")


def test_the_node_is_given_back_when_the_pod_goes_and_the_claim_stays(kubelet, usb, pods):
    _, resource = usb.claim(STICK)
    kubelet.wait_allocatable(resource, 1)
    pod = pods("usb-2", {resource: 1})
    pod.wait_running()
    assert usb.owner(usb.path(STICK)) == QEMU
    pod.delete()
    wait_until(lambda: usb.owner(usb.path(STICK)) == ROOT, 60, "the node given back")


def test_an_agent_killed_in_between_gives_the_node_back(node, kubelet, usb, pods):
    _, resource = usb.claim(STICK)
    kubelet.wait_allocatable(resource, 1)
    node.guest.sh(f"chown 0:46 {usb.path(STICK)}")
    pod = pods("usb-3", {resource: 1})
    pod.wait_running()
    node.agent.restart(signal="KILL")
    assert usb.owner(usb.path(STICK)) == QEMU
    pod.delete()
    wait_until(lambda: usb.owner(usb.path(STICK)) == "0:46", 90, "the node given back to its owner")
    node.guest.sh(f"chown {ROOT} {usb.path(STICK)}")


def test_a_stick_plugged_in_again_is_the_same_unit_with_a_new_node(kubelet, usb, pods, socket):
    socket.plug("AGAIN")
    name, resource = usb.claim(socket.PORT)
    kubelet.wait_allocatable(resource, 1)
    before = usb.path(socket.PORT)

    socket.pull()
    allocatable_is(kubelet, resource, 0)
    usb.wait(name, "Ready", "False", "DeviceGone")
    socket.plug("AGAIN")
    allocatable_is(kubelet, resource, 1)
    usb.wait(name, "Ready", "True")
    path = usb.path(socket.PORT)
    assert path != before
    wait_until(lambda: usb.device(name)["status"]["devicePath"] == path, what="the new node")
    pod = pods("usb-4", {resource: 1})
    pod.wait_running()
    assert given(pod, resource) == numbers(path)
    assert usb.owner(path) == QEMU


def test_a_stick_pulled_from_under_a_pod_is_orphaned_until_it_is_back(kubelet, usb, pods, socket):
    socket.plug("ORPHAN")
    name, resource = usb.claim(socket.PORT)
    kubelet.wait_allocatable(resource, 1)
    pod = pods("usb-5", {resource: 1})
    pod.wait_running()
    usb.wait(name, "Ready", "True")
    socket.pull()
    wait_until(lambda: usb.device(name)["status"].get("status") == "orphaned", 30, "orphaned")
    socket.plug("ORPHAN")
    wait_until(lambda: not usb.device(name)["status"].get("status"), 30, "orphaned no more")
    assert usb.now(name)


def test_another_device_in_the_socket_is_never_lent(kubelet, usb, socket):
    socket.plug("MINE")
    name, resource = usb.claim(socket.PORT)
    kubelet.wait_allocatable(resource, 1)
    socket.pull()
    socket.plug("THEIRS")
    other = usb.wait_device(socket.PORT, "THEIRS")
    assert other["metadata"]["name"] != name
    usb.wait(name, "Accepted", "False", "DifferentDevice", "THEIRS")
    allocatable_is(kubelet, resource, 0)
    assert usb.owner(usb.path(socket.PORT)) == ROOT
    socket.pull()
    socket.plug("MINE")
    usb.wait(name, "Ready", "True")
    allocatable_is(kubelet, resource, 1)


def test_a_stick_that_moves_to_another_socket_keeps_its_claim(kubelet, usb, pods, socket):
    socket.plug("MOVES")
    name, resource = usb.claim(socket.PORT)
    socket.pull()
    usb.wait(name, "Ready", "False", "DeviceGone")
    socket.plug("MOVES", "2-4")
    usb.wait(name, "Ready", "True")
    wait_until(lambda: usb.now(name)["status"]["portPath"] == "2-4", what="the new socket")
    # The Node still counts the device of before; Ready waits for the kubelet to have it again.
    pod = pods("usb-6", {resource: 1})
    pod.wait_running()
    assert given(pod, resource) == numbers(usb.path("2-4"))


def test_an_exchange_while_the_agent_is_down_is_seen(node, kubelet, usb, socket):
    socket.plug("MINE")
    name, resource = usb.claim(socket.PORT)
    node.agent.kill()
    socket.pull()
    socket.plug("THEIRS")
    node.agent.start()
    usb.wait(name, "Accepted", "False", "DifferentDevice")
    allocatable_is(kubelet, resource, 0, timeout=60)


@pytest.fixture
def config(node):
    """config(selectors...): the HostDeviceConfig with one USB resource; without one at the end."""
    def apply(resource, *selectors):
        node.cluster.kubectl("apply", "-f", "-", input={
            "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
            "spec": {"usb": [{"resourceName": resource, "selectors": list(selectors)}] if selectors else []}})

    yield apply
    node.cluster.kubectl("delete", "hostdeviceconfig", "default", "--ignore-not-found")


def test_a_bundle_of_selected_devices_is_lent_as_one(kubelet, usb, pods, socket, config):
    resource = "example.com/pair"
    stick, tablet = {"vendor": "46f4", "product": "0001"}, {"vendor": "0627", "product": "0001"}
    config(resource, {**stick, "serial": "PAIRED"}, tablet)
    socket.plug("PAIRED")
    kubelet.wait_allocatable(resource, 1)
    pod = pods("usb-8", {resource: 1})
    pod.wait_running()
    paths = [usb.path(socket.PORT), usb.path("1-1")]
    assert given(pod, resource) == ",".join(map(numbers, paths))
    assert [usb.owner(path) for path in paths] == [QEMU, QEMU]
    pod.delete()
    wait_until(lambda: [usb.owner(path) for path in paths] == [ROOT, ROOT], 60, "both nodes given back")
    socket.pull()
    allocatable_is(kubelet, resource, 0)
    config(resource, tablet)
    allocatable_is(kubelet, resource, 1)
    config(resource)
    wait_until(lambda: kubelet.allocatable(resource) in (None, "0"), 60, "the end of the resource")


def test_a_node_is_given_back_though_its_entry_and_the_agent_went_before_the_pod(node, kubelet, usb, pods, socket, config):
    resource = "example.com/gone"
    config(resource, {"vendor": "46f4", "product": "0001", "serial": "GIVEN"})
    socket.plug("GIVEN")
    kubelet.wait_allocatable(resource, 1)
    pod = pods("usb-11", {resource: 1})
    pod.wait_running()
    path = usb.path(socket.PORT)
    config(resource)
    wait_until(lambda: kubelet.allocatable(resource) in (None, "0"), 60, "the end of the resource")
    node.agent.kill()
    node.agent.start()
    node.wait_converged()
    time.sleep(2)
    assert usb.owner(path) == QEMU, "the pod has it still"
    pod.delete()
    wait_until(lambda: usb.owner(path) == ROOT, 90, "the node given back")


def test_a_claim_that_waits_knows_its_stick_when_it_is_plugged_in_again(kubelet, usb, pods, socket, config):
    resource = "example.com/waits"
    config(resource, {"vendor": "46f4", "product": "0001", "serial": "WAITS"})
    socket.plug("WAITS")
    kubelet.wait_allocatable(resource, 1)
    pod = pods("usb-10", {resource: 1})
    pod.wait_running()
    name = usb.wait_device(socket.PORT, "WAITS")["metadata"]["name"]
    usb.apply(name)
    usb.wait(name, "Accepted", "False", message="pod default/usb-10")
    before = usb.path(socket.PORT)
    socket.pull()
    socket.plug("WAITS")
    wait_until(lambda: usb.path(socket.PORT) not in (None, before), 30, "the stick under another number")
    pod.delete()
    usb.wait(name, "Ready", "True", timeout=60)
    kubelet.wait_allocatable(f"kubevirt.io/{name}", 1)


@pytest.fixture
def passed_on(node):
    """passed_on(path): a program that has the node of a USB device open."""
    made = []

    def make(path):
        made.append(OpenDescriptor(node.guest, path))
        made[-1].wait(IDS)
        return made[-1]

    yield make
    for descriptor in made:
        descriptor.close()


def driver(node, device):
    return node.guest.sh(f"basename $(readlink /sys/bus/usb/devices/{device}/driver) || true").strip()


def test_what_a_pod_has_passed_on_ends_with_the_claim(node, kubelet, usb, pods, passed_on):
    """security.md: also what the pod itself had open; the device keeps its number and its name."""
    name, resource = usb.claim(STICK)
    kubelet.wait_allocatable(resource, 1)
    pod = pods("usb-12", {resource: 1})
    pod.wait_running()
    path = usb.path(STICK)
    descriptor = passed_on(path)
    pod.delete()
    usb.delete(name)
    usb.wait_gone(name, timeout=60)
    descriptor.wait("No such device")
    assert usb.path(STICK) == path
    wait_until(lambda: driver(node, f"{STICK}:1.0") == "usb-storage", 30, "the host's driver")
    wait_until(lambda: usb.device(name)["status"].get("holder") == "driver usb-storage", 30, "the holder")
    wait_until(lambda: "Released" in usb.events(name), 30, "the event of the release")
    assert "DeviceGone" not in usb.events(name)
    name, _ = usb.claim(STICK)
    passed_on(path)


def test_a_stick_that_the_node_has_mounted_is_not_pulled_away(node, usb, passed_on):
    name, _ = usb.claim(STICK, lent=False)
    disk = node.guest.sh(f"ls /sys/bus/usb/devices/{STICK}:1.0/host*/target*/*/block").strip()
    descriptor = passed_on(usb.path(STICK))
    node.guest.sh(f"mkdir -p /run/mounted; mkfs.ext2 -q -F /dev/{disk}; mount /dev/{disk} /run/mounted; "
                  "echo kept >/run/mounted/file; sync")
    try:
        usb.wait(name, "Accepted", "False", "InUse")
        usb.delete(name)
        usb.wait_gone(name)
        node.guest.sh("echo 3 >/proc/sys/vm/drop_caches; grep -q kept /run/mounted/file; echo more >/run/mounted/file; sync")
        descriptor.wait(IDS)
    finally:
        node.guest.sh("umount /run/mounted")


def test_the_helper_does_not_pull_a_mounted_stick_away_either(node, usb, passed_on):
    """What is mounted after the last scan."""
    disk = node.guest.sh(f"ls /sys/bus/usb/devices/{STICK}:1.0/host*/target*/*/block").strip()
    descriptor = passed_on(usb.path(STICK))
    bus, device = numbers(usb.path(STICK)).split(":")
    helper = (f"{node.agent.home}/hostdev-helper usb-rebind --state-dir /run/usb-rebind-state "
              f"port={STICK} bus={bus} device=")
    node.guest.sh(f"mkdir -p /run/mounted; mkfs.ext2 -q -F /dev/{disk}; mount /dev/{disk} /run/mounted")
    try:
        assert '"reason":"InUse"' in node.guest.sh(helper + device)
        descriptor.wait(IDS)
    finally:
        node.guest.sh("umount /run/mounted")
    assert '"result":"Done"' in node.guest.sh(helper + "99")
    descriptor.wait(IDS)
    assert '"result":"Done"' in node.guest.sh(helper + device)
    descriptor.wait("No such device")
    wait_until(lambda: driver(node, f"{STICK}:1.0") == "usb-storage", 30, "the host's driver")


def test_a_release_that_was_cut_off_is_finished(node, usb, passed_on):
    """The power went between the two writes: the device has no driver."""
    name, _ = usb.claim(STICK, lent=False)
    node.agent.kill()
    usb.delete(name)
    node.guest.sh(f"echo {STICK} >/sys/bus/usb/drivers/usb/unbind")
    descriptor = passed_on(usb.path(STICK))
    node.agent.start()
    usb.wait_gone(name, timeout=60)
    descriptor.wait("No such device")
    assert driver(node, STICK) == "usb"
    wait_until(lambda: driver(node, f"{STICK}:1.0") == "usb-storage", 30, "the host's driver")


def test_qemu_opens_what_a_pod_was_given(node, kubelet, usb, pods):
    """As KubeVirt's QEMU, which is no root; before and after, the node is not its own."""
    _, resource = usb.claim(STICK)
    kubelet.wait_allocatable(resource, 1)
    path = usb.path(STICK)
    qemu = ("echo 'info usb' | timeout 60 setpriv --reuid 107 --regid 107 --clear-groups qemu-system-x86_64 -S "
            f"-nodefaults -display none -monitor stdio -device qemu-xhci -device usb-host,hostdevice={path} 2>&1 || true")
    assert "Product" not in node.guest.sh(qemu)
    pod = pods("usb-9", {resource: 1})
    pod.wait_running()
    assert "Product QEMU USB HARDDRIVE" in node.guest.sh(qemu)


def test_what_cannot_be_claimed_says_why(node, usb):
    absent = f"{NODE}-0951-1666-001099"
    usb.apply(absent)
    claim = usb.wait(absent, "Accepted", "False", "DeviceNotFound")
    assert "finalizers" not in claim["metadata"]
    usb.delete(absent)
    usb.wait_gone(absent)
    elsewhere = "other-0951-1666-001002"
    usb.apply(elsewhere)
    time.sleep(1)
    assert "status" not in usb.now(elsewhere)


def test_a_controller_and_its_devices_change_hands_without_a_reboot(node, usb, claims):
    """harvester-api 2.5 (h#6809): never under a claim of the other kind, and back and forth at run time."""
    name, _ = usb.claim(STICK, lent=False)
    claims.apply(XHCI)
    claims.wait(XHCI, "Accepted", "False", "USBDevicesClaimed", name)
    assert claims.function(XHCI).driver() == "xhci_hcd"
    usb.delete(name)
    claims.wait_ready(XHCI, timeout=60)
    claims.wait_drivers(XHCI, "vfio-pci", "vfio-pci")
    usb.wait_gone(name)
    wait_until(lambda: usb.device(name) is None, 30, "the end of the USBDevice")
    claims.release(XHCI)
    assert claims.function(XHCI).driver() == "xhci_hcd"
    name, _ = usb.claim(STICK, lent=False)
    claims.apply(XHCI)
    claims.wait(XHCI, "Accepted", "False", "USBDevicesClaimed", name)
    claims.delete(XHCI)
    claims.wait_gone(XHCI)


class TestRow23:
    def test_row_23_a_gadget_that_is_plugged_in_again_and_again(self, node, kubelet, usb, pods, gadget):
        gadget.make("STORM")
        gadget.plug()
        port = wait_until(gadget.port, 10, "the gadget's socket")
        name, resource = usb.claim(port)
        kubelet.wait_allocatable(resource, 1)
        before = len(node.agent.written())
        gadget.storm(60)
        usb.wait(name, "Ready", "True")
        allocatable_is(kubelet, resource, 1)
        path = usb.path(port)
        wait_until(lambda: usb.device(name)["status"]["devicePath"] == path, what="the node at the end")
        pod = pods("usb-7", {resource: 1})
        pod.wait_running()
        assert given(pod, resource) == numbers(path)
        own = [w for w in node.agent.written()[before:] if w[1] in ("usbdevices", "usbdeviceclaims")]
        assert {w[3] for w in own} == {name}, "objects came and went"

    def test_row_23_a_gadget_of_another_serial_number_in_the_storm(self, kubelet, usb, gadget):
        gadget.make("MINE")
        gadget.plug()
        port = wait_until(gadget.port, 10, "the gadget's socket")
        name, resource = usb.claim(port)
        gadget.pull()
        gadget.set_serial("THEIRS")
        gadget.plug()
        gadget.storm(10)
        usb.wait(name, "Accepted", "False", "DifferentDevice")
        allocatable_is(kubelet, resource, 0)


def test_nothing_is_written_at_rest(node, usb):
    name, _ = usb.claim(STICK, lent=False)
    wait_until(lambda: usb.device(name)["status"]["enabled"], what="enabled")
    time.sleep(2)
    before = node.agent.written()
    scans = node.agent.scans()
    node.guest.sh("udevadm trigger --subsystem-match=usb --action=change 2>/dev/null || "
                  "for f in /sys/bus/usb/devices/*/uevent; do echo change >$f; done")
    wait_until(lambda: node.agent.scans() > scans, 10, "a scan")
    time.sleep(3)
    assert node.agent.written() == before
