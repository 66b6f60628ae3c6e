"""The agent killed at any time, and the node booted anew: the objects are the devices again."""

import random
import time

from cluster import wait_until
from listing import pci_functions
from node import pci_name

SLOT = "0000:05:00.0"
BUS = "spare1"


def test_a_restart_writes_nothing(node):
    node.wait_equal()
    written = len(node.agent.written())
    node.agent.kill()
    node.agent.start()
    wait_until(node.agent.ready, 30, "the agent's readiness")
    wait_until(lambda: node.agent.scans() > 0, 30, "a scan")
    node.agent.kill()
    node.agent.start()
    wait_until(node.agent.ready, 30, "the agent's readiness")
    time.sleep(2)  # long enough for a write that should not be
    assert node.agent.written()[written:] == []


def test_killed_while_devices_come_and_go(node):
    """Twelve times, at moments from a fixed seed; the device may be written, no other may."""
    random_delay = random.Random(12)
    node.wait_equal()
    stay, mark = set(node.usb.objects()), node.usb.mark()
    written, plugged = len(node.agent.written()), {"nic": False, "usb": False}
    try:
        for turn in range(12):
            kind = "nic" if turn % 2 else "usb"
            if plugged[kind]:
                node.guest.qmp("device_del", id=f"kill-{kind}")
            else:
                wait_until(lambda: is_unplugged(node, kind), 30, f"the end of kill-{kind}")
                plug(node, kind)
            plugged[kind] = not plugged[kind]
            time.sleep(random_delay.uniform(0, 3))
            node.agent.kill()
            node.agent.start()
    finally:
        for kind in [k for k, there in plugged.items() if there]:
            node.guest.qmp("device_del", id=f"kill-{kind}")
    node.wait_equal()
    mice = {event.name for event in node.usb.events[mark:]} - stay
    assert len(node.get("pcidevices")) == len(pci_functions(node.guest))
    changed = {name for _, _, _, name, _ in node.agent.written()[written:]}
    touched = {name for name in changed if name not in mice and name != pci_name(SLOT)}
    assert changed and not touched, "devices were written that had not changed"


def plug(node, kind):
    if kind == "nic":
        node.guest.qmp("device_add", driver="e1000e", id="kill-nic", bus=BUS, romfile="")
    else:
        node.guest.qmp("device_add", driver="usb-mouse", id="kill-usb", bus="xhci.0", port="4")


def is_unplugged(node, kind):
    path = f"/sys/bus/pci/devices/{SLOT}" if kind == "nic" else "/sys/bus/usb/devices/1-4"
    return not node.guest.try_sh(f"test -e {path}")
