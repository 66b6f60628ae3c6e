"""What one look at the devices costs, and how fast watch events are read."""

import re
import subprocess
import tempfile
import time

from cluster import ROOT
from report import figure, heading

BIN = ROOT / "build/release/bin"
HELPER = BIN / "hostdev-helper"
FUNCTIONS = 1024
ROUNDS = 31


def milliseconds(command):
    """The median of many runs: the other core is never quite idle."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)[ROUNDS // 2]


def syscalls(command):
    run = subprocess.run(["strace", "-f", "-c", "-o", "/dev/stdout", *command], capture_output=True, text=True)
    total = re.search(r"^100\.00\s+\S+\s+\d*\s+(\d+)\s.*total", run.stdout, re.MULTILINE)
    return int(total.group(1))


def run():
    heading(f"scan of {FUNCTIONS} synthetic functions (median of {ROUNDS} runs)")
    start = [HELPER, "--version"]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        subprocess.run([ROOT / "tests/fake/tree/make_tree", "--functions", str(FUNCTIONS), folder + "/tree"], check=True)
        scan = [HELPER, "scan", "--sysfs-root", folder + "/tree/sys", "--proc-root", folder + "/tree/proc"]
        begun, scanned = milliseconds(start), milliseconds(scan)
        calls = syscalls(scan) - syscalls(start)
    figure("process start alone", f"{begun:.1f} ms")
    figure("scan beyond process start", f"{scanned - begun:.1f} ms", "goal 15 ms")
    figure("the same per function", f"{(scanned - begun) * 1000 / FUNCTIONS:.1f} us")
    figure("system calls per function", f"{calls / FUNCTIONS:.1f}")

    heading("this machine's own devices (median)")
    figure("lspci -nn (reference)", f"{milliseconds(['lspci', '-nn']):.1f} ms")
    figure("hostdev-helper scan", f"{milliseconds([HELPER, 'scan']):.1f} ms")
    figure("hostdev-agent inspect (scan, names, objects)", f"{milliseconds([BIN / 'hostdev-agent', 'inspect']):.1f} ms")


def watch_rate():
    heading("watch events, from bytes into the store")
    run = subprocess.run([BIN / "bench_watch"], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        what, value = re.split(r"\s{2,}", line.strip(), maxsplit=1)
        figure(what, value, "goal 100000 events/s" if "store" in what else "")


def controller_views():
    heading("what the controller keeps of 5,000 nodes with 60 devices each")
    run = subprocess.run([BIN / "bench_pools"], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        what, value = line.split(": ", 1)
        figure(what, value, "goal 600 B" if what == "memory" else "")
