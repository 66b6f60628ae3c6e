"""The kernel, its drivers and other people against a claim: rows of the fault matrix, by number."""

import re
import time
from contextlib import contextmanager

import pytest

from claims import NIC, NVME, PAIR, TWIN, condition
from cluster import wait_until
from node import pci_name
from node_agent import HOME
from vfio_user import Holder, Process

LENT = "vfio-pci", "vfio-pci"  # driver and override
SLOW = 8  # seconds until what waits must have been said, by a machine that is emulated

# Some requests for /readyz.
REQUESTS = """
import socket, sys
for _ in range(20):
    line = socket.create_connection((sys.argv[1], int(sys.argv[2])), 120)
    line.sendall(b"GET /readyz HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
    assert b"200" in line.recv(4096)
"""

# hostdev-helper that sees no holder, as if one came between its look and its unbind.
BLIND = f"""#!/bin/sh
verb=$1
shift
[ "$verb" = release ] || exec {HOME}/hostdev-helper "$verb" "$@"
mkdir -p /run/blind
exec {HOME}/hostdev-helper release --proc-root /run/blind --dev-root /run/blind "$@"
"""


# hostdev-helper that does not begin to bind before it is woken.
WOKEN = f"{HOME}/woken"
SLEEPY = f"""#!/bin/sh
[ "$1" != bind ] || until [ -e {WOKEN} ]; do sleep 0.5; done
exec {HOME}/hostdev-helper "$@"
"""


@contextmanager
def in_the_way(guest, source, path):
    """Whoever opens path gets source instead."""
    guest.sh(f"mount --bind {source} $(realpath {path})")
    try:
        yield
    finally:
        guest.sh(f"umount $(realpath {path})")


@contextmanager
def not_loadable(guest, module):
    """The module is removed, and modprobe cannot bring it back."""
    conf = f"/run/modprobe.d/{module}.conf"
    guest.sh(f"mkdir -p /run/modprobe.d; echo 'install {module} /bin/false' >{conf}; modprobe -r {module}")
    try:
        yield
    finally:
        guest.sh(f"rm -f {conf}")


def assert_answers(agent):
    """The agent answers meanwhile: it would not if it waited for what the kernel does not do."""
    host, port = agent.listen.split(":")
    agent.guest.run("python3", "-c", REQUESTS, host, port)


class TestRow9:
    DEVICE = f"/sys/bus/pci/devices/{NIC}"

    @pytest.mark.parametrize("path, source, reason, step, said", [
        (f"{DEVICE}/driver_override", "/dev/null", "OverrideFailed", "SetOverride", ""),
        ("/sys/bus/pci/drivers/e1000e/unbind", "/dev/full", "UnbindFailed", "Unbind", "No space left"),
        ("/sys/bus/pci/drivers/e1000e/unbind", "/dev/null", "UnbindFailed", "Unbind", ""),
        ("/sys/bus/pci/drivers_probe", "/dev/full", "ProbeFailed", "Probe", "No space left"),
        ("/sys/bus/pci/drivers_probe", "/dev/null", "ProbeFailed", "Probe", ""),
    ])
    def test_row_9_a_write_that_fails_or_does_nothing_while_binding(self, claims, path, source, reason, step, said):
        with in_the_way(claims.node.guest, source, path):
            claims.apply(NIC)
            claim = claims.wait(NIC, "DriverBound", "False", reason, said)
            assert claim["status"]["step"] == step
            assert condition(claim, "Ready")[:2] == ("False", reason)
            assert claims.function(NIC).driver() == "e1000e"
        claims.wait_ready(NIC)
        claims.release(NIC)
        assert claims.function(NIC).drivers() == ("e1000e", None)

    @pytest.mark.parametrize("path, source, reason, step, left", [
        ("/sys/bus/pci/drivers/vfio-pci/unbind", "/dev/full", "UnbindFailed", "Unbind", "vfio-pci"),
        ("/sys/bus/pci/drivers/vfio-pci/unbind", "/dev/null", "UnbindFailed", "Unbind", "vfio-pci"),
        ("/sys/bus/pci/drivers/e1000e/bind", "/dev/full", "NativeBindFailed", "Bind", None),
        ("/sys/bus/pci/drivers/e1000e/bind", "/dev/null", "NativeBindFailed", "Bind", None),
    ])
    def test_row_9_a_write_that_fails_or_does_nothing_while_releasing(
            self, claims, path, source, reason, step, left):
        claims.bind(NIC)
        with in_the_way(claims.node.guest, source, path):
            claims.delete(NIC)
            claim = claims.wait(NIC, "Ready", "False", reason)
            assert claim["status"]["step"] == step
            assert claims.function(NIC).driver() == left
            assert NIC in claims.records()
        claims.wait_gone(NIC)
        assert claims.function(NIC).drivers() == ("e1000e", None)


