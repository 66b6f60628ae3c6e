"""What lending all kinds of devices costs: one agent with everything, on a synthetic machine and a real API server.

64 PCI functions, 16 USB devices, 64 mediated devices and three device nodes of 1,000 units are lent to a kubelet that
looks into plugins_registry and keeps a ListAndWatch of each resource, as the real one does. hostdev-helper is the
one of tests/bench/stub_kernel.c: what it writes is done to the tree. With --vm, the mediated devices are also made by
the kernel's own samples, in the guest of hack/vm.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from agent_cost import RSS_GOAL, control_plane, program, smaps
from claim_cost import make_vfio
from cluster import ROOT, wait_until
from report import figure, heading, quantile

sys.path += [str(ROOT / "tests/flow/node"), str(ROOT / "tests/flow/api")]
os.environ.setdefault("HOSTDEV_TEST_BUILD", "build/release")
from fake_kubelet import PROBE, TIMEOUT_MS, FakeKubelet, answered, fields, texts_of_device  # noqa: E402
from guest import Guest  # noqa: E402
from machine import make_tree, uevent_file  # noqa: E402
from node_agent import NodeAgent  # noqa: E402
from rest import Rest  # noqa: E402

NODE, VM = "all", "bench"
FUNCTIONS, STICKS, UNITS = 64, 16, 1000
PARENTS = {"mtty": ("mtty-2", "Dual port serial", 24), "mdpy": ("mdpy-hd", "mdpy 1920x1080", 40)}
INSTANCES = sum(number for _, _, number in PARENTS.values())
UNPLUG_GOAL_MS = 5
CONFIG = "/apis/hostdev.io/v1alpha1/hostdeviceconfigs"
NODES = ("kvm", "tun", "vhost-net")
USB_MAJOR = 189
TYPES = {"mediatedDeviceTypes": [kind for kind, _, _ in PARENTS.values()]}
LENT = {
    "pciHostDevices": [{"resourceName": "bench.io/nic", "pciVendorSelector": "8086:10d3"}],
    "usb": [{"resourceName": "bench.io/keyboard", "selectors": [{"vendor": "046d", "product": "c31c"}]}],
    "mediatedDevices": [{"resourceName": f"bench.io/{kind}", "mdevNameSelector": name}
                        for kind, name, _ in PARENTS.values()],
    "genericDevices": [{"resourceName": f"bench.io/{node}", "path": f"/dev/{node}", "count": UNITS} for node in NODES],
}
WANTED = {"bench.io/nic": FUNCTIONS, "bench.io/keyboard": STICKS,
          **{f"bench.io/{kind}": number for kind, _, number in PARENTS.values()},
          **{f"bench.io/{node}": UNITS for node in NODES}}


class Tree:
    """The machine; plug() and pull() do to a USB device's node what the kernel does."""

    def __init__(self, folder):
        self.folder = folder
        tree = make_tree.Tree(str(folder))
        make_tree.add_host(tree, make_tree.add_functions(tree, 1, 1), 1)
        make_tree.add_usb(tree, STICKS)
        for index in range(FUNCTIONS):
            function = list(make_tree.ENDPOINTS[0])
            function[4] = "vfio-pci"
            address = f"0000:{0x40 + index // 16:02x}:{index % 16:02x}.0"
            make_tree.add_function(tree, address, f"sys/devices/pci0000:40/{address}", function, 0)
        make_vfio(folder)
        for node in ("vfio/vfio", *NODES):
            (folder / "dev" / node).symlink_to("/dev/null")
        (folder / "dev/bus/usb/001").mkdir(parents=True)
        for number in range(STICKS):
            self.plug(number + 2)
        self._add_mdevs()

    def _add_mdevs(self):
        sys_folder = self.folder / "sys"
        (sys_folder / "bus/mdev/devices").mkdir(parents=True)
        (sys_folder / "class/mdev_bus").mkdir(parents=True)
        for parent, (kind, name, number) in PARENTS.items():
            types = sys_folder / f"devices/virtual/{parent}/{parent}/mdev_supported_types/{kind}"
            types.mkdir(parents=True)
            for attribute, text in (("name", name), ("available_instances", number), ("device_api", "vfio-pci"),
                                    ("create", "")):
                (types / attribute).write_text(f"{text}\n")
            (sys_folder / "class/mdev_bus" / parent).symlink_to(f"../../devices/virtual/{parent}/{parent}")
        boot_id = self.folder / "proc/sys/kernel/random/boot_id"
        boot_id.parent.mkdir(parents=True, exist_ok=True)
        boot_id.write_text("0f8fad5b-d9cb-469f-a165-70867728950e\n")
        for group in range(10000, 10000 + 4 * INSTANCES):  # those of the instances, as the stub numbers them
            (self.folder / "dev/vfio" / str(group)).touch()

    def _node(self, device):
        return self.folder / f"dev/bus/usb/001/{device:03d}"

    def plug(self, device):
        os.mknod(self._node(device), 0o020660, os.makedev(USB_MAJOR, device - 1))

    def pull(self, device):
        self._node(device).unlink()

    def instances(self):
        return len(os.listdir(self.folder / "sys/bus/mdev/devices"))


