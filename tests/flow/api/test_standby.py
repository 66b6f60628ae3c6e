"""Two agents of one kubelet, as for a moment in every roll-out: the second one stands by, changes nothing, and takes over
once the first has ended, however that was.
"""

import re
import signal
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

from cluster import wait_until
from machine import Machine
from policies import claim
from programs import program

UNREACHABLE = """
apiVersion: v1
kind: Config
current-context: it
contexts: [{name: it, context: {cluster: it, user: it}}]
clusters: [{name: it, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: it, user: {token: none}}]
"""
STANDING_BY = "hostdev_agent_standing_by"
TAKES_OVER = "the other agent has ended, taking over"


@pytest.fixture
def kubelet_dir(machine):
    folder = machine.folder / "kubelet"
    folder.mkdir()
    return folder


@pytest.fixture
def first(agents, machine, node, kubelet_dir):
    made = agents(machine, node).start()
    made.wait_converged()
    return made


def stands_by(agent):
    assert agent.metric(STANDING_BY) == 1
    return agent


def leave(agent, how):
    agent.signal(how)
    agent.process.wait(60)
    agent.process = None  # for who stops it at the end


def assert_active(agent, within=10):
    """It has taken over and publishes what the machine has now."""
    agent.machine.add("0000:7f:00.0")
    agent.machine.tell()
    agent.wait_line(TAKES_OVER, timeout=within)
    agent.wait_converged()
    assert agent.metric(STANDING_BY) == 0
    assert wait_until(agent.ready, 10)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_the_second_agent_takes_over(agents, first, machine, node, things, end):
    things.make("pcideviceclaims", claim("elsewhere-000001000", address="0000:01:00.0", nodeName="elsewhere"))
    second = stands_by(agents(machine, node).start())
    wait_until(second.ready, 20, "an agent that could take over")
    assert second.lines("standing by") and not second.lines(TAKES_OVER) and not second.lines("level=error")
    assert first.metric(STANDING_BY) == 0
    leave(first, end)
    assert_active(second)


SLOW_SCAN_S = 2


@pytest.fixture
def slow_helper(tmp_path):
    """A hostdev-helper of a machine on which a scan of the devices takes long."""
    folder = tmp_path / "slow"
    folder.mkdir()
    (folder / "hostdev-names").symlink_to(program("hostdev-names"))
    helper = folder / "hostdev-helper"
    helper.write_text(f'#!/bin/sh\n[ "$1" != scan ] || {{ sleep {SLOW_SCAN_S}; date +%s.%N >>{folder}/scans; }}\n'
                      f'exec {program("hostdev-helper")} "$@"\n')
    helper.chmod(0o755)
    return helper


def seconds(line):
    """Of a line of the log, since the epoch."""
    told = datetime.fromisoformat(line.split()[0].removeprefix("time=").removesuffix("Z"))
    return told.replace(tzinfo=timezone.utc).timestamp()


def began_without_a_scan(agent):
    """Has no scan ended between its takeover and when it knew the devices?"""
    read, turn = seconds(agent.wait_line("devices read")), seconds(agent.wait_line(TAKES_OVER))
    scans = (Path(agent.flags[agent.flags.index("--helper") + 1]).parent / "scans").read_text().split()
    return not any(turn < float(scan) < read for scan in scans)


def number(agent):
    """Of the PCI devices that it knew first."""
    return int(re.search(r"\bpci=(\d+)", agent.wait_line("devices read"))[1])


def hints(agent):
    """How often it has heard of changes; what it takes over leads to a scan anyway."""
    return agent.metric("hostdev_change_hints_total") - agent.metric("hostdev_change_hints_total", 'source="transition"')


def settle(agent):
    """Wait until the agent has scanned for all uevents."""
    while True:
        before = hints(agent)
        time.sleep(SLOW_SCAN_S * 1.5)
        if hints(agent) == before:
            return


def test_it_begins_with_what_it_has_seen(agents, first, machine, node, slow_helper):
    """So allocated devices do not disappear for the length of a scan; the next scan finds what came meanwhile. One takeover
    that no uevent disturbs is enough: other tests cause uevents on this machine, too, for which the agent scans first.
    """
    active = first
    for attempt in range(10):
        second = stands_by(agents(machine, node, ["--helper", slow_helper]).start())
        wait_until(second.ready, 20, "an agent that could take over")
        settle(second)
        leave(active, signal.SIGTERM)
        undisturbed = began_without_a_scan(second)
        machine.add(f"0000:7f:00.{attempt}" if attempt < 8 else f"0000:7e:00.{attempt - 8}")
        machine.tell()
        second.wait_converged()
        if undisturbed:
            return
        active = second
    raise AssertionError("it scans first, or this machine is never quiet for as long as a takeover takes")


