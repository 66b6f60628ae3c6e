#!/usr/bin/python3
"""What a program costs in its container: run as root on the node, by tests/bench/image_cost.py.

usage: container_probe.py PROGRAM PORT [ROUNDS]

Only processes that containerd has started are looked at, and killed: others of that name are somebody's own.
Prints JSON: "rss", the MiB of each process of the program, and "ready_ms", for each round the time from the start of
a process, which the kubelet starts in place of one that is killed, to its first good answer to /readyz.
"""

import ctypes
import json
import os
import re
import signal
import socket
import sys
import time
from pathlib import Path

CLONE_NEWNET = 0x40000000
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
RESTART_LIMIT = 400  # the kubelet waits up to five minutes before it starts what ends again and again


def stat(pid):
    """What /proc/PID/stat has behind the name, from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def in_container(pid):
    return Path(f"/proc/{stat(pid)[1]}/comm").read_text().startswith("containerd-shim")


def processes(program):
    """Those of containers."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "cmdline").read_bytes().split(b"\0")[0].decode()
            if name.rpartition("/")[2] == program and in_container(folder.name):
                found.append(int(folder.name))
        except OSError:
            continue
    return sorted(found)


def rss_mib(pid):
    return int(re.search(r"^Rss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)[1]) / 1024


def age_ms(pid):
    """Since its start, to the tick of 10 ms that the kernel notes that in."""
    started = int(stat(pid)[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) * 1000 - started * TICK_MS


def enter_network(pid):
    with open(f"/proc/{pid}/ns/net") as namespace:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(namespace.fileno(), CLONE_NEWNET) < 0:
            raise OSError(ctypes.get_errno(), "setns")


def ready(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
            return connection.recv(64).split(b" ")[1:2] == [b"200"]
    except OSError:
        return False


def restarted(program, port):
    """Kills one of its processes; ms from the next one's start until it is ready."""
    before = processes(program)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    enter_network(before[0])  # of the pod, which outlives the container
    try:
        os.kill(before[0], signal.SIGKILL)
        end = time.monotonic() + RESTART_LIMIT
        while not (new := [pid for pid in processes(program) if pid not in before]):
            if time.monotonic() > end:
                raise TimeoutError(f"{program} was not started again within {RESTART_LIMIT} s")
            time.sleep(0.001)
        while not ready(port):
            if time.monotonic() > end:
                raise TimeoutError(f"{program} is not ready {RESTART_LIMIT} s after it was killed")
            time.sleep(0.001)
        return age_ms(new[0])
    finally:
        ctypes.CDLL(None).setns(home, CLONE_NEWNET)
        os.close(home)


def main():
    program, port, rounds = sys.argv[1], int(sys.argv[2]), int((sys.argv[3:] or [2])[0])
    pids = processes(program)
    if not pids:
        sys.exit(f"no container of {program} runs here")
    answer = {"rss": [rss_mib(pid) for pid in pids], "ready_ms": [restarted(program, port) for _ in range(rounds)]}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
