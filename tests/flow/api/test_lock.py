"""What hack/up and hack/down hold while they run: one at a time, and nothing stays of one that is ended."""

import os
import shutil
import signal
import subprocess

import pytest

from cluster import ROOT, wait_until
from prometheus import free_port

SCRIPT = """#!/bin/bash
set -euo pipefail
source {lib}
under_lock "$1" "waiting for the other" "$0" "$@"
trap 'echo over >>"$1.said"' EXIT
echo "$$" >>"$1.said"
case $2 in
ends) exit 7 ;;
waits) bash -c 'echo "$$" >>"$1.said"; sleep 1000; true' waits "$1" ;;
esac
"""


@pytest.fixture
def script(tmp_path):
    """(start(word), the lock, lines that its runs have written)"""
    path, lock = tmp_path / "script", tmp_path / "lock"
    path.write_text(SCRIPT.format(lib=ROOT / "hack/lib.sh"))
    path.chmod(0o755)
    started = []

    def start(word):
        started.append(subprocess.Popen([path, lock, word], stderr=subprocess.PIPE, text=True,
                                        restore_signals=True))
        return started[-1]

    said = tmp_path / "lock.said"
    yield start, lock, lambda: said.read_text().splitlines() if said.exists() else []
    for process in started:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)


def holders(lock):
    """Processes that have the file open."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if any(os.readlink(f"/proc/{pid}/fd/{fd}") == str(lock) for fd in os.listdir(f"/proc/{pid}/fd")):
                found.add(int(pid))
        except OSError:  # it has ended
            pass
    return found


def gone(pid):
    return not os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_one_that_is_ended_stops_what_it_waits_for(script, number):
    start, lock, said = script
    run = start("waits")
    wait_until(lambda: len(said()) == 2, 20, said)
    assert holders(lock) == {run.pid}
    run.send_signal(number)
    assert run.wait(60) > 128
    wait_until(lambda: said()[2:] == ["over"] and all(gone(pid) for pid in said()[:2]), 20, said)
    assert start("ends").wait(60) == 7


def test_one_that_is_killed_leaves_no_lock(script):
    start, lock, said = script
    run = start("waits")
    wait_until(lambda: len(said()) == 2, 20, said)
    run.kill()
    run.wait(60)
    try:
        assert start("ends").wait(60) == 7
    finally:
        os.killpg(int(said()[0]), signal.SIGTERM)


def test_a_second_one_waits_and_says_so(script):
    start, lock, said = script
    first = start("waits")
    wait_until(lambda: len(said()) == 2, 20, said)
    second = start("ends")
    assert "waiting for the other" in second.stderr.readline()
    assert second.poll() is None and len(said()) == 2
    first.terminate()
    assert second.wait(60) == 7


def test_agents_of_two_checkouts_share_nothing(tmp_path):
    """Not the kubelet's folder, whose lock only one would have, nor the records, which one would take for left over."""
    given = []
    for name in "one", "two":
        checkout, local = tmp_path / name, tmp_path / name / "build/local"
        for path in "hack/lib.sh", "hack/cluster.d/agent":
            (checkout / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, checkout / path)
        program = checkout / "hostdev-agent"
        program.write_text(f'#!/bin/sh\necho "$@" >{checkout}/words\nexec sleep 1000\n')
        program.chmod(0o755)
        (checkout / "kubeconfig").write_text("")
        agent = checkout / "hack/cluster.d/agent"
        env = os.environ | {"HOSTDEV_AGENT_PORT": str(free_port())}
        subprocess.run([agent, "start", local, "node", checkout / "kubeconfig", checkout], env=env, check=True)
        try:
            words = (checkout / "words").read_text().split()
        finally:
            subprocess.run([agent, "stop", local], check=True)
        given.append(dict(word.split("=") for word in words))
    for flag in "--kubelet-dir", "--state-dir":
        assert given[0][flag] != given[1][flag]
        assert given[0][flag] not in ("/var/lib/kubelet", "/var/lib/hostdev")
    assert given[0]["--device-plugins"] == "false"