def test_what_came_just_before_its_takeover_is_scanned_first(agents, first, machine, node, slow_helper):
    second = stands_by(agents(machine, node, ["--helper", slow_helper]).start())
    wait_until(second.ready, 20, "an agent that could take over")
    machine.add("0000:7f:00.0")
    machine.tell()
    time.sleep(0.5)  # its scan for that is under way
    leave(first, signal.SIGKILL)
    assert number(second) == number(first) + 1
    second.wait_converged()


def test_it_writes_nothing_while_it_stands_by(crds, agents, first, machine, node):
    second = stands_by(agents(machine, node).start())
    wait_until(second.ready, 20, "an agent that could take over")
    first.signal(signal.SIGSTOP)
    try:
        before = len(first.audit(crds))  # the log has both by one name
        machine.add("0000:7e:00.0")
        seen = second.scans()
        machine.tell()
        wait_until(lambda: second.scans() > seen, 10, "its scan for what has changed")
        time.sleep(1)
        assert len(first.audit(crds)) == before
        assert [name.rsplit("-", 1)[1] for _, name in first.difference()] == ["00007e000"]
    finally:
        first.signal(signal.SIGCONT)
    first.wait_converged()


def test_a_third_waits_for_the_second(agents, first, machine, node):
    """Whichever of them has the lock, the other goes on standing by."""
    others = [stands_by(agents(machine, node).start()) for _ in range(2)]
    first.stop()
    active = wait_until(lambda: [agent for agent in others if agent.lines(TAKES_OVER)], 10)
    assert len(active) == 1
    left = next(agent for agent in others if agent not in active)
    active[0].wait_converged()
    assert left.metric(STANDING_BY) == 1
    leave(active[0], signal.SIGKILL)
    assert_active(left)


def test_agents_of_different_kubelets_do_not_wait(agents, first, tmp_path):
    other = Machine(tmp_path / "other")
    (other.folder / "kubelet").mkdir()
    agent = agents(other, "elsewhere").start()
    agent.wait_converged()
    assert agent.metric(STANDING_BY) == 0


def test_one_that_stands_by_ends_while_the_first_goes_on(agents, first, machine, node):
    second = stands_by(agents(machine, node).start())
    second.stop()
    assert second.lines("taking over") == []
    assert first.ready()


def test_one_that_could_not_take_over_is_not_ready(agents, first, machine, node):
    """And says why: so a roll-out stops at it, with the first one active."""
    blind = stands_by(agents(machine, node, ["--helper", machine.folder / "no-helper"]).start())
    wait_until(lambda: "no-helper" in blind.get("/readyz")[1], 10, "the reason in /readyz")
    assert not blind.ready()
    assert "standing by, and the devices have not been read: " in blind.get("/readyz")[1]
    nowhere = machine.folder / "nowhere.kubeconfig"
    nowhere.write_text(UNREACHABLE)
    mute = stands_by(agents(machine, node, ["--kubeconfig", nowhere]).start())
    wait_until(lambda: "standing by, and waiting for pcideviceclaims" in mute.get("/readyz")[1], 20, "the reason")
    assert not mute.ready() and first.ready()
    leave(first, signal.SIGKILL)
    time.sleep(2)
    assert [agent.metric(STANDING_BY) for agent in (blind, mute)] == [1, 1], "who could not do it leaves it to others"
    again = agents(machine, node).start()
    again.wait_converged()
    assert again.metric(STANDING_BY) == 0


def test_one_that_does_not_see_what_the_host_uses_is_not_ready(agents, first, machine, node):
    machine.hide_process_one()
    second = stands_by(agents(machine, node).start())
    wait_until(lambda: "cannot read what the host uses: " in second.get("/readyz")[1], 20, "the reason")
    assert second.get("/readyz")[0] == 503
    machine.show_process_one()
    wait_until(second.ready, 10, "an agent that has scanned again by itself")
    assert second.metric(STANDING_BY) == 1 and first.ready()


def test_a_folder_that_cannot_be_locked_keeps_nobody_from_work(agents, machine, node, kubelet_dir):
    """It works, as an agent without a kubelet does, and is not ready: it can lend nothing, and a roll-out is to stop."""
    (kubelet_dir / "plugins").write_text("no folder")
    agent = agents(machine, node).start()
    agent.wait_line("level=warn", "cannot tell whether another agent works with this kubelet", "plugins/hostdev/agent.lock")
    agent.wait_converged()
    assert agent.metric(STANDING_BY) == 0
    status, text = agent.get("/readyz")
    assert status != 200 and "cannot tell whether another agent works with this kubelet: open '" in text
