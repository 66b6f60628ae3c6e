"""A claim from kubectl apply to a second QEMU that has the device, and back to its driver."""

import pytest

from claims import DRIVER, EDU, FAR_NIC, FINALIZER, NATIVE, NIC, NVME, PAIR, SLOT, TWIN, condition
from cluster import wait_until
from node import ADDRESS, NODE, claimable, pci_name
from vfio_user import Holder, Qemu

LENT = "vfio-pci", "vfio-pci"  # driver and override
VIRTIO_NIC = "0000:00:02.0"


def refused(claims, address, reason, message=""):
    """Until the claim says so, in Accepted and in Ready."""
    claim = claims.wait(address, "Accepted", "False", reason, message)
    assert condition(claim, "Ready") == condition(claim, "Accepted")
    assert condition(claim, "DriverBound")[:2] == ("False", "Waiting")
    assert claim["status"].get("passthroughEnabled", False) is False
    return claim


def wait_annotated(claims, address, driver):
    """Until the PCIDevice names both drivers: the one in use and the one to go back to."""
    def check():
        device = claims.node.pci_object(address)
        return (device["status"].get("kernelDriverInUse") == "vfio-pci"
                and device["metadata"].get("annotations", {}).get(DRIVER) == driver)
    wait_until(check, 10, f"{address} on vfio-pci, {driver} remembered")


class TestOneDevice:
    @pytest.mark.parametrize("address, vendor, witness", [
        (NIC, "8086", "interfaces"),
        (NVME, "1b36", "disks"),
    ])
    def test_it_is_lent_held_and_given_back(self, claims, address, vendor, witness):
        function = claims.function(address)
        claims.bind(address)
        assert function.drivers() == LENT
        with Qemu(claims.node.guest, address) as user:
            assert user.vendor() == vendor
            claims.delete(address)
            claim = claims.wait(address, "Ready", "False", "Held", f"{user.pid}")
            assert f"process {user.pid} (qemu-system-x86" in claim["status"]["holder"]
            assert claim["status"]["step"] == "Release"
            assert claim["metadata"]["deletionTimestamp"]
            assert function.drivers() == LENT
            claims.wait_event(address, "Warning", "Held", f"process {user.pid} (qemu-system-x86")
            user.quit()
        claims.wait_gone(address)
        claims.wait_event(address, "Normal", "Released", NATIVE[address])
        assert function.drivers() == (NATIVE[address], None)
        assert getattr(function, witness)()

    def test_a_bound_claim_says_what_is_true(self, claims):
        claim = claims.bind(NIC)
        status = claim["status"]
        assert status["kernelDriverToUnbind"] == "e1000e"
        assert status["passthroughEnabled"] is True
        assert status["observedGeneration"] == claim["metadata"]["generation"]
        assert status["iommuGroup"] == claims.function(NIC).group()
        assert status["iommuGroupMembers"] == [NIC]
        assert not status.get("step") and not status.get("holder")
        assert {kind: condition(claim, kind)[:2] for kind in ("Accepted", "GroupViable", "DriverBound", "Ready")} == {
            "Accepted": ("True", "Accepted"), "GroupViable": ("True", "Viable"),
            "DriverBound": ("True", "Bound"), "Ready": ("True", "Ready")}
        claims.wait_event(NIC, "Normal", "Bound", "vfio-pci")
        wait_annotated(claims, NIC, "e1000e")
        (record,) = claims.records().values()
        assert (record["address"], record["native"], record["driver"]) == (NIC, "e1000e", "vfio-pci")
        assert record["uid"] == claim["metadata"]["uid"]

    def test_one_life_takes_seven_writes(self, claims):
        before = len(claims.node.agent.written())
        claims.bind(NIC)
        claims.release(NIC)
        claims.node.wait_equal()
        written = [(kind, sub) for _, kind, sub, name, _ in claims.node.agent.written()[before:]
                   if name == pci_name(NIC) and kind != "events"]
        assert written.count(("pcideviceclaims", "")) == 2
        assert written.count(("pcideviceclaims", "status")) == 2
        assert len(written) <= 7, written  # the device shows that it is claimed before it is bound

    def test_one_that_had_no_driver_goes_back_to_none(self, claims):
        claim = claims.bind(EDU)
        assert claims.function(EDU).drivers() == LENT
        assert claim["status"].get("kernelDriverToUnbind", "") == ""
        assert claims.records()[EDU]["native"] == ""
        claims.release(EDU)
        assert claims.function(EDU).drivers() == (None, None)

    def test_its_twins_keep_their_drivers(self, claims):
        """None of the same ids follows it, neither one that is there nor one that comes."""
        claims.bind(NIC)
        third = claims.node.guest.plug("nic", "--bus", "spare1")
        try:
            for address in (TWIN, FAR_NIC, SLOT):
                claims.wait_drivers(address, "e1000e")
            claims.release(NIC)
            for address in (NIC, TWIN, FAR_NIC, SLOT):
                claims.wait_drivers(address, "e1000e")
        finally:
            claims.node.guest.unplug(third)
            claims.node.wait_converged()


