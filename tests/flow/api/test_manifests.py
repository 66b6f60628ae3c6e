"""What manifests/ installs, on a real API server: every field is known, pods have no more rights than they need."""

import re
import subprocess
import uuid

import pytest
import yaml

from cluster import ROOT
from identities import NAMESPACE
from programs import run

OVERLAYS = ["base", "overlays/local", "overlays/processes"]
PARTS = {"app.kubernetes.io/part-of": "hostdev"}
AGENT = PARTS | {"app.kubernetes.io/component": "agent"}
CONTROLLER = PARTS | {"app.kubernetes.io/component": "controller"}
WORKLOADS = {"DaemonSet", "Deployment", "PodDisruptionBudget", "NetworkPolicy"}
WEBHOOK = {"Service", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}
RIGHTS = {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ServiceAccount"}


def render(cluster, overlay):
    """The objects of `kubectl kustomize`, by kind and name."""
    text = cluster.kubectl("kustomize", ROOT / "manifests" / overlay).stdout
    objects = list(yaml.safe_load_all(text))
    by_name = {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o for o in objects}
    assert len(by_name) == len(objects)
    return by_name


def template(cluster, kind, name, overlay="base"):
    return render(cluster, overlay)[kind, NAMESPACE, name]["spec"]["template"]


@pytest.fixture
def namespace(installed):
    """namespace(level) -> one that enforces that pod security standard, with the pods' ServiceAccounts."""
    made = []

    def make(level):
        name = f"pods-{uuid.uuid4().hex[:8]}"
        made.append(name)
        installed.kubectl("create", "-f", "-", input={"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": name, "labels": {"pod-security.kubernetes.io/enforce": level}}})
        for account in ("hostdev-agent", "hostdev-controller"):
            installed.kubectl("create", "serviceaccount", account, "-n", name)
        return name

    yield make
    for name in made:
        installed.kubectl("delete", "namespace", name, "--wait=false")


