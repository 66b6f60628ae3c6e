"""What a claim costs: from apply to Ready and from delete to restored, in the guest of hack/vm.

The time counts on this machine, from the request to the watch event that every client sees. The
kernel's own time (its part of the writes to sysfs) is told by the agent's log, and so is how long
the helper ran; the rest is ours: the agent, the start of the helper, the API server between.
"""

import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from agent_cost import control_plane, program
from cluster import ROOT, WRITES, wait_until
from report import figure, heading, quantile

sys.path += [str(ROOT / "tests/flow/node"), str(ROOT / "tests/flow/api")]
from guest import Guest  # noqa: E402
from node_agent import NodeAgent  # noqa: E402
from rest import Rest  # noqa: E402

VM = "bench"
STATE = "/run/hostdev-state"
NIC = "0000:01:00.0"
PF, VFS = "0000:03:00.0", 7
CLAIMS = "/apis/devices.harvesterhci.io/v1beta1/pcideviceclaims"
ENDED = re.compile(r'msg="transition ended".* verb=(\w+).* took_ms=(\d+) helper_us=(\d+) kernel_us=(\d+)')
GO_AGENT_S = {"claim to Ready": 2.0, "delete to restored": 7.0}  # measured once in the same machine
OURS_GOAL_MS = 20


class ClaimWatch:
    """What a watch of the claims tells, each with the time at which it came."""

    def __init__(self, rest):
        self.told = []
        self.changed = threading.Condition()
        at = rest.connection
        self.connection = http.client.HTTPSConnection(at.host, at.port, context=at._context)
        self.answer = wait_until(self._open, 30, "a watch of the claims")
        threading.Thread(target=self._collect, daemon=True).start()

    def _open(self):
        """The answer; None while the API server is still setting up the kind."""
        self.connection.request("GET", f"{CLAIMS}?watch=true", headers={"Accept": "application/json"})
        answer = self.connection.getresponse()
        if answer.status == 200:
            return answer
        answer.read()
        return None

    def _collect(self):
        for line in self.answer:
            with self.changed:
                self.told.append((time.monotonic(), json.loads(line)))
                self.changed.notify_all()

    def wait(self, mark, check, timeout=120):
        """When the first event behind the mark came for which check is true."""
        with self.changed:
            def found():
                return next((at for at, event in self.told[mark:] if check(event)), None)
            assert self.changed.wait_for(found, timeout), "the claim did not get there"
            return found()


def name_of(address, node=VM):
    return f"{node}-{address.replace(':', '').replace('.', '')}"


def ready(name):
    def check(event):
        conditions = event["object"].get("status", {}).get("conditions", [])
        return event["object"]["metadata"]["name"] == name and any(
            c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return check


def gone(name):
    return lambda event: event["type"] == "DELETED" and event["object"]["metadata"]["name"] == name


class Bench:
    """Claims of one node; log() is its agent's log so far."""

    def __init__(self, cluster, node, log, guest=None):
        self.cluster, self.node, self.log, self.guest = cluster, node, log, guest
        self.rest = Rest(cluster.kubeconfig)
        self.watch = ClaimWatch(self.rest)

    def claim(self, addresses):
        """Claims all at once; how long each took, in ms."""
        began, mark = {}, len(self.watch.told)
        for address in addresses:
            body = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
                    "metadata": {"name": name_of(address, self.node)}, "spec": {"address": address, "nodeName": self.node}}
            began[address] = time.monotonic()
            status, answer = self.rest.request("POST", CLAIMS, body)
            assert status == 201, answer
        return [(self.watch.wait(mark, ready(name_of(a, self.node))) - began[a]) * 1000 for a in addresses]

    def release(self, addresses):
        began, mark = {}, len(self.watch.told)
        for address in addresses:
            began[address] = time.monotonic()
            status, answer = self.rest.request("DELETE", f"{CLAIMS}/{name_of(address, self.node)}")
            assert status == 200, answer
        return [(self.watch.wait(mark, gone(name_of(a, self.node))) - began[a]) * 1000 for a in addresses]

    def settle(self, address, driver):
        """Until the object of the device says so: the next round begins at rest."""
        path = f"/apis/devices.harvesterhci.io/v1beta1/pcidevices/{name_of(address, self.node)}"

        def said():
            _, device = self.rest.request("GET", path)
            return device.get("kind") == "PCIDevice" and device.get("status", {}).get("kernelDriverInUse") == driver
        wait_until(said, 30, f"{address} on {driver}")

    def transitions(self, verb):
        """(took ms, helper ms, kernel ms) of each, from the agent's log."""
        found = ENDED.findall(self.log())
        return [(int(took), int(helper) / 1000, int(kernel) / 1000) for v, took, helper, kernel in found if v == verb]


