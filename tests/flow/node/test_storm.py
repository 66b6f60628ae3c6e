"""Bursts of uevents, lost ones, and silence: how often the agent looks, and what it writes."""

import time

import pytest

from cluster import wait_until
from node import pci_name

NIC = "0000:01:00.0"
NVME = "0000:04:00.0"
QUIET_MS = 20  # RESCAN_DEVICE_QUIET_MS: a longer gap ends a burst, in agent/monitor/rescan.h
LONGEST_S = 5  # RESCAN_LONGEST_MS: so often there is a scan all the same

# Writes COUNT uevents as fast as it can; prints how many gaps were long enough to end a burst, and how long it took.
STORM = """
import sys, time
count, quiet, gaps = int(sys.argv[1]), float(sys.argv[2]) / 1000, 0
began = last = time.monotonic()
with open(sys.argv[3], "wb", buffering=0) as uevent:
    for _ in range(count):
        uevent.write(b"change")
        now = time.monotonic()
        gaps += now - last >= quiet
        last = now
print(gaps, last - began)
"""


def storm(node, count):
    """How many gaps the storm had, and how many seconds it took."""
    path = f"/sys/bus/pci/devices/{NIC}/uevent"
    gaps, seconds = node.guest.run("python3", "-c", STORM, count, QUIET_MS, path).split()
    return int(gaps), float(seconds)


def off_processor_ms(node):
    """How long the agent could have run and did not."""
    return int(node.guest.sh(f"cut -d' ' -f2 /proc/{node.agent.pid}/schedstat 2>/dev/null || echo 0")) // 1_000_000


def wait_calm(node):
    """Until two looks at the counter in a row, with half a second between them, see no new scan."""
    def calm():
        before = node.agent.scans()
        time.sleep(0.5)
        return node.agent.scans() == before
    wait_until(calm, 60, "an agent that does not scan")


@pytest.fixture
def calm(node):
    """The Node when nothing has happened for a while; afterwards the agent must be the same process."""
    wait_calm(node)
    yield node
    assert node.agent.alive(), node.agent.log()[-2000:]


def test_row_19_a_storm_of_5000_uevents_is_one_burst(calm):
    """One at its end, one that was under way, one more for what came meanwhile; and those that it cannot do without."""
    scans, written, dropped, waited = calm.agent.scans(), len(calm.agent.written()), lost(calm), off_processor_ms(calm)
    gaps, seconds = storm(calm, 5000)
    wait_calm(calm)
    made, dropped = calm.agent.scans() - scans, lost(calm) - dropped
    pauses = (off_processor_ms(calm) - waited) // QUIET_MS
    most = 3 + 2 * (gaps + pauses) + dropped + seconds // LONGEST_S
    assert 1 <= made <= most, f"{made} scans, {seconds} s, {gaps} gaps, {pauses} pauses of the agent, {dropped} losses"
    assert calm.agent.written()[written:] == []


def overflow(node):
    """Uevents until the kernel had to drop some for want of room in the agent's socket."""
    sockets = f"/proc/{node.agent.pid}/net/netlink"  # protocol, port id and drops are columns 2, 3 and 9
    dropped = f"awk '$2 == 15 && $3 == {node.agent.pid} {{ print $9 }}' {sockets}"
    before = int(node.guest.sh(dropped))
    for _ in range(12):
        storm(node, 10000)
        if int(node.guest.sh(dropped)) > before:
            return
    raise AssertionError("the agent's socket took 120,000 uevents")


def lost(node):
    """How often the agent was told that uevents were lost."""
    return node.agent.metrics().get(("hostdev_change_hints_total", 'source="uevents lost"'), 0)


def driver_is(driver):
    return lambda e: e.name == pci_name(NVME) and e.object["status"].get("kernelDriverInUse") == driver


@pytest.fixture
def drivers(node):
    """The NVMe's driver: a change that only uevents tell of."""
    yield "/sys/bus/pci/drivers/nvme"
    if not node.guest.try_sh(f"test -e /sys/bus/pci/devices/{NVME}/driver"):
        node.guest.write("/sys/bus/pci/drivers/nvme/bind", NVME)


def test_row_19_lost_uevents_lead_to_few_looks_and_lose_no_device(calm, drivers):
    scans, before, waited = calm.agent.scans(), lost(calm), off_processor_ms(calm)
    mark = calm.pci.mark()
    calm.agent.signal("STOP")
    try:
        overflow(calm)
        # Of this change no uevent will ever be read.
        calm.guest.write(f"{drivers}/unbind", NVME)
    finally:
        calm.agent.signal("CONT")
    calm.pci.wait(mark, driver_is(None), what="the unbinding")
    wait_calm(calm)
    assert lost(calm) > before
    # One look for what was lost, and one for every pause of the agent, longer than QUIET_MS, while it reads what was
    # left of the tens of thousands: a few times, and whenever a busy machine makes it wait.
    assert 1 <= calm.agent.scans() - scans <= 20 + 2 * ((off_processor_ms(calm) - waited) // QUIET_MS)
    # And uevents are heard as before.
    calm.guest.write(f"{drivers}/bind", NVME)
    calm.pci.wait(mark, driver_is("nvme"), what="the binding")
    calm.wait_converged()


def test_lost_changes_of_addresses_and_links_lose_none(calm):
    name = calm.guest.sh(f"ls /sys/bus/pci/devices/{NIC}/net").strip()
    calm.guest.sh(f"ip link set {name} up")
    calm.agent.signal("STOP")
    try:
        calm.guest.sh("for i in $(seq 400); do echo address add 192.0.2.7/32 dev lo; "
                      "echo address del 192.0.2.7/32 dev lo; done | ip -batch -")
    finally:
        calm.agent.signal("CONT")
    wait_calm(calm)
    try:
        calm.guest.sh(f"ip address add 192.0.2.1/24 dev {name}")
        calm.wait_reason(NIC, "InUse", name)
    finally:
        calm.guest.sh(f"ip address flush dev {name}; ip link set {name} down")
    calm.wait_reason(NIC, "Available")


def test_uevents_of_no_device_lead_to_no_look(calm):
    scans = calm.agent.scans()
    calm.guest.sh("for i in 1 2 3; do echo change > /sys/class/mem/null/uevent; done")
    wait_calm(calm)
    assert calm.agent.scans() == scans


def test_an_idle_node_writes_nothing(calm):
    written, scans = len(calm.agent.written()), calm.agent.scans()
    time.sleep(30)
    assert calm.agent.written()[written:] == []
    assert calm.agent.scans() == scans
