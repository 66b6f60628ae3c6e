"""Devices that go and come under their claim: rows of the fault matrix, by number."""

import json
import re
import time
from datetime import datetime

import pytest

from claims import EDU, FAR_NIC, IGB, NIC, NVME, PAIR, SLOT, TWIN, condition
from cluster import wait_until
from vfio_user import Holder

LENT = "vfio-pci", "vfio-pci"  # driver and override
MAC = "52:54:00:12:01:01"
OTHER_MAC = "52:54:00:12:01:02"


class Slot:
    """The empty root port: one NIC, plugged and pulled."""

    def __init__(self, guest):
        self.guest = guest
        self.id = None

    def plug(self, model="e1000e", mac=MAC):
        self.id = self.guest.plug("nic", "--bus", "spare1", "--model", model, "--mac", mac)

    def pull(self):
        self.guest.unplug(self.id)
        self.id = None


@pytest.fixture
def slot(node):
    made = Slot(node.guest)
    yield made
    if made.id:
        made.pull()
    node.wait_converged()


@pytest.fixture
def plugged(slot, claims):
    """The claims, with a NIC in the slot that is claimed; the claim goes before the NIC does."""
    slot.plug()
    claims.wait_drivers(SLOT, "e1000e")
    claims.bind(SLOT)
    return claims


def test_a_claim_of_an_absent_device_waits_for_it(slot, claims):
    claims.apply(SLOT)
    claim = claims.wait(SLOT, "Accepted", "False", "DeviceNotFound", "wait")
    assert condition(claim, "Ready")[:2] == ("False", "DeviceNotFound")
    slot.plug()
    claims.wait_ready(SLOT)
    assert claims.function(SLOT).drivers() == LENT
    claims.release(SLOT)
    assert claims.function(SLOT).drivers() == ("e1000e", None)


def test_a_claim_of_an_absent_device_is_deleted(claims):
    claims.apply(SLOT)
    claims.wait(SLOT, "Accepted", "False", "DeviceNotFound")
    claims.release(SLOT, timeout=5)


def helper_runs(agent):
    """Helpers that have ended, by what they do."""
    metrics = agent.metrics()
    return {verb: int(metrics["hostdev_helper_seconds_count", f'verb="{verb}"']) for verb in ("release", "scan")}


def most_at_once(ended):
    """Of these lines of the log about helpers that have ended, how many ran at the same time."""
    ends = [datetime.fromisoformat(line["time"].removesuffix("Z")).timestamp() * 1000 for line in ended]
    spans = [(end - int(line["took_ms"]), end) for line, end in zip(ended, ends)]
    return max(sum(start <= at < end for start, end in spans) for at, _ in spans)


def test_many_claims_at_once(claims):
    all_of_them = [NIC, TWIN, FAR_NIC, NVME, EDU, IGB, *PAIR]
    for address in all_of_them:
        claims.apply(address)
    for address in all_of_them:
        claims.wait_ready(address)
        assert claims.function(address).drivers() == LENT
    agent, before, began = claims.node.agent, len(claims.node.agent.log()), claims.watch.mark()
    runs = helper_runs(agent)
    started = time.monotonic()
    claims.release(*all_of_them)
    took = time.monotonic() - started
    runs = {verb: count - runs[verb] for verb, count in helper_runs(agent).items()}
    ended = [dict(re.findall(r"(\w+)=(\S+)", line)) for line in agent.log()[before:].splitlines()
             if "verb=release" in line and "transition ended" in line]
    each = [int(line["took_ms"]) for line in ended]
    print(f"{len(each)} releases in {took:.1f} s, each {min(each)} to {max(each)} ms, {most_at_once(ended)} at once, "
          f"helpers: {runs}")
    stuck = [event for event in claims.watch.events[began:] if "Stuck" in json.dumps(event.object["status"])]
    assert not stuck, "a release that is only slow is said to be stuck"
    groups = len(all_of_them) - 1  # the pair is one
    assert runs["release"] == len(each) == groups
    assert most_at_once(ended) > 2, "they wait for each other"


