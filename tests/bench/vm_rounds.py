"""Does the virtual machine of the tests survive its work? Rounds of all devices to vfio-pci and back at once, under load.

Emulated machines have stopped answering in such rounds (no more interrupts on one processor), so the settings of
hack/vm.d/instance.sh are judged by this loop.
"""

import subprocess
import sys
import time
from contextlib import contextmanager

from report import heading

HOST_LOADS = 6
GUEST_LOADS = 3
ROUND_SECONDS = 60  # a quiet machine needs three

# Every function that has a group of its own or shares one with functions of this list, at once; and back.
ROUND = """
cd /sys/bus/pci/devices
devices="0000:01:00.0 0000:02:00.0 0000:41:00.0 0000:03:00.0 0000:04:00.0 0000:00:07.0 0000:07:01.0 0000:07:02.0"
move() { # DEVICE DRIVER
    echo "$2" >$1/driver_override
    [ ! -e $1/driver ] || echo $1 >$1/driver/unbind
    echo $1 >/sys/bus/pci/drivers_probe
}
for driver in vfio-pci ""; do
    for device in $devices; do move $device "$driver" & done
    wait
done
for device in $devices; do [ $device = 0000:00:07.0 ] || test -e $device/driver; done
"""


@contextmanager
def host_load():
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(HOST_LOADS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def one_run(number, rounds, qemu):
    """How many rounds were done, and why not more."""
    from guest import Guest

    guest = Guest("bench-rounds")
    guest.stop()
    guest.start(*(word for argument in qemu for word in ("--qemu", argument)))
    times = []
    try:
        guest.sh(f"modprobe vfio-pci; for i in $(seq {GUEST_LOADS}); do setsid sh -c 'while :; do :; done' & done")
        with host_load():
            for _ in range(rounds):
                began = time.monotonic()
                guest.sh(f"timeout {ROUND_SECONDS} sh -euc '{ROUND}'")
                times.append(time.monotonic() - began)
    except AssertionError as error:
        print(f"run {number}: stopped after {len(times)} rounds: {error}")
        return False
    finally:
        guest.stop()
    times.sort()
    print(f"run {number}: {rounds} rounds, median {times[len(times) // 2]:.1f} s, longest {times[-1]:.1f} s")
    return True


def run(rounds, runs, qemu=()):
    heading(f"the virtual machine under load: {runs} runs of {rounds} rounds, all devices to vfio-pci and back at once")
    done = sum(one_run(number, rounds, qemu) for number in range(1, runs + 1))
    print(f"{done} of {runs} runs went to their end")
    return done == runs


if __name__ == "__main__":
    sys.exit(not run(200, 3))