class TestRow10:
    """A holder that ignores what the kernel asks of it."""

    def test_row_10_the_holder_is_named_and_nobody_else_waits(self, claims):
        claims.bind(NIC)
        with Holder(claims.function(NIC)) as holder:
            claims.delete(NIC)
            claim = claims.wait(NIC, "Ready", "False", "Held", f"process {holder.pid} (python3)", timeout=SLOW)
            assert f"process {holder.pid} (python3)" in claim["status"]["holder"]
            assert_answers(claims.node.agent)
            claims.bind(TWIN)
            assert claims.function(NIC).drivers() == LENT
        claims.wait_gone(NIC)
        assert claims.function(NIC).drivers() == ("e1000e", None)

    def test_row_10_a_holder_without_a_name_is_seen(self, claims):
        claims.bind(NIC)
        with Holder(claims.function(NIC), hidden=True):
            claims.delete(NIC)
            claims.wait(NIC, "Ready", "False", "Held", timeout=SLOW)
            assert claims.function(NIC).drivers() == LENT
        claims.wait_gone(NIC)

    def test_row_10_an_unbind_by_hand_blocks_nobody_but_itself(self, claims):
        function = claims.function(NIC)
        claims.bind(NIC)
        with Process(claims.node.guest, "/run/by-hand.log") as by_hand, Holder(function) as holder:
            by_hand.start(f"sh -c 'echo {NIC} >{function.folder}/driver/unbind'")
            claims.wait(NIC, "Ready", "False", "Held", f"process {holder.pid} (python3)", timeout=SLOW)
            assert by_hand.alive(), "the kernel does not block an unbind any more"
            assert_answers(claims.node.agent)
            claims.bind(TWIN)
            holder.kill()
            wait_until(lambda: not by_hand.alive(), what="the end of the unbind")
            claims.wait_ready(NIC)
            assert function.drivers() == LENT


@contextmanager
def stuck_release(claims):
    """A claim that is being deleted by a helper the kernel does not come back to; yields (holder, helper's pid)."""
    agent = claims.node.agent
    agent.guest.write(f"{HOME}/blind-helper", BLIND)
    agent.guest.sh(f"chmod +x {HOME}/blind-helper")
    claims.bind(NIC)
    agent.kill()
    agent.start("--helper", f"{HOME}/blind-helper")
    try:
        with Holder(claims.function(NIC)) as holder:
            claims.delete(NIC)
            claim = claims.wait(NIC, "Ready", "False", "Stuck", "Unbind", timeout=60)
            message = condition(claim, "Ready")[2]
            assert NIC in message
            yield holder, int(re.search(r"pid (\d+)", message)[1])
    finally:
        if agent.alive():
            agent.kill()
        agent.start()
        wait_until(agent.ready, 30, "the agent's readiness")


