"""`kubectl hostdev`, found by kubectl on PATH, with a real API server, agent and webhook."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading

import pytest
import yaml

from cluster import wait_until
from programs import clean_environment, program
from replicas import MERGE, OWN
from rest import GROUP
from webhook import Webhook

NIC, TWIN = "0000:01:00.0", "0000:01:00.1"


def name(node, address):
    return f"{node}-{address.replace(':', '').replace('.', '')}"


class Plugin:
    """kubectl with the plugin on PATH."""

    def __init__(self, cluster, kubeconfig=None):
        self.kubectl = shutil.which(cluster._kubectl)
        path = f"{program('kubectl-hostdev').parent}:{os.path.dirname(self.kubectl)}:{os.environ['PATH']}"
        self.env = clean_environment(PATH=path, KUBECONFIG=str(kubeconfig or cluster.kubeconfig), LC_ALL="C.UTF-8",
                                     TERM="xterm")

    def start(self, *words, **options):
        return subprocess.Popen([self.kubectl, "hostdev", *words], env=self.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **options)

    def __call__(self, *words, status=0, env=None):
        """What it prints; its exit status must be that."""
        run = subprocess.run([self.kubectl, "hostdev", *words], env={**self.env, **(env or {})}, text=True,
                             capture_output=True, timeout=60)
        assert run.returncode == status, f"{words}: {run.returncode}, {run.stdout}{run.stderr}"
        self.said = run.stderr
        return run.stdout


@pytest.fixture
def plugin(installed):
    return Plugin(installed)


@pytest.fixture
def agent(agents, machine, node, plugin):
    """Of a machine with a NIC of two functions of which one is on vfio-pci already: a made-up tree cannot bind."""
    machine.bind(TWIN, "vfio-pci")
    (machine.folder / "sys/module/vfio_iommu_type1").mkdir(parents=True)
    made = agents(machine, node).start()
    made.wait_converged()
    return made


def test_a_tree_of_a_node(plugin, agent, node):
    text = plugin("tree", node)
    lines = text.splitlines()
    assert lines[0].startswith("DEVICE") and lines[1] == node, text
    print(text)
    assert re.search(rf"├─{re.escape(NIC)} +. \w+", text) or re.search(rf"└─{re.escape(NIC)} +. \w+", text), text
