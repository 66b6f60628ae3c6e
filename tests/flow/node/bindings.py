"""Which PCI devices the kernel binds to drivers and unbinds: its own uevents, which nothing can hold back."""

from cluster import wait_until

LOG = "/run/bindings.log"
LISTEN = """
import socket
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)
s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
s.bind((0, 1))
print("listening", flush=True)
while True:
    fields = dict(f.split("=", 1) for f in s.recv(65536).decode(errors="replace").split("\\0") if "=" in f)
    if fields.get("SUBSYSTEM") == "pci" and fields.get("ACTION") in ("bind", "unbind", "change"):
        print(fields["ACTION"], fields["PCI_SLOT_NAME"], fields.get("SYNTH_ARG_MARK", ""), flush=True)
"""


class Bindings:
    """A process of the guest that writes them down."""

    def __init__(self, guest):
        self.guest = guest
        self.marks = 0
        self.first = 0

    def start(self):
        self.pid = int(self.guest.sh(f"setsid python3 -c '{LISTEN}' </dev/null >{LOG} 2>&1 & echo $!"))
        wait_until(self._lines, 90, "the listener")

    def stop(self):
        self.guest.run("kill", self.pid)

    def _lines(self):
        return self.guest.run("cat", LOG).splitlines()

    def _mark(self):
        """All that came before: uevents are delivered in their order, so the log is read once a made-up one is in it."""
        self.marks += 1
        self.guest.write("/sys/bus/pci/devices/0000:00:00.0/uevent",
                         f"change 12345678-1234-1234-1234-123456789012 MARK={self.marks}")

        def seen():
            lines = self._lines()
            end = f"change 0000:00:00.0 {self.marks}"
            return lines[:lines.index(end)] if end in lines else None
        found = []

        def there():
            found[:] = [seen()]
            return found[0] is not None
        wait_until(there, 20, "the uevent that marks the end")
        return found[0]

    def forget(self):
        """What was up to now does not count."""
        self.first = len(self._mark())

    def seen(self):
        """[(bind or unbind, address)] since then."""
        words = [line.split() for line in self._mark()[self.first:]]
        return [(action, address) for action, address, *_ in words if action != "change"]

    def link(self, address):
        """The driver's link: another inode when it was made anew."""
        return self.guest.sh(f"stat -c '%i %N' /sys/bus/pci/devices/{address}/driver").strip()
