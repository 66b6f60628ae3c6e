"""Rows 1 to 8 of the fault matrix: killed at every failpoint, in the middle of a bind and of a release.

Each life of a claim here has the agent or its helper (or both) die at one place, once on the way to
Ready and once on the way back, and a new agent started at once. At both ends everything must be as in
a life in which nobody died: drivers, overrides, records, the claim, the annotations.
"""

import re
from dataclasses import replace

import pytest

from claims import DRIVER, NIC, PAIR, Claims, drivers
from cluster import ROOT, wait_until
from node_agent import HOME, PROGRAMS, NodeAgent

FIRED = "/run/failpoint-fired"  # made by the one that dies
NAME = re.compile(r'"([a-z][a-z-]*-(?:before|after))"')
# Those of mediated devices are a unit test's (test_mdev_crash.c); a life without a pod of a ResourceClaim passes no place
# of DRA, nor one of a device that is bound on demand.
OTHERS = ("mdev-", "dra-", "agent-lend-")
FAILPOINTS = sorted({name for path in (ROOT / "agent").rglob("*.c") for name in NAME.findall(path.read_text())
                     if not name.startswith(OTHERS)})
OF_HELPER = [name for name in FAILPOINTS if name.startswith("helper-")]
GROUPS = {"alone": (NIC,), "pair": PAIR}


class Mortal(NodeAgent):
    """An agent with failpoints, started anew by a shell whenever it has died."""

    def launch(self, command):
        super().launch(f"sh -c 'while :; do {command}; done'")

    def arm(self, failpoint):
        """The agent of a life; failpoint may be empty."""
        if self.pid:
            self.kill()
        self.rearm()
        self.launch(f"env HOSTDEV_FAILPOINT={failpoint} HOSTDEV_FAILPOINT_ONCE={FIRED} {self.command()}")

    def rearm(self):
        self.guest.sh(f"rm -f {FIRED}")

    def fired(self):
        return self.guest.try_sh(f"test -e {FIRED}")

    def kill(self):
        """The shell, its agent and their helpers."""
        self.guest.sh(f"kill -9 -{self.pid}")
        wait_until(lambda: not self.guest.try_sh(f"pgrep -g {self.pid}"), what="the end of the agents")
        self.pid = None


@pytest.fixture(scope="module")
def mortal(booted):
    booted.agent.kill()
    agent = Mortal(booted.guest, booted.cluster, home=f"{HOME}-mortal")
    agent.install()
    agent.guest.sh(f"cp {PROGRAMS}/../failpoints/* {agent.home}")
    yield agent
    if agent.pid:
        agent.kill()
    booted.agent.start()
    wait_until(booted.agent.ready, 30, "the agent's readiness")


def seen(claims, functions):
    """All that must be equal, whoever died on the way."""
    claim = claims.now(functions[0])
    everything = drivers(claims.node.guest)
    records = claims.records()
    for record in records.values():
        record.pop("uid")
        record.pop("bound", None)
    if claim:
        meta, status = claim["metadata"], dict(claim["status"])
        status["conditions"] = [{k: v for k, v in c.items() if k != "lastTransitionTime"}
                                for c in status["conditions"]]
        claim = {"finalizers": meta.get("finalizers"), "deleted": meta.get("deletionTimestamp"),
                 "owners": [(o["kind"], o["name"]) for o in meta.get("ownerReferences", [])],
                 "spec": claim["spec"], "status": status}
    return {
        "drivers": {address: everything[address] for address in functions},
        "records": records,
        "claim": claim,
        "annotations": {a: claims.node.pci_object(a)["metadata"].get("annotations", {}).get(DRIVER)
                        for a in functions},
        "said": {a: claims.node.pci_object(a)["status"].get("kernelDriverInUse") or None for a in functions},
    }


def settled(claims, functions, wanted):
    """What is seen in the end: wanted, or what it is instead after some time."""
    try:
        wait_until(lambda: seen(claims, functions) == wanted, 20)
    except AssertionError:
        pass
    return seen(claims, functions)


@pytest.fixture(scope="module")
def undisturbed():
    """What a life comes to in which nobody dies, by group: (when Ready, when given back)."""
    return {}


def live(claims, functions):
    claims.apply(functions[0], includeIOMMUGroup=len(functions) > 1)
    claims.wait_ready(functions[0], timeout=20)


def live_undisturbed(claims, mortal, functions):
    mortal.arm("")
    live(claims, functions)
    wait_until(lambda: all(d == "vfio-pci" for d in seen(claims, functions)["said"].values()), what="PCIDevices")
    ready = seen(claims, functions)
    claims.release(*functions[:1])
    wait_until(lambda: "vfio-pci" not in seen(claims, functions)["said"].values(), what="PCIDevices")
    return ready, seen(claims, functions)


@pytest.fixture
def claims_of(booted, mortal, claim_watch, undisturbed):
    """claims_of(group): the claims, their functions, and the ends of an undisturbed life."""
    claims = Claims(replace(booted, agent=mortal), claim_watch)

    def make(group):
        functions = GROUPS[group]
        if group not in undisturbed:
            undisturbed[group] = live_undisturbed(claims, mortal, functions)
        return claims, functions, *undisturbed[group]
    yield make
    claims.give_back()


def cases():
    for name in FAILPOINTS:
        yield "alone", name
    for name in OF_HELPER:
        yield "pair", f"{name}+parent"


def test_there_are_failpoints_in_agent_and_helper():
    assert len(OF_HELPER) >= 12 and len(FAILPOINTS) - len(OF_HELPER) >= 6


@pytest.mark.parametrize("group, failpoint", list(cases()))
def test_rows_1_to_8_a_death_changes_nothing_in_the_end(claims_of, mortal, group, failpoint):
    claims, functions, ready, given_back = claims_of(group)
    mortal.arm(failpoint)
    live(claims, functions)
    assert settled(claims, functions, ready) == ready
    fired = mortal.fired()
    mortal.rearm()
    claims.release(*functions[:1], timeout=20)
    assert settled(claims, functions, given_back) == given_back
    assert fired or mortal.fired(), f"nobody died at {failpoint}"
