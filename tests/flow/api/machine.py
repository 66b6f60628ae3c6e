"""A made-up machine: a folder with its sys and proc, which tests change like a kernel would."""

import importlib.machinery
import importlib.util
import os
import shutil
import time
from pathlib import Path

from cluster import ROOT


def load_make_tree():
    loader = importlib.machinery.SourceFileLoader("make_tree", str(ROOT / "tests/fake/tree/make_tree"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_tree", loader))
    loader.exec_module(module)
    return module


make_tree = load_make_tree()


def uevent_file():
    """A PCI device of this very machine: whatever is written there, the kernel tells everybody."""
    for path in sorted(Path("/sys/bus/pci/devices").glob("*/uevent")):
        if os.access(path, os.W_OK):
            return path
    raise AssertionError("no writable /sys/bus/pci/devices/*/uevent: these tests need root and one PCI device")


class Machine:
    """The folder, and the real uevents after which an agent looks at it again."""

    def __init__(self, folder, functions=6, usb=1, bad=False):
        self.folder = folder
        self.tree = make_tree.Tree(str(folder))
        make_tree.add_host(self.tree, make_tree.add_functions(self.tree, functions, 2), 2)
        make_tree.add_usb(self.tree, usb)
        if bad:
            make_tree.add_bad(self.tree)
        self.flags = ["--sysfs-root", str(folder / "sys"), "--proc-root", str(folder / "proc"),
                      "--state-dir", str(folder / "state")]

    def tell(self, times=1):
        """A uevent, of a device that has nothing to do with the made-up ones. How often 10 ms passed between two."""
        path = uevent_file()
        pauses, last = 0, time.monotonic()
        for _ in range(times):
            path.write_text("change")
            now = time.monotonic()
            pauses += now - last > 0.01
            last = now
        return pauses

    def device(self, address):
        return Path(os.path.realpath(self.folder / "sys/bus/pci/devices" / address))

    def add(self, address, driver="e1000e"):
        """A card of its own model: nothing changes for the others."""
        function = list(make_tree.ENDPOINTS[0])
        function[2], function[4] = 0x10F6, driver
        make_tree.add_function(self.tree, address, f"sys/devices/pci0000:00/{address}", function, 0)

    def remove(self, address):
        folder = self.device(address)
        (self.folder / "sys/bus/pci/devices" / address).unlink()
        group = Path(os.path.realpath(folder / "iommu_group")) / "devices" / address
        group.unlink()
        shutil.rmtree(folder)

    def bind(self, address, driver):
        """To another driver; None: to none."""
        folder = self.device(address)
        lines = (folder / "uevent").read_text().splitlines()
        lines = [line for line in lines if not line.startswith("DRIVER=")]
        (folder / "driver").unlink(missing_ok=True)
        if driver:
            lines.insert(0, f"DRIVER={driver}")
            path = self.folder / "sys/bus/pci/drivers" / driver
            path.mkdir(exist_ok=True)
            (folder / "driver").symlink_to(path)
        (folder / "uevent").write_text("\n".join(lines) + "\n")

    def hide_process_one(self):
        """As hidepid does. No uevent tells."""
        (self.folder / "proc/1").rename(self.folder / "hidden")

    def show_process_one(self):
        (self.folder / "hidden").rename(self.folder / "proc/1")
