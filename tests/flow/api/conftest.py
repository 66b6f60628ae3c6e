"""Fixtures of the tests of agent and controller: machines, agents, and ways to the API server."""

import uuid

import faultproxy
import pytest

from machine import Machine
from programs import Agent
from rest import DEVICES, Rest


@pytest.fixture(scope="session")
def rest(crds):
    return Rest(crds.kubeconfig)


@pytest.fixture
def node():
    """The name of a node that no other test uses."""
    return f"n-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "machine")


@pytest.fixture
def agents(crds, rest, tmp_path):
    """agents(machine, node, ...) -> Agent, not started; at the end, all are stopped and their objects removed."""
    made = []

    def make(machine, node, flags=(), kubeconfig=crds.kubeconfig):
        made.append(Agent(rest, machine, node, kubeconfig, tmp_path, flags))
        return made[-1]

    yield make
    try:
        for agent in made:
            if agent.process:
                agent.stop()
    finally:
        for agent in made:
            if agent.process:
                agent.kill()
            for kind, name in agent.objects():
                rest.delete(DEVICES[kind], name)


@pytest.fixture
def agent(agents, machine, node):
    """A running agent that has published its machine."""
    agent = agents(machine, node).start()
    agent.wait_converged()
    return agent


@pytest.fixture(scope="session")
def faultproxy_program(tmp_path_factory):
    return faultproxy.build(tmp_path_factory.mktemp("faultproxy"))