class TestRow16:
    def test_row_16_a_claimed_device_is_pulled(self, plugged, slot):
        slot.pull()
        claim = plugged.wait(SLOT, "Ready", "False", "DeviceGone", timeout=8)
        assert claim["status"]["passthroughEnabled"] is False
        plugged.node.wait_reason(SLOT, "DeviceGone", "kept because it is claimed")
        plugged.wait_event(SLOT, "Warning", "DeviceGone")
        before = len(plugged.node.agent.log())
        plugged.release(SLOT, timeout=5)
        assert plugged.node.agent.log()[before:].count("verb=release") == 1
        assert plugged.records() == {}
        wait_until(lambda: plugged.node.pci_object(SLOT) is None, what="the end of the PCIDevice")

    def test_row_16_a_held_device_is_pulled(self, plugged, slot):
        with Holder(plugged.function(SLOT)) as holder:
            plugged.node.guest.qmp("device_del", id=slot.id)
            plugged.wait(SLOT, "Ready", "False", "Held", f"process {holder.pid} (python3)", timeout=8)
            plugged.bind(NIC)
            assert plugged.node.agent.ready()
            holder.kill()
            wait_until(lambda: not plugged.function(SLOT).exists(), 30, "the end of the device")
            slot.id = None
        plugged.wait(SLOT, "Ready", "False", "DeviceGone")

    def test_row_16_a_held_device_is_pulled_after_its_claim_is_deleted(self, plugged, slot):
        with Holder(plugged.function(SLOT)) as holder:
            plugged.delete(SLOT)
            plugged.wait(SLOT, "Ready", "False", "Held", f"{holder.pid}")
            plugged.node.guest.qmp("device_del", id=slot.id)
            time.sleep(1)
            assert plugged.now(SLOT), "given back while it is held"
            holder.kill()
            wait_until(lambda: not plugged.function(SLOT).exists(), 30, "the end of the device")
            slot.id = None
        plugged.wait_gone(SLOT)
        assert plugged.records() == {}


@pytest.mark.parametrize("model, mac, driver", [("igb", MAC, "igb"), ("e1000e", OTHER_MAC, "e1000e")])
def test_row_17_another_device_is_plugged_at_the_address(plugged, slot, model, mac, driver):
    slot.pull()
    plugged.wait(SLOT, "Ready", "False", "DeviceGone")
    slot.plug(model, mac)
    plugged.wait(SLOT, "Accepted", "False", "DifferentDevice")
    plugged.wait_event(SLOT, "Warning", "DifferentDevice")
    assert plugged.function(SLOT).drivers() == (driver, None)
    plugged.release(SLOT)
    assert plugged.function(SLOT).drivers() == (driver, None)
    assert plugged.records() == {}


def test_row_17_the_device_is_exchanged_while_the_agent_is_down(plugged, slot):
    agent = plugged.node.agent
    agent.kill()
    slot.pull()
    slot.plug("igb")
    wait_until(lambda: plugged.function(SLOT).drivers() == ("igb", None), what="igb")
    agent.start()
    plugged.wait(SLOT, "Accepted", "False", "DifferentDevice")
    assert plugged.function(SLOT).drivers() == ("igb", None)


@pytest.mark.parametrize("down", [False, True], ids=["agent-up", "agent-down"])
def test_row_18_the_same_device_is_plugged_again(plugged, slot, down):
    agent = plugged.node.agent
    if down:
        agent.kill()
    slot.pull()
    if not down:
        plugged.wait(SLOT, "Ready", "False", "DeviceGone")
    slot.plug()
    if down:
        wait_until(lambda: plugged.function(SLOT).driver() == "e1000e", what="e1000e")
        agent.start()
    plugged.wait_drivers(SLOT, *LENT)
    plugged.wait_ready(SLOT)
    plugged.release(SLOT)
    assert plugged.function(SLOT).drivers() == ("e1000e", None)


class TestRow21:
    IGB_VF = "0000:03:10.0"
    NVME_VF = "0000:04:00.1"

    @staticmethod
    def numvfs(claims, address, count):
        claims.node.guest.write(f"/sys/bus/pci/devices/{address}/sriov_numvfs", str(count))

    @pytest.fixture
    def functions(self, node):
        """Three VFs of the NIC and one of the NVMe, without drivers."""
        folders = [f"/sys/bus/pci/devices/{pf}" for pf in (IGB, NVME)]
        for folder, count in zip(folders, (3, 1)):
            node.guest.sh(f"echo 0 >{folder}/sriov_drivers_autoprobe; echo {count} >{folder}/sriov_numvfs")
        node.wait_converged()
        yield
        for folder in folders:
            node.guest.sh(f"echo 0 >{folder}/sriov_numvfs; echo 1 >{folder}/sriov_drivers_autoprobe")
        node.wait_converged()

    def test_row_21_the_virtual_functions_of_a_claim_go(self, functions, claims):
        for address in (self.IGB_VF, self.NVME_VF):
            claims.bind(address)
        before = claims.now(self.NVME_VF)
        self.numvfs(claims, IGB, 0)
        claim = claims.wait(self.IGB_VF, "Ready", "False", "DeviceGone")
        assert claim["status"]["passthroughEnabled"] is False
        assert claims.function(self.NVME_VF).drivers() == LENT
        assert claims.now(self.NVME_VF) == before
        self.numvfs(claims, IGB, 3)
        claims.wait_ready(self.IGB_VF)

    def test_a_function_with_virtual_ones_is_refused(self, functions, claims):
        claims.apply(IGB)
        claims.wait(IGB, "Accepted", "False", "VirtualFunctionsActive", "3")
        assert claims.function(IGB).drivers() == ("igb", None)