def report(what, totals, transitions, goal=f"goal {OURS_GOAL_MS} ms p99"):
    figure(f"{what}: p50, p99 of {len(totals)}", f"{quantile(totals, 0.5):.0f}, {quantile(totals, 0.99):.0f} ms",
           f"Go agent {GO_AGENT_S[what] * 1000:.0f} ms")
    kernel = [k for _, _, k in transitions]
    helper = [h - k for _, h, k in transitions]
    start = [max(0, took - h) for took, h, _ in transitions]
    rest = [total - took for total, (took, _, _) in zip(totals, transitions)]
    ours = [total - k for total, (_, _, k) in zip(totals, transitions)]
    figure("    of it the kernel's own: p50, p99", f"{quantile(kernel, 0.5):.0f}, {quantile(kernel, 0.99):.0f} ms")
    figure("    of it ours: p50, p99", f"{quantile(ours, 0.5):.1f}, {quantile(ours, 0.99):.1f} ms", goal)
    figure("        helper's own work: p50", f"{quantile(helper, 0.5):.1f} ms")
    figure("        start and end of the helper's process: p50", f"{quantile(start, 0.5):.0f} ms")
    figure("        agent and API server: p50", f"{quantile(rest, 0.5):.0f} ms")


def lives(bench, address, rounds):
    """How long each claim and each release took."""
    up, down = [], []
    for _ in range(rounds):
        up += bench.claim([address])
        bench.settle(address, "vfio-pci")
        down += bench.release([address])
        bench.settle(address, "e1000e")
    return up, down


def one_by_one(bench, rounds):
    heading(f"a claim of {NIC} (e1000e), {rounds} times, virtual machine without KVM")
    up, down = lives(bench, NIC, rounds)
    report("claim to Ready", up, bench.transitions("bind")[-rounds:])
    report("delete to restored", down, bench.transitions("release")[-rounds:])


def count_writes(bench, rounds):
    heading(f"API writes of the agent for each claim, from apply to restored ({rounds} claims, audit log)")
    counts = Counter()
    for event in bench.cluster.audit():
        ref = event.get("objectRef", {})
        if event["verb"] in WRITES and event.get("userAgent", "").endswith(f"({VM})") \
                and (ref.get("name") == name_of(NIC) or ref.get("resource") == "events"):
            counts[ref["resource"] + ("/status" if ref.get("subresource") else "")] += 1
    figure("objects (claim and device)", f"{sum(n for r, n in counts.items() if r != 'events') / rounds:.2f}",
           "goal 5")
    for resource, number in sorted(counts.items()):
        figure(f"    {resource}", f"{number / rounds:.2f}")


def side_by_side(bench, rounds=3):
    bench.guest.write(f"/sys/bus/pci/devices/{PF}/sriov_numvfs", str(VFS))
    addresses = [NIC] + virtual_functions(bench.guest)
    heading(f"{len(addresses)} claims on one node")
    for address in addresses[1:]:
        bench.settle(address, "igbvf")
    serial, parallel = [], []
    for _ in range(rounds):
        serial.append(timed(lambda: [bench.claim([a]) for a in addresses]))
        bench.release(addresses)
        time.sleep(1)
        parallel.append(timed(lambda: bench.claim(addresses)))
        bench.release(addresses)
        time.sleep(1)
    one, all_ = quantile(serial, 0.5), quantile(parallel, 0.5)
    figure("one after the other, all Ready", f"{one:.0f} ms")
    figure("side by side, all Ready", f"{all_:.0f} ms", f"{all_ / one:.2f} of it")
    bench.guest.write(f"/sys/bus/pci/devices/{PF}/sriov_numvfs", "0")


def virtual_functions(guest):
    links = guest.sh(f"for l in /sys/bus/pci/devices/{PF}/virtfn*; do basename $(readlink $l); done")
    return sorted(links.split())


def timed(act):
    began = time.monotonic()
    act()
    return (time.monotonic() - began) * 1000


PROBE = """
import http.client, sys, time
connection = http.client.HTTPConnection("127.0.0.1", 9807)
taken = []
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    began = time.monotonic()
    connection.request("GET", "/healthz")
    connection.getresponse().read()
    taken.append((time.monotonic() - began) * 1000)
    time.sleep(0.02)
taken.sort()
print(taken[len(taken) // 2], taken[int(len(taken) * 0.99)], len(taken))
"""


