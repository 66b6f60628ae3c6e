"""Pages about a cluster into which hostdev is installed, brought to another version and taken out, command by command:
on a control plane of their own, with its controllers, and nodes whose pods are ready without a kubelet.
"""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

import harvester
from cluster import ROOT, Cluster, wait_until
from hollow import HollowNodes
from programs import program
from test_migration import MACHINES
from test_release import release
from transcript import Shell, commands

NODE, NIC, GROUP = "node1", "0000:01:00.0", "devices.harvesterhci.io"
PROGRAMS = {"build/release-minimal/bin": str(program("hostdev-controller").parent)}


@pytest.fixture(scope="module")
def fresh():
    folder = Path(tempfile.mkdtemp(prefix="hostdev-docs-"))
    try:
        cluster = Cluster.start(folder / "cluster", "--full")
        nodes = HollowNodes(cluster, "node1", "node2")
        nodes.start()
        yield cluster
        nodes.stop()
    finally:
        Cluster.stop(folder / "cluster")
        shutil.rmtree(folder)


@pytest.fixture
def tree(tmp_path):
    """A folder `hostdev` with what the tree has, so that there can be something beside it."""
    folder = tmp_path / "hostdev"
    folder.mkdir()
    for entry in os.listdir(ROOT):
        (folder / entry).symlink_to(ROOT / entry)
    return folder


@pytest.fixture
def installed(fresh, tree):
    """As install.md says, up to its end."""
    shell = Shell(tree, Path(fresh._kubectl).parent, fresh.kubeconfig)
    for command in commands(ROOT / "docs/install.md", "api"):
        if command.text.startswith("kubectl get pcidevices"):
            return shell
        shell.run(command)
    raise AssertionError("install.md does not look at the devices")


def run_all(shell, cluster, page):
    for command in commands(ROOT / page, "api"):
        if command.text.startswith(("kubectl delete -f crds", "kubectl delete -f install.yaml")):
            cluster.wait_kinds()  # they were made seconds ago
        shell.run(command)


def test_install(fresh, tree):
    shell = Shell(tree, Path(fresh._kubectl).parent, fresh.kubeconfig, PROGRAMS)
    run_all(shell, fresh, "docs/install.md")
    assert "hostdev" not in fresh.kubectl("get", "crd,clusterroles,namespaces,validatingadmissionpolicies", "-o", "name").stdout


def test_releases(fresh, tmp_path):
    """With the files of hack/release that they name."""
    release(tmp_path, "0.2.0", "registry.example.com/hostdev")
    path = f"{ROOT}/build/local/bin:{Path(fresh._kubectl).parent}"
    shell = Shell(tmp_path, path, fresh.kubeconfig)
    run_all(shell, fresh, "docs/releases.md")
    assert "hostdev" not in fresh.kubectl("get", "crd,clusterroles,namespaces,validatingadmissionpolicies", "-o", "name").stdout


def test_upgrade(installed):
    for command in commands(ROOT / "docs/upgrade.md", "api"):
        installed.run(command)


def test_replicas_stand_on_different_nodes(fresh, installed):
    """Nodes that are in no zone, as most people's are, and of each roll-out anew."""
    own = ("-n", "hostdev-system", "-l", "app.kubernetes.io/component=controller")
    for _ in range(2):
        time.sleep(1)  # kubectl restarts nothing twice in a second
        fresh.kubectl("-n", "hostdev-system", "rollout", "restart", "deployment/hostdev-controller")
        fresh.kubectl("-n", "hostdev-system", "rollout", "status", "deployment/hostdev-controller", "--timeout=180s")
        wait_until(lambda: len(fresh.get("pods", *own)) == 2, 30, "two replicas")
        assert {pod["spec"]["nodeName"] for pod in fresh.get("pods", *own)} == {"node1", "node2"}


@pytest.fixture
def harvesters(fresh):
    """Kinds, agents, webhooks, a claim, a Node and a machine as Harvester leaves them. Of hostdev nothing."""
    def make(obj, manager="kubectl-create"):
        fresh.kubectl("create", "-f", "-", f"--field-manager={manager}", input=obj)

    for what in ("-k", ROOT / "manifests/base"), ("-f", ROOT / "crds"):
        fresh.kubectl("delete", "--ignore-not-found", *what)
    fresh.kubectl("apply", "--server-side", "--field-manager=harvester",
                  *(f"-f{file}" for file in (ROOT / "crds").glob(f"{GROUP}_*")))
    make(MACHINES)
    fresh.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=180s")
    make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "harvester-system"}})
    labels = {"app": "pcidevices"}
    make({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {
        "name": "harvester-pcidevices-controller", "namespace": "harvester-system"}, "spec": {
            "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                "containers": [{"name": "agent", "image": "none"}]}}}})
    for kind, name in ("Validating", "pcidevices-validator"), ("Mutating", "pcidevices-mutator"):
        make({"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration", "metadata": {"name": name}})
    fresh.kubectl("patch", "node", NODE, "-p", '{"metadata":{"finalizers":["wrangler.cattle.io/node-remove"]}}')
    wait_until(lambda: fresh.kubectl("get", "virtualmachineinstances", check=False).returncode == 0, 20, "machines")
    make({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {
        "name": "m", "namespace": "default", "finalizers": ["wrangler.cattle.io/virtual-machine-deletion"]}})
    device = harvester.write(fresh, harvester.pci_device(NODE, NIC, "e1000e"))
    harvester.write(fresh, harvester.pci_claim(device, "e1000e", includeIOMMUGroup=True))
    yield
    fresh.kubectl("patch", "pcideviceclaims", harvester.pci_name(NODE, NIC), "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


def test_migration(fresh, tree, harvesters):
    """What agents do with the claim is seen in test_migration.py: here somebody writes that it is ready."""
    (tree.parent / "site").symlink_to(ROOT / "manifests/overlays/harvester")
    shell = Shell(tree, Path(fresh._kubectl).parent, fresh.kubeconfig)
    agents = ["get", "daemonset", "harvester-pcidevices-controller", "-n", "harvester-system", "-o",
              "jsonpath={.status.desiredNumberScheduled}"]
    wait_until(lambda: fresh.kubectl(*agents).stdout == "2", 20, "Harvester's agents")
    for command in commands(ROOT / "docs/migration.md", "api"):
        if command.text.startswith("kubectl wait pcideviceclaims"):
            assert fresh.kubectl(*agents).stdout == "0"
            assert "finalizers" not in fresh.get("node", NODE)["metadata"]
            fresh.kubectl("patch", "pcideviceclaim", harvester.pci_name(NODE, NIC), "--subresource=status", "--type=merge", "-p",
                          '{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"by hand",'
                          '"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}')
        said = shell.run(command)
        if "jq -r" in command.text:
            assert said.split() == [harvester.pci_name(NODE, NIC)]
    wait_until(lambda: fresh.kubectl(*agents).stdout == "2", 20, "Harvester's agents again")
    assert fresh.get("pcideviceclaims") and "hostdev.io_" not in fresh.kubectl("get", "crd", "-o", "name").stdout
