"""The node boots anew, with another device in it: objects of the last boot become those of this one."""

from collections import Counter

import pytest

from cluster import wait_until
from listing import pci_fields
from node import pci_name

NIC = "0000:41:00.0"
PORT = "pcie-root-port,id=rp-extra,bus=pcie.0,addr=1e.0,chassis=20,slot=20"
MANY = "sriov_max_vfs=64,sriov_vq_flexible=128,sriov_vi_flexible=64,max_ioqpairs=130,msix_qsize=67"
EXTRA = ("nvme-subsys,id=extra-subsys", PORT, f"nvme,id=extra,bus=rp-extra,serial=EXTRA,subsys=extra-subsys,{MANY}")


def said(node):
    return {o.get("status", {}).get("address"): pci_fields(o.get("status", {}))
            for o in node.get("pcidevices")}


@pytest.fixture(scope="module")
def rebooted(booted):
    """(IOMMU group of each function before, the Node after the second boot). Tests that follow have the machine of the
    first again: with the other device in it, disks may have other names."""
    groups = {a: f.get("iommuGroup") for a, f in said(booted).items()}
    boot(booted, *(word for device in EXTRA for word in ("--qemu", "-device", "--qemu", device)))
    yield groups, booted
    boot(booted)


def boot(node, *devices):
    node.guest.stop()
    node.guest.start(*devices)
    node.agent.install()
    node.agent.start()
    wait_until(node.agent.ready, 60, "the agent's readiness")


def test_objects_follow_a_boot_with_other_groups(rebooted):
    groups, node = rebooted
    node.wait_equal()
    assert said(node)[NIC]["iommuGroup"] != groups[NIC], "the second boot has the groups of the first"


def test_row_19_sixty_four_virtual_functions_come_and_go(rebooted):
    _, node = rebooted
    before = len(node.agent.written())
    extra = next(a for a, s in said(node).items() if s["classId"] == "0108" and a != "0000:04:00.0")
    folder = f"/sys/bus/pci/devices/{extra}"
    node.guest.write(f"{folder}/sriov_drivers_autoprobe", "0")
    node.guest.write(f"{folder}/sriov_numvfs", "64")
    node.wait_reason(extra, "VirtualFunctionsActive", "64")
    node.wait_converged()
    names = {name for name, o in node.pci.objects().items() if o["status"].get("physicalFunction") == extra}
    assert len(names) == 64
    written = Counter(w[3] for w in node.agent.written()[before:])
    assert {written[name] for name in names} == {2}, "the object, and its status"
    assert written[pci_name(extra)] <= 10, "its number of functions, as looks on the way saw it"
    node.guest.write(f"{folder}/sriov_numvfs", "0")
    node.wait_converged()
    node.wait_reason(extra, "Available")
    assert node.pci_object(extra)["metadata"]["name"] == pci_name(extra)
