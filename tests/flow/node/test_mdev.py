"""Mediated devices: made as the HostDeviceConfig wants them, listed whoever made them, lent to pods."""

import re
import time

import pytest

from cluster import wait_until
from kubelet import Pod
from mdev import MdevQemu, Mdevs

UUID = "11111111-2222-3333-4444-555555555551"
RESOURCE = "example.com/serial"
VENDOR = "4348"  # of the card that mtty plays


@pytest.fixture
def mdevs(node):
    made = Mdevs(node)
    made.give_back()
    yield made
    made.give_back()


def test_a_type_is_made_by_name_with_all_instances_and_each_is_an_object(node, mdevs):
    mdevs.want("Dual port serial")
    mdevs.wait_count("mtty", "mtty-2", 12)
    mdevs.wait_reason("mtty", "Configured", "all 12 instances of 'mtty-2'")
    mdevs.wait_equal()

    objects = mdevs.objects()
    assert all(o["createdByHostdev"] and o["typeName"] == "Dual_port_serial" and o["parent"] == "mtty"
               for o in objects.values())
    assert {u: o["iommuGroup"] for u, o in objects.items()} == {u: mdevs.group(u) for u in objects}
    types = {t["id"]: t for t in mdevs.parent("mtty")["types"]}
    assert types["mtty-2"]["instances"] == 12 and types["mtty-2"]["availableInstances"] == 0
    assert types["mtty-1"]["name"] == "Single_port_serial" and types["mtty-1"]["instances"] == 0

    written = len(node.agent.written())
    time.sleep(5)
    assert len(node.agent.written()) == written, "nothing changed, and something was written"


def test_instances_have_the_same_uuids_when_they_are_made_again(mdevs):
    mdevs.want("mtty-2")
    mdevs.wait_count("mtty", "mtty-2", 12)
    first = set(mdevs.instances())
    mdevs.want()
    mdevs.wait_count("mtty", "mtty-2", 0)
    mdevs.want("mtty-2")
    mdevs.wait_count("mtty", "mtty-2", 12)
    assert set(mdevs.instances()) == first


def test_each_parent_gets_one_type_and_another_order_moves_nothing(mdevs):
    mdevs.want("mtty-1", "mdpy-vga")
    mdevs.wait_reason("mtty", "Configured", "all 24 instances of 'mtty-1'")
    mdevs.wait_reason("mdpy", "Configured", "instances of 'mdpy-vga'")
    before = mdevs.instances()
    mdevs.want("mdpy-vga", "mtty-2", "mtty-1")
    time.sleep(3)
    assert mdevs.instances() == before


def test_64_instances(node, mdevs, capsys):
    mdevs.guest.sh("rmmod mdpy; modprobe mdpy count=40")
    try:
        wait_until(lambda: any(t.get("availableInstances") == 40 for t in mdevs.parent("mdpy").get("types", [])), 20,
                   "mdpy with room for 40")
        before = len(node.agent.written())
        began = time.monotonic()
        mdevs.want("mtty-1", "mdpy-vga")
        wait_until(lambda: mdevs.number() == 64, 60, "64 instances")
        made = time.monotonic() - began
        mdevs.wait_equal()
        published = time.monotonic() - began
        written = node.agent.written()[before:]
        per_object = {name: sum(1 for w in written if w[3] == name) for name in {w[3] for w in written}}
        with capsys.disabled():
            print(f"\n64 instances: made {made:.1f} s, published {published:.1f} s after the config; "
                  f"{len(written)} writes, {max(per_object.values())} at most of one object")
        assert len(set(mdevs.instances())) == 64
        ours = [n for name, n in per_object.items() if re.search(r"(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", name)]
        assert max(ours) <= 3
    finally:
        mdevs.give_back()
        mdevs.guest.sh("rmmod mdpy; modprobe mdpy")


def test_row_22_what_others_have_made_is_listed_and_never_removed(mdevs):
    mdevs.create("mtty", "mtty-1", UUID)
    wait_until(lambda: UUID in mdevs.objects(), 20, "the object of somebody's instance")
    assert mdevs.objects()[UUID]["createdByHostdev"] is False

    mdevs.want("mtty-2")
    mdevs.wait_reason("mtty", "OtherInstances", "hostdev did not create them")
    assert mdevs.instances() == {UUID: ("mtty", "mtty-1")}
    mdevs.want("mtty-1")
    mdevs.wait_count("mtty", "mtty-1", 24)
    mdevs.want()
    mdevs.wait_count("mtty", "mtty-1", 1)
    mdevs.wait_reason("mtty", "NotConfigured")
    assert mdevs.instances() == {UUID: ("mtty", "mtty-1")}