class TestRow10And11:
    def test_row_10_a_helper_that_blocks_is_said_to_be_stuck(self, claims):
        with stuck_release(claims) as (holder, helper):
            claims.wait_event(NIC, "Warning", "Stuck", f"{helper}")
            assert_answers(claims.node.agent)
            claims.bind(TWIN)
            holder.kill()
            claims.wait_gone(NIC)
        assert claims.function(NIC).drivers() == ("e1000e", None)

    def test_row_11_the_blocked_helper_is_killed(self, claims):
        guest = claims.node.guest
        with stuck_release(claims) as (holder, helper):
            guest.run("kill", "-9", helper)
            wait_until(lambda: guest.try_sh(f"grep -q '^State:.D' /proc/{helper}/status"), what="the state D")
            assert_answers(claims.node.agent)
            claims.bind(TWIN)
            time.sleep(1)  # in which nothing may be tried again
            assert guest.sh("pgrep -x hostdev-helper || true").split() == [str(helper)]
            holder.kill()
            claims.wait_gone(NIC)
        assert claims.function(NIC).drivers() == ("e1000e", None)

    def test_row_11_the_agent_is_killed_while_its_helper_is_stuck(self, claims):
        agent = claims.node.agent
        with stuck_release(claims) as (holder, helper):
            agent.kill()
            agent.start()
            wait_until(agent.ready, 30, "the agent's readiness")
            claims.bind(TWIN)
            assert_answers(agent)
            assert claims.now(NIC), "given back while it is held"
            holder.kill()
            claims.wait_gone(NIC)
        assert claims.function(NIC).drivers() == ("e1000e", None)


class TestDeletedBeforeTheFirstRecord:
    @pytest.fixture
    def sleepy(self, claims):
        """start(option...): the agent with a helper that sleeps before it binds."""
        agent, guest = claims.node.agent, claims.node.guest
        guest.write(f"{HOME}/sleepy-helper", SLEEPY)
        guest.sh(f"chmod +x {HOME}/sleepy-helper; rm -f {WOKEN}")

        def start(*options):
            agent.kill()
            agent.start("--helper", f"{HOME}/sleepy-helper", *options)
        yield start
        if agent.alive():
            agent.kill()
        self.wake(guest)
        agent.start()
        wait_until(agent.ready, 30, "the agent's readiness")

    def helper_runs(self, guest):
        return guest.try_sh(f"pgrep -f '{HOME}/[sh].*-helper bind' >/dev/null")

    def wake(self, guest):
        guest.sh(f"touch {WOKEN}")
        wait_until(lambda: not self.helper_runs(guest), 30, "the end of the helper")

    @pytest.mark.parametrize("options, reason", [([], "Binding"), (["--transition-deadline", "500ms"], "Stuck")])
    def test_the_claim_stays_until_its_helper_has_ended_and_nothing_is_bound(self, claims, sleepy, options, reason):
        before = len(claims.node.agent.log())
        sleepy(*options)
        claims.apply(NIC)
        claims.wait(NIC, "Ready", "False", reason)
        claims.delete(NIC)
        wait_until(lambda: not claims.now(NIC) or "deletionTimestamp" in claims.now(NIC)["metadata"], what="the deletion")
        time.sleep(5)  # in which the claim may not go
        assert self.helper_runs(claims.node.guest)
        assert claims.now(NIC), "the claim is gone, and its helper runs"
        self.wake(claims.node.guest)
        claims.wait_gone(NIC)
        assert claims.function(NIC).drivers() == ("e1000e", None)
        assert NIC not in claims.records()
        assert "verb=release" not in claims.node.agent.log()[before:], "it was bound, and given back"

    def test_a_helper_whose_agent_ends_binds_nothing(self, claims, sleepy):
        sleepy()
        claims.apply(NIC)
        claims.wait(NIC, "Ready", "False", "Binding")
        wait_until(lambda: self.helper_runs(claims.node.guest), what="the helper")
        claims.node.agent.kill()
        claims.delete(NIC)
        claims.node.agent.start()
        claims.wait_gone(NIC)
        assert self.helper_runs(claims.node.guest)
        self.wake(claims.node.guest)
        time.sleep(1)
        assert claims.function(NIC).drivers() == ("e1000e", None)
        assert NIC not in claims.records()


def test_row_12_the_native_driver_is_missing_on_return(claims):
    claims.bind(NVME)
    with not_loadable(claims.node.guest, "nvme"):
        claims.delete(NVME)
        claims.wait(NVME, "Ready", "False", "NativeDriverMissing", "nvme")
        assert claims.function(NVME).drivers() == (None, None)
        assert NVME in claims.records()
    claims.wait_gone(NVME, timeout=60)
    assert claims.function(NVME).drivers() == ("nvme", None)


