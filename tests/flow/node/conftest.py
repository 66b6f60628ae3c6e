"""One API server, one virtual machine and one agent in it for all tests of this folder.

Every test finds the agent running and the objects equal to the devices of the boot, and leaves
them so. HOSTDEV_TEST_KEEP_VM=1 uses a machine that runs already and leaves it running.
"""

import os

import pytest

from claims import Claims
from cluster import ROOT, wait_until
from guest import Guest
from kubectl_watch import KubectlWatch
from kubelet import Kubelet, Pod
from node import ADDRESS, NODE, OURS, Node
from node_agent import NodeAgent, end_agents
from registrations import FLAGS


@pytest.fixture(scope="session")
def cluster_options():
    """Its API server reaches pods of the machine."""
    return ["--egress"]


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
    crds.kubectl("apply", "--server-side", "--force-conflicts", "-k", ROOT / "manifests/overlays/processes")
    crds.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    crds.kubectl("patch", "node", NODE, "--subresource=status", "--type=merge", "-p",
                 f'{{"status": {{"addresses": [{{"type": "InternalIP", "address": "{ADDRESS}"}}]}}}}')
    return crds


@pytest.fixture(scope="session")
def booted(deployed, guest):
    """The Node, its agent started once and everything listed."""
    end_agents(guest)
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
    if booted.agent.alive_and_ready():
        return booted
    if not booted.guest.answers():
        booted.boot_again()
    died = not booted.agent.alive()
    if died:
        log = booted.agent.log()
        booted.agent.start()
    wait_until(booted.agent.ready, 30, "the agent's readiness")
    assert not died, f"the agent had ended before this test: {log[-2000:]}"
    return booted


@pytest.fixture(scope="session")
def claim_watch(deployed):
    watch = KubectlWatch(deployed, "pcideviceclaims", "")
    yield watch
    watch.close()


@pytest.fixture
def claims(node, claim_watch):
    """The Node's claims: none before the test and none after it, every device on its native driver."""
    made = Claims(node, claim_watch)
    yield made
    made.give_back()


@pytest.fixture(scope="module")
def kubelet(booted):
    made = Kubelet(booted.guest, booted.cluster)
    flags = made.folder / "kubelet.flags"
    flags.parent.mkdir(parents=True, exist_ok=True)
    flags.write_text(FLAGS)
    try:
        made.start()
        yield made
        booted.agent.signal("TERM")  # or it makes its sockets again in the folders that are removed
        wait_until(lambda: not booted.agent.alive(), 10, "the agent's end")
        made.stop()
        booted.agent.start()
        wait_until(booted.agent.ready, 30, "the agent's readiness")
    finally:
        flags.unlink()


@pytest.fixture
def pods(kubelet, claims):
    """pods(name, resources) -> Pod, created; gone before the claims are."""
    made = []

    def make(name, resources, **more):
        made.append(Pod(kubelet, name, resources, **more))
        made[-1].create()
        return made[-1]

    yield make
    for pod in made:
        pod.clear()


@pytest.fixture(params=["registry", "direct"])
def registered(request, node):
    """The agent, registering this way; afterwards as it was."""
    node.agent.restart("--registration", request.param)
    yield request.param
    node.agent.restart()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """What the agent said last is part of a failure's report."""
    report = (yield).get_result()
    node = getattr(item, "funcargs", {}).get("node")
    if report.failed and isinstance(node, Node):
        try:
            log = node.agent.log()
        except AssertionError as error:  # the machine is away
            log = str(error)
        report.sections.append(("the agent's log", log[-6000:]))