class TestWhatIsWritten:
    def test_what_is_left_out_is_filled_in(self, claims):
        claims.apply(NIC)
        claim = claims.wait_ready(NIC)
        assert (claim["spec"]["address"], claim["spec"]["nodeName"]) == (NIC, NODE)
        assert claim["metadata"]["finalizers"] == [FINALIZER]
        device = claims.node.pci_object(NIC)
        (owner,) = claim["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == (
            "PCIDevice", device["metadata"]["name"], device["metadata"]["uid"])

    def test_a_claim_as_harvester_writes_it_keeps_what_it_has(self, claims):
        device = claims.node.pci_object(NIC)["metadata"]
        owner = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice",
                 "name": device["name"], "uid": device["uid"]}
        claims.apply(NIC, owners=[owner], address=NIC, nodeName=NODE, userName="admin")
        claim = claims.wait_ready(NIC)
        assert claim["metadata"]["ownerReferences"] == [owner]
        assert claim["spec"] == {"address": NIC, "nodeName": NODE, "userName": "admin"}
        claims.kubectl("delete", "pcideviceclaim", pci_name(NIC), "--timeout=180s")
        assert claims.function(NIC).drivers() == ("e1000e", None)

    @pytest.mark.parametrize("spec, reason, message", [
        ({"address": TWIN}, "Contradictory", TWIN),
        ({"driver": "mlx5_vfio_pci"}, "DriverNotAllowed", "mlx5_vfio_pci"),
    ])
    def test_what_cannot_be_is_refused(self, claims, spec, reason, message):
        claims.apply(NIC, **spec)
        refused(claims, NIC, reason, message)
        claims.wait_event(NIC, "Warning", reason, message)
        for address in (NIC, TWIN):
            assert claims.function(address).drivers() == ("e1000e", None)
        claims.release(NIC, timeout=5)

    def test_a_node_that_is_not_the_names_is_a_contradiction(self, claims):
        written = len(claims.node.agent.written())
        claims.apply(NIC, nodeName="another-node")
        claims.wait(NIC, "Accepted", "False", "Contradictory", "another-node")
        claims.bind(TWIN)
        made = [w[1] for w in claims.node.agent.written()[written:] if w[3] == pci_name(NIC)]
        assert sorted(made) == ["pcideviceclaims", "pcidevices"]  # the device shows that it is claimed
        assert claims.function(NIC).drivers() == ("e1000e", None)
        claims.release(NIC, timeout=5)


class TestWhatTheHostNeeds:
    def test_the_nic_of_the_default_route_is_refused(self, claims):
        claims.apply(VIRTIO_NIC)
        refused(claims, VIRTIO_NIC, *claimable(claims.node.pci_object(VIRTIO_NIC)))
        assert claims.function(VIRTIO_NIC).drivers() == ("virtio-pci", None)
        assert ADDRESS in claims.node.guest.run("ip", "address")

    def test_a_nic_with_an_address_waits_until_it_has_none(self, claims):
        (name,) = claims.function(NIC).interfaces()
        claims.node.guest.sh(f"ip address add 192.0.2.1/24 dev {name}; ip link set {name} up")
        claims.apply(NIC)
        refused(claims, NIC, "InUse", name)
        assert claims.function(NIC).drivers() == ("e1000e", None)
        claims.node.guest.sh(f"ip address flush dev {name}; ip link set {name} down")
        claims.wait_ready(NIC)

    def test_a_disk_that_only_the_kernel_knows_to_be_in_use_is_refused(self, claims):
        """A file system that sysfs does not list, mounted in a namespace that is not process 1's."""
        guest, disk, point = claims.node.guest, "/dev/nvme0n1", "/run/minix"
        hold = f"mount -t minix {disk} {point} && touch /run/minix-is-mounted && exec sleep 600"
        guest.sh(f"modprobe minix; mkdir -p {point}; mkfs.minix {disk} >/dev/null; "
                 f"setsid unshare --mount sh -c '{hold}' </dev/null >/dev/null 2>&1 & echo $! >/run/minix-pid; "
                 "until [ -e /run/minix-is-mounted ]; do sleep 0.05; done")
        try:
            claims.node.wait_reason(NVME, "Available")
            claims.apply(NVME)
            claims.wait(NVME, "Ready", "False", "InUse", "the kernel uses the disk nvme0n1")
            assert claims.function(NVME).drivers() == ("nvme", None)
        finally:
            guest.sh("kill $(cat /run/minix-pid); rm /run/minix-*")
        wait_until(lambda: guest.sh("cat /sys/module/minix/refcnt").strip() == "0", what="the unmount")
        guest.write("/sys/class/block/nvme0n1/uevent", "change")  # an unmount in another namespace is no event
        claims.wait_ready(NVME)


