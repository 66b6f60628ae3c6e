"""What manifests/ installs, on a real API server: every field is known, pods have no more rights than they need."""

import os
import re
import subprocess
import uuid

import pytest
import yaml

from cluster import ROOT
from identities import NAMESPACE
from programs import run

OVERLAYS = ["base", *(f"overlays/{folder.name}" for folder in sorted((ROOT / "manifests/overlays").iterdir()))]
WITH_PODS = [overlay for overlay in OVERLAYS if overlay != "overlays/processes"]
COMPONENTS = sorted(folder.name for folder in (ROOT / "manifests/components").iterdir())
PARTS = {"app.kubernetes.io/part-of": "hostdev"}
AGENT = PARTS | {"app.kubernetes.io/component": "agent"}
CONTROLLER = PARTS | {"app.kubernetes.io/component": "controller"}
WORKLOADS = {"DaemonSet", "Deployment", "PodDisruptionBudget", "NetworkPolicy", "ResourceQuota"}
KEYS = "pod-security.kubernetes.io/"
WEBHOOK = {"Service", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}
RIGHTS = {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ServiceAccount"}


def render(cluster, overlay):
    """The objects of `kubectl kustomize`, by kind and name."""
    text = cluster.kubectl("kustomize", ROOT / "manifests" / overlay).stdout
    objects = list(yaml.safe_load_all(text))
    by_name = {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o for o in objects}
    assert len(by_name) == len(objects)
    return by_name


def with_components(cluster, folder, *components):
    """Those of the base with these components, as in an overlay of one's own: it has a relative path to the tree."""
    tree = os.path.relpath(ROOT / "manifests", folder.resolve())
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [f"{tree}/base"], "components": [f"{tree}/components/{component}" for component in components]}))
    return list(yaml.safe_load_all(cluster.kubectl("kustomize", folder).stdout))


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


def try_out(cluster, *source, input=None):
    """As an administrator would apply it; the API server neither refuses nor warns."""
    answer = cluster.kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict",
                             *source, input=input)
    assert answer.stderr == ""
    return answer.stdout.splitlines()


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_api_server_knows_every_field(installed, overlay):
    text = installed.kubectl("kustomize", ROOT / "manifests" / overlay).stdout
    assert len(try_out(installed, "-f", "-", input=text)) == len(render(installed, overlay)) > 20


@pytest.mark.parametrize("component", COMPONENTS)
def test_and_those_of_the_components(installed, component, tmp_path):
    known = installed.kubectl("api-resources", "-o", "name").stdout
    for o in with_components(installed, tmp_path, component):
        group = o["apiVersion"].rpartition("/")[0]
        # Another project's kinds are not on this API server.
        assert group in known or "." not in group or group == "monitoring.coreos.com", o
        if group in known or "." not in group:
            try_out(installed, "-f", "-", input=o)


def test_and_those_of_the_definitions(installed):
    """By what replaces them, since the tests' own have been applied by the client."""
    answer = installed.kubectl("replace", "--dry-run=server", "--validate=strict", "-f", ROOT / "crds")
    assert answer.stderr == ""
    assert len(answer.stdout.splitlines()) == len(list((ROOT / "crds").iterdir()))


@pytest.mark.parametrize("path", sorted((ROOT / "manifests/examples").iterdir()), ids=lambda path: path.name)
def test_and_those_of_the_examples(installed, path):
    objects = [o for o in yaml.safe_load_all(path.read_text())]
    spaces = {o["metadata"]["name"] for o in objects if o["kind"] == "Namespace"}
    for o in objects:
        if o["metadata"].get("namespace") not in spaces:
            installed.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", input=o)


def test_a_field_that_is_not_there_is_refused(installed):
    """So that the tests before this one can fail."""
    wrong = render(installed, "base")["DaemonSet", NAMESPACE, "hostdev-agent"]
    wrong["spec"]["template"]["spec"]["tolerationz"] = []
    answer = installed.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-",
                               input=wrong, check=False)
    assert answer.returncode != 0 and "tolerationz" in answer.stderr


@pytest.mark.parametrize("overlay", [o for o in OVERLAYS[1:] if o != "overlays/processes"])
def test_overlays_have_all_of_the_base(installed, overlay):
    assert set(render(installed, overlay)) == set(render(installed, "base"))


def test_processes_have_no_pods_and_no_webhook(installed):
    base, processes = (set(render(installed, overlay)) for overlay in ("base", "overlays/processes"))
    assert {kind for kind, _, _ in base - processes} == WEBHOOK | WORKLOADS
    assert processes <= base


def test_with_kubevirt_its_list_is_kept_where_there_was_none(installed):
    base = template(installed, "Deployment", "hostdev-controller")["spec"]["containers"][0]["args"]
    for overlay in ("overlays/kubevirt", "overlays/harvester"):
        args = template(installed, "Deployment", "hostdev-controller", overlay)["spec"]["containers"][0]["args"]
        assert args == [*base, "--kubevirt=create"]
        assert run("hostdev-controller", *args, "--help").returncode == 0


