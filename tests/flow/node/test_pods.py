"""hostdev as it is installed: pods of a real kubelet, from the images of hack/image, with no capability but CHOWN.

HOSTDEV_TEST_RELEASE=DIR installs a release of hack/release, made for this machine's architecture and without a registry.
"""

import json
import os
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from cards import Card
from claims import IGB, NIC
from cluster import ROOT, wait_until
from kubelet import Kubelet, Pod
from node import pci_name
from node_agent import PROGRAMS

NAMESPACE = "hostdev-system"
GROUP = "devices.harvesterhci.io"
LOCAL = ROOT / "manifests/overlays/local"
EXAMPLE = ROOT / "manifests/examples/claim-one-device.yaml"
KINDS = ("daemonset,deployment,poddisruptionbudget,networkpolicy,service,"
         "validatingwebhookconfiguration,mutatingwebhookconfiguration")
OURS = "app.kubernetes.io/part-of=hostdev"
RELEASE = os.environ.get("HOSTDEV_TEST_RELEASE")
MANIFEST = Path(RELEASE, "install.yaml") if RELEASE else LOCAL
CHOWN = 1  # of the agent alone, by manifests/components/usb, which install.yaml has not


class Pods:
    """The pods of hostdev on the node, as the overlay, a folder, or the manifest, a file, has them."""

    def __init__(self, booted, kubelet, overlay):
        self.node, self.kubelet, self.overlay = booted, kubelet, overlay
        self.guest, self.cluster = booted.guest, booted.cluster

    def kubectl(self, *words):
        return self.cluster.kubectl("-n", NAMESPACE, *words).stdout

    def apply(self, *words):
        where = "-k" if self.overlay.is_dir() else "-f"
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", where, self.overlay, *words)

    def install(self):
        self.apply()
        for workload in ("daemonset/hostdev-agent", "deployment/hostdev-controller"):
            self.kubectl("rollout", "status", workload, "--timeout=180s")

        wait_until(self.webhook_is_known, 60, "the controller's certificate in the webhook's configuration")

    def webhook_is_known(self):
        return "caBundle" in self.cluster.get("validatingwebhookconfiguration", "hostdev-webhook")[
            "webhooks"][0]["clientConfig"]

    def remove(self):
        self.kubectl("delete", KINDS, "--selector", OURS, "--ignore-not-found")
        # The garbage collector looks for new kinds every 30 s, and a controller may take 20 s to end.
        self.kubectl("wait", "pod", "--for=delete", "--selector", OURS, "--timeout=180s")

    def of(self, component):
        """Those that are not ending."""
        pods = self.cluster.get("pods", "-n", NAMESPACE, "--selector", f"app.kubernetes.io/component={component}")
        return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]

    def processes(self, program):
        """What /proc says of each process of the program: {pid: {field: value}}."""
        text = self.guest.sh(f"for pid in $(pidof {program}); do cat /proc/$pid/status 2>/dev/null || true; done")
        found = {}
        for block in text.split("Name:\t")[1:]:
            fields = dict(line.split(":\t", 1) for line in block.splitlines()[1:] if ":\t" in line)
            found[int(fields["Pid"])] = fields
        return found

    def agent_process(self):
        [pid] = self.processes("hostdev-agent")
        return pid


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    if RELEASE:
        return sorted(Path(RELEASE).glob("*.oci.tar"))
    folder = tmp_path_factory.mktemp("images")
    subprocess.run([ROOT / "hack/image", "--programs", PROGRAMS, "--output", folder], check=True)
    return sorted(folder.glob("*.tar"))


@contextmanager
def as_pods(booted, images, overlay=LOCAL, prepare=lambda: None):
    """In place of the agent that is a process of the node; at the end, that is back. While neither runs, prepare()."""
    made = Pods(booted, Kubelet(booted.guest, booted.cluster), overlay)
    booted.agent.signal("TERM")
    wait_until(lambda: not booted.agent.alive(), 10, "the process's end")
    try:
        prepare()
        booted.cluster.control("start", "--full", "--egress")
        made.kubelet.start(images)
        made.install()
        yield made
    finally:
        try:
            made.remove()
        finally:
            for name in ("kube-scheduler", "kube-controller-manager"):
                booted.cluster.control("kill", name)
            made.kubelet.stop()
            booted.agent.start()


@pytest.fixture(scope="module")
def hostdev(booted, images):
    with as_pods(booted, images, MANIFEST) as made:
        yield made


@pytest.fixture
def node(hostdev):
    """As for other tests, with the agent in its pod."""
    return hostdev.node


@pytest.fixture
def pod(hostdev):
    """pod(resource) -> one that asks for a unit of it; gone at the end."""
    made = []

    def make(resource):
        made.append(Pod(hostdev.kubelet, "guest-of-hostdev", {resource: 1}))
        made[-1].create()
        return made[-1]

    yield make
    for each in made:
        each.delete()
    wait_returned(hostdev.node)


def wait_returned(node):
    """Until no pod has the NIC, as far as the API server knows."""
    wait_until(lambda: not node.pci_object(NIC)["status"].get("allocations"), 60, "no pod with the NIC")


