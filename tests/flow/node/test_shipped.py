"""The helper with the rights of the shipped pod: no capability, namespaces of its own, the host's trees mounted.

Whatever it cannot see there must not look free.
"""

import json
from contextlib import contextmanager

import pytest

from claims import EDU, NIC, NVME, TWIN, condition
from cluster import wait_until
from node import pci_name
from node_agent import HOME

VIRTIO_NIC = "0000:00:02.0"
NVME = "0000:04:00.0"
HOST = "/run/shipped"  # where its host's trees are
STORAGE, NETWORK, USB = "01", "02", "0c03"
HIDEPID = ["hidepid=invisible,gid=999", "hidepid=ptraceable", "hidepid=noaccess,gid=999"]

# A tree with an NVIDIA card in it: only who has its node open says that it is in use.
CARD, CARDS = "0000:0b:00.0", "/run/made-card"
MAKE_CARD = f"""
at={CARDS}/sys/bus/pci/devices/{CARD}; group={CARDS}/sys/kernel/iommu_groups/12
mkdir -p $at $group/devices {CARDS}/sys/class {CARDS}/sys/bus/pci/drivers/nvidia {CARDS}/sys/module/vfio_iommu_type1 {CARDS}/dev
echo 0x10de >$at/vendor; echo 0x25b6 >$at/device; echo 0x030200 >$at/class; echo '(null)' >$at/driver_override
ln -s ../../drivers/nvidia $at/driver; ln -s $group $at/iommu_group; ln -s $at $group/devices/{CARD}
mknod /dev/nvidia7 c 1 3
"""
PLAN = ["plan-bind", "--sysfs-root", f"{CARDS}/sys", "--dev-root", f"{CARDS}/dev", "--state-dir", f"{CARDS}/state",
        "--group", "12", f"address={CARD}", "id=10de:25b6", "driver=vfio-pci", "native=nvidia", "claim=c", "uid=u"]

# Runs the words behind it as the DaemonSet's container runs the agent.
SHIPPED = f"""
for tree in sys proc dev; do mkdir -p {HOST}/$tree; mount --rbind --make-rslave /$tree {HOST}/$tree; done
mount -t proc proc /proc
exec setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all --no-new-privs -- "$@"
"""


class Shipped:
    def __init__(self, guest):
        self.guest = guest

    def scan(self, proc=f"{HOST}/proc", descriptors=1024):
        """(exit status, lines, standard error) of a scan."""
        return self.helper(f"scan --sysfs-root {HOST}/sys --proc-root {proc} --dev-root {HOST}/dev", descriptors)

    def helper(self, words, descriptors=1024):
        words = f"{HOME}/hostdev-helper {words}"
        script = f"(ulimit -n {descriptors}; exec {words}) >/run/shipped.out 2>/run/shipped.err; echo $?"
        status = int(self.guest.run("unshare", "--mount", "--net", "--pid", "--fork", "sh", "-euc", SHIPPED, "sh",
                                    "sh", "-c", script))
        lines = [json.loads(line) for line in self.guest.sh("cat /run/shipped.out").splitlines()]
        return status, lines, self.guest.sh("cat /run/shipped.err")

    def unknown(self, **options):
        """What it could not find out: {question: line}."""
        return {line["question"]: line for line in of_kind(self.scan(**options)[1], "unknown")}

    def uses(self, address):
        """(reason, detail) of all that uses the function."""
        return [(line["reason"], line["detail"]) for line in of_kind(self.scan()[1], "use") if line["pci"] == address]

    @contextmanager
    def with_host(self, do, undo):
        self.guest.sh(do)
        try:
            yield
        finally:
            self.guest.sh(undo)


def of_kind(lines, kind):
    return [line for line in lines if line["kind"] == kind]


@pytest.fixture
def shipped(node):
    return Shipped(node.guest)


def test_it_sees_what_an_agent_with_all_rights_sees(shipped):
    status, lines, _ = shipped.scan()
    whole = [json.loads(line) for line in shipped.guest.run(f"{HOME}/hostdev-helper", "scan").splitlines()]
    assert status == 0 and lines[-1]["kind"] == "end"
    assert of_kind(lines, "unknown") == []
    assert of_kind(lines, "use") == of_kind(whole, "use") != []


def test_it_sees_mounts_of_containers(shipped):
    """No capability is needed to read the mounts of other processes."""
    hidden = "mount /dev/nvme0n1 /run/hidden && touch /run/hidden-is-mounted && exec sleep 600"
    with shipped.with_host("mkdir -p /run/hidden; mkfs.minix /dev/nvme0n1; "
                           f"setsid unshare --mount sh -c '{hidden}' </dev/null >/dev/null 2>&1 & echo $! >/run/hidden-pid; "
                           "until [ -e /run/hidden-is-mounted ]; do sleep 0.05; done",
                           "kill $(cat /run/hidden-pid); rm /run/hidden-[ip]*"):
        assert shipped.uses(NVME) == [("Mounted", "nvme0n1 is mounted at /run/hidden in another mount namespace")]