def test_row_22_what_others_remove_is_made_again_at_once_as_the_same(mdevs):
    mdevs.want("mtty-2")
    mdevs.wait_count("mtty", "mtty-2", 12)
    mdevs.wait_equal()
    victim = sorted(mdevs.instances())[3]
    mdevs.remove(victim)
    wait_until(lambda: victim in mdevs.instances(), 10, "the instance that somebody has removed")
    mdevs.wait_count("mtty", "mtty-2", 12)
    mdevs.wait_equal()


def test_switched_off_nothing_is_made_or_removed(mdevs):
    mdevs.want("mtty-2")
    mdevs.wait_count("mtty", "mtty-2", 12)
    mdevs.configure(mediatedDevicesConfiguration={"enabled": False})
    mdevs.wait_reason("mtty", "Disabled")
    victim = sorted(mdevs.instances())[0]
    mdevs.remove(victim)
    wait_until(lambda: victim not in mdevs.objects(), 20, "the end of the object")
    time.sleep(2)
    assert mdevs.count("mtty", "mtty-2") == 11


def test_what_a_vm_holds_is_not_removed_and_goes_when_it_lets_go(mdevs):
    mdevs.want("mtty-2")
    mdevs.wait_count("mtty", "mtty-2", 12)
    held = sorted(mdevs.instances())[0]
    with MdevQemu(mdevs.guest, held) as qemu:
        assert qemu.vendor() == VENDOR
        mdevs.want()
        mdevs.wait_count("mtty", "mtty-2", 1)
        mdevs.wait_reason("mtty", "InUse", f"{held}: process {qemu.pid} .*qemu")
        assert list(mdevs.instances()) == [held]
        assert qemu.alive()
    mdevs.wait_count("mtty", "mtty-2", 0, timeout=90)


def test_an_agent_that_dies_on_the_way_leaves_nothing_behind(node, mdevs):
    mdevs.guest.sh("rmmod mdpy; modprobe mdpy count=40")
    try:
        for _ in range(3):
            mdevs.want("mtty-1", "mdpy-vga")
            wait_until(lambda: mdevs.instances(), 30, "a first instance")
            node.agent.kill()
            node.agent.start()
            wait_until(node.agent.ready, 30, "the agent's readiness")
            wait_until(lambda: mdevs.number() == 64, 60, "64 instances")
            mdevs.wait_equal()
            assert all(o["createdByHostdev"] for o in mdevs.objects().values())
            mdevs.want()
            node.agent.kill()
            node.agent.start()
            wait_until(node.agent.ready, 30, "the agent's readiness")
            wait_until(lambda: not mdevs.instances(), 60, "no instances")
    finally:
        mdevs.give_back()
        mdevs.guest.sh("rmmod mdpy; modprobe mdpy")


def test_instances_are_lent_to_pods_and_stay_while_a_pod_has_them(node, kubelet, mdevs):
    node.agent.restart()
    lent = [{"resourceName": RESOURCE, "mdevNameSelector": "Dual port serial"}]
    mdevs.want("mtty-2", mediatedDevices=lent)
    kubelet.wait_allocatable(RESOURCE, 12)
    assert [o["resourceName"] for o in mdevs.objects().values()] == [RESOURCE] * 12

    pod = Pod(kubelet, "mdev-1", {RESOURCE: 2})
    pod.create()
    try:
        pod.wait_running()
        uuids = pod.environment()["MDEV_PCI_RESOURCE_EXAMPLE_COM_SERIAL"].split(",")
        assert len(uuids) == 2 and set(uuids) <= set(mdevs.instances())
        groups = sorted(mdevs.group(uuid) for uuid in uuids)
        assert sorted(pod.exec("ls /dev/vfio").split()) == sorted([*groups, "vfio"])
        wait_until(lambda: all(mdevs.objects()[u].get("allocations") for u in uuids), 40, "allocations")
        with MdevQemu(mdevs.guest, uuids[0]) as qemu:
            assert qemu.vendor() == VENDOR

        mdevs.configure(mediatedDevices=lent)  # no types any more
        mdevs.wait_count("mtty", "mtty-2", 2)
        mdevs.wait_reason("mtty", "InUse", "pod default/mdev-1")
        assert set(mdevs.instances()) == set(uuids)
        kubelet.wait_allocatable(RESOURCE, 2)
    finally:
        pod.delete()
    mdevs.wait_count("mtty", "mtty-2", 0, timeout=90)
    kubelet.wait_allocatable(RESOURCE, 0)


def test_a_selector_alone_lends_what_others_have_made(kubelet, mdevs):
    mdevs.create("mtty", "mtty-1", UUID)
    mdevs.configure(mediatedDevices=[{"resourceName": RESOURCE, "mdevNameSelector": "mtty-1"}])
    kubelet.wait_allocatable(RESOURCE, 1)
    mdevs.remove(UUID)
    kubelet.wait_allocatable(RESOURCE, 0)
    mdevs.create("mtty", "mtty-1", UUID)
    kubelet.wait_allocatable(RESOURCE, 1)
