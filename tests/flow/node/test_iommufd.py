"""IOMMUFD on a kernel that has it: the cdev of a lent function, and the descriptor that a container takes over."""

import pytest

from cluster import wait_until
from fake_kubelet import GuestKubelet
from guest import Guest
from node_agent import NodeAgent, end_agents
from vfio_user import Process, Qemu

NODE = "flow-fd"
NIC = "0000:01:00.0"

# Takes the descriptor over as KubeVirt's launcher does, and becomes a QEMU with it. FD in the words is its number.
TAKE = """
import array, os, socket, sys
peer = socket.socket(socket.AF_UNIX)
peer.settimeout(120)
peer.connect(sys.argv[1])
data, ancillary, _, _ = peer.recvmsg(1, socket.CMSG_SPACE(4))
(fd,) = array.array("i", ancillary[0][2])
assert len(data) == 1 and os.readlink(f"/proc/self/fd/{fd}") == "/dev/iommu"
peer.sendall(b"k")
os.set_inheritable(fd, True)
words = [word.replace("FD", str(fd)) for word in sys.argv[2:]]
os.execvp(words[0], words)
"""

MACHINE = ("qemu-system-x86_64 -accel tcg -machine q35 -m 64 -nodefaults -display none -S "
           "-qmp unix:{socket},server=on,wait=off -object iommufd,id=fd0{fd} "
           "-device vfio-pci,host={address},id=lent,iommufd=fd0")

pytestmark = pytest.mark.timeout(2700)  # a kernel is built for it, beside another virtual machine


@pytest.fixture(scope="module")
def guest():
    machine = Guest(NODE)
    machine.stop()
    machine.start("--kernel", "iommufd", "--memory", "2048")
    yield machine
    machine.stop()


@pytest.fixture(scope="module")
def kubelet(guest, deployed):
    """An agent in the guest with a kubelet's folder, and a function on vfio-pci by hand."""
    deployed.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    guest.sh(f"modprobe vfio-pci; cd /sys/bus/pci/devices/{NIC}; echo vfio-pci >driver_override; "
             f"[ ! -e driver ] || echo {NIC} >driver/unbind; echo {NIC} >/sys/bus/pci/drivers_probe")
    end_agents(guest)
    made = GuestKubelet(guest)
    agent = NodeAgent(guest, deployed)
    agent.install()
    agent.start(*made.flags)
    deployed.kubectl("apply", "-f", "-", input={
        "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
        "spec": {"iommufd": {"enabled": True, "count": 2},
                 "pciHostDevices": [{"resourceName": "a.io/nic", "pciVendorSelector": "8086:10d3"}]}})
    try:
        wait_until(lambda: set(made.endpoints()) == {"a.io/nic", "devices.kubevirt.io/iommufd"}, 60,
                   "both resources offered")
        yield made
    finally:
        deployed.kubectl("delete", "hostdeviceconfig", "default", "--ignore-not-found")
        if agent.alive():
            agent.kill()


class FdQemu(Qemu):
    """A QEMU that uses the function through IOMMUFD: of /dev/iommu, or of the descriptor at @handover."""

    def __init__(self, guest, handover=None):
        Process.__init__(self, guest, "/run/fd-qemu.log")
        self.socket = "/run/fd-qemu.sock"
        guest.sh(f"rm -f {self.socket}")
        machine = MACHINE.format(socket=self.socket, address=NIC, fd=",fd=FD" if handover else "")
        guest.write("/run/take.py", TAKE)
        self.start(f"python3 /run/take.py {handover} {machine}" if handover else machine)


def test_a_function_comes_with_its_own_node_which_a_qemu_uses(guest, kubelet):
    (got,) = kubelet.allocate("a.io/nic", [NIC])
    name = guest.sh(f"ls /sys/bus/pci/devices/{NIC}/vfio-dev").strip()
    nodes = [device[0] for device in got["devices"]]
    assert nodes[0] == "/dev/vfio/vfio" and nodes[2] == f"/dev/vfio/devices/{name}"
    guest.sh(f"test -c {nodes[1]} && test -c {nodes[2]}")
    with FdQemu(guest) as qemu:
        assert qemu.vendor() == "8086"
        qemu.quit()


def test_a_descriptor_is_taken_over_once_and_a_qemu_uses_it(guest, kubelet):
    assert kubelet.devices("devices.kubevirt.io/iommufd") == {"iommufd0": True, "iommufd1": True}
    (got,) = kubelet.allocate("devices.kubevirt.io/iommufd", ["iommufd1"])
    assert got["devices"] == [("/dev/iommu", "/dev/iommu", "mrw")] and got["envs"] == {}
    ((inside, socket, read_only),) = got["mounts"]
    assert (inside, read_only) == ("/var/run/kubevirt/iommufd.sock", False)
    assert guest.sh(f"stat -c '%F %a' {socket}").strip() == "socket 666"
    with FdQemu(guest, socket) as qemu:
        assert qemu.vendor() == "8086"
        assert not guest.try_sh(f"test -e {socket}"), "the socket is there after it was used"
        assert "/dev/iommu" in guest.sh(f"readlink /proc/{qemu.pid}/fd/* | sort -u")
        qemu.quit()