def admit(cluster, namespace, template):
    """What the API server says to a pod of the template there, without making it."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "judged", "labels": template["metadata"]["labels"]},
           "spec": template["spec"]}
    return cluster.kubectl("create", "--dry-run=server", "-n", namespace, "-f", "-", input=pod, check=False)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_api_server_knows_every_field(installed, overlay):
    text = installed.kubectl("kustomize", ROOT / "manifests" / overlay).stdout
    installed.kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict",
                      "-f", "-", input=text)


@pytest.mark.parametrize("path", sorted((ROOT / "manifests/examples").iterdir()), ids=lambda path: path.name)
def test_and_those_of_the_examples(installed, path):
    objects = [o for o in yaml.safe_load_all(path.read_text())]
    spaces = {o["metadata"]["name"] for o in objects if o["kind"] == "Namespace"}
    for o in objects:
        if o["metadata"].get("namespace") not in spaces:
            installed.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", input=o)


def test_overlays_differ_in_pods_and_webhook_alone(installed):
    base, local, processes = (set(render(installed, overlay)) for overlay in OVERLAYS)
    assert local == base
    assert {kind for kind, _, _ in base - processes} == WEBHOOK | WORKLOADS
    assert processes <= base


@pytest.mark.parametrize("overlay", OVERLAYS[1:])
def test_overlays_change_no_rights(installed, overlay):
    """So what other tests say of the ServiceAccounts of one overlay goes for all."""
    base, other = render(installed, "base"), render(installed, overlay)
    rights = {key: o for key, o in base.items() if key[0] in RIGHTS}
    assert len(rights) > 10
    assert {key: o for key, o in other.items() if key[0] in RIGHTS} == rights


def test_the_namespace_says_what_it_enforces(installed):
    labels = installed.get("namespace", NAMESPACE)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"


def test_controllers_pass_the_restricted_standard(installed, namespace):
    answer = admit(installed, namespace("restricted"), template(installed, "Deployment", "hostdev-controller"))
    assert answer.returncode == 0, answer.stderr
    assert "Warning" not in answer.stderr


def test_agents_miss_the_baseline_by_folders_of_their_node_alone(installed, namespace):
    pod = template(installed, "DaemonSet", "hostdev-agent")
    answer = admit(installed, namespace("baseline"), pod)
    assert re.search(r'violates PodSecurity "baseline:latest": hostPath volumes \([^()]*\)\s*$', answer.stderr)
    answer = admit(installed, namespace("restricted"), pod)
    missed = re.search(r'violates PodSecurity "restricted:latest": (.*)', answer.stderr)[1]
    assert re.findall(r"(?:^|, )([^(),]+) \([^()]*\)", missed) == [
        "restricted volume types", "runAsNonRoot != true", "runAsUser=0"]


@pytest.mark.parametrize("kind, name", [("DaemonSet", "hostdev-agent"), ("Deployment", "hostdev-controller")])
def test_pods_are_confined_and_probed(installed, kind, name):
    spec = template(installed, kind, name)["spec"]
    assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & spec.keys()
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    [container] = spec["containers"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                            "capabilities": {"drop": ["ALL"]}}
    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys()
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    program = "hostdev-agent" if kind == "DaemonSet" else "hostdev-controller"
    assert run(program, *container["args"], "--help").returncode == 0, "the program does not know its flags"


def test_what_is_writable_of_the_node(installed):
    spec = template(installed, "DaemonSet", "hostdev-agent")["spec"]
    folders = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"]}
    mounts = spec["containers"][0]["volumeMounts"]
    assert folders.keys() == {mount["name"] for mount in mounts}
    assert {folders[mount["name"]] for mount in mounts if not mount.get("readOnly")} == {
        "/sys", "/var/lib/hostdev", "/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry",
        "/var/lib/kubelet/plugins/hostdev"}
    # The kubelet is told paths, so those must be the node's own.
    assert all(mount["mountPath"] == folders[mount["name"]] for mount in mounts
               if folders[mount["name"]].startswith("/var/lib/"))


def test_labels_are_those_that_others_look_for(installed):
    objects = render(installed, "base")
    agents = template(installed, "DaemonSet", "hostdev-agent")["metadata"]["labels"]
    controllers = template(installed, "Deployment", "hostdev-controller")
    assert agents == AGENT
    assert controllers["metadata"]["labels"] == CONTROLLER
    said = run("hostdev-controller", "--help").stdout
    looked_for = re.search(r"--agent-pods SELECTOR.*?(app\.kubernetes\.io/\S+)\.\n", said, re.DOTALL)[1]
    assert dict(pair.split("=") for pair in looked_for.split(",")).items() <= agents.items()

    service = objects["Service", NAMESPACE, "hostdev-webhook"]["spec"]
    assert service["selector"] == CONTROLLER
    ports = {port["name"]: port["containerPort"] for port in controllers["spec"]["containers"][0]["ports"]}
    assert ports[service["ports"][0]["targetPort"]] == 9443
    assert "--webhook-listen=:9443" in controllers["spec"]["containers"][0]["args"]


def test_the_webhook_goes_on_answering_while_a_replica_ends(installed):
    """A pod that ends answers until API servers know of it; a roll-out never has fewer than two."""
    deployment = render(installed, "base")["Deployment", NAMESPACE, "hostdev-controller"]["spec"]
    pod = deployment["template"]["spec"]
    pause = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert deployment["replicas"] == 2
    assert deployment["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert 5 <= pause < pod["terminationGracePeriodSeconds"] - 10


def test_local_pods_run_the_images_of_hack_image(installed):
    made = subprocess.run([ROOT / "hack/image", "--help"], capture_output=True, text=True, check=True).stdout
    for kind, name in (("DaemonSet", "hostdev-agent"), ("Deployment", "hostdev-controller")):
        image = template(installed, kind, name, "overlays/local")["spec"]["containers"][0]["image"]
        assert image.rpartition(":")[0] in made
        assert image.endswith(":local")