def loop_latency(bench, seconds=10):
    """The agent's answers over one kept connection, while an unbind of a held device waits in the kernel."""
    heading("event loop of the agent while one device is held (GET /healthz on a kept connection)")
    for what, held in (("at rest", False), ("one device held, its claim deleted", True)):
        if held:
            bench.claim([NIC])
            hold(bench)
            bench.rest.request("DELETE", f"{CLAIMS}/{name_of(NIC)}")
        p50, p99, number = bench.guest.run("python3", "-c", PROBE, seconds).split()
        figure(f"{what}: p50, p99 of {number}", f"{float(p50):.1f}, {float(p99):.1f} ms", "goal 10 ms" if held else "")
    mark = len(bench.watch.told)
    bench.guest.sh("kill -9 $(cat /run/holder.pid)")
    bench.watch.wait(max(0, mark - 1), gone(name_of(NIC)))


def hold(bench):
    """A process that opens the group and never lets go."""
    group = bench.guest.sh(f"basename $(readlink /sys/bus/pci/devices/{NIC}/iommu_group)").strip()
    bench.guest.sh(f"setsid python3 -c \"import os, time; os.open('/dev/vfio/{group}', os.O_RDWR); time.sleep(9999)\" "
                   "</dev/null >/dev/null 2>&1 & echo $! > /run/holder.pid")
    wait_until(lambda: bench.guest.try_sh(f"ls -l /proc/$(cat /run/holder.pid)/fd | grep -q vfio/{group}"), 30, "the holder")


# --- this machine, with the kernel's part played -----------------------------------

HERE = "here"
HERE_NIC = "0000:01:00.1"
STUBBED_GOAL_MS = 2


def run_here(cluster, rounds):
    """The real agent and API server; hostdev-helper with tests/bench/stub_kernel.c in place of the kernel."""
    heading(f"a claim of a synthetic e1000e, {rounds} times, this machine, writes to sysfs played")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        tree = Path(folder)
        subprocess.run([ROOT / "tests/fake/tree/make_tree", "--functions", "32", tree / "tree"], check=True)
        make_vfio(tree / "tree")
        log = tree / "agent.log"
        with open(log, "w") as stderr:
            process = subprocess.Popen(
                [program("release"), "--kubeconfig", cluster.kubeconfig, "--node-name", HERE, "--listen", "off",
                 "--sysfs-root", tree / "tree/sys", "--proc-root", tree / "tree/proc", "--dev-root", tree / "tree/dev",
                 "--state-dir", tree / "state", "--helper", program("release", "bench_helper")], stderr=stderr)
        try:
            bench = Bench(cluster, HERE, log.read_text)
            bench.settle(HERE_NIC, "e1000e")
            up, down = lives(bench, HERE_NIC, rounds)
        finally:
            process.terminate()
            process.wait()
        report("claim to Ready", up, bench.transitions("bind")[-rounds:], f"goal {STUBBED_GOAL_MS} ms")
        report("delete to restored", down, bench.transitions("release")[-rounds:], f"goal {STUBBED_GOAL_MS} ms")


def make_vfio(tree):
    """What vfio-pci brings: its driver, an IOMMU backend, and a node for each group."""
    for folder in ("sys/bus/pci/drivers/vfio-pci", "sys/module/vfio_iommu_type1", "dev/vfio"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    (tree / "sys/bus/pci/drivers_probe").touch()
    for group in (tree / "sys/kernel/iommu_groups").iterdir():
        (tree / "dev/vfio" / group.name).touch()


# --- the guest -----------------------------------------------------------------------

def run(rounds=30, here_rounds=100):
    with control_plane() as cluster:
        run_here(cluster, here_rounds)
        cluster.kubectl("apply", "--server-side", "-k", ROOT / "manifests/overlays/processes")
        guest = Guest(VM)
        guest.stop()
        guest.start()
        try:
            cluster.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {"name": VM}})
            agent = NodeAgent(guest, cluster)
            agent.install()
            agent.start("--state-dir", STATE)
            wait_until(agent.ready, 60, "the agent in the guest")
            bench = Bench(cluster, VM, agent.log, guest)
            bench.settle(NIC, "e1000e")
            one_by_one(bench, rounds)
            count_writes(bench, rounds)
            side_by_side(bench)
            loop_latency(bench)
        finally:
            guest.stop()
