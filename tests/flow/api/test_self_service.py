"""docs/self-service.md, carried out: a user who is lent one device and one who is lent nothing, with kubeconfigs of
their own, on a control plane that has controllers: quotas, roles that are put together, and garbage collection.
"""

import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest
import yaml

from cluster import ROOT, Cluster, wait_until
from identities import Identities, wait_fenced
from machine import Machine
from programs import Agent, program
from rest import Rest
from transcript import Shell, commands

DOCUMENT = (ROOT / "docs/self-service.md").read_text()
EXAMPLES = ROOT / "manifests/examples"
NAMED = "vm1-000002000"  # the device of the example
DEVICE, OTHER = "node1-000001001", "node1-000001000"  # those of the made-up machine
RESOURCE = f"intel.com/{DEVICE}"
CLAIMS = "pcideviceclaims.devices.harvesterhci.io"


def claim(name, **spec):
    return {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim", "metadata": {"name": name},
            "spec": spec}


def pod(**limits):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p-{uuid.uuid4().hex[:8]}"}, "spec": {
        "containers": [{"name": "c", "image": "none", "resources": {"limits": {"cpu": "1m", **limits}}}]}}


class Site:
    """The control plane with hostdev installed, and kubectl as somebody."""

    def __init__(self, cluster, folder):
        self.cluster = cluster
        cluster.install_kinds()
        cluster.kubectl("apply", "--server-side", "-k", ROOT / "manifests/overlays/processes")
        self.rest = Rest(cluster.kubeconfig)
        wait_fenced(cluster, self.rest, folder)
        self.identities = Identities(cluster, self.rest, folder)
        cluster.control("start", "--full")  # now, so that its controllers find our kinds at once
        self.people = {}

    def as_user(self, name, *words, input=None, check=True):
        if name not in self.people:
            self.people[name] = self.identities.user(name)
        return self.cluster.kubectl("--kubeconfig", self.people[name], *words, input=input, check=check)

    def create(self, name, obj, *words):
        return self.as_user(name, "create", "-f", "-", *words, input=obj, check=False)

    def refusal(self, name, obj, *words):
        """What the user sees."""
        run = self.create(name, obj, *words)
        assert run.returncode != 0 and "forbidden" in run.stderr, run
        return run.stderr

    def can(self, name, *words):
        return self.as_user(name, "auth", "can-i", *words, check=False).stdout.strip() == "yes"

    def bind(self, user, role):
        words = ["create", "clusterrolebinding", f"{user}-{role}", f"--clusterrole={role}", f"--user={user}"]
        self.cluster.kubectl(*words, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tempfile.mkdtemp(prefix="hostdev-self-")
    try:
        yield Site(Cluster.start(folder), tmp_path_factory.mktemp("people"))
    finally:
        Cluster.stop(folder)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def agent(site, tmp_path_factory):
    """Of node1, with a NIC that is on vfio-pci already, because a made-up tree cannot bind one."""
    folder = tmp_path_factory.mktemp("node1")
    kubelet = Path(tempfile.mkdtemp(prefix="kubelet-"))
    (kubelet / "device-plugins").mkdir()
    machine = Machine(folder / "machine")
    machine.bind("0000:01:00.1", "vfio-pci")
    (machine.folder / "sys/module/vfio_iommu_type1").mkdir(parents=True)
    config = site.identities.agent("node1")
    agent = Agent(site.rest, machine, "node1", config, folder, ["--kubelet-dir", kubelet]).start()
    agent.wait_converged()
    yield agent
    agent.stop()
    shutil.rmtree(kubelet, ignore_errors=True)


@pytest.fixture(scope="module")
def lent(site, agent):
    """What the administrator applies: the example, with a device of the made-up node."""
    example = (EXAMPLES / "claim-one-device.yaml").read_text()
    assert NAMED in example and NAMED in DOCUMENT
    site.cluster.kubectl("apply", "-f", "-", input=example.replace(NAMED, DEVICE))
    site.cluster.kubectl("apply", "-f", EXAMPLES / "devices-by-quota.yaml")
    wait_until(lambda: site.can("alice", "claim", f"pcidevices.devices.harvesterhci.io/{DEVICE}"), 20, "the roles")
    wait_until(lambda: site.can("alice", "create", "pods", "-n", "alice"), 30, "the role edit, put together")
    wait_until(lambda: site.cluster.get("-n", "alice", "serviceaccounts"), 30, "the ServiceAccount")
    wait_until(lambda: "hard" in site.cluster.get("-n", "alice", "resourcequota", "devices").get("status", {}), 30,
               "the quota")


def end_claim(site, agent, user):
    """The user deletes the claim, and the made-up machine does what a kernel does then."""
    site.as_user(user, "delete", "pcideviceclaim", DEVICE, "--ignore-not-found", "--wait=false")
    agent.machine.bind("0000:01:00.1", "e1000e")
    agent.machine.tell()
    wait_until(lambda: not site.cluster.get("pcideviceclaims"), 30, "the claim's end")
    agent.machine.bind("0000:01:00.1", "vfio-pci")
    agent.machine.tell()


@pytest.fixture
def claimed(site, agent, lent):
    """Alice has claimed it by the words of the document, and gives it back at the end."""
    site.as_user("alice", "apply", "-f", "-", input=claim(DEVICE, disableResourcePooling=True))
    wait_until(lambda: site.cluster.get("pcidevice", DEVICE)["status"]["resourceName"] == RESOURCE, 20, "its resource")
    yield
    end_claim(site, agent, "alice")


def test_alice_does_what_the_document_says(site, agent, lent, tmp_path):
    site.cluster.kubectl("create", "-f", "-", input=claim(OTHER, userName="bob"))
    site.as_user("alice", "version")  # her kubeconfig is made
    path = f"{program('kubectl-hostdev').parent}:{Path(site.cluster._kubectl).parent}"
    shell = Shell(tmp_path, path, site.people["alice"], {NAMED: DEVICE, "vm1-000001000": OTHER, "vm1-000003000": OTHER})
    try:
        for command in commands(ROOT / "docs/self-service.md", "alice"):
            shell.run(command)
    finally:
        site.cluster.kubectl("-n", "alice", "delete", "pods", "--all", "--force")
        site.cluster.kubectl("delete", "pcideviceclaim", OTHER)
        end_claim(site, agent, "alice")


COMMANDS = [  # of the page's table: words, and the role that they need beside those of the example
    (["why", DEVICE], None), (["who", DEVICE], None), (["plan", DEVICE], None), (["claim", DEVICE, "--dry-run=client"], None),
    (["tree"], "hostdev-view"), (["top"], "hostdev-view"), (["who"], "hostdev-view"),
]


@pytest.mark.parametrize("words, role", COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS])
def test_alice_may_run_what_the_table_says(site, lent, agent, words, role):
    """A user of her rights, without a claim."""
    for part in ("hostdev-user", f"claim-{DEVICE}", *([role] if role else [])):
        site.bind("eve", part)
    wait_until(lambda: site.can("eve", "claim", f"pcidevices.devices.harvesterhci.io/{DEVICE}"), 20, "the roles")
    wait_until(lambda: not role or site.can("eve", "list", "pcidevices.devices.harvesterhci.io"), 20, "the role")
    run = subprocess.run([program("kubectl-hostdev"), "--kubeconfig", site.people["eve"], *words], capture_output=True,
                         text=True, timeout=60)
    assert run.returncode == 0 and "list pcidevices" not in (run.stderr if role else ""), run
    if role:
        site.cluster.kubectl("delete", "clusterrolebinding", f"eve-{role}")
        wait_until(lambda: not site.can("eve", "list", "pcidevices.devices.harvesterhci.io"), 20, "no role")
        run = subprocess.run([program("kubectl-hostdev"), "--kubeconfig", site.people["eve"], *words], capture_output=True,
                             text=True, timeout=60)
        assert run.returncode != 0 and "403" in run.stderr, run


