"""What GPUs for containers cost (--nvidia): the agent and hostdev-nvml as they ship, with an API server, a made-up node
and the stand-in for NVIDIA's library (tests/fake/nvml); the kubelet is played by grpc-go (tests/bench/plugins/kubelet).

Beside each figure is what was measured of NVIDIA's k8s-device-plugin 0.20 with another stand-in and on another
machine: its order of magnitude counts.
"""

import json
import os
import random
import re
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import claim_cost  # noqa: F401 - where the modules of the flow tests are
import yaml
from agent_cost import control_plane, program, smaps
from cluster import wait_until
from machine import Machine, make_tree
from plugin_cost import tools
from report import figure, heading, quantile

NODE = "gpus"
RESOURCE = "nvidia.com/gpu"
LIBRARY = program("release").parents[1] / "fake/libnvidia-ml.so.1"
CARD = (0x030200, 0x10DE, 0x20B0, (0x10DE, 0x134F), "nvidia", "flr")
PROBE_S = 5
STARTS, ROUNDS, CALLS, PREFERS = 16, 5, 1000, 100  # calls of a round
USUAL_SIZES = (1, 2, 4, 8)
LOST_S, HANG_S = 30, 60


class Kubelet:
    """The kubelet's side: what came on its streams, and how long its calls take."""

    def __init__(self, tool, folder):
        self.folder = folder
        self.process = subprocess.Popen([tool, "serve", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lists, self.answers, self.changed = [], [], threading.Condition()
        wait_until((folder / "device-plugins/kubelet.sock").exists, 10, "the kubelet's socket")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            told = json.loads(line)
            with self.changed:
                (self.lists if "at" in told else self.answers).append(told)
                self.changed.notify_all()

    def wait(self, mark, check, timeout=60):
        """The first list behind the mark for which check is true."""
        with self.changed:
            def found():
                return next((one for one in self.lists[mark:] if check(one)), None)
            assert self.changed.wait_for(found, timeout), f"no such list: {self.lists[mark:]}"
            return found()

    def call(self, *words):
        self.answers.clear()
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        with self.changed:
            assert self.changed.wait_for(lambda: self.answers, 600), "no answer"
        (answer,) = self.answers
        assert not answer.get("error"), answer["error"]
        return answer

    def allocate(self, ids, calls):
        return self.call("allocate", calls, RESOURCE, *ids)

    def prefer(self, size, ids, calls):
        return self.call("prefer", calls, RESOURCE, size, *ids)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Node:
    """A machine with that many GPUs, each offered that many times, and its agent, of which one runs at a time."""

    def __init__(self, cluster, kubelet, folder, gpus, replicas=1, scene=""):
        self.cluster, self.kubelet, self.folder, self.agent = cluster, kubelet, folder, None
        self.devices = gpus * replicas
        self.uuids = [f"GPU-00000000-0000-0000-0000-{n:012}" for n in range(gpus)]
        self.ids = [f"{uuid}::{n}" for uuid in self.uuids for n in range(replicas)] if replicas > 1 else self.uuids
        addresses = [f"0000:{0x60 + n:02x}:00.0" for n in range(gpus)]
        (folder / "lib64").mkdir(parents=True)
        (folder / "lib64" / LIBRARY.name).symlink_to(LIBRARY)
        self.scene = "".join(f"gpu {a} {u}\n" for a, u in zip(addresses, self.uuids)) + scene
        self.set_scene()
        machine = Machine(folder / "machine")
        for address in addresses:
            make_tree.add_function(machine.tree, address, f"sys/devices/pci0000:{address[5:7]}/{address}", CARD, 0)
        sharing = {"timeSlicing": {"resources": [{"name": RESOURCE, "replicas": replicas}]}} if replicas > 1 else {}
        (folder / "plugin.yaml").write_text(yaml.dump({"version": "v1", "sharing": sharing}))
        self.command = [program("release"), "--kubeconfig", cluster.kubeconfig, "--node-name", NODE, "--listen", "off",
                        "--kubelet-dir", kubelet.folder, "--registration", "direct", *machine.flags]
        self.flags = ["--nvidia", "--nvidia-driver-root", folder, "--nvidia-config-file", folder / "plugin.yaml"]

    def set_scene(self, more=""):
        """What processes find that begin from now on."""
        (self.folder / "scene").write_text(self.scene + more)

    @contextmanager
    def running(self, nvidia=True):
        """The agent, when all GPUs are offered and watched; the time from its exec to the list, in ms."""
        mark = len(self.kubelet.lists)
        with open(self.folder / "agent.log", "w") as log:
            began = time.monotonic_ns()
            self.agent = subprocess.Popen([*self.command, *(self.flags if nvidia else [])], stderr=log,
                                          env=os.environ | {"HOSTDEV_FAKE_NVML": str(self.folder)})
        try:
            took = None
            if nvidia:
                found = self.kubelet.wait(mark, lambda one: one["devices"] == one["healthy"] == self.devices)
                took = (found["at"] - began) / 1e6
                wait_until(self.watch, 30, "the watch of the GPUs")
            time.sleep(0.5)  # it registers its events; the topology is read
            yield took
        finally:
            self.agent.kill()
            self.agent.wait()
            wait_until(lambda: not self.watch(), 10, "the end of the watch")

    def watch(self):
        """The process that watches; None: there is none."""
        for path in self.folder.glob("*.socket"):
            try:
                if b"\0watch\0" in Path(f"/proc/{path.stem}/cmdline").read_bytes():
                    return int(path.stem)
            except OSError:  # it has ended
                pass
        return None

    def tell(self, *commands):
        """Commands for the library of the process that watches; when, in ns."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            at = time.monotonic_ns()
            sock.sendto("\n".join(commands).encode(), str(self.folder / f"{self.watch()}.socket"))
        return at

    def log_lines(self):
        return (self.folder / "agent.log").read_text().count("\n")

    def processor_s(self):
        """Of the agent, of its children that ended and of the watch."""
        return sum(map(processor_s, (self.agent.pid, self.watch())))


def processor_s(pid):
    if pid is None:
        return 0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def ms(values, digits=2):
    return f"{quantile(values, 0.5):.{digits}f}, {quantile(values, 0.99):.{digits}f} ms"


def rounds_figure(what, rounds, goal, digits=2):
    """p50 and p99 of all rounds, and of the one that the rest of the machine has disturbed least."""
    quietest = min(rounds, key=lambda values: quantile(values, 0.99))
    figure(what, ms(sum(rounds, []), digits), f"quietest round {ms(quietest, digits)}; goal {goal}")


def load():
    return f"{os.getloadavg()[0]:.1f}"


def ns_to_ms(values):
    return [value / 1e6 for value in values]


def rounds_of(call):
    """Each round's times, in ms."""
    return [ns_to_ms(call()["took"]) for _ in range(ROUNDS)]


# --- preferred allocation ----------------------------------------------------------------

def levels(level_of):
    """A line for each pair of 16 GPUs."""
    return "".join(f"level {a} {b} {level_of(a, b)}\n" for a in range(16) for b in range(a))


def tree_level(a, b):
    """Two GPUs behind one switch, four below a host bridge, eight of a NUMA node."""
    return 10 if a // 2 == b // 2 else 30 if a // 4 == b // 4 else 40 if a // 8 == b // 8 else 50


def meshes():
    """The NVLinks of two DGX-1."""
    links = {(0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2, (2, 6): 1, (3, 7): 1,
             (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2}
    return "".join(f"link {a + more} {b + more} {n}\n" for more in (0, 8) for (a, b), n in links.items())


def random_links():
    dice = random.Random(16)
    lines = [f"link {a} {b} {dice.randrange(1, 4)}\n" for a in range(14) for b in range(a) if dice.random() < 0.4]
    return "link 14 15 4\n" + "".join(lines) + levels(lambda a, b: dice.choice((0, 10, 20, 30, 40, 50)))


SCENES = {
    "PCIe": levels(tree_level),
    "NVSwitch": levels(tree_level) + "".join(f"switch {n} 12\n" for n in range(16)),
    "NVLinks of two DGX-1": levels(tree_level) + meshes(),
    "random NVLinks": random_links(),
}
PEER_PREFERS = {2: "; peer 2.2 s", 4: "; peer 4.7 s"}


def preferred(node_of):
    heading(f"preferred allocation of 16 free GPUs: p50, p99 of {ROUNDS} times {PREFERS} calls, client in Go; load {load()}")
    for name, scene in SCENES.items():
        node = node_of(16, scene=scene)
        with node.running():
            if "link" in scene:  # the first two are not the best pair
                wait_until(lambda: node.kubelet.prefer(2, node.ids, 1)["ids"] != node.ids[:2], 30, "the topology")
            times = {size: rounds_of(lambda: node.kubelet.prefer(size, node.ids, PREFERS)) for size in range(1, 17)}
        for size in USUAL_SIZES:
            rounds_figure(f"{size} of 16, {name}", times[size], "p99 1 ms" + PEER_PREFERS.get(size, ""))
        other = max(times.keys() - set(USUAL_SIZES), key=lambda size: quantile(sum(times[size], []), 0.5))
        rounds_figure(f"{other} of 16, the slowest other size, {name}", times[other], "p99 5 ms")
    node = node_of(8, replicas=100)
    with node.running():
        times = rounds_of(lambda: node.kubelet.prefer(4, node.ids, PREFERS))
    rounds_figure("4 of 800 shares of 8 GPUs", times, "p99 1 ms; peer 1.8, 6.9 ms")


# --- calls, starts and Xids --------------------------------------------------------------

def starts_and_xids(node_of):
    heading(f"8 GPUs with 4 shares each, {STARTS} starts of the agent, 8 Xids after each; load {load()}")
    node = node_of(8, replicas=4)
    starts, latencies, extra = [], [], 0
    for turn in range(STARTS):
        with node.running() as took:
            starts.append([took])
            if turn == 0:
                node.kubelet.allocate([node.ids[0]], 500)
                calls = rounds_of(lambda: node.kubelet.allocate([node.ids[0]], CALLS))
            xids = [one_xid(node, gpu) for gpu in range(8)]
            latencies.append([latency for latency, _ in xids])
            extra += sum(messages - 1 for _, messages in xids)
            if turn == STARTS - 1:
                cured = healthy_again(node)
    rounds_figure("exec to first list at the kubelet: p50, p99", starts, "10 ms; peer registers after 16 to 34 ms", 1)
    rounds_figure(f"Allocate, client in Go: p50, p99 of {ROUNDS * CALLS}", calls,
                  "p99 0.2 ms; peer 0.05 to 0.13, 0.29 to 0.42 ms", 3)
    rounds_figure(f"Xid to all 4 shares Unhealthy: p50, p99 of {8 * STARTS}", latencies,
                  "p99 5 ms; peer 0.4 to 0.8 ms, 1 share of 4")
    figure("    of these in more than one message", f"{extra}", "goal 0")
    figure("last Xid to all GPUs Healthy", f"{cured:.1f} s", f"goal 2 probes, {2 * PROBE_S} s; peer never")


def one_xid(node, gpu):
    """ms until all shares of a healthy GPU are Unhealthy at the kubelet, and how many messages came."""
    mark = len(node.kubelet.lists)
    before = node.kubelet.lists[-1]["healthy"]
    at = node.tell(f"xid {gpu} 79")
    found = node.kubelet.wait(mark, lambda one: one["healthy"] == before - 4)
    time.sleep(0.05)
    return (found["at"] - at) / 1e6, len(node.kubelet.lists) - mark


def healthy_again(node):
    began, mark = time.monotonic_ns(), len(node.kubelet.lists)
    found = node.kubelet.wait(mark, lambda one: one["healthy"] == node.devices)
    return (found["at"] - began) / 1e9


# --- a GPU that is lost, a call that hangs ------------------------------------------------

def lost(node_of):
    heading(f"a GPU of 8 is lost, {LOST_S} s")
    node = node_of(8)
    with node.running():
        node.set_scene("lost 0\n")
        mark, lines, processor, began = len(node.kubelet.lists), node.log_lines(), node.processor_s(), time.monotonic()
        node.tell("lost 0")
        time.sleep(LOST_S)
        used, took = node.processor_s() - processor, time.monotonic() - began
        figure("messages to the kubelet", f"{len(node.kubelet.lists) - mark}", "goal 1; peer 47,000 per second")
        figure("log lines", f"{(node.log_lines() - lines) / took:.2f} per s", "goal 1 per s; peer 50,000 per s")
        figure("processor, agent and children", f"{100 * used / took:.1f} %", "goal 1 %; peer a whole core")
        figure("healthy GPUs", f"{node.kubelet.lists[-1]['healthy']} of 8", "goal 7; peer 0")


def hang(node_of):
    heading(f"a call on one of 8 GPUs hangs for {HANG_S} s")
    node = node_of(8)
    with node.running():
        other = [node.ids[2]]
        node.kubelet.allocate(other, 500)
        before = ns_to_ms(node.kubelet.allocate(other, 1000)["took"])
        node.set_scene(f"hang 1 DeviceGetMemoryInfo {HANG_S}\n")
        mark = len(node.kubelet.lists)
        at = node.tell("event 1 0x8000 0")  # the recovery action changed: the agent asks about the GPU
        during = []
        while len(node.kubelet.lists) == mark:
            during += ns_to_ms(node.kubelet.allocate(other, 100)["took"])
            time.sleep(0.3)
        found = node.kubelet.lists[mark]
    figure("until the GPU is Unhealthy", f"{(found['at'] - at) / 1e9:.1f} s", "goal 6 s")
    figure("GPUs that are healthy then", f"{found['healthy']} of 8", "goal 7")
    figure("Allocate of another GPU meanwhile: p50, p99", ms(during, 3), f"without: {ms(before, 3)}")


# --- at rest -----------------------------------------------------------------------------

def private_mib(pid, path=None):
    """Private memory of a process in MiB; of one file's mappings only, if there is one."""
    text = Path(f"/proc/{pid}/smaps").read_text()
    total, counts = 0, path is None
    for line in text.splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            counts = path is None or line.endswith(path)
        elif counts and line.startswith(("Private_Dirty", "Private_Clean")):
            total += int(line.split()[1])
    return total / 1024


def at_rest(node_of, seconds):
    heading(f"8 GPUs at rest for {seconds} s")
    node = node_of(8)
    with node.running(nvidia=False):
        time.sleep(3)
        without = smaps(node.agent.pid)["Private_Dirty"]
    with node.running():
        time.sleep(3)
        writes, processor = sum(node.cluster.writes("hostdev-agent/").values()), node.processor_s()
        time.sleep(seconds)
        used = node.processor_s() - processor
        writes = sum(node.cluster.writes("hostdev-agent/").values()) - writes
        with_gpus = smaps(node.agent.pid)["Private_Dirty"]
        watch, library = smaps(node.watch())["Private_Dirty"], private_mib(node.watch(), LIBRARY.name)
    figure("private dirty memory of the agent", f"+{with_gpus - without:.2f} MiB",
           f"goal 1 MiB; {without:.1f} MiB without --nvidia; peer 3.1 to 8 MiB private")
    figure("private dirty memory of hostdev-nvml", f"{watch:.2f} MiB", f"goal 1.5 MiB; {library:.2f} MiB of the library counted")
    figure("writes to the API server", f"{writes}", "goal 0; peer 0")
    figure("processor, agent and children", f"{100 * used / seconds:.2f} %")


def run(idle):
    with tools() as folder, control_plane() as cluster, tempfile.TemporaryDirectory(prefix="g-", dir="/tmp") as scratch:
        scratch = Path(scratch)
        kubelet = Kubelet(folder / "kubelet", scratch / "k")
        made = []

        def node_of(gpus, **words):
            made.append(Node(cluster, kubelet, scratch / str(len(made)), gpus, **words))
            return made[-1]

        try:
            preferred(node_of)
            starts_and_xids(node_of)
            lost(node_of)
            hang(node_of)
            at_rest(node_of, idle)
        finally:
            kubelet.end()
