"""docs/kubectl-hostdev.md, command by command: two nodes with agents of made-up machines, a controller and its webhook."""

import shutil
import tempfile
from pathlib import Path

import pytest

from cluster import ROOT, wait_until
from machine import Machine
from map_scene import OWN
from programs import program
from replicas import MERGE
from rest import GROUP
from test_docs import Kernel
from transcript import Shell, commands
from webhook import Webhook

LENT, FREE = "0000:01:00.1", "0000:01:00.2"  # on vfio-pci already, because a made-up tree binds nothing


@pytest.fixture
def nodes(agents, rest, tmp_path):
    """node1 with a card of three functions and a USB device, node2 with one function."""
    made, kubelets = {}, []
    for node, functions in (("node1", 4), ("node2", 2)):
        machine = made[node] = Machine(tmp_path / node, functions, int(node == "node1"))
        kubelets.append(Path(tempfile.mkdtemp(prefix="kubelet-")))
        (kubelets[-1] / "device-plugins").mkdir()
        if node == "node1":
            machine.bind(LENT, "vfio-pci")
            machine.bind(FREE, "vfio-pci")
            (machine.folder / "sys/module/vfio_iommu_type1").mkdir(parents=True)
        agent = agents(machine, node, ["--kubelet-dir", kubelets[-1]])
        rest.request("PATCH", f"/api/v1/nodes/{node}/status", {"status": {"conditions": [
            {"type": "Ready", "status": "True"}]}}, MERGE)  # or it counts as not well after half a minute
        agent.start().wait_converged()
    yield made
    for kubelet in kubelets:
        shutil.rmtree(kubelet, ignore_errors=True)


@pytest.fixture
def webhook(installed, identities, tmp_path):
    made = Webhook(installed, identities, tmp_path, "--agent-pods", "none").start()
    yield made
    made.close()


def test_the_plugins_page(nodes, webhook, installed, rest):
    path = f"{program('kubectl-hostdev').parent}:{Path(installed._kubectl).parent}"
    shell = Shell(ROOT, path, installed.kubeconfig)
    shell.env |= {"LC_ALL": "C.UTF-8", "TERM": "dumb"}
    installed.kubectl("create", "-f", "-", input={
        "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim", "metadata": {"name": "node1-000001001"}})
    kernels = [Kernel(installed, nodes["node1"], FREE)]
    kernels[0].start()
    try:
        installed.kubectl("wait", "pcideviceclaim/node1-000001001", "--for=condition=Ready", "--timeout=180s")
        # The page's cluster is at rest; the controller writes pools a second after the claim.
        wait_until(lambda: [pool for pool in rest.get(f"{OWN}/devicepools")["items"]
                            if pool.get("status", {}).get("claimed")], 20, "the claim counts in its pool")
        for command in commands(ROOT / "docs/kubectl-hostdev.md", "api"):
            shell.run(command)
    finally:
        kernels.append(Kernel(installed, nodes["node1"], LENT))
        kernels[-1].start()
        installed.kubectl("delete", "pcideviceclaims", "--all", "--timeout=180s")
        for kernel in kernels:
            kernel.ended.set()
            kernel.join()
    wait_until(lambda: not rest.get(f"{GROUP}/pcideviceclaims")["items"], 20, "no claims")