def test_alice_claims_her_device_and_gives_it_back(site, claimed, agent):
    site.as_user("alice", "wait", f"pcideviceclaim/{DEVICE}", "--for=condition=Accepted", "--timeout=20s")
    made = site.cluster.get("pcideviceclaim", DEVICE)
    assert made["metadata"]["finalizers"] and made["spec"]["nodeName"] == "node1"
    shown = site.as_user("alice", "get", "pcidevice", DEVICE, "-o", "jsonpath={.status.resourceName}").stdout
    assert shown == RESOURCE
    end_claim(site, agent, "alice")
    assert not agent.lines("403 forbidden")


def test_alice_claims_nothing_else(site, lent):
    assert f"user 'alice' may not claim pcidevices/{OTHER}: ask an administrator for the verb claim on it" in \
        site.refusal("alice", claim(OTHER))
    assert "may not claim the whole IOMMU group" in site.refusal("alice", claim(DEVICE, includeIOMMUGroup=True))
    assert "may not claim for user 'bob'" in site.refusal("alice", claim(DEVICE, userName="bob"))


def test_bob_is_lent_nothing(site, claimed):
    words = 'User "bob" cannot {} resource "pcideviceclaims"'
    assert words.format("create") in site.refusal("bob", claim(DEVICE))
    assert words.format("delete") in site.as_user("bob", "delete", "pcideviceclaim", DEVICE, check=False).stderr
    assert "cannot get" in site.as_user("bob", "get", "pcidevice", DEVICE, check=False).stderr
    # Nor when he may make claims, as long as no device is lent to him.
    site.bind("bob", "hostdev-user")
    wait_until(lambda: site.can("bob", "create", CLAIMS), 20)
    assert f"user 'bob' may not claim pcidevices/{OTHER}" in site.refusal("bob", claim(OTHER))
    run = site.as_user("bob", "delete", "pcideviceclaim", DEVICE, check=False)
    assert "user 'bob' may not delete this claim" in run.stderr


