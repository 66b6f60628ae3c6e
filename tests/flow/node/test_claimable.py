"""Why a device may be claimed or not, computed from the real mounts, swaps, routes and links."""

from contextlib import contextmanager

import pytest

from cluster import wait_until
from node import ADDRESS

NIC = "0000:01:00.0"
OTHER_NIC = "0000:02:00.0"
VIRTIO_NIC = "0000:00:02.0"
NVME = "0000:04:00.0"
NVME_DISK = "/dev/nvme0n1"
STICK_PORT = "2-2"
XHCI = "0000:00:06.0"
RTL8139 = "0000:07:01.0", "0000:07:02.0"
MOUNT_POINT = "/run/test-mount"


@contextmanager
def in_guest(node, do, undo):
    """do, then undo whatever happens."""
    node.guest.sh(do)
    try:
        yield
    finally:
        node.guest.sh(undo)


def mounted(node, disk, point):
    return in_guest(node, f"mkdir -p {point}; mkfs.ext2 -q -F {disk}; mount {disk} {point}", f"umount {point}")


def interface(node, address):
    return node.guest.sh(f"ls /sys/bus/pci/devices/{address}/net").strip()


class TestAtBoot:
    def test_a_device_without_a_driver_and_alone_is_available(self, node):
        node.wait_reason("0000:00:07.0", "Available")

    @pytest.mark.parametrize("address, reason", [
        ("0000:00:00.0", "HostFunction"),  # host bridge
        ("0000:00:1d.0", "HostFunction"),  # host bridge of the second NUMA node
        ("0000:00:1f.0", "HostFunction"),  # ISA bridge
        ("0000:00:1f.3", "HostFunction"),  # SMBus
        (NIC, "Available"),
        (NVME, "Available"),
        (XHCI, "Available"),
    ])
    def test_the_machines_own_functions_are_told_from_the_others(self, node, address, reason):
        node.wait_reason(address, reason)

    def test_functions_of_one_group_name_each_other(self, node):
        for one, other in (RTL8139, RTL8139[::-1]):
            node.wait_reason(one, "GroupShared", other)

    def test_what_serves_the_root_file_system_is_critical(self, node):
        tags = node.guest.sh("cd /sys/bus/virtio/drivers/9pnet_virtio; "
                             "for d in virtio*; do echo $(tr -d '\\0' <$d/mount_tag) $(readlink $d); done")
        served = {}
        for line in tags.splitlines():
            tag, target = line.split()
            served[tag] = target.split("/")[-2]
        assert set(served) == {"host", "source"}
        node.wait_reason(served["host"], "HostFilesystem", "layers of /")
        node.wait_reason(served["source"], "InUse", "is mounted at")

    def test_the_nic_of_the_default_route_is_critical(self, node):
        node.wait_reason(VIRTIO_NIC, "HostNetwork")