def test_the_processes_have_the_rights_of_the_manifests_and_no_more(hostdev):
    agents, controllers = hostdev.processes("hostdev-agent"), hostdev.processes("hostdev-controller")
    assert (len(agents), len(controllers)) == (1, 2)
    for pid, fields in (agents | controllers).items():
        rights = CHOWN if pid in agents and not RELEASE else 0
        caps = [int(fields[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")]
        assert caps == [0, rights, rights, rights, 0]
        assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    assert {fields["Uid"].split()[0] for fields in controllers.values()} == {"65532"}
    root = f"/proc/{hostdev.agent_process()}/root"
    assert not hostdev.guest.try_sh(f"ls {root}/bin {root}/usr/bin | grep -xE '.*sh|busybox'")


def test_devices_that_come_and_go_are_seen_at_once(hostdev, node):
    """Uevents reach the pod's own network namespace: the rescan without them is 10 minutes away."""
    node.wait_converged()
    mark = node.pci.mark()
    hostdev.guest.plug("nic", "--id", "pods-nic")
    try:
        node.wait_equal(timeout=10)
        assert node.pci.mark() != mark
    finally:
        hostdev.guest.unplug("pods-nic")
    node.wait_converged(timeout=10)
    assert node.pci_object("0000:00:02.0")["status"]["conditions"][0]["reason"] == "HostNetwork"


def test_a_claimed_device_is_lent_and_outlives_the_agents_pod(hostdev, node, claims, pod):
    resource = node.pci_object(NIC)["status"]["resourceName"]
    hostdev.kubelet.wait_allocatable(resource, 0)
    claims.bind(NIC)
    claims.wait_drivers(NIC, "vfio-pci", "vfio-pci")
    hostdev.kubelet.wait_allocatable(resource, 1)
    guest = pod(resource)
    guest.wait_running()
    group = claims.function(NIC).group()
    assert guest.exec("ls /dev/vfio").split() == sorted([group, "vfio"])
    identity = guest.identity()

    before = hostdev.agent_process()
    hostdev.guest.run("kill", "-9", before)
    wait_until(lambda: hostdev.processes("hostdev-agent").keys() - {before}, 60, "the agent's next process")
    [old] = hostdev.of("agent")
    hostdev.kubectl("delete", "pod", old["metadata"]["name"], "--wait=false")
    wait_until(lambda: [p["metadata"]["uid"] for p in hostdev.of("agent")] not in ([], [old["metadata"]["uid"]]),
               60, "another pod of the agent")
    hostdev.kubectl("rollout", "status", "daemonset/hostdev-agent", "--timeout=180s")
    hostdev.kubelet.wait_allocatable(resource, 1)
    assert guest.identity() == identity
    assert claims.wait_ready(NIC)["status"]["conditions"]
    assert claims.function(NIC).drivers() == ("vfio-pci", "vfio-pci")

    refused = hostdev.cluster.kubectl("delete", "pcideviceclaim", pci_name(NIC), check=False)
    assert refused.returncode != 0 and "pod default/guest-of-hostdev has it" in refused.stderr
    guest.delete()
    wait_returned(node)
    claims.delete(NIC)
    claims.wait_gone(NIC, timeout=90)
    claims.wait_drivers(NIC, "e1000e")


@pytest.fixture
def people(hostdev, tmp_path):
    """As docs/self-service.md has it: alice is lent the NIC, and bob may make claims and is lent nothing."""
    example = [part for part in yaml.safe_load_all(EXAMPLE.read_text()) if part["kind"].startswith("ClusterRole")]
    text = yaml.safe_dump_all(example).replace("vm1-000002000", pci_name(NIC))
    hostdev.cluster.kubectl("apply", "-f", "-", input=text)
    hostdev.cluster.kubectl("create", "clusterrolebinding", "bob", "--clusterrole=hostdev-user", "--user=bob")
    configs = {}
    for name in ("alice", "bob"):
        configs[name] = tmp_path / name
        configs[name].write_text(hostdev.cluster.control("user-kubeconfig", name))

    def kubectl(name, *words, **more):
        return hostdev.cluster.kubectl("--kubeconfig", configs[name], *words, **more)

    wait_until(lambda: kubectl("alice", "auth", "can-i", "claim", f"pcidevices.{GROUP}/{pci_name(NIC)}",
                               check=False).returncode == 0, 20, "the roles")
    yield kubectl
    hostdev.cluster.kubectl("delete", "-f", "-", "--ignore-not-found", input=text)
    hostdev.cluster.kubectl("delete", "clusterrolebinding", "bob", "--ignore-not-found")


def claim_of(address):
    return {"apiVersion": f"{GROUP}/v1beta1", "kind": "PCIDeviceClaim", "metadata": {"name": pci_name(address)}}


def test_one_user_is_lent_a_device_and_another_is_not(hostdev, node, claims, people, pod):
    """Policies and the webhook behind its Service decide; the agent's pod binds, the kubelet lends."""
    for name, address in (("bob", NIC), ("alice", IGB)):
        refused = people(name, "apply", "-f", "-", input=claim_of(address), check=False)
        assert refused.returncode != 0 and f"user '{name}' may not claim pcidevices/" in refused.stderr
    refused = hostdev.cluster.kubectl("apply", "-f", "-", input=claim_of("0000:7f:00.0"), check=False)
    assert refused.returncode != 0 and "there is no PCIDevice of this name" in refused.stderr
    tried = people("alice", "apply", "--dry-run=server", "-f", "-", input=claim_of(NIC))
    assert f"bind {NIC} to vfio-pci; goes back to e1000e" in tried.stderr
    assert hostdev.cluster.get("pcideviceclaims") == []

    resource = node.pci_object(NIC)["status"]["resourceName"]
    hostdev.kubelet.wait_allocatable(resource, 0)  # it forgets that of the test before
    people("alice", "apply", "-f", "-", input=claim_of(NIC))
    made = claims.wait_ready(NIC)
    assert made["spec"] == {"address": NIC, "nodeName": node.guest.name, "userName": "alice"}
    hostdev.kubelet.wait_allocatable(resource, 1)
    guest = pod(resource)
    guest.wait_running()
    assert NIC in guest.environment().values()

    refused = people("bob", "delete", "pcideviceclaim", pci_name(NIC), check=False)
    assert "user 'bob' may not delete this claim" in refused.stderr
    guest.delete()
    wait_returned(node)
    people("alice", "delete", "pcideviceclaim", pci_name(NIC), "--timeout=180s")
    claims.wait_drivers(NIC, "e1000e")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """kubectl-hostdev: that of the release, or the one that was built."""
    if not RELEASE:
        return ROOT / os.fspath(PROGRAMS) / "kubectl-hostdev"
    folder = tmp_path_factory.mktemp("plugin")
    arch = subprocess.run(["dpkg", "--print-architecture"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    subprocess.run(["tar", "-xf", Path(RELEASE, f"kubectl-hostdev-linux-{arch}.tar.gz"), "-C", folder], check=True)
    return folder / "kubectl-hostdev"


def test_the_plugin_claims_one_of_a_resource_and_releases_it(hostdev, node, claims, plugin):
    def run(*words):
        return subprocess.run([plugin, *words], check=True, stdout=subprocess.PIPE, text=True,
                              env=os.environ | {"KUBECONFIG": str(hostdev.cluster.kubeconfig)}).stdout

    resource = node.pci_object(NIC)["status"]["resourceName"]
    assert " ready" in run("claim", "--resource", resource, "--node", node.guest.name)
    [made] = hostdev.cluster.get("pcideviceclaims")
    claims.wait_drivers(made["spec"]["address"], "vfio-pci", "vfio-pci")
    assert re.search(r"^State: +\S+ available", run("why", made["metadata"]["name"]), re.MULTILINE)
    run("release", made["metadata"]["name"])
    claims.wait_drivers(made["spec"]["address"], "e1000e")
    assert hostdev.cluster.get("pcideviceclaims") == []


def test_virtual_functions_are_made_and_removed(node, claims):
    card = Card(node, IGB)
    wait_until(lambda: card.object(), 30, "the card's object")
    try:
        card.patch(numVFs=2)
        assert len(card.wait_number(2)) == 2
    finally:
        card.give_back()


def test_every_controller_answers_reviews_also_while_it_ends(hostdev):
    """Straight to each pod; the API server asks one of them."""
    authority = hostdev.kubectl("get", "secret", "hostdev-webhook-tls", "-o", "jsonpath={.data.ca\\.crt}")
    hostdev.guest.sh("base64 -d >/run/hostdev-ca.crt", input=authority)
    host = f"hostdev-webhook.{NAMESPACE}.svc"
    review = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "1", "operation": "CREATE", "name": "no-such-device", "userInfo": {"username": "somebody"},
        "kind": {"group": "devices.harvesterhci.io", "version": "v1beta1", "kind": "PCIDeviceClaim"},
        "resource": {"group": "devices.harvesterhci.io", "version": "v1beta1", "resource": "pcideviceclaims"},
        "object": {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
                   "metadata": {"name": "no-such-device"}, "spec": {}}}})

    def ask(pod):
        answer = hostdev.guest.sh(
            f"curl -sS --cacert /run/hostdev-ca.crt --resolve {host}:9443:{pod['status']['podIP']} "
            f"-H 'Content-Type: application/json' -d @- https://{host}:9443/validate", input=review)
        return json.loads(answer)["response"]

    controllers = hostdev.of("controller")
    assert len(controllers) == 2
    for each in controllers:
        assert ask(each)["allowed"] is False
    holder = hostdev.cluster.get("lease", "hostdev-controller", "-n", NAMESPACE)["spec"]["holderIdentity"]
    leader = next(each for each in controllers if each["metadata"]["name"] == holder)
    hostdev.kubectl("delete", "pod", holder, "--wait=false")
    assert ask(leader)["allowed"] is False

    def another():
        return hostdev.cluster.get("lease", "hostdev-controller", "-n", NAMESPACE)["spec"]["holderIdentity"] not in (
            "", holder)
    wait_until(another, 20, "another leader")
    hostdev.kubectl("rollout", "status", "deployment/hostdev-controller", "--timeout=180s")