def test_pods_get_what_the_quota_names_and_as_many(site, claimed):
    first = pod(**{RESOURCE: "1"})
    run = site.create("alice", first, "-n", "alice")
    assert run.returncode == 0, run.stderr
    words = f"exceeded quota: devices, requested: requests.{RESOURCE}=1, used: requests.{RESOURCE}=1"
    assert words in site.refusal("alice", pod(**{RESOURCE: "1"}), "-n", "alice")
    site.as_user("alice", "-n", "alice", "delete", "pod", first["metadata"]["name"], "--force")
    wait_until(lambda: site.create("alice", pod(**{RESOURCE: "1"}), "-n", "alice").returncode == 0, 30, "another one")
    site.cluster.kubectl("-n", "alice", "delete", "pods", "--all", "--force")


def test_pods_get_no_device_that_the_quota_does_not_name(site, lent):
    words = "the quota 'devices' of namespace 'alice' does not name {}: ask an administrator for it"
    pool = "nvidia.com/GA102GL_A10"
    assert words.format(pool) in site.refusal("alice", pod(**{pool: "1"}), "-n", "alice")
    hidden = pod()
    usb = {"limits": {"kubevirt.io/usb": "1"}}
    hidden["spec"]["initContainers"] = [{"name": "i", "image": "none", "resources": usb}]
    assert words.format("kubevirt.io/usb") in site.refusal("alice", hidden, "-n", "alice")
    # What is no device is none of its business.
    for harmless in (pod(memory="1Mi"), {**pod(), "spec": {"containers": [{"name": "c", "image": "none"}]}}):
        run = site.create("alice", harmless, "-n", "alice")
        assert run.returncode == 0, run.stderr
    site.cluster.kubectl("-n", "alice", "delete", "pods", "--all", "--force")
    # What decides about that is not hers.
    for words in (["label", "namespace", "alice", "hostdev.io/devices-"], ["delete", "quota", "devices", "-n", "alice"],
                  ["label", "quota", "devices", "-n", "alice", "a=b"]):
        assert "cannot" in site.as_user("alice", *words, check=False).stderr


