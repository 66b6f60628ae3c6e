"""What happens to agents and to claims as objects: rows of the fault matrix, by number."""

import json
import time

import pytest

from claims import NIC, NVME, PAIR, TWIN, condition
from cluster import wait_until
from node import pci_name
from node_agent import STATE, NodeAgent

LENT = "vfio-pci", "vfio-pci"  # driver and override


@pytest.fixture
def second(node):
    """A second agent for the same node, installed and not started."""
    agent = NodeAgent(node.guest, node.cluster, home="/run/hostdev-2", listen="127.0.0.1:9817")
    agent.install()
    yield agent
    if agent.pid and agent.alive():
        agent.kill()


class TestRow27:
    def test_row_27_two_agents_carry_out_claims_together(self, claims, second):
        """As in a rolling update in which the old one has not ended yet."""
        second.start()
        wait_until(second.ready, 30, "the second agent's readiness")
        written = len(claims.node.agent.written())
        for address in (NIC, NVME, *PAIR):
            claims.apply(address)
        for address in (NIC, NVME, *PAIR):
            claims.wait_ready(address)
            assert claims.function(address).drivers() == LENT
        time.sleep(2)  # in which two that do not agree would go on writing
        settled = len(claims.node.agent.written())
        time.sleep(2)
        assert len(claims.node.agent.written()) == settled
        claims.release(NIC, NVME, *PAIR)
        writes = claims.node.agent.written()[written:]
        names = {pci_name(address) for address in (NIC, NVME, *PAIR)}
        # Interfaces that come and go say nothing about the devices beside them.
        assert [w for w in writes if w[1] == "pcidevices" and w[3] not in names] == []
        # Each: the finalizer twice, three conditions, the device's driver twice, five events.
        assert len(writes) < 2 * 4 * 12

    def test_row_27_the_old_agent_ends_in_the_middle(self, claims, second):
        first = claims.node.agent
        second.start()
        wait_until(second.ready, 30, "the second agent's readiness")
        try:
            claims.apply(NIC)
            claims.apply(PAIR[0], includeIOMMUGroup=True)
            first.kill()
            claims.wait_ready(NIC)
            claims.wait_ready(PAIR[0])
            claims.release(NIC, PAIR[0])
        finally:
            if not first.alive():
                first.start()
                wait_until(first.ready, 30, "the agent's readiness")


class TestRow35:
    def uid(self, claims, address):
        return claims.node.cluster.get("pcideviceclaim", pci_name(address))["metadata"]["uid"]

    def test_row_35_a_claim_is_deleted_and_made_again_in_one_second(self, claims):
        claims.bind(NIC)
        for _ in range(3):
            claims.kubectl("delete", "pcideviceclaim", pci_name(NIC), "--timeout=180s")
            claims.apply(NIC)
        uid = self.uid(claims, NIC)
        wait_until(lambda: (claims.now(NIC) or {}).get("metadata", {}).get("uid") == uid, what="the newest claim")
        claims.wait_ready(NIC)
        assert claims.function(NIC).drivers() == LENT
        assert claims.records()[NIC]["uid"] == uid

    def test_row_35_a_claim_is_made_again_unseen(self, claims):
        """Its finalizer is taken by force and the agent is away: what it then finds is another claim."""
        first = claims.bind(NIC)["metadata"]["uid"]
        agent = claims.node.agent
        agent.kill()
        claims.delete(NIC)
        claims.kubectl("patch", "pcideviceclaim", pci_name(NIC), "--type=merge",
                       "-p", json.dumps({"metadata": {"finalizers": None}}))
        claims.apply(NIC)
        uid = self.uid(claims, NIC)
        assert uid != first
        agent.start()
        wait_until(lambda: claims.records()[NIC]["uid"] == uid, 30, "a record of the second claim")
        wait_until(lambda: (claims.now(NIC) or {}).get("metadata", {}).get("uid") == uid, what="the newest claim")
        claim = claims.wait_ready(NIC)
        assert claim["status"]["kernelDriverToUnbind"] == "e1000e"
        claims.release(NIC)
        assert claims.function(NIC).drivers() == ("e1000e", None)

    @pytest.mark.parametrize("away", [False, True], ids=["agent-up", "agent-down"])
    def test_a_claim_whose_finalizer_is_taken_by_force_is_given_back(self, claims, away):
        claims.bind(NIC)
        agent = claims.node.agent
        if away:
            agent.kill()
        claims.kubectl("patch", "pcideviceclaim", pci_name(NIC), "--type=merge",
                       "-p", json.dumps({"metadata": {"finalizers": None}}))
        claims.kubectl("delete", "pcideviceclaim", pci_name(NIC), "--timeout=180s")
        if away:
            agent.start()
        claims.wait_drivers(NIC, "e1000e")
        wait_until(lambda: claims.records() == {}, what="the end of the record")


class TestRow38:
    @pytest.fixture
    def small(self, claims):
        """The state directory on a file system of its own."""
        guest = claims.node.guest
        guest.sh(f"mkdir -p {STATE}; mount -t tmpfs -o size=256k tmpfs {STATE}")
        yield guest
        claims.give_back()
        guest.sh(f"umount {STATE}")

    @pytest.mark.parametrize("spoil, mend", [
        (f"dd if=/dev/zero of={STATE}/fill bs=4k 2>/dev/null || true", f"rm {STATE}/fill"),
        (f"mount -o remount,ro {STATE}", f"mount -o remount,rw {STATE}"),
    ], ids=["full", "read-only"])
    def test_row_38_what_cannot_be_recorded_is_not_begun(self, small, claims, spoil, mend):
        before = claims.bind(TWIN)
        small.sh(spoil)
        try:
            claims.apply(NIC)
            claims.wait(NIC, "DriverBound", "False", "StateNotWritable", STATE)
            assert claims.function(NIC).drivers() == ("e1000e", None)
            assert condition(claims.now(TWIN), "Ready") == condition(before, "Ready")
            assert claims.function(TWIN).drivers() == LENT
        finally:
            small.sh(mend)
        claims.wait_ready(NIC, timeout=60)