def test_on_harvester_the_state_is_in_a_folder_that_its_nodes_keep(installed):
    base, ours = (template(installed, "DaemonSet", "hostdev-agent", overlay)["spec"]
                  for overlay in ("base", "overlays/harvester"))
    folders = {volume["name"]: volume["hostPath"]["path"] for volume in ours["volumes"]}
    assert folders.pop("state") == "/var/lib/rancher/hostdev"
    assert folders == {v["name"]: v["hostPath"]["path"] for v in base["volumes"] if v["name"] != "state"}
    assert ours["containers"] == base["containers"]


@pytest.mark.parametrize("overlay", OVERLAYS[1:])
def test_overlays_change_no_rights(installed, overlay):
    """So what other tests say of the ServiceAccounts of one overlay goes for all."""
    base, other = render(installed, "base"), render(installed, overlay)
    rights = {key: o for key, o in base.items() if key[0] in RIGHTS}
    assert len(rights) > 10
    assert {key: o for key, o in other.items() if key[0] in RIGHTS} == rights


def test_the_namespace_says_what_it_enforces(installed):
    labels = installed.get("namespace", NAMESPACE)["metadata"]["labels"]
    assert {labels[KEYS + mode] for mode in ("enforce", "audit", "warn")} == {"privileged"}


@pytest.mark.parametrize("overlay", WITH_PODS)
@pytest.mark.parametrize("kind, name", [("DaemonSet", "hostdev-agent"), ("Deployment", "hostdev-controller")])
def test_pods_are_admitted_in_their_namespace(installed, overlay, kind, name):
    """With their classes of priority, which are no privilege of kube-system's."""
    pod = template(installed, kind, name, overlay)
    answer = admit(installed, NAMESPACE, pod)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert pod["spec"]["priorityClassName"].startswith("system-")


def test_the_quota_is_of_the_classes_that_the_pods_have(installed):
    """Where it is wanted: test_strict_cluster.py."""
    quota = render(installed, "base")["ResourceQuota", NAMESPACE, "hostdev-critical-pods"]["spec"]
    [scope] = quota["scopeSelector"]["matchExpressions"]
    used = {template(installed, kind, name)["spec"]["priorityClassName"]
            for kind, name in (("DaemonSet", "hostdev-agent"), ("Deployment", "hostdev-controller"))}
    assert used == set(scope["values"])
    assert quota["hard"] == {"pods": "1G"}


MEASURED = 6  # MiB of either program in its container: tests/bench/run --kubelet images


def mebibytes(text):
    assert text.endswith("Mi"), text
    return int(text.removesuffix("Mi"))