class TestStorage:
    def test_a_mounted_disk_is_in_use_until_it_is_not(self, node):
        with mounted(node, NVME_DISK, MOUNT_POINT):
            node.wait_reason(NVME, "InUse", f"is mounted at {MOUNT_POINT}")
        node.wait_reason(NVME, "Available")

    @pytest.mark.parametrize("point", ["/var/lib/etcd", "/boot", "/var/lib/kubelet"])
    def test_a_disk_that_the_node_needs_is_critical(self, node, point):
        with mounted(node, NVME_DISK, point):
            node.wait_reason(NVME, "HostFilesystem", point)
        node.wait_reason(NVME, "Available")

    def test_a_bind_mount_makes_a_disk_critical(self, node):
        with mounted(node, NVME_DISK, MOUNT_POINT):
            node.wait_reason(NVME, "InUse")
            bind = f"mkdir -p {MOUNT_POINT}/etcd /var/lib/etcd; mount --bind {MOUNT_POINT}/etcd /var/lib/etcd"
            with in_guest(node, bind, "umount /var/lib/etcd"):
                node.wait_reason(NVME, "HostFilesystem", "/var/lib/etcd")
            node.wait_reason(NVME, "InUse")

    def test_swap_on_a_disk_is_critical(self, node):
        with in_guest(node, f"mkswap {NVME_DISK}; swapon {NVME_DISK}", f"swapoff {NVME_DISK}"):
            node.wait_reason(NVME, "HostSwap", "nvme0n1")
        node.wait_reason(NVME, "Available")

    @contextmanager
    def other_node(self, node, path):
        """A node of the disk that is not the one in /dev: /proc and /sys show its path, not its number."""
        numbers = node.guest.sh("cat /sys/class/block/nvme0n1/dev").strip().replace(":", " ")
        with in_guest(node, f"mkdir -p $(dirname {path}); mknod {path} b {numbers}", f"rm {path}"):
            yield path

    def test_a_disk_with_swap_by_another_node_is_not_free(self, node):
        with self.other_node(node, "/var/lib/other-node") as path:
            with in_guest(node, f"mkswap {path}; swapon {path}", f"swapoff {path}"):
                self.look_again(node)
                node.wait_reason(NVME, "UseUnknown", f"which disk the swap area '{path}' is on cannot be seen")
        self.look_again(node)
        node.wait_reason(NVME, "Available")

    def test_a_disk_below_a_loop_device_by_another_node_is_not_free(self, node):
        node.guest.sh("modprobe loop")
        with self.other_node(node, "/var/lib/other-node") as path:
            with in_guest(node, f"losetup /dev/loop7 {path}", "losetup -d /dev/loop7"):
                node.wait_reason(NVME, "UseUnknown", f"nvme0n1 has the size of loop7, whose file '{path}' may be a node of it")
        self.look_again(node)
        node.wait_reason(NVME, "Available")

    def test_a_disk_that_a_csi_driver_hands_to_a_pod_is_in_use(self, node):
        """A raw volume: the driver's container has its /dev in memory."""
        volume = f"{MOUNT_POINT}-volume"
        with in_guest(node, "mkdir -p /run/csi-dev; mount -t tmpfs csi /run/csi-dev", "umount /run/csi-dev"):
            with self.other_node(node, "/run/csi-dev/nvme0n1") as path:
                with in_guest(node, f"touch {volume}; mount --bind {path} {volume}", f"umount {volume}; rm {volume}"):
                    node.wait_reason(NVME, "InUse", f"nvme0n1 is mounted at {volume}")
        node.wait_reason(NVME, "Available")

    def test_a_disk_that_a_program_has_locked_is_in_use(self, node):
        lock = (f"setsid sh -c 'exec 9<{NVME_DISK}; flock -x 9; touch /run/disk-is-locked; exec sleep 600' "
                "</dev/null >/dev/null 2>&1 & echo $! >/run/lock-pid; until [ -e /run/disk-is-locked ]; do sleep 0.05; done")
        with in_guest(node, lock, "kill $(cat /run/lock-pid); rm /run/lock-pid /run/disk-is-locked"):
            self.look_again(node)
            node.wait_reason(NVME, "InUse", "nvme0n1 is locked by a process")
        self.look_again(node)
        node.wait_reason(NVME, "Available")

    def test_a_disk_below_device_mapper_is_critical(self, node):
        node.guest.sh("modprobe dm-mod")
        dmsetup = "DM_DISABLE_UDEV=1 dmsetup"  # there is no udev in the guest
        table = f"0 65536 linear {NVME_DISK} 2048"
        with in_guest(node, f"{dmsetup} create test --table '{table}'", f"{dmsetup} remove test"):
            node.wait_reason(NVME, "InUse", "dm-")
            with mounted(node, "/dev/mapper/test", "/var/lib/containerd"):
                node.wait_reason(NVME, "HostFilesystem", "/var/lib/containerd")
            node.wait_reason(NVME, "InUse", "dm-")
        node.wait_reason(NVME, "Available")

    def test_a_disk_below_a_loop_device_is_critical(self, node):
        with mounted(node, NVME_DISK, MOUNT_POINT):
            image = f"{MOUNT_POINT}/image"
            node.guest.sh("modprobe loop")
            with in_guest(node, f"truncate -s 8M {image}; losetup /dev/loop7 {image}", "losetup -d /dev/loop7"):
                with mounted(node, "/dev/loop7", "/var/lib/etcd"):
                    node.wait_reason(NVME, "HostFilesystem", "/var/lib/etcd")

    def test_a_mounted_stick_is_in_use_and_so_is_its_controller(self, node):
        with mounted(node, "/dev/sda", MOUNT_POINT):
            node.wait_usb(STICK_PORT, "InUse", f"is mounted at {MOUNT_POINT}")
            assert f"is mounted at {MOUNT_POINT}" in node.usb_object(STICK_PORT)["status"]["holder"]
            node.wait_reason(XHCI, "InUse", MOUNT_POINT)
        node.wait_usb(STICK_PORT, "Available")
        node.wait_reason(XHCI, "Available")

    @pytest.mark.parametrize("make, detail", [
        ("mkfs.ext4 -q -F", "nvme0n1"),
        ("mkfs.minix", f"nvme0n1 is mounted at {MOUNT_POINT} in another mount namespace"),
    ])
    def test_a_disk_mounted_in_another_namespace_is_in_use(self, node, make, detail):
        node.guest.sh(f"mkdir -p {MOUNT_POINT}; {make} {NVME_DISK}")
        hidden = f"mount {NVME_DISK} {MOUNT_POINT} && touch /run/hidden-is-mounted && exec sleep 600"
        start = (f"setsid unshare --mount sh -c '{hidden}' </dev/null >/dev/null 2>&1 & echo $! >/run/hidden-pid; "
                 "until [ -e /run/hidden-is-mounted ]; do sleep 0.05; done")
        with in_guest(node, start, "kill $(cat /run/hidden-pid); rm /run/hidden-*"):
            # Such a mount is no event; whatever makes the agent look next finds it.
            self.look_again(node)
            node.wait_reason(NVME, "InUse", detail)
        wait_until(lambda: not node.guest.try_sh("test -e /sys/fs/ext4/nvme0n1"), what="the unmount")
        self.look_again(node)
        node.wait_reason(NVME, "Available")

    def test_a_disk_whose_unmounted_file_system_is_still_used_is_not_free(self, node):
        """Nothing says which disk it is on: the module of its type is held."""
        node.guest.sh(f"mkdir -p {MOUNT_POINT}; mkfs.minix {NVME_DISK}")
        use = (f"mount {NVME_DISK} {MOUNT_POINT}; (cd {MOUNT_POINT}; exec setsid sleep 600 </dev/null >/dev/null 2>&1) & "
               f"echo $! >/run/hidden-pid; until [ \"$(readlink /proc/$!/cwd)\" = {MOUNT_POINT} ]; do sleep 0.05; done; "
               f"umount -l {MOUNT_POINT}")
        with in_guest(node, use, "kill $(cat /run/hidden-pid); rm /run/hidden-pid"):
            node.wait_reason(NVME, "UseUnknown", "a file system of type minix is mounted where it cannot be seen")
        wait_until(lambda: node.guest.sh("cat /sys/module/minix/refcnt").strip() == "0", what="the unmount")
        self.look_again(node)
        node.wait_reason(NVME, "Available")

    @staticmethod
    def look_again(node):
        node.guest.write("/sys/class/block/nvme0n1/uevent", "change")