def test_it_sees_locks_of_disks(shipped):
    """No capability is needed to read /proc/locks."""
    lock = "exec 9</dev/nvme0n1; flock -x 9; touch /run/disk-is-locked; exec sleep 600"
    with shipped.with_host(f"setsid sh -c '{lock}' </dev/null >/dev/null 2>&1 & echo $! >/run/lock-pid; "
                           "until [ -e /run/disk-is-locked ]; do sleep 0.05; done",
                           "kill $(cat /run/lock-pid); rm /run/lock-pid /run/disk-is-locked"):
        assert shipped.uses(NVME) == [("BlockHolder", "nvme0n1 is locked by a process")]


class TestProcessOne:
    @pytest.mark.parametrize("options", HIDEPID)
    def test_a_host_that_hides_its_processes_hides_what_it_uses(self, shipped, options):
        _, before, _ = shipped.scan()
        with shipped.with_host(f"mount -o remount,{options} /proc", "mount -o remount,hidepid=off,gid=0 /proc"):
            _, lines, _ = shipped.scan()
        unknown = {line["question"]: line for line in of_kind(lines, "unknown")}
        covered = {prefix for line in unknown.values() for prefix in line["pciClasses"]}
        classes = {line["address"]: line["class"] for line in of_kind(before, "pci")}
        used = {line["pci"] for line in of_kind(before, "use")}
        still = {line["pci"] for line in of_kind(lines, "use")}
        assert len(used) >= 3
        for address in used - still:
            assert classes[address].startswith(tuple(covered)), f"{address} ({classes[address]}) is free now"
        assert set(unknown) == {"Mounts", "Routes"}
        assert "hidepid" in unknown["Mounts"]["detail"] and unknown["Mounts"]["unread"]
        assert {STORAGE, NETWORK, USB} <= set(unknown["Mounts"]["pciClasses"])

    def test_the_group_of_the_mount_option_sees_them(self, shipped):
        with shipped.with_host("mount -o remount,hidepid=invisible,gid=0 /proc",
                               "mount -o remount,hidepid=off,gid=0 /proc"):
            assert shipped.unknown() == {}

    def test_a_proc_tree_of_its_own_is_not_the_hosts(self, shipped):
        unknown = shipped.unknown(proc="/proc")
        assert "it is not the host's" in unknown["Mounts"]["detail"]
        assert {STORAGE, NETWORK, USB} <= set(unknown["Mounts"]["pciClasses"])


class TestCard:
    """Who has /dev/nvidia7 open: an agent that cannot see it does not take the card."""

    def held(self, guest):
        """(reason, message) with all rights."""
        end = json.loads(guest.run(f"{HOME}/hostdev-helper", *PLAN, "--proc-root", "/proc").splitlines()[-1])
        return end.get("reason"), end.get("message", "")

    @pytest.mark.parametrize("options", ["hidepid=off"] + HIDEPID)
    def test_a_card_is_not_free_where_its_holders_are_hidden(self, shipped, options):
        guest = shipped.guest
        with shipped.with_host(MAKE_CARD, f"rm -r {CARDS}; rm /dev/nvidia7"), \
                shipped.with_host(f"mount -o remount,{options} /proc", "mount -o remount,hidepid=off,gid=0 /proc"):
            _, lines, _ = shipped.helper(f"{' '.join(PLAN)} --proc-root {HOST}/proc")
            assert (lines[-1]["result"], lines[-1].get("reason")) == ("Refused", "UseUnknown")
            assert "SYS_PTRACE" in lines[-1]["message"]
            assert self.held(guest)[0] is None
            holder = int(guest.sh("setsid sleep 1000 3</dev/nvidia7 </dev/null >/dev/null 2>&1 & echo $!"))
            try:
                reason, message = self.held(guest)
            finally:
                guest.run("kill", str(holder))
        assert reason == "Held" and f"process {holder} (" in message and "has /dev/nvidia7 open" in message


