"""docs/self-service.md, carried out: a user who is lent one device and one who is lent nothing, with kubeconfigs of
their own, on a control plane that has controllers: quotas, roles that are put together, and garbage collection.
"""

import json
import re
import shutil
import subprocess
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from cluster import ROOT, Cluster, wait_until
from doc_commands import executed
from identities import Identities, wait_fenced
from machine import Machine
from programs import Agent, program
from replicas import condition
from rest import Rest
from shell_words import simple_commands
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


def give_back(site, agent):
    """The made-up machine does what a kernel does when a claim is deleted."""
    (agent.machine.device("0000:01:00.1") / "driver_override").write_text("\n")
    agent.machine.bind("0000:01:00.1", "e1000e")
    agent.machine.tell()
    wait_until(lambda: not site.cluster.get("pcideviceclaims"), 30, "the claim's end")


def prepare(agent):
    """It is on vfio-pci for the next claim, as if the kernel had bound it."""
    agent.machine.bind("0000:01:00.1", "vfio-pci")
    agent.machine.tell()


def end_claim(site, agent, user):
    site.as_user(user, "delete", "pcideviceclaim", DEVICE, "--ignore-not-found", "--wait=false")
    give_back(site, agent)
    prepare(agent)


@pytest.fixture
def claimed(site, agent, lent):
    """Alice has claimed it by the words of the document, and gives it back at the end."""
    site.as_user("alice", "apply", "-f", "-", input=claim(DEVICE, disableResourcePooling=True))
    wait_until(lambda: site.cluster.get("pcidevice", DEVICE)["status"]["resourceName"] == RESOURCE, 20, "its resource")
    yield
    end_claim(site, agent, "alice")


def test_alice_does_what_the_document_says(site, agent, lent, tmp_path):
    assert [one.words for _, text in executed(ROOT / "docs/self-service.md") for one in simple_commands(text)
            if "bob" in one.words] == [["kubectl", "hostdev", "claim", "vm1-000003000", "--for", "bob"]]
    site.cluster.kubectl("create", "-f", "-", input=claim(OTHER, userName="bob"))
    site.as_user("alice", "version")  # her kubeconfig is made
    path = f"{program('kubectl-hostdev').parent}:{Path(site.cluster._kubectl).parent}"
    here = {NAMED: DEVICE, "vm1-000001000": OTHER, "vm1-000003000": OTHER, "/tmp/pod.yaml": f"{tmp_path}/pod.yaml"}
    shell = Shell(tmp_path, path, site.people["alice"], here)
    try:
        for command in commands(ROOT / "docs/self-service.md", "alice"):
            shell.run(command)
    finally:
        site.cluster.kubectl("-n", "alice", "delete", "pods", "--all", "--force")
        site.cluster.kubectl("delete", "pcideviceclaim", OTHER)
        end_claim(site, agent, "alice")


COMMANDS = [  # of the page's table: words, and the role that they need beside those of the example
    (["why", DEVICE], None), (["who", DEVICE], None), (["plan", DEVICE], None), (["claim", DEVICE, "--dry-run=client"], None),
    (["release", DEVICE, "--dry-run=client"], None),
    (["tree"], "hostdev-view"), (["top"], "hostdev-view"), (["who"], "hostdev-view"),
]
NEEDED = ("list pcidevices", "list devicepools")  # one of these is what the plugin says of a user without the role


@pytest.fixture
def eve(site, lent, agent):
    """A user of alice's rights; eve(words) runs the plugin as her."""
    for part in ("hostdev-user", f"claim-{DEVICE}"):
        site.bind("eve", part)
    wait_until(lambda: site.can("eve", "claim", f"pcidevices.devices.harvesterhci.io/{DEVICE}"), 20, "the roles")
    wait_until(lambda: site.can("eve", "create", CLAIMS), 20, "the roles")
    return lambda words, user="eve": subprocess.run(
        [program("kubectl-hostdev"), "--kubeconfig", site.people[user], *words], capture_output=True, text=True, timeout=60)


