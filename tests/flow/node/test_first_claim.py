"""docs/first-claim.md and the recording of README.md, command by command, on the node of the virtual machine with hostdev
as hack/up installs it: pods of a real kubelet, from the images of hack/image.
"""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from claims import NIC
from cluster import ROOT, wait_until
from node import NODE, pci_name
from node_agent import PROGRAMS
from test_pods import hostdev, images  # noqa: F401, fixtures
from transcript import Shell, commands

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCS_STICK, STICK = "vm1-46f4-0001-002002", "STICK0001"
RESOURCE = "intel.com/82574L_GIGABIT_NETWORK_CONNECTION"
RUN = [page for page in PAGES if commands(page, "vm")]


@pytest.fixture
def shell(hostdev):  # noqa: F811
    """For the node of the pages, vm1, that of the test. At the end there is nothing left of what they did."""
    cluster = hostdev.cluster
    hostdev.node.wait_converged()
    replace = {"vm1": NODE, "hack/vm exec": f"hack/vm exec --name {NODE}",
               "$PWD/build/release/bin": os.path.abspath(PROGRAMS)}
    # A stick that another test has plugged again has another number.
    stick = next(one["metadata"]["name"] for one in cluster.get("usbdevices", "--selector", f"nodename={NODE}")
                 if one["status"]["serialNumber"] == STICK)
    replace = {DOCS_STICK: stick, DOCS_STICK.upper(): stick.upper()} | replace
    with ExitStack() as end:  # the last line first, and each whatever became of the others
        end.callback(hostdev.kubelet.wait_allocatable, RESOURCE, 0)
        end.callback(cluster.kubectl, "delete", "pcideviceclaim", pci_name(NIC), "--ignore-not-found", "--timeout=180s")
        end.callback(wait_until, lambda: not hostdev.node.pci_object(NIC)["status"].get("allocations"), 60, "no pod with the NIC")
        end.callback(cluster.kubectl, "delete", "usbdeviceclaim", stick, "--ignore-not-found", "--timeout=180s")
        end.callback(wait_until, lambda: not cluster.get("usbdevice", stick)["status"].get("allocations"), 60,
                     "no pod with the stick")
        end.callback(wait_until, lambda: not cluster.get("mediateddevices"), 60, "no mediated devices")
        end.callback(cluster.kubectl, "delete", "hostdeviceconfig", "default", "--ignore-not-found")
        end.callback(cluster.kubectl, "delete", "pod", "try", "stick", "serial", "-n", "default", "--ignore-not-found",
                     "--timeout=180s")
        yield Shell(ROOT, f"{Path(cluster._kubectl).parent}:{os.path.abspath(PROGRAMS)}", cluster.kubeconfig, replace)


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_commands_print_what_is_written(page, shell):
    for command in commands(page, "vm"):
        shell.run(command)


def test_the_pages_are_run():
    assert {page.name for page in RUN} >= {"README.md", "first-claim.md", "usb.md", "mediated-devices.md"}