class TestNetwork:
    def interface(self, shipped):
        return shipped.guest.sh(f"ls /sys/bus/pci/devices/{NIC}/net").strip()

    def test_an_interface_in_a_pod(self, shipped):
        name = self.interface(shipped)
        with shipped.with_host(f"ip netns add pod; ip link set {name} netns pod", "ip netns del pod"):
            assert [reason for reason, _ in shipped.uses(NIC)] == ["InterfaceMoved"]

    @pytest.mark.parametrize("route, shown, use", [
        ("ip route add default dev {name} table 100", "ip route show table 100",
         ("Unknown", "{name} is up, and the default route of table 100 may go through it")),
        ("ip route add 198.51.100.0/24 nexthop dev eth0 nexthop dev {name}", "ip route show 198.51.100.0/24",
         ("Unknown", "{name} is up and connected, and may carry routes that cannot be seen")),
        ("ip link add vrf-test type vrf table 101; ip link set vrf-test up; ip link set {name} master vrf-test",
         "ip link show master vrf-test", ("InterfaceUp", "{name} is up under vrf-test")),
    ], ids=["table 100", "nexthop", "VRF"])
    def test_an_uplink_by_a_route_that_is_not_shown(self, shipped, route, shown, use):
        name = self.interface(shipped)
        undo = (f"ip link del vrf-test 2>/dev/null || true; ip route del 198.51.100.0/24 2>/dev/null || true; "
                f"ip link set {name} down")
        up = f"ip link set {name} up; until [ \"$(cat /sys/class/net/{name}/carrier)\" = 1 ]; do sleep 0.1; done"
        with shipped.with_host(f"{up}; {route.format(name=name)}", undo):
            assert name in shipped.guest.sh(shown)
            assert name not in shipped.guest.sh("cat /proc/net/route")
            [(reason, detail)] = shipped.uses(NIC)
        assert reason == use[0] and detail.startswith(use[1].format(name=name))
        assert shipped.uses(NIC) == []


class TestStorage:
    def test_pools_that_do_not_show_their_disks(self, shipped):
        """A made-up tree: the host's, with ZFS in it."""
        made = "/run/made-proc"
        pool = f"mkdir -p {made}/spl/kstat/zfs/tank; for f in 1 meminfo swaps; do ln -sfn {HOST}/proc/$f {made}/$f; done"
        with shipped.with_host(pool, f"rm -r {made}"):
            unknown = shipped.unknown(proc=made)
        assert set(unknown) == {"Members"}
        assert "the ZFS pool 'tank'" in unknown["Members"]["detail"] and not unknown["Members"]["unread"]
        assert {STORAGE, USB} <= set(unknown["Members"]["pciClasses"])
        assert NETWORK not in unknown["Members"]["pciClasses"]


def test_few_descriptors_fail_the_scan_instead_of_shortening_it(shipped):
    whole = shipped.scan()[1]
    ends = set()
    for limit in range(4, 16):
        status, lines, error = shipped.scan(descriptors=limit)
        if status == 0:
            assert lines == whole
        else:
            assert status == 1 and "Too many open files" in error
            assert [line["kind"] for line in lines] in ([], ["failed"])
        ends.add(status)
    assert ends == {0, 1}


TWIN_EDU = "0000:00:09.0"
TWINS = "edu,id=twin-edu,bus=pcie.0,addr=09.0",
RENUMBERED = "pcie-root-port,id=rp-first,bus=pcie.0,addr=0a.0,chassis=21,slot=21",  # its bus comes before all others
BY_ADDRESS = "hostdev.io/identify-by-address=true"


def start_shipped(agent):
    """The agent with the rights of its pod, but for the network, which is the guest's."""
    agent.guest.write("/run/shipped-agent", SHIPPED)
    agent.launch("unshare --mount --pid --fork --kill-child sh -eu /run/shipped-agent " + agent.command(
        "--sysfs-root", f"{HOST}/sys", "--proc-root", f"{HOST}/proc", "--dev-root", f"{HOST}/dev"))


def distinguishable(node, address):
    """(status, reason, message) of the condition, which is there only while it is False."""
    return condition(node.pci_object(address), "Distinguishable")


def test_no_twin_is_bound_in_the_place_of_a_claimed_device_after_a_renumbering(booted, claims):
    """Of two network cards their addresses tell, of two others nothing does. The machine is as before at the end."""
    def start(agent):
        agent.guest.sh("modprobe vfio-pci")
        start_shipped(agent)
    try:
        booted.boot_with(TWINS, False, start)
        wait_until(lambda: distinguishable(booted, EDU)[0] == "False", 30, "the twin")
        for address, other in (EDU, TWIN_EDU), (TWIN_EDU, EDU):
            status, reason, message = distinguishable(booted, address)
            assert (status, reason) == ("False", "IdentityByModelOnly") and other in message
        assert distinguishable(booted, NIC) == distinguishable(booted, TWIN) == (None, None, None)
        for address in TWIN, EDU:
            claims.bind(address)
        assert "mac=52:54:00:12:00:02" in claims.records()[TWIN]["identity"]

        booted.boot_with(TWINS + RENUMBERED, True, start)
        claims.wait(TWIN, "Ready", "False", "DifferentDevice", timeout=60)
        claims.wait(EDU, "Ready", "False", "IdentityByModelOnly", TWIN_EDU, timeout=60)
        assert claims.function(TWIN).drivers() == ("e1000e", None), "it was 0000:01:00.0 before"
        assert claims.function(EDU).drivers() == claims.function(TWIN_EDU).drivers() == (None, None)
        claims.kubectl("annotate", "pcideviceclaim", pci_name(EDU), BY_ADDRESS)
        claims.wait_ready(EDU)
        assert claims.function(TWIN_EDU).drivers() == (None, None)
    finally:
        claims.kubectl("delete", "pcideviceclaims", "--all", "--wait=false")
        booted.boot_with((), False)