def test_every_command_of_the_table_is_tried():
    table = re.findall(r"^\| (.*kubectl hostdev.*) \| (?:those of the example|`hostdev-view`) \|$", DOCUMENT, re.MULTILINE)
    told = {word for row in table for word in re.findall(r"`(?:kubectl hostdev )?([a-z]+)`", row)}
    assert len(table) == 2 and told - {"map"} == {words[0] for words, _ in COMMANDS}


@pytest.mark.parametrize("words, role", COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS])
def test_alice_may_run_what_the_table_says(site, eve, agent, words, role):
    """By name without hostdev-view, and it does not help anybody who has no right to the device."""
    with_claim = words[0] == "release"
    if role:
        run = eve(words)
        assert run.returncode != 0 and run.stderr.count("403 forbidden") and any(one in run.stderr for one in NEEDED), run
        site.bind("eve", role)
        wait_until(lambda: site.can("eve", "list", "pcidevices.devices.harvesterhci.io"), 20, "the role")
    else:
        site.can("zoe", "list", CLAIMS)  # her kubeconfig is made
        run = eve(words, "zoe")
        assert run.returncode != 0 and DEVICE not in run.stdout, run
    try:
        if with_claim:
            assert site.create("eve", claim(DEVICE)).returncode == 0
        run = eve(words)
        assert run.returncode == 0, run
        assert not any(one in run.stderr for one in NEEDED) if role else DEVICE in run.stdout, run
    finally:
        if with_claim:
            end_claim(site, agent, "eve")
        if role:
            site.cluster.kubectl("delete", "clusterrolebinding", f"eve-{role}")
            wait_until(lambda: not site.can("eve", "list", "pcidevices.devices.harvesterhci.io"), 20, "no role")


def test_the_plugin_says_what_a_policy_refuses_without_its_name(eve):
    run = eve(["plan", DEVICE, "--include-group"])
    assert run.returncode == 1 and "ValidatingAdmissionPolicy" not in run.stdout, run
    assert run.stdout.startswith(f"{DEVICE}: would be refused\n  user 'eve' may not claim the whole IOMMU group of")
    assert "without --include-group" in " ".join(run.stdout.split()), run


def taken_from(agent, driver):
    """As if the agent had taken the device from this driver. On vfio-pci already, it would stay there, and its claim
    would be gone before anyone can look."""
    folder = agent.machine.folder / "state/devices"
    wait_until(lambda: list(folder.glob("*.json")), 20, "a record of the device")
    [path] = folder.glob("*.json")
    record = {**json.loads(path.read_text()), "native": driver}
    record.pop("override", None)
    path.write_text(json.dumps(record))
    look(agent, "a look at the record")


def look(agent, what):
    scans = agent.scans()
    agent.machine.tell()
    wait_until(lambda: agent.scans() > scans, 20, what)


def test_alice_releases_her_device_with_the_plugin(site, eve, agent):
    """The command waits until the device is on its driver."""
    assert site.create("eve", claim(DEVICE)).returncode == 0
    wait_until(lambda: condition(site.cluster.get("pcideviceclaim", DEVICE), "DriverBound")[0] == "True", 20, "the binding")
    taken_from(agent, "e1000e")
    tries = len(agent.lines("verb=release"))
    with ThreadPoolExecutor() as pool:
        released = pool.submit(eve, ["release", DEVICE])
        wait_until(lambda: len(agent.lines("verb=release")) > tries, 20, "the agent's try, which a made-up tree refuses")
        look(agent, "a look at what the try left")
        assert site.cluster.get("pcideviceclaim", DEVICE)["metadata"]["deletionTimestamp"] and not released.done()
        give_back(site, agent)
        run = released.result()
    prepare(agent)
    assert run.returncode == 0 and run.stdout.endswith(f"{DEVICE} released\n"), run


def test_kubectl_warns_of_a_verb_that_it_does_not_know(site, eve):
    run = site.as_user("eve", "auth", "can-i", "claim", f"pcidevices.devices.harvesterhci.io/{DEVICE}")
    assert run.stdout == "yes\n" and run.stderr.count("Warning: ") == 2, run
    assert "'claim' is not a known verb" in run.stderr and "is not namespace scoped" in run.stderr, run


