"""How often the agent writes, by the API server's own audit log: once, and then never again."""

import random
import time

from cluster import wait_until
from machine import Machine
from programs import Agent

IDLE_S = 20
KILLS = 12
NIC = "0000:01:00.1"  # a function of the made-up machine


def settled(agent, cluster):
    """Waits until nothing is under way; how many writes there were by then."""
    wait_until(lambda: agent.ready() and agent.idle(), 30)
    agent.wait_converged()
    return len(agent.audit(cluster))


def test_an_unchanged_node_writes_nothing(cluster, agents, machine, node):
    """Not while it is idle, not after a restart, not after kill -9, not after uevents that changed nothing."""
    agent = agents(machine, node).start()
    agent.wait_converged()
    writes = settled(agent, cluster)
    assert writes == 2 * len(agent.objects()), "an object and its status each"
    time.sleep(IDLE_S)
    assert len(agent.audit(cluster)) == writes

    agent.stop()
    agent.start()
    assert settled(agent, cluster) == writes
    agent.kill()
    agent.start()
    assert settled(agent, cluster) == writes
    scans = agent.scans()
    machine.tell(3)
    wait_until(lambda: agent.scans() > scans, 20)
    assert settled(agent, cluster) == writes


def test_each_change_is_written_once(cluster, agent, machine):
    writes = settled(agent, cluster)
    steps = [lambda: (machine.device(NIC) / "numa_node").write_text("1\n"), lambda: machine.remove(NIC),
             lambda: machine.add(NIC)]
    for step, count in zip(steps, (1, 1, 2)):
        step()
        machine.tell()
        writes += count
        wait_until(lambda: len(agent.audit(cluster)) >= writes, 20)
        assert settled(agent, cluster) == writes


class Killing:
    """Starts an agent, kills it when some more objects are there, and so on."""

    def __init__(self, agent: Agent, rest, kills):
        self.agent = agent
        self.rest = rest
        self.wanted = len(agent.inspect())
        self.kills = kills
        self.unfinished = 0

    def run(self):
        for i in range(self.kills):
            self.agent.start()
            least = i * self.wanted // self.kills
            wait_until(lambda: len(self.rest.devices(self.agent.node)) >= least, 30)
            time.sleep(random.uniform(0, 0.02))
            self.agent.kill()
            self.unfinished += bool(self.agent.difference())


def test_kill_9_at_any_time_of_the_first_publishing(cluster, agents, rest, node, tmp_path):
    """The same objects, none twice, and no write that an earlier life had done."""
    machine = Machine(tmp_path / "large", functions=120, usb=5)
    agent = agents(machine, node)
    killing = Killing(agent, rest, KILLS)
    killing.run()
    assert killing.unfinished >= KILLS // 2, "kills that came too late test nothing"
    agent.start()
    agent.wait_converged()
    settled(agent, cluster)

    # What was under way when its agent was killed has another code, and may or may not be done.
    done = agent.written(cluster)
    created = [event["objectRef"]["name"] for event in done if event["responseStatus"]["code"] == 201]
    assert len(created) == len(set(created))
    assert set(created) <= {name for _, name in agent.inspect()}
    # A write that was done when its agent was killed, but not yet in the next one's list, is done again.
    assert len(done) <= 2 * killing.wanted + KILLS