class TestOneGroup:
    def both(self, claims):
        return [claims.function(address).drivers() for address in PAIR]

    def test_one_of_two_is_refused_with_the_list(self, claims):
        claims.apply(PAIR[0])
        refused(claims, PAIR[0], "GroupShared", PAIR[1])
        assert self.both(claims) == [("8139cp", None)] * 2
        claims.apply(PAIR[1])
        for address in PAIR:
            claims.wait_ready(address)
        assert self.both(claims) == [LENT, LENT]
        with Qemu(claims.node.guest, PAIR[1]) as user:
            assert user.vendor() == "10ec"
            claims.delete(*PAIR)
            for address in PAIR:
                claims.wait(address, "Ready", "False", "Held", f"process {user.pid} (qemu-system-x86")
            assert self.both(claims) == [LENT, LENT]
            user.quit()
        claims.wait_gone(*PAIR)
        assert self.both(claims) == [("8139cp", None)] * 2
        assert all(claims.function(address).interfaces() for address in PAIR)

    def test_one_claim_may_take_the_whole_group(self, claims):
        claim = claims.bind(PAIR[0], includeIOMMUGroup=True)
        assert {*PAIR} < {*claim["status"]["iommuGroupMembers"]}
        assert self.both(claims) == [LENT, LENT]
        wait_annotated(claims, PAIR[1], "8139cp")
        claims.release(PAIR[0])
        assert self.both(claims) == [("8139cp", None)] * 2
        assert all(claims.function(address).interfaces() for address in PAIR)

    def test_a_group_of_which_one_claim_goes_is_given_back_whole(self, claims):
        for address in PAIR:
            claims.apply(address)
        for address in PAIR:
            claims.wait_ready(address)
        claims.release(PAIR[0])
        refused(claims, PAIR[1], "GroupShared", PAIR[0])
        assert self.both(claims) == [("8139cp", None)] * 2
        claims.bind(PAIR[0])
        claims.wait_ready(PAIR[1])


class TestBoundBefore:
    """Somebody had bound it to vfio-pci before there was a claim."""

    @pytest.fixture
    def lent(self, claims):
        function = claims.function(NIC)
        function.rebind("vfio-pci")
        wait_annotated(claims, NIC, "e1000e")
        yield function
        if not claims.now(NIC) and function.driver() == "vfio-pci":
            function.rebind("")

    def test_it_is_left_alone_and_said_so(self, claims, lent):
        agent = claims.node.agent
        agent.kill()
        agent.start()
        wait_until(agent.ready, 30, "the agent's readiness")
        claims.node.wait_reason(NIC, "Available", "leaves it alone until it is claimed")
        claims.bind(TWIN)
        assert lent.drivers() == LENT
        assert NIC not in claims.records()

    def test_a_claim_adopts_it_without_unbinding_it_once_nobody_uses_it(self, claims, lent):
        with Holder(lent) as user:
            claims.apply(NIC)
            claims.wait(NIC, "Ready", "False", "Held", "/dev/vfio/")
            assert user.alive()
            assert lent.drivers() == LENT
            assert NIC not in claims.records()
        claims.wait_ready(NIC)
        assert lent.drivers() == LENT
        assert NIC in claims.records()
        claims.release(NIC)
        assert lent.drivers() == LENT

    def test_one_without_an_override_has_none_again(self, claims, lent):
        """As vfio-pci.ids= on the kernel's command line leaves it."""
        claims.node.guest.sh(f"echo >/sys/bus/pci/devices/{NIC}/driver_override")
        assert lent.drivers() == ("vfio-pci", None)
        claim = claims.bind(NIC)
        assert claim["status"]["kernelDriverToUnbind"] == "vfio-pci"
        assert lent.drivers() == LENT
        claims.release(NIC)
        assert lent.drivers() == ("vfio-pci", None)
        assert claims.records() == {}


class TestReleaseWithoutDriver:
    def test_the_kernel_reads_nothing_of_a_disk_that_is_released(self, claims):
        claims.bind(NVME, release="None")
        claims.release(NVME)
        try:
            assert claims.function(NVME).drivers() == (None, None)
            assert not claims.function(NVME).disks()
        finally:
            claims.node.guest.sh(f"echo {NVME} >/sys/bus/pci/drivers_probe")
        claims.wait_drivers(NVME, "nvme")
        wait_until(claims.function(NVME).disks, 20, "the disk")