def test_alice_claims_her_device_and_gives_it_back(site, claimed, agent):
    site.as_user("alice", "wait", f"pcideviceclaim/{DEVICE}", "--for=condition=Accepted", "--timeout=180s")
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


def resource_claim(*requests):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"generateName": "c-"},
            "spec": {"devices": {"requests": [{"name": f"r{at}", **request} for at, request in enumerate(requests)]}}}


def exactly(name):
    return {"exactly": {"deviceClassName": name}}


def test_resource_claims_get_devices_of_the_classes_that_the_quota_names(site, lent):
    quota, key = "resourcequota/devices", "{}.deviceclass.resource.k8s.io/devices"
    words = f"the quota 'devices' of namespace 'alice' does not name {key}: ask an administrator for it"
    policy = site.cluster.get("validatingadmissionpolicy", "hostdev-claims-by-quota")
    assert not (policy.get("status", {}).get("typeChecking") or {}).get("expressionWarnings")
    site.cluster.kubectl("patch", "-n", "alice", quota, "--type=merge", "-p",
                         json.dumps({"spec": {"hard": {key.format("pci.hostdev.io"): "1"}}}))
    try:
        wait_until(lambda: key.format("pci.hostdev.io") in site.cluster.get("-n", "alice", quota)["status"].get("used", {}), 30)
        wait_until(lambda: site.create("alice", resource_claim(exactly("pci.hostdev.io")), "-n", "alice").returncode == 0, 20,
                   "the policy with the new quota")
        assert "exceeded quota: devices" in site.refusal("alice", resource_claim(exactly("pci.hostdev.io")), "-n", "alice")
        refused = [resource_claim(exactly("usb.hostdev.io")), resource_claim(exactly("pci.hostdev.io"), exactly("usb.hostdev.io")),
                   resource_claim({"firstAvailable": [{"name": "a", "deviceClassName": "pci.hostdev.io"},
                                                      {"name": "b", "deviceClassName": "usb.hostdev.io"}]})]
        for one in refused:
            assert words.format("usb.hostdev.io") in site.refusal("alice", one, "-n", "alice")
        by_name = "deviceclass.resource.kubernetes.io/usb.hostdev.io"
        assert f"does not name {by_name}" in site.refusal("alice", pod(**{by_name: "1"}), "-n", "alice")
    finally:
        site.cluster.kubectl("patch", "-n", "alice", quota, "--type=json", "-p", json.dumps(
            [{"op": "remove", "path": "/spec/hard/" + key.format("pci.hostdev.io").replace("/", "~1")}]))
        site.cluster.kubectl("-n", "alice", "delete", "resourceclaims", "--all")


def test_without_a_quota_such_a_namespace_has_no_devices(site, lent):
    site.cluster.kubectl("create", "namespace", "empty")
    site.cluster.kubectl("label", "namespace", "empty", "hostdev.io/devices=by-quota")
    wait_until(lambda: site.cluster.get("-n", "empty", "serviceaccounts"), 30, "the ServiceAccount")
    run = site.cluster.kubectl("-n", "empty", "create", "-f", "-", input=pod(**{RESOURCE: "1"}), check=False)
    assert run.returncode != 0 and "'hostdev-devices-by-quota' denied request" in run.stderr
    run = site.cluster.kubectl("-n", "empty", "create", "-f", "-", input=resource_claim(exactly("pci.hostdev.io")), check=False)
    assert run.returncode != 0 and "'hostdev-claims-by-quota' denied request" in run.stderr
    # Namespaces without the label are left alone.
    run = site.cluster.kubectl("-n", "default", "create", "-f", "-", input=resource_claim(exactly("pci.hostdev.io")), check=False)
    assert run.returncode == 0, run.stderr
    site.cluster.kubectl("-n", "default", "delete", "resourceclaims", "--all")
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
    site.as_user("nora", "wait", f"pcideviceclaim/{DEVICE}", "--for=condition=Accepted", "--timeout=180s")
    assert "cannot list" in site.as_user("nora", "get", "pcideviceclaims", check=False).stderr
    assert "may not claim" in site.refusal("nora", claim(OTHER))
    end_claim(site, agent, "nora")
