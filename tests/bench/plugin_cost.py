"""What the kubelet's device plugin API costs: 64 devices, offered by the agent's own code and by grpc-go.

tests/bench/plugins/kubelet plays the kubelet and measures; bench_plugin is agent/plugin alone, peer
the usual plugin in Go. They take turns, so that whatever else the machine does meets both. The real
agent, with API server and a synthetic machine, comes last.
"""

import json
import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from agent_cost import control_plane, program
from claim_cost import Bench, make_vfio
from cluster import ROOT, wait_until
from machine import uevent_file
from report import figure, heading, quantile
from uevent_latency import split

SOURCE = ROOT / "tests/bench/plugins"
ROUNDS = 5
ONE_ROUND = ["-starts", "10", "-calls", "2000", "-changes", "400", "-restarts", "20"]
# what is measured, its name in what the kubelet prints, unit, goals of p50 and p99
FIGURES = [
    ("exec to first list at the kubelet", "first_list", "ms", (5, 5)),
    ("Allocate, client in C", "allocate_c", "us", (30, 100)),
    ("Allocate, client in Go", "allocate_go", "us", (None, 200)),
    ("change of a device to ListAndWatch message", "change", "ms", (None, 5)),
    ("kubelet.sock appears to registered", "registered", "ms", (None, 50)),
]
BY_REGISTRY = [
    ("exec to first list at the kubelet", "first_list", "ms", (5, 5)),
    ("socket in plugins_registry to registered", "registered", "ms", (None, None)),
]
MEMORY = [("Rss", "RSS"), ("Pss", "PSS"), ("Private_Dirty", "private dirty")]
UNIT = {"us": 1000, "ms": 1000 * 1000}


@contextmanager
def tools():
    with tempfile.TemporaryDirectory(prefix="hostdev-bench-") as folder:
        subprocess.run([os.environ.get("GO", "go"), "build", "-buildvcs=false", "-o", folder, "./..."], cwd=SOURCE,
                       check=True)
        yield Path(folder)


def measure(kubelet, way, command, flags=()):
    """One round of the kubelet with the plugin that command starts; {folder} in it is the kubelet's."""
    with tempfile.TemporaryDirectory(prefix="hostdev-kubelet-") as folder:
        command = [str(word).format(folder=folder) for word in command]
        run = subprocess.run([kubelet, *flags, way, folder, *command], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout) | {"log": run.stderr}


def in_turns(tools, way, flags):
    """All rounds of ours and of the peer."""
    folders = ["{folder}/device-plugins", "{folder}/plugins_registry"]
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(measure(tools / "kubelet", way, [program("release", "bench_plugin"), way, *folders], flags))
        theirs.append(measure(tools / "kubelet", way, [tools / "peer", way, *folders], flags))
    return ours, theirs


def both(values, unit):
    return [quantile(values, share) / UNIT[unit] for share in (0.5, 0.99)]


def shown(pair, unit):
    return ", ".join(f"{value:.{0 if unit == 'us' else 1}f}" for value in pair) + f" {unit}"


def goal_of(goals, unit):
    said = [f"{name} {goal} {unit}" for name, goal in zip(("p50", "p99"), goals) if goal]
    return f"goal {', '.join(said)}; " if said else ""


def beside(ours, theirs, unit):
    ratio = ", ".join(f"{mine / other:.2f}" for mine, other in zip(ours, theirs))
    return f"grpc-go {shown(theirs, unit)}: {ratio} of it"


def compare(figures, ours, theirs):
    for what, name, unit, goals in figures:
        mine, other = ([value for one in side for value in one[name]] for side in (ours, theirs))
        figure(f"{what}: p50, p99 of {len(mine)}", shown(both(mine, unit), unit),
               goal_of(goals, unit) + beside(both(mine, unit), both(other, unit), unit))
        mine, other = (min(both(one[name], unit)[::-1] for one in side)[::-1] for side in (ours, theirs))
        figure(f"    quietest of {ROUNDS} rounds", shown(mine, unit), beside(mine, other, unit))