class Stream:
    """A ListAndWatch as the kubelet keeps it: each list's health, and when it came."""

    def __init__(self, socket):
        self.told = []
        self.changed = threading.Condition()
        self.probe = subprocess.Popen([PROBE, "call", socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.probe.stdout.readline() == "ready\n"
        self.probe.stdin.write(f"show {1 << 20}\ncall /v1beta1.DevicePlugin/ListAndWatch {TIMEOUT_MS * 1000} stream -\n")
        self.probe.stdin.flush()
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self):
        for line in self.probe.stdout:
            at = time.monotonic()
            if " message " not in line:
                return
            devices = [texts_of_device(value) for _, value in fields(answered(line))]
            with self.changed:
                self.told.append((at, len(devices), sum(device[2] != "Healthy" for device in devices)))
                self.changed.notify_all()

    def wait(self, mark, check, timeout=60):
        """When the first list behind the mark came for which check(devices, unhealthy) is true."""
        with self.changed:
            def found():
                return next((at for at, *numbers in self.told[mark:] if check(*numbers)), None)
            assert self.changed.wait_for(lambda: found() is not None, timeout), f"no such list: {self.told[-3:]}"
            return found()

    def close(self):
        self.probe.kill()
        self.probe.wait()


class Bench:
    def __init__(self, cluster, tree, kubelet, preset, lends):
        self.rest, self.tree, self.kubelet = Rest(cluster.kubeconfig), tree, kubelet
        self.log = tree.folder / "agent.log"
        self.streams = {}
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [program(preset), "--kubeconfig", cluster.kubeconfig, "--node-name", NODE, "--listen", "off",
                 "--sysfs-root", tree.folder / "sys", "--proc-root", tree.folder / "proc",
                 "--dev-root", tree.folder / "dev", "--state-dir", tree.folder / "state",
                 "--helper", program("release", "bench_helper"),
                 *(kubelet.flags if lends else ["--device-plugins=false"])], stderr=log)

    def configure(self, **spec):
        body = {"apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
                "spec": spec}
        status, answer = self.rest.request("POST", CONFIG, body)
        if status == 409:
            _, now = self.rest.request("GET", f"{CONFIG}/default")
            body["metadata"]["resourceVersion"] = now["metadata"]["resourceVersion"]
            status, answer = self.rest.request("PUT", f"{CONFIG}/default", body)
        assert status in (200, 201), answer

    def published(self):
        """How many mediated devices say in the API what they are."""
        _, answer = self.rest.request("GET", "/apis/hostdev.io/v1alpha1/mediateddevices")
        return sum("uuid" in o.get("status", {}) for o in answer["items"])

    def watch(self):
        """Streams of all resources, whole and healthy."""
        endpoints = wait_until(lambda: (found := self.kubelet.endpoints()).keys() >= WANTED.keys() and found, 60,
                               "all resources")
        for resource, number in WANTED.items():
            self.streams[resource] = Stream(endpoints[resource])
            self.streams[resource].wait(0, lambda devices, ill, number=number: (devices, ill) == (number, 0))

    def close(self):
        for stream in self.streams.values():
            stream.close()
        self.process.terminate()
        self.process.wait()


