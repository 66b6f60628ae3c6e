"""From a uevent of the kernel to the object that every client sees.

Two places: this machine (a synthetic tree beside real uevents, which need root), and the guest of
hack/vm (real drivers and a NIC that is plugged, on an emulated processor). The time counts from the
last uevent of the device before its new state came by at a watch.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from agent_cost import NODE, control_plane, program, settled
from cluster import ROOT, wait_until
from report import figure, heading, quantile

sys.path.append(str(ROOT / "tests/flow/node"))
from guest import Guest  # noqa: E402
from node_agent import HOME, NodeAgent  # noqa: E402

RECORDER = Path(__file__).parent / "recorder.py"
WATCHED = "/apis/devices.harvesterhci.io/v1beta1/pcidevices?watch=true"
GOAL_MS = 100
VM = "bench"
NIC, SLOT = "0000:01:00.0", "0000:05:00.0"


class Recording:
    """recorder.py, here or in the guest; what it has told so far."""

    def __init__(self, command):
        self.told = []
        self.changed = threading.Condition()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self._collect, daemon=True)
        self.thread.start()
        self.wait(0, lambda told: told.get("ready"))

    def _collect(self):
        for line in self.process.stdout:
            with self.changed:
                self.told.append(json.loads(line))
                self.changed.notify_all()

    def wait(self, mark, check, timeout=60):
        """The place of the first thing told behind the mark for which check is true."""
        with self.changed:
            def found():
                return next((i for i in range(mark, len(self.told)) if check(self.told[i])), None)
            assert self.changed.wait_for(lambda: found() is not None, timeout), "nothing came by"
            return found()

    def latency_ms(self, mark, address, check):
        """How long behind the device's last uevent the state came by that check wants."""
        at = self.wait(mark, lambda told: "event" in told and check(told["event"]))
        uevents = [t["at"] for t in self.told[mark:at] if address in t.get("uevent", "")]
        return (self.told[at]["at"] - uevents[-1]) * 1000 if uevents else None

    def stop(self):
        self.process.terminate()
        self.process.wait()


def driver_is(address, driver):
    """An event of an object with this driver (None: without one)."""
    def check(event):
        status = event["object"].get("status", {})
        return status.get("address") == address and (status.get("kernelDriverInUse") or None) == driver
    return check


def report(what, latencies, log):
    values = [value for value in latencies if value is not None]
    figure(f"{what}: p50 of {len(values)}", f"{quantile(values, 0.5):.1f} ms")
    figure(f"{what}: p99", f"{quantile(values, 0.99):.1f} ms", f"goal {GOAL_MS} ms")
    for name, parts in split(log).items():
        if parts:
            figure(f"    of it {name}: p50, p99", f"{quantile(parts, 0.5)}, {quantile(parts, 0.99)} ms")


LINE = re.compile(r'^time=(\S+) level=\w+ msg=(?:"([^"]*)"|(\S+))')
STEPS = ("uevent", "scan starts", "scan ended", "writing", "written")


def split(log):
    """How long each step took, from the agent's own log with --log-level debug."""
    parts = {f"{a} to {b}": [] for a, b in zip(STEPS, STEPS[1:])}
    last = {}
    for line in log.splitlines():
        if not (match := LINE.match(line)):
            continue
        at, step = datetime.fromisoformat(match[1].replace("Z", "+00:00")), match[2] or match[3]
        if step not in STEPS:
            continue
        before = STEPS[STEPS.index(step) - 1] if step != STEPS[0] else None
        if before in last:
            parts[f"{before} to {step}"].append(round((at - last.pop(before)).total_seconds() * 1000))
        last[step] = at
    return parts


def token_kubeconfig(cluster, folder):
    cluster.kubectl("apply", "--server-side", "-k", ROOT / "manifests/overlays/processes")
    path = Path(folder) / "token.kubeconfig"
    path.write_text(cluster.control("sa-kubeconfig", "hostdev-system", "hostdev-agent"))
    return path


# --- this machine --------------------------------------------------------------