def test_without_a_quota_such_a_namespace_has_no_devices(site, lent):
    site.cluster.kubectl("create", "namespace", "empty")
    site.cluster.kubectl("label", "namespace", "empty", "hostdev.io/devices=by-quota")
    wait_until(lambda: site.cluster.get("-n", "empty", "serviceaccounts"), 30, "the ServiceAccount")
    run = site.cluster.kubectl("-n", "empty", "create", "-f", "-", input=pod(**{RESOURCE: "1"}), check=False)
    assert run.returncode != 0 and "'hostdev-devices-by-quota' denied request" in run.stderr
    # Namespaces without the label are left alone.
    run = site.cluster.kubectl("-n", "default", "create", "-f", "-", input=pod(**{RESOURCE: "1"}), check=False)
    assert run.returncode == 0, run.stderr
    site.cluster.kubectl("-n", "default", "delete", "pods", "--all", "--force")


ROLES = [
    # role, verb and resource, allowed
    ("view", "list pcidevices.devices.harvesterhci.io", True),
    ("view", "watch hostdeviceconfigs.hostdev.io", True),
    ("edit", f"get {CLAIMS}", True),
    ("admin", "get usbdevices.devices.harvesterhci.io", True),
    ("edit", f"create {CLAIMS}", False),
    ("admin", "create usbdeviceclaims.devices.harvesterhci.io", False),
    ("admin", "claim pcidevices.devices.harvesterhci.io", False),
    ("admin", "patch sriovnetworkdevices.devices.harvesterhci.io", False),
    ("cluster-admin", "override pcidevices.devices.harvesterhci.io", True),
]


@pytest.mark.parametrize("role, words, allowed", ROLES, ids=[f"{role} {words}" for role, words, _ in ROLES])
def test_kubernetes_own_roles_see_devices_and_take_none(site, role, words, allowed):
    user = f"of-{role}"
    site.bind(user, role)
    wait_until(lambda: site.can(user, "list", "pcidevices.devices.harvesterhci.io"), 30, "the role, put together")
    assert site.can(user, *words.split()) == allowed


def test_a_claim_goes_with_its_device_whosever_it_is(site, lent):
    """The real garbage collector, which has the verb manage by our role."""
    gone = "gone-000001000"
    site.cluster.kubectl("create", "-f", "-", input={
        "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice", "metadata": {"name": gone}})
    body = claim(gone, userName="alice")
    body["metadata"]["ownerReferences"] = [{
        "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice", "name": gone,
        "uid": site.cluster.get("pcidevice", gone)["metadata"]["uid"]}]
    site.cluster.kubectl("create", "-f", "-", input=body)
    site.cluster.kubectl("delete", "pcidevice", gone)
    wait_until(lambda: site.cluster.kubectl("get", "pcideviceclaim", gone, check=False).returncode, 60, "its end")


def test_the_narrower_role_of_the_document_is_enough(site, agent):
    rules = yaml.safe_load(DOCUMENT[DOCUMENT.index("rules:\n"):].split("```")[0].replace(NAMED, DEVICE))
    site.cluster.kubectl("apply", "-f", "-", input={"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                                                    "metadata": {"name": "narrow"}, **rules})
    site.bind("nora", "narrow")
    wait_until(lambda: site.can("nora", "create", CLAIMS), 20)
    run = site.create("nora", claim(DEVICE))
    assert run.returncode == 0, run.stderr
    site.as_user("nora", "wait", f"pcideviceclaim/{DEVICE}", "--for=condition=Accepted", "--timeout=20s")
    assert "cannot list" in site.as_user("nora", "get", "pcideviceclaims", check=False).stderr
    assert "may not claim" in site.refusal("nora", claim(OTHER))
    end_claim(site, agent, "nora")