class TestRow13:
    def test_row_13_vfio_pci_is_removed_under_a_claim_and_comes_back(self, claims):
        claims.bind(NIC)
        began = claims.watch.mark()
        claims.node.guest.run("modprobe", "-r", "vfio-pci")
        claims.wait_drivers(NIC, *LENT)
        wait_until(lambda: claims.now(NIC)["status"]["passthroughEnabled"], what="a claim that says so")
        claims.wait_ready(NIC)
        told = [e for e in claims.watch.events[began:] if e.name == pci_name(NIC)]
        assert [e.type for e in told].count("DELETED") == 0
        assert any(e.object["status"]["passthroughEnabled"] is False for e in told), "it was never said to be lost"

    def test_row_13_vfio_pci_cannot_be_loaded(self, claims):
        claims.bind(NIC)
        with not_loadable(claims.node.guest, "vfio-pci"):
            claim = claims.wait(NIC, "DriverBound", "False", "DriverMissing", "modprobe vfio-pci", timeout=SLOW)
            assert claim["status"]["passthroughEnabled"] is False
            claims.apply(TWIN)
            claims.wait(TWIN, "DriverBound", "False", "DriverMissing")
            assert claims.function(TWIN).drivers() == ("e1000e", None)
        claims.node.guest.run("modprobe", "vfio-pci")
        claims.wait_ready(NIC, timeout=60)
        claims.wait_ready(TWIN, timeout=60)


class TestRow14:
    @pytest.mark.parametrize("change", ["rebind", "unbind"])
    def test_row_14_a_third_party_rebinds_a_claimed_device(self, claims, change):
        function = claims.function(NIC)
        claims.bind(NIC)
        if change == "rebind":
            function.rebind("")
        else:
            function.unbind()
        claims.wait_drivers(NIC, *LENT, timeout=SLOW)
        claims.wait_ready(NIC)
        assert claims.records()[NIC]["native"] == "e1000e"

    def test_row_14_a_device_that_is_in_use_since_is_left_alone(self, claims):
        guest, function = claims.node.guest, claims.function(NIC)
        claims.bind(NIC)
        claims.node.agent.signal("STOP")
        try:
            function.rebind("")
            (name,) = wait_until(function.interfaces, what="an interface")
            guest.sh(f"ip address add 192.0.2.1/24 dev {name}; ip link set {name} up")
        finally:
            claims.node.agent.signal("CONT")
        try:
            claim = claims.wait(NIC, "Ready", "False", "InUse", name, timeout=SLOW)
            assert claim["status"]["passthroughEnabled"] is False
            assert function.driver() == "e1000e"
        finally:
            guest.sh(f"ip address flush dev {name}; ip link set {name} down")
        claims.wait_ready(NIC)

    def test_row_14_an_override_of_somebody_else_is_not_touched(self, claims):
        function = claims.function(NIC)
        claims.bind(NIC)
        claims.node.agent.signal("STOP")
        try:
            function.rebind("pci-stub")
        finally:
            claims.node.agent.signal("CONT")
        claims.wait(NIC, "DriverBound", "False", "OverrideOwned", "pci-stub", timeout=SLOW)
        assert function.drivers() == ("pci-stub", "pci-stub")
        function.rebind("")
        claims.wait_ready(NIC, timeout=60)


def test_row_15_a_sibling_is_bound_to_a_native_driver(claims):
    lent, sibling = map(claims.function, PAIR)
    sibling.unbind()
    try:
        claims.bind(PAIR[0])
        sibling.bind("8139cp")
        claim = claims.wait(PAIR[0], "GroupViable", "False", "SiblingBound", f"{PAIR[1]} is bound to 8139cp",
                            timeout=SLOW)
        assert condition(claim, "Ready")[:2] == ("False", "SiblingBound")
        assert lent.drivers() == LENT and sibling.driver() == "8139cp"
        sibling.unbind()
        claims.wait_ready(PAIR[0])
        claims.release(PAIR[0])
        assert sibling.drivers() == (None, None)
    finally:
        if not sibling.driver():
            sibling.bind("8139cp")


def test_row_15_a_sibling_that_the_claim_covers_is_bound_again(claims):
    claims.bind(PAIR[0], includeIOMMUGroup=True)
    claims.function(PAIR[1]).rebind("")
    claims.wait_drivers(PAIR[1], *LENT, timeout=SLOW)
    claims.wait_ready(PAIR[0])
