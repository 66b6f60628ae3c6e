"""Fixtures of the tests of agent and controller: machines, agents, and ways to the API server."""

import signal
import uuid

import faultproxy
import pytest

from cluster import ROOT
from identities import Identities, wait_fenced
from left import remove_left
from machine import Machine
from policies import Things
from programs import Agent
from replicas import LEASE, Replica, World
from rest import DEVICES, Rest


@pytest.fixture(scope="session")
def rest(crds):
    return Rest(crds.kubeconfig)


@pytest.fixture(scope="module", autouse=True)
def nothing_left(rest):
    """The next file's tests find no objects of this one's: they count them."""
    yield
    found = remove_left(rest)
    assert not found, f"left on the API server: {', '.join(found[:10])}, {len(found)} in all"


@pytest.fixture(scope="session")
def installed(crds, rest, tmp_path_factory):
    """The cluster with all of manifests/base, its policies in force."""
    crds.kubectl("apply", "--server-side", "--force-conflicts", "-k", ROOT / "manifests/overlays/processes")
    wait_fenced(crds, rest, tmp_path_factory.mktemp("unbound"))
    return crds


@pytest.fixture
def identities(installed, rest, tmp_path):
    """Kubeconfigs of agents and of people."""
    made = Identities(installed, rest, tmp_path)
    yield made
    made.close()


@pytest.fixture
def node():
    """The name of a node that no other test uses."""
    return f"n-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "machine")


@pytest.fixture
def agents(identities, rest, tmp_path):
    """agents(machine, node, ...) -> Agent, not started, with a token of its node as in its pod; at the end, all are
    stopped and their objects removed.
    """
    made = []

    def make(machine, node, flags=()):
        made.append(Agent(rest, machine, node, identities.agent(node), tmp_path, flags))
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


@pytest.fixture
def things(rest):
    made = Things(rest)
    yield made
    made.close()


@pytest.fixture
def world(rest):
    """Nodes, devices and claims made by hand; gone at the end."""
    made = World(rest)
    yield made
    made.close()


@pytest.fixture
def controllers(identities, rest, tmp_path):
    """controllers(*flags) -> one more replica with the rights of its ServiceAccount, not started."""
    rest.request("DELETE", LEASE)
    kubeconfig = identities.kubeconfig("controller", {"token": identities.token("hostdev-controller")})
    made = []

    def make(*flags):
        made.append(Replica(kubeconfig, tmp_path, *flags))
        return made[-1]

    yield make
    for replica in made:
        if replica.process and replica.process.returncode is None:
            replica.signal(signal.SIGCONT)
            replica.stop()
    rest.request("DELETE", LEASE)