class TestNetwork:
    @contextmanager
    def default_route(self, node, device):
        """The default route over this interface; the API server stays reachable on eth0's own network."""
        with in_guest(node, f"ip route replace default dev {device}", "ip route replace default via 10.0.2.2"):
            yield

    def test_an_interface_with_an_address_is_in_use(self, node):
        name = interface(node, NIC)
        with in_guest(node, f"ip address add 192.0.2.1/24 dev {name}; ip link set {name} up",
                      f"ip link set {name} down; ip address flush dev {name}"):
            node.wait_reason(NIC, "InUse", name)
        node.wait_reason(NIC, "Available")

    def test_an_interface_that_may_carry_routes_out_of_sight_is_not_free(self, node):
        name = interface(node, NIC)
        with in_guest(node, f"ip link set {name} up", f"ip link set {name} down"):
            node.wait_reason(NIC, "UseUnknown", f"{name} is up and connected")
        node.wait_reason(NIC, "Available")

    def test_an_interface_in_another_network_namespace_is_in_use(self, node):
        name = interface(node, NIC)
        with in_guest(node, f"ip netns add test; ip link set {name} netns test", "ip netns del test"):
            node.wait_reason(NIC, "InUse", "in another network namespace")
        node.wait_reason(NIC, "Available")

    def test_the_default_route_makes_another_nic_critical(self, node):
        name = interface(node, NIC)
        with in_guest(node, f"ip link set {name} up", f"ip link set {name} down"):
            with self.default_route(node, name):
                node.wait_reason(NIC, "HostNetwork", "default route")
                # The other family's default route is on the first NIC still; then only the node's address.
                with in_guest(node, "ip -6 route del default dev eth0",
                              "ip -6 route replace default via fe80::2 dev eth0"):
                    node.wait_reason(VIRTIO_NIC, "HostNetwork", ADDRESS)
        node.wait_reason(NIC, "Available")
        node.wait_reason(VIRTIO_NIC, "HostNetwork", "default route")

    def test_the_default_route_over_a_bond_makes_its_parts_critical(self, node):
        node.guest.sh("modprobe bonding max_bonds=0; modprobe 8021q")
        one, other = interface(node, NIC), interface(node, OTHER_NIC)
        make = (f"ip link add test-bond type bond mode active-backup; ip link set {one} down master test-bond; "
                f"ip link set {other} down master test-bond; ip link set test-bond up")
        undo = f"ip link del test-bond; ip link set {one} down; ip link set {other} down"
        with in_guest(node, make, undo):
            with self.default_route(node, "test-bond"):
                for address in (NIC, OTHER_NIC):
                    node.wait_reason(address, "HostNetwork", "test-bond")
            with in_guest(node, "ip link add link test-bond name test-vlan type vlan id 5; ip link set test-vlan up",
                          "ip link del test-vlan"):
                with self.default_route(node, "test-vlan"):
                    for address in (NIC, OTHER_NIC):
                        node.wait_reason(address, "HostNetwork", "test-vlan")
        for address in (NIC, OTHER_NIC):
            node.wait_reason(address, "Available")