def run_here(cluster, rounds, functions):
    heading(f"uevent to object visible, this machine, tree of {functions} functions ({rounds} changes)")
    real = sorted(Path("/sys/bus/pci/devices").glob("*"))
    if os.geteuid() != 0 or not real:
        figure("skipped", "needs root and PCI")
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        subprocess.run([ROOT / "tests/fake/tree/make_tree", "--functions", str(functions), f"{folder}/tree"], check=True)
        with tree_agent(cluster, folder, functions), recording_here(cluster, folder) as recording:
            latencies = change_tree(recording, Path(folder) / "tree", real[0], rounds)
        report("driver of a function", latencies, (Path(folder) / "agent.log").read_text())


@contextmanager
def tree_agent(cluster, folder, functions):
    with open(f"{folder}/agent.log", "w") as log:
        process = subprocess.Popen(
            [program("release"), "--kubeconfig", cluster.kubeconfig, "--node-name", NODE, "--listen", "off",
             "--log-level", "debug", "--sysfs-root", f"{folder}/tree/sys", "--proc-root", f"{folder}/tree/proc"],
            stderr=log)
    try:
        wait_until(lambda: settled(cluster), 60 + functions / 10, "the agent's objects")
        yield
    finally:
        process.terminate()
        process.wait()


@contextmanager
def recording_here(cluster, folder):
    recording = Recording([sys.executable, RECORDER, token_kubeconfig(cluster, folder), WATCHED])
    try:
        yield recording
    finally:
        recording.stop()


def change_tree(recording, tree, real, rounds):
    """Takes a function's driver away and gives it back; the uevent is of a real device."""
    path = next(p for p in sorted(tree.glob("sys/bus/pci/devices/*/uevent")) if "DRIVER=e1000e" in p.read_text())
    with_driver = path.read_text()
    latencies = []
    for turn in range(rounds):
        text = with_driver if turn % 2 else with_driver.replace("DRIVER=e1000e\n", "")
        mark = len(recording.told)
        path.write_text(text)
        (real / "uevent").write_text("change")
        check = driver_is(path.parent.name, "e1000e" if turn % 2 else None)
        latencies.append(recording.latency_ms(mark, real.name, check))
        time.sleep(0.05)
    return latencies


# --- the guest -----------------------------------------------------------------

def run_in_guest(cluster, rounds):
    heading("uevent to object visible, virtual machine without KVM")
    guest = Guest(VM)
    guest.stop()
    guest.start()
    try:
        agent = NodeAgent(guest, cluster)
        cluster.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {"name": VM}})
        agent.install()
        agent.start("--log-level", "debug")
        wait_until(agent.ready, 60, "the agent in the guest")
        command = [ROOT / "hack/vm", "exec", "--name", VM, "--", "python3", RECORDER, f"{HOME}/kubeconfig", WATCHED]
        recording = Recording(command)
        report(f"driver of {NIC}", rebind(recording, guest, rounds), agent.log())
        report("a NIC that is plugged", plug(recording, guest, rounds // 4), "")
        recording.stop()
    finally:
        guest.stop()


def rebind(recording, guest, rounds):
    latencies = []
    for turn in range(rounds):
        mark = len(recording.told)
        guest.write(f"/sys/bus/pci/drivers/e1000e/{'bind' if turn % 2 else 'unbind'}", NIC)
        latencies.append(recording.latency_ms(mark, NIC, driver_is(NIC, "e1000e" if turn % 2 else None)))
    return latencies


def plug(recording, guest, rounds):
    latencies = []
    for _ in range(rounds):
        mark = len(recording.told)
        device = guest.plug("nic", "--bus", "spare1")
        latencies.append(recording.latency_ms(mark, SLOT, driver_is(SLOT, "e1000e")))
        mark = len(recording.told)
        guest.unplug(device)
        recording.wait(mark, lambda t: t.get("event", {}).get("type") == "DELETED")
    return latencies


def run(rounds=100, guest_rounds=40):
    with control_plane() as cluster:
        run_here(cluster, rounds, 32)
        cluster.kubectl("delete", "pcidevices,usbdevices", "--all")
        run_in_guest(cluster, guest_rounds)