@contextmanager
def agent(cluster, preset="release", lends=True):
    kubelet = FakeKubelet()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        bench = Bench(cluster, Tree(Path(folder)), kubelet, preset, lends)
        try:
            yield bench
        except Exception:
            print(bench.log.read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            bench.close()
            bench.rest.request("DELETE", f"{CONFIG}/default")
            shutil.rmtree(kubelet.folder)


def memory(cluster):
    heading(f"memory with {FUNCTIONS} PCI, {STICKS} USB, {INSTANCES} mediated devices and {len(NODES)} x {UNITS:,} units lent")
    for preset in RSS_GOAL:
        if not program(preset).exists():
            continue
        with agent(cluster, preset) as bench:
            wait_until(lambda: "devices read" in bench.log.read_text(), 30, "the first look")
            time.sleep(2)
            before = smaps(bench.process.pid)
            bench.configure(**LENT, mediatedDevicesConfiguration=TYPES)
            wait_until(lambda: bench.published() == INSTANCES, 60, "the mediated devices")
            bench.watch()
            time.sleep(3)
            after = smaps(bench.process.pid)
        figure(f"RSS, {preset}", f"{after['Rss']:.1f} MiB", f"goal {RSS_GOAL[preset]} MiB; {before['Rss']:.1f} before")
        figure(f"private dirty, {preset}", f"{after['Private_Dirty']:.1f} MiB", f"{before['Private_Dirty']:.1f} before")


def unplug(cluster, rounds):
    heading(f"a USB device of {STICKS} is unplugged, everything else lent too ({rounds} times)")
    uevent = uevent_file()
    gone, back = [], []
    with agent(cluster) as bench:
        bench.configure(**LENT, mediatedDevicesConfiguration=TYPES)
        bench.watch()
        stream = bench.streams["bench.io/keyboard"]
        for turn in range(rounds):
            device = 2 + turn % STICKS
            for act, ill, times in ((bench.tree.pull, 1, gone), (bench.tree.plug, 0, back)):
                time.sleep(0.1)  # the look that the last uevent led to is over
                mark, began = len(stream.told), time.monotonic()
                act(device)
                uevent.write_text("change")
                times.append((stream.wait(mark, lambda _, now, ill=ill: now == ill) - began) * 1000)
    for what, times, goal in (("unplugged to Unhealthy message", gone, f"goal p99 {UNPLUG_GOAL_MS} ms"),
                              ("plugged again to Healthy message", back, "")):
        figure(f"{what}: p50, p99", f"{quantile(times, 0.5):.1f}, {quantile(times, 0.99):.1f} ms", goal)


def mdevs(cluster, rounds):
    heading(f"{INSTANCES} mediated devices of {len(PARENTS)} parents, from the config on, sysfs played ({rounds} times)")
    made, published = [], []
    with agent(cluster, lends=False) as bench:  # nobody has to say first that no pod has them
        wait_until(lambda: "devices read" in bench.log.read_text(), 30, "the first look")
        for _ in range(rounds):
            began = time.monotonic()
            bench.configure(mediatedDevicesConfiguration=TYPES)
            wait_until(lambda: bench.tree.instances() == INSTANCES, 60, "all instances")
            made.append(time.monotonic() - began)
            wait_until(lambda: bench.published() == INSTANCES, 60, "all objects")
            published.append(time.monotonic() - began)
            bench.configure()
            wait_until(lambda: bench.tree.instances() == 0 and bench.published() == 0, 60, "the end of all")
    for what, times in (("made", made), ("published", published)):
        figure(f"{what}: p50, largest", f"{quantile(times, 0.5) * 1000:.0f}, {max(times) * 1000:.0f} ms")


def in_guest(cluster):
    heading(f"{INSTANCES} instances of the kernel's mtty and mdpy, virtual machine without KVM")
    cluster.kubectl("apply", "--server-side", "-k", ROOT / "manifests/overlays/processes")
    cluster.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {"name": VM}})
    guest = Guest(VM)
    guest.stop()
    guest.start()
    try:
        guest.sh("modprobe mtty; rmmod mdpy 2>/dev/null || true; modprobe mdpy count=40")
        node = NodeAgent(guest, cluster)
        node.install()
        node.start()
        wait_until(node.ready, 60, "the agent in the guest")
        number = len(cluster.get("mediateddevices"))
        began = time.monotonic()
        cluster.kubectl("apply", "-f", "-", input={
            "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
            "spec": {"mediatedDevicesConfiguration": {"mediatedDeviceTypes": ["mtty-1", "mdpy-vga"]}}})
        wait_until(lambda: int(guest.sh("ls /sys/bus/mdev/devices | wc -l")) == INSTANCES, 120, "all instances")
        figure("made", f"{time.monotonic() - began:.1f} s")
        wait_until(lambda: len(cluster.get("mediateddevices")) - number == INSTANCES, 120, "all objects")
        figure("published", f"{time.monotonic() - began:.1f} s")
    finally:
        cluster.kubectl("delete", "hostdeviceconfig", "default", "--ignore-not-found")
        guest.stop()


def run(vm=False, rounds=200, mdev_rounds=10):
    if os.geteuid() != 0:
        heading("devices")
        figure("skipped", "needs root")
        return
    with control_plane() as cluster:
        cluster.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        memory(cluster)
        unplug(cluster, rounds)
        mdevs(cluster, mdev_rounds)
        if vm:
            in_guest(cluster)
