"""Definitions that are older than the programs, their upgrade under running programs, and the way back.

The older ones are made of crds/: Harvester's kinds with Harvester's fields only, without rules and columns of ours.
Those of the version before: test_version_skew.py.
"""

import time

import pytest

import harvester
import skew
from cluster import wait_until
from test_migration import NIC, ready, taken  # noqa: F401

OLDER = "the cluster's definition is older than this program, apply crds/"


@pytest.fixture
def definitions(installed):
    """At the end they are those of crds/ again."""
    yield installed
    skew.install_new(installed)


def writes(agent, cluster, name):
    """Those about one claim."""
    return [event for event in agent.audit(cluster)
            if (event["objectRef"]["resource"], event["objectRef"].get("name")) == ("pcideviceclaims", name)]


def essence(claim):
    """What Harvester's definitions have of a claim, and what makes it this one."""
    meta, status = claim["metadata"], claim["status"]
    return (meta["uid"], meta["finalizers"], meta["ownerReferences"], claim["spec"],
            status["kernelDriverToUnbind"], status["passthroughEnabled"])


def test_an_agent_that_is_newer_says_so_and_goes_on_once_they_are_upgraded(taken, definitions, cluster):  # noqa: F811
    """It touches no device that it cannot write about, and does not hammer on the API server."""
    skew.install_old(definitions)
    taken.bind(NIC)
    device = taken.device(NIC, "e1000e")
    claim = taken.write(harvester.pci_claim(device, "e1000e"))
    name = claim["metadata"]["name"]
    agent = taken.start()
    agent.wait_line(OLDER, "patch pcideviceclaims")
    agent.wait_line(OLDER, "apply pcidevices")
    before = len(writes(agent, cluster, name))
    time.sleep(10)
    assert len(writes(agent, cluster, name)) - before < 20
    assert essence(taken.get("PCIDeviceClaim", name)) == essence(claim)
    assert (taken.machine.device(NIC) / "driver_override").read_text() == "(null)\n"

    skew.install_new(definitions)
    after = taken.wait_ready("PCIDeviceClaim", name)
    assert essence(after) == essence(claim)


def test_definitions_that_go_back_take_nothing_of_a_claim_that_harvester_has(taken, definitions):  # noqa: F811
    """Under a running agent, and again forward: the claim is what it was, and the device was never touched."""
    taken.bind(NIC)
    device = taken.device(NIC, "e1000e")
    claim = taken.write(harvester.pci_claim(device, "e1000e"))
    name = claim["metadata"]["name"]
    agent = taken.start()
    taken.wait_ready("PCIDeviceClaim", name)
    record = taken.record(NIC)
    skew.install_old(definitions)
    wait_until(lambda: ready(taken.get("PCIDeviceClaim", name)) is None, 20, "a claim without conditions")
    agent.stop()  # while it runs it knows better, and has nothing to write
    agent.start().wait_line(OLDER)
    assert essence(taken.get("PCIDeviceClaim", name)) == essence(claim)
    assert taken.record(NIC) == record
    agent.assert_alive()

    skew.install_new(definitions)
    assert essence(taken.wait_ready("PCIDeviceClaim", name)) == essence(claim)
    assert taken.record(NIC) == record
    assert agent.metric("hostdev_transitions_total", 'verb="release"') == 0