def test_nodes_can_be_drained_and_roll_outs_go_on(installed):
    """An eviction of one replica is never refused for good."""
    base = render(installed, "base")
    controller = base["Deployment", NAMESPACE, "hostdev-controller"]["spec"]
    budget = base["PodDisruptionBudget", NAMESPACE, "hostdev-controller"]["spec"]
    assert 1 <= budget["minAvailable"] < controller["replicas"]
    assert budget["selector"]["matchLabels"] == CONTROLLER
    assert controller["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}


@pytest.mark.parametrize("components", [[], *([component] for component in COMPONENTS)])
def test_agents_that_listen_on_the_node_end_before_the_next_one_begins(installed, components, tmp_path):
    """The scheduler has no place for a second pod with a port of the node, and a roll-out would not go on."""
    [agent] = [o for o in with_components(installed, tmp_path, *components) if o["kind"] == "DaemonSet"]
    on_node = agent["spec"]["template"]["spec"].get("hostNetwork", False)
    strategy = agent["spec"]["updateStrategy"]["rollingUpdate"]
    assert on_node == (components == ["privileged"])
    assert strategy == {"maxUnavailable": "10%" if on_node else 0, "maxSurge": 0 if on_node else "10%"}


@pytest.mark.parametrize("component", [None, *COMPONENTS])
def test_disks_lose_their_driver_after_a_claim_where_that_is_wanted(installed, component, tmp_path):
    [agent] = [o for o in with_components(installed, tmp_path, *filter(None, [component])) if o["kind"] == "DaemonSet"]
    args = agent["spec"]["template"]["spec"]["containers"][0]["args"]
    told = [arg for arg in args if "without-driver" in arg]
    assert told == (["--release-without-driver=01"] if component == "release-disks-without-driver" else [])
    assert run("hostdev-agent", *args, "--help").returncode == 0, "the program does not know its flags"


def test_agents_run_on_every_node(installed):
    assert template(installed, "DaemonSet", "hostdev-agent")["spec"]["tolerations"] == [{"operator": "Exists"}]
    [control_plane] = template(installed, "Deployment", "hostdev-controller")["spec"]["tolerations"]
    assert control_plane == {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}


@pytest.mark.parametrize("kind, name", [("DaemonSet", "hostdev-agent"), ("Deployment", "hostdev-controller")])
def test_requests_and_limits_are_of_what_was_measured(installed, kind, name):
    [container] = template(installed, kind, name)["spec"]["containers"]
    asked, limit = (mebibytes(container["resources"][which]["memory"]) for which in ("requests", "limits"))
    assert 2 * MEASURED <= asked <= 8 * MEASURED and limit >= 4 * asked
    assert "cpu" in container["resources"]["requests"] and "cpu" not in container["resources"]["limits"]


@pytest.mark.parametrize("kind, name", [("DaemonSet", "hostdev-agent"), ("Deployment", "hostdev-controller")])
def test_a_pause_of_a_minute_restarts_nothing(installed, kind, name):
    [container] = template(installed, kind, name)["spec"]["containers"]
    for probe in (container["livenessProbe"], container["startupProbe"]):
        assert probe["periodSeconds"] * probe["failureThreshold"] >= 60, probe
    assert container["livenessProbe"]["timeoutSeconds"] >= 5


def test_webhooks_have_the_time_that_a_loaded_machine_needs(installed):
    """The first request to a new controller is the slowest one."""
    hooks = [hook for key, o in render(installed, "base").items() if key[0].endswith("WebhookConfiguration") for hook in o["webhooks"]]
    assert len(hooks) >= 6 and {hook["timeoutSeconds"] for hook in hooks} == {10}, hooks


def test_who_may_connect(installed):
    """Readers of metrics by their namespace's label; API servers, which are no pods, to the webhook from anywhere."""
    rules = {key[2]: o["spec"] for key, o in render(installed, "base").items() if key[0] == "NetworkPolicy"}
    assert rules.keys() == {"hostdev", "hostdev-webhook"}
    assert all(rule["policyTypes"] == ["Ingress"] for rule in rules.values())
    assert rules["hostdev"]["podSelector"]["matchLabels"].items() <= (AGENT.items() & CONTROLLER.items())
    assert rules["hostdev-webhook"]["podSelector"]["matchLabels"] == CONTROLLER
    [metrics], [webhook] = rules["hostdev"]["ingress"], rules["hostdev-webhook"]["ingress"]
    assert metrics == {"from": [{"namespaceSelector": {"matchLabels": {"hostdev.io/metrics": "true"}}}],
                       "ports": [{"port": "metrics"}]}
    assert webhook == {"ports": [{"port": "webhook"}]}
    for kind, name in (("DaemonSet", "hostdev-agent"), ("Deployment", "hostdev-controller")):
        [container] = template(installed, kind, name)["spec"]["containers"]
        ports = {port["name"] for port in container["ports"]}
        assert ports == {"metrics", "probes"} | (set() if kind == "DaemonSet" else {"webhook"})
        assert {container[f"{probe}Probe"]["httpGet"]["port"] for probe in ("startup", "liveness", "readiness")} == {
            "probes"}, "which no rule lets anybody reach but the kubelet"
        listens = {flag.split("=:")[0]: int(flag.split("=:")[1]) for flag in container["args"] if "=:" in flag}
        assert {port["name"]: port["containerPort"] for port in container["ports"]}.items() >= {
            "metrics": listens["--listen"], "probes": listens["--probe-listen"]}.items()


def test_controllers_are_spread_over_nodes_and_zones(installed):
    """test_docs_installed.py sees where a scheduler puts them on nodes that are in no zone."""
    spec = template(installed, "Deployment", "hostdev-controller")["spec"]
    [rule] = spec["topologySpreadConstraints"]
    assert rule["topologyKey"] == "kubernetes.io/hostname" and rule["whenUnsatisfiable"] == "ScheduleAnyway"
    assert rule["labelSelector"]["matchLabels"] == CONTROLLER
    assert rule["matchLabelKeys"] == ["pod-template-hash"]
    [wish] = spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert wish["podAffinityTerm"]["topologyKey"] == "topology.kubernetes.io/zone"
    assert wish["podAffinityTerm"]["labelSelector"]["matchLabels"] == CONTROLLER


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


def test_agents_that_lend_usb_devices_have_chown_and_dev_besides(installed):
    """On the cluster of hack/up, by components/usb."""
    base, usb = (template(installed, "DaemonSet", "hostdev-agent", overlay)["spec"]["containers"][0]
                 for overlay in ("base", "overlays/local"))
    assert usb["securityContext"].pop("capabilities") == {"add": ["CHOWN"], "drop": ["ALL"]}
    assert base["securityContext"].pop("capabilities") == {"drop": ["ALL"]}
    assert usb["securityContext"] == base["securityContext"]
    dev = next(mount for mount in usb["volumeMounts"] if mount["name"] == "dev")
    assert not dev.pop("readOnly", False)
    next(mount for mount in base["volumeMounts"] if mount["name"] == "dev").pop("readOnly")
    assert sorted(usb["volumeMounts"], key=str) == sorted(base["volumeMounts"], key=str)


def test_what_is_writable_of_the_node(installed):
    spec = template(installed, "DaemonSet", "hostdev-agent")["spec"]
    folders = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"]}
    mounts = spec["containers"][0]["volumeMounts"]
    assert folders.keys() == {mount["name"] for mount in mounts}
    assert {folders[mount["name"]] for mount in mounts if not mount.get("readOnly")} == {
        "/sys", "/var/lib/hostdev", "/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry",
        "/var/lib/kubelet/plugins/hostdev", "/var/lib/kubelet/plugins/hostdev.io", "/var/run/cdi"}
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
