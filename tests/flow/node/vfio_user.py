"""Who uses a lent device in the guest: a second QEMU, and a process that never lets go of it."""

import json

from cluster import wait_until

# Sends QMP commands and prints their answers, one line each; waits for a QEMU that is just starting.
QMP = """
import json, socket, sys, time
end = time.monotonic() + 90
while True:
    try:
        line = socket.socket(socket.AF_UNIX)
        line.connect(sys.argv[1])
        break
    except OSError:
        if time.monotonic() > end:
            raise
        time.sleep(0.05)
talk = line.makefile("rw")
talk.readline()
for command in ["qmp_capabilities", *sys.argv[2:]]:
    talk.write(json.dumps({"execute": command}) + "\\n")
    talk.flush()
    answer = json.loads(talk.readline())
    while "event" in answer:
        answer = json.loads(talk.readline())
    print(json.dumps(answer))
"""

# Opens a device as a VFIO user does and sleeps: it answers no request of the kernel to let go.
# A third argument makes it drop the files that could be found below /proc.
HOLD = """
import fcntl, os, struct, sys, time
SET_IOMMU, SET_CONTAINER, GET_DEVICE_FD = 0x3b66, 0x3b68, 0x3b6a  # linux/vfio.h
TYPE1 = 1
group, address = sys.argv[1:3]
container = os.open("/dev/vfio/vfio", os.O_RDWR)
group = os.open("/dev/vfio/" + group, os.O_RDWR)
fcntl.ioctl(group, SET_CONTAINER, struct.pack("i", container))
fcntl.ioctl(container, SET_IOMMU, TYPE1)
fcntl.ioctl(group, GET_DEVICE_FD, address.encode() + bytes(1))
if len(sys.argv) > 3:
    os.close(group)
    os.close(container)
print("held", flush=True)
time.sleep(3600)
"""


class Process:
    """A process of the guest in a session of its own; as a context it ends with the block."""

    def __init__(self, guest, log):
        self.guest = guest
        self.log = log
        self.pid = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self, command):
        self.pid = int(self.guest.sh(f"setsid {command} </dev/null >{self.log} 2>&1 & echo $!"))

    def alive(self):
        return self.guest.try_sh(f"grep -q '^State:.[^Z]' /proc/{self.pid}/status")

    def kill(self):
        self.guest.sh(f"kill -9 {self.pid} 2>/dev/null || true")
        wait_until(lambda: not self.alive(), what=f"the end of process {self.pid}")

    def said(self):
        return self.guest.run("cat", self.log)


class Qemu(Process):
    """A QEMU whose machine has one device of the guest; its processor never runs."""

    def __init__(self, guest, address):
        super().__init__(guest, "/run/user-qemu.log")
        self.socket = "/run/user-qemu.sock"
        guest.sh(f"rm -f {self.socket}")
        self.start("qemu-system-x86_64 -accel tcg -machine q35 -m 64 -nodefaults -display none -S "
                   f"-qmp unix:{self.socket},server=on,wait=off -device vfio-pci,host={address},id=lent")

    def _qmp(self, command):
        try:
            answer = self.guest.run("python3", "-c", QMP, self.socket, command).splitlines()[-1]
        except AssertionError as error:
            raise AssertionError(f"the second QEMU says: {self.said()}") from error
        return json.loads(answer)["return"]

    def vendor(self):
        """The vendor id of the lent device as query-pci has it, four hex digits."""
        devices = [d for bus in self._qmp("query-pci") for d in bus["devices"]]
        (lent,) = [d for d in devices if d["qdev_id"] == "lent"]
        return f"{lent['id']['vendor']:04x}"

    def quit(self):
        self._qmp("quit")
        wait_until(lambda: not self.alive(), what="the end of the second QEMU")


class Holder(Process):
    """A process that has the device open and never lets go; hidden: by a file that has no name."""

    def __init__(self, function, hidden=False):
        super().__init__(function.guest, "/run/user-holder.log")
        function.guest.write("/run/hold.py", HOLD)
        self.start(f"python3 /run/hold.py {function.group()} {function.address} {'hidden' if hidden else ''}")
        wait_until(lambda: self.said().endswith("held\n") or not self.alive(), what="a holder")
        assert self.alive(), self.said()
