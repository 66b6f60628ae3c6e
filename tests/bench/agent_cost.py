"""What a running agent costs: its size, its memory, its writes while nothing happens."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager

from cluster import ROOT, Cluster, wait_until
from report import figure, heading

PRESETS = {"release": "Debian's libcurl", "release-minimal": "minimal libcurl"}
RSS_GOAL = {"release": 14, "release-minimal": 8}
NODE = "bench"


def program(preset, name="hostdev-agent"):
    return ROOT / "build" / preset / "bin" / name


def built():
    return [preset for preset in PRESETS if program(preset).exists()]


def size():
    heading("program size")
    for preset in built():
        stripped = tempfile.NamedTemporaryFile()
        subprocess.run(["strip", "-o", stripped.name, program(preset)], check=True)
        figure(f"hostdev-agent, {PRESETS[preset]}, stripped", f"{os.path.getsize(stripped.name) / 1024:.0f} KiB")
    for name in ("hostdev-helper", "hostdev-controller"):
        stripped = tempfile.NamedTemporaryFile()
        subprocess.run(["strip", "-o", stripped.name, program("release", name)], check=True)
        figure(f"{name}, stripped", f"{os.path.getsize(stripped.name) / 1024:.0f} KiB")


@contextmanager
def control_plane():
    folder = tempfile.mkdtemp(prefix="hostdev-bench-")
    try:
        cluster = Cluster.start(folder)
        cluster.kubectl("apply", "-f", ROOT / "crds")
        cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", ROOT / "crds")
        yield cluster
    finally:
        Cluster.stop(folder)
        shutil.rmtree(folder)


@contextmanager
def agent(cluster, preset):
    command = [program(preset), "--kubeconfig", cluster.kubeconfig, "--node-name", NODE, "--listen", "off"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: settled(cluster), 60, "the agent's objects")
        yield process
    finally:
        process.terminate()
        process.wait()


def settled(cluster):
    objects = cluster.get("pcidevices")
    return objects and all(o.get("status", {}).get("address") for o in objects)


def smaps(pid):
    """RSS, PSS and private dirty memory of a process in MiB."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        fields = dict(re.findall(r"^(\w+):\s+(\d+) kB", file.read(), re.MULTILINE))
    return {name: int(fields[name]) / 1024 for name in ("Rss", "Pss", "Private_Dirty")}


def memory():
    heading("memory of a running agent, objects published, all watches open")
    with control_plane() as cluster:
        for preset in built():
            with agent(cluster, preset) as process:
                time.sleep(3)
                used = smaps(process.pid)
            figure(f"RSS, {PRESETS[preset]}", f"{used['Rss']:.1f} MiB", f"goal {RSS_GOAL[preset]} MiB")
            figure(f"PSS, {PRESETS[preset]}", f"{used['Pss']:.1f} MiB")
            figure(f"private dirty, {PRESETS[preset]}", f"{used['Private_Dirty']:.1f} MiB", "goal 3 MiB")


def idle(seconds):
    heading(f"an agent on a node where nothing changes, {seconds} s by the API server's audit log")
    with control_plane() as cluster, agent(cluster, "release"):
        time.sleep(2)
        before = sum(cluster.writes("hostdev-agent/").values())
        requests = sum(e.get("userAgent", "").startswith("hostdev-agent/") for e in cluster.audit())
        time.sleep(seconds)
        writes = sum(cluster.writes("hostdev-agent/").values()) - before
        reads = sum(e.get("userAgent", "").startswith("hostdev-agent/") for e in cluster.audit()) - requests
    figure("writes", f"{writes * 3600 / seconds:.0f} per hour", "goal 0")
    figure("audit entries of any kind (watches re-opened)", f"{reads * 3600 / seconds:.0f} per hour")