def compare_memory(when, name, ours, theirs):
    for field, what in MEMORY:
        mine, other = (quantile([one[name][field] for one in side], 0.5) / 1024 for side in (ours, theirs))
        figure(f"{what}, {when}", f"{mine:.1f} MiB", f"grpc-go {other:.1f} MiB: {mine / other:.2f} of it")


def side_by_side(tools):
    load = os.getloadavg()[0]
    heading(f"device plugin with 64 devices, alone, and one on grpc-go; kubelet played by grpc-go (load {load:.1f})")
    client = ["-client", str(program("release", "bench_allocate"))]
    ours, theirs = in_turns(tools, "direct", ONE_ROUND + client)
    compare(FIGURES, ours, theirs)
    compare_memory("after the first list", "memory", ours, theirs)
    compare_memory("at the end", "worked", ours, theirs)
    heading("the same, registered by plugins_registry (a kubelet that looks there at once)")
    compare(BY_REGISTRY, *in_turns(tools, "registry", ["-starts", "10"]))


# --- the real agent ------------------------------------------------------------------

NODE = "lender"
DEVICES, FUNCTIONS, CHANGES = 64, 96, 100
UEVENT_GOAL_MS = 5


def agent_command(cluster, tree):
    return [program("release"), "--kubeconfig", cluster.kubeconfig, "--node-name", NODE, "--listen", "off",
            "--sysfs-root", tree / "sys", "--proc-root", tree / "proc", "--dev-root", tree / "dev",
            "--state-dir", tree / "state", "--helper", program("release", "bench_helper")]


def claim_devices(cluster, command, log):
    """Has an agent claim them, with the kernel's part played; the PCIDevices."""
    def claimable():
        found = [device for device in cluster.get("pcidevices") if any(
            c["type"] == "Claimable" and c["status"] == "True" for c in device.get("status", {}).get("conditions", []))]
        return found[:DEVICES] if len(found) >= DEVICES else None

    with open(log, "w") as stderr:
        process = subprocess.Popen([*command, "--device-plugins=false"], stderr=stderr)
    try:
        devices = wait_until(claimable, 60, "claimable devices")
        Bench(cluster, NODE, log.read_text).claim([device["status"]["address"] for device in devices])
        return devices
    finally:
        process.terminate()
        process.wait()


def real_agent(tools):
    heading(f"hostdev-agent with API server, {DEVICES} claimed devices of a synthetic tree of {FUNCTIONS} functions")
    if os.geteuid() != 0:
        figure("skipped", "needs root")
        return
    with control_plane() as cluster, tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        tree = Path(folder) / "tree"
        subprocess.run([ROOT / "tests/fake/tree/make_tree", "--functions", str(FUNCTIONS), tree], check=True)
        make_vfio(tree)
        (tree / "dev/vfio/vfio").touch()
        command = agent_command(cluster, tree)
        group = claim_devices(cluster, command, Path(folder) / "agent.log")[0]["status"]["iommuGroup"]
        flags = ["-devices", DEVICES, "-starts", 20, "-changes", CHANGES, "-pause", "100ms",
                 "-node", tree / "dev/vfio" / group, "-uevent", uevent_file()]
        one = measure(tools / "kubelet", "direct",
                      [*command, "--kubelet-dir", "{folder}", "--registration", "direct", "--log-level", "debug"],
                      map(str, flags))
    figure(f"exec to all lists: p50, p99 of {len(one['first_list'])}", shown(both(one["first_list"], "ms"), "ms"))
    figure(f"uevent to ListAndWatch message: p50, p99 of {len(one['change'])}", shown(both(one["change"], "ms"), "ms"),
           f"goal p99 {UEVENT_GOAL_MS} ms")
    for step in ("uevent to scan starts", "scan starts to scan ended"):
        parts = split(one["log"])[step][-CHANGES:]
        figure(f"    of it {step}: p50, p99", f"{quantile(parts, 0.5)}, {quantile(parts, 0.99)} ms")
    for field, what in MEMORY:
        figure(f"{what}, all devices lent", f"{one['memory'][field] / 1024:.1f} MiB")


def run():
    with tools() as folder:
        side_by_side(folder)
        real_agent(folder)
