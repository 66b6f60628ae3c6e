"""One API server, one virtual machine and one agent in it for all tests of this folder.

Every test finds the agent running and the objects equal to the devices of the boot, and leaves
them so. HOSTDEV_TEST_KEEP_VM=1 uses a machine that runs already and leaves it running.
"""

import os

import pytest

from cluster import ROOT, wait_until
from guest import Guest
from kubectl_watch import KubectlWatch
from node import ADDRESS, NODE, OURS, Node
from node_agent import NodeAgent


@pytest.fixture(scope="session")
def guest():
    machine = Guest(NODE)
    keep = os.environ.get("HOSTDEV_TEST_KEEP_VM")
    if not keep:
        machine.stop()
    machine.start()
    yield machine
    if not keep:
        machine.stop()


@pytest.fixture(scope="session")
def deployed(crds):
    """The cluster with the agent's rights, and a Node for it."""
    crds.kubectl("apply", "--server-side", "--force-conflicts", "-k", ROOT / "manifests/overlays/local")
    crds.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    crds.kubectl("patch", "node", NODE, "--subresource=status", "--type=merge", "-p",
                 f'{{"status": {{"addresses": [{{"type": "InternalIP", "address": "{ADDRESS}"}}]}}}}')
    return crds


@pytest.fixture(scope="session")
def booted(deployed, guest):
    """The Node, its agent started once and everything listed."""
    agent = NodeAgent(guest, deployed)
    agent.install()
    watches = [KubectlWatch(deployed, kind, OURS) for kind in ("pcidevices", "usbdevices")]
    made = Node(guest, agent, deployed, *watches)
    agent.start()
    try:
        made.wait_converged()
        yield made
    finally:
        for watch in watches:
            watch.close()
        if agent.alive():
            agent.kill()


@pytest.fixture
def node(booted):
    """The Node with its agent alive and ready; a test that let it die fails the next."""
    died = not booted.agent.alive()
    if died:
        log = booted.agent.log()
        booted.agent.start()
    wait_until(booted.agent.ready, 30, "the agent's readiness")
    assert not died, f"the agent had ended before this test: {log[-2000:]}"
    return booted
