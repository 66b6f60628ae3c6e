"""The fences of components/hami on a real API server: what agents may write of Nodes and pods, and who may write the
annotations by which HAMi's scheduler tells a node what a pod gets.
"""

import uuid

import pytest
import yaml

from cluster import ROOT, wait_until
from policies import MERGE, accepted, refused
from rest import Rest

FOLDER = ROOT / "manifests/components/hami"
PODS = "/api/v1/namespaces/default/pods"
KINDS = {"ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
         "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
         "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
         "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"}
CHOSEN = "hami.io/vgpu-devices-to-allocate"
PHASE = "hami.io/bind-phase"
LOCK = "hami.io/mutex.lock"
REGISTER = "hami.io/node-nvidia-register"


def annotated(**annotations):
    return {"metadata": {"annotations": annotations}}


@pytest.fixture(scope="module")
def fences(installed, rest):
    """All objects of the component, in force."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    made = []
    status, answer = rest.request("POST", accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    assert status in (201, 409), answer  # a controller manager of other tests of this cluster makes it, too
    if status == 201:
        made.append(f"{accounts}/default")
    for path in sorted(FOLDER.glob("*.yaml")):
        for body in yaml.safe_load_all(path.read_text()):
            if body["kind"] in KINDS:
                accepted(rest.request("POST", KINDS[body["kind"]], body))
                made.append(f"{KINDS[body['kind']]}/{body['metadata']['name']}")
    probe = pod("probe", annotations={PHASE: "allocating"})
    wait_until(lambda: "only HAMi's scheduler" in str(rest.request("POST", f"{PODS}?dryRun=All", probe)[1]), 30,
               "the fence of pods")
    yield
    for one in made:
        rest.remove(one)


def pod(name, annotations=None, gpus=0, init_gpus=0, **spec):
    def container(name, count):
        return {"name": name, "image": "i", "resources": {"limits": {"nvidia.com/gpu": str(count)} if count else {}}}

    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"containers": [container("c", gpus)],
                     **({"initContainers": [container("i", init_gpus)]} if init_gpus else {}), **spec}}


class World:
    """The administrator's pods and the scheduler's token."""

    def __init__(self, rest, identities, installed):
        self.rest, self.identities, self.installed = rest, identities, installed
        self.made = []
        self.account("kube-system", "hami-scheduler")

    def account(self, namespace, name):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        status, answer = self.rest.request("POST", path, {"apiVersion": "v1", "kind": "ServiceAccount",
                                                          "metadata": {"name": name}})
        assert status in (201, 409), answer
        if status == 201:
            self.made.append(f"{path}/{name}")

    def scheduler(self, namespace="kube-system"):
        """HAMi's scheduler, with all rights, as its chart gives it."""
        self.account(namespace, "hami-scheduler")
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/hami-scheduler"
        token = accepted(self.rest.request("POST", f"{path}/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}))
        name = f"test-hami-{namespace}"
        status, answer = self.rest.request("POST", KINDS["ClusterRoleBinding"], {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "hami-scheduler", "namespace": namespace}]})
        assert status in (201, 409), answer
        self.made.append(f"{KINDS['ClusterRoleBinding']}/{name}")
        config = self.identities.kubeconfig(f"hami-{namespace}", {"token": token["status"]["token"]})
        asked = Rest(config)
        wait_until(lambda: asked.request("GET", "/api/v1/nodes")[0] == 200, 30, "the scheduler's rights")
        return asked

    def pod(self, node=None, **more):
        """One on the node, as HAMi's scheduler has left it."""
        name = f"p-{uuid.uuid4().hex[:8]}"
        accepted(self.rest.request("POST", PODS, pod(name, schedulerName="hami-scheduler", gpus=1, **more)))
        self.made.append(f"{PODS}/{name}")
        if node:
            scheduler = self.scheduler()
            accepted(scheduler.request("PATCH", f"{PODS}/{name}", annotated(
                **{CHOSEN: "GPU-a,NVIDIA,3000,30:;", PHASE: "allocating"}), MERGE))
            status, answer = scheduler.request("POST", f"{PODS}/{name}/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                "target": {"apiVersion": "v1", "kind": "Node", "name": node}})
            assert status == 201, answer
        return f"{PODS}/{name}"

    def close(self):
        for one in self.made:
            self.rest.remove(one)


@pytest.fixture
def world(fences, rest, identities, installed):
    made = World(rest, identities, installed)
    yield made
    made.close()


@pytest.fixture
def agent_of(identities):
    return lambda node: Rest(identities.agent(node))


# --- agents -----------------------------------------------------------------------------------------------------


def test_an_agent_writes_its_annotations_of_its_node(world, rest, agent_of, node):
    agent, path = agent_of(node), f"/api/v1/nodes/{node}"
    accepted(agent.request("PATCH", path, annotated(**{REGISTER: "[]", "hami.io/node-handshake": "Reported x"}), MERGE))
    accepted(rest.request("PATCH", path, annotated(**{LOCK: "2026-11-27T20:00:00Z,a,b"}), MERGE))
    accepted(agent.request("PATCH", path, annotated(**{REGISTER: "[{}]"}), MERGE))
    accepted(agent.request("PATCH", path, annotated(**{LOCK: None}), MERGE))


@pytest.mark.parametrize("body, words", [
    (annotated(a="b"), "may not write other annotations of nodes/"),
    (annotated(**{"hami.io/device-cordon": "GPU-a"}), "may not write other annotations of nodes/"),
    (annotated(**{LOCK: "2026-11-27T20:00:00Z,a,b"}), "may only remove the lock of nodes/"),
    ({"metadata": {"labels": {"a": "b"}}}, "may write nothing but annotations of nodes/"),
    ({"spec": {"unschedulable": True}}, "may write nothing but annotations of nodes/"),
    ({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, "may write nothing but annotations of nodes/"),
    ({"metadata": {"finalizers": ["a.example/b"]}}, "may write nothing but annotations of nodes/"),
])
def test_and_nothing_else_of_it(world, agent_of, node, body, words):
    refused(agent_of(node).request("PATCH", f"/api/v1/nodes/{node}", body, MERGE), f"the agent of node '{node}' {words}")


def test_nor_does_it_remove_what_others_wrote(world, rest, agent_of, node):
    agent, path = agent_of(node), f"/api/v1/nodes/{node}"
    accepted(rest.request("PATCH", path, annotated(a="b"), MERGE))
    refused(agent.request("PATCH", path, annotated(a=None), MERGE), "may not write other annotations of nodes/")
    accepted(agent.request("PATCH", path, annotated(**{REGISTER: "[]"}), MERGE))


def test_nothing_of_another_node(world, identities, agent_of, node):
    identities.add_node(f"{node}-b")
    refused(agent_of(node).request("PATCH", f"/api/v1/nodes/{node}-b", annotated(**{REGISTER: "[]"}), MERGE),
            f"the agent of node '{node}' may not write nodes/{node}-b, which is not of its node")


def test_a_token_without_a_node_writes_nothing(world, identities, node):
    identities.add_node(node)
    unbound = Rest(identities.kubeconfig("unbound", {"token": identities.token("hostdev-agent")}))
    refused(unbound.request("PATCH", f"/api/v1/nodes/{node}", annotated(**{REGISTER: "[]"}), MERGE), "is not of its node")


def test_an_agent_ends_what_the_scheduler_began_for_a_pod_of_its_node(world, identities, agent_of, node):
    agent = agent_of(node)
    path = world.pod(node)
    accepted(agent.request("PATCH", path, annotated(**{CHOSEN: ";", PHASE: "success"}), MERGE))


@pytest.mark.parametrize("body, words", [
    (annotated(a="b"), "may not write other annotations of pods/"),
    (annotated(**{"hami.io/vgpu-node": "x"}), "may not write other annotations of pods/"),
    ({"metadata": {"labels": {"a": "b"}}}, "may write nothing but annotations of pods/"),
    ({"spec": {"activeDeadlineSeconds": 1}}, "may write nothing but annotations of pods/"),
    ({"spec": {"containers": [{"name": "c", "image": "evil"}]}}, "may write nothing but annotations of pods/"),
])
def test_and_writes_nothing_else_of_it(world, agent_of, node, body, words):
    agent = agent_of(node)
    path = world.pod(node)
    status, answer = agent.request("PATCH", path, body, MERGE)
    assert status in (403, 422), answer  # containers: what is refused first is a field that nobody may change so
    if status == 403:
        refused((status, answer), words)


def test_nothing_of_a_pod_of_another_node(world, identities, agent_of, node):
    identities.add_node(f"{node}-b")
    path = world.pod(f"{node}-b")
    refused(agent_of(node).request("PATCH", path, annotated(**{PHASE: "success"}), MERGE), "which is not of its node")


def test_nor_of_a_pod_without_a_node(world, agent_of, node):
    path = world.pod()
    refused(agent_of(node).request("PATCH", path, annotated(**{PHASE: "success"}), MERGE), "which is not of its node")


def test_agents_still_do_not_make_or_remove_pods(world, agent_of, node):
    agent, path = agent_of(node), world.pod()
    assert agent.request("POST", PODS, pod("x"))[0] == 403
    assert agent.request("DELETE", path)[0] == 403
    assert agent.request("GET", PODS)[0] == 403


# --- everybody else -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [CHOSEN, PHASE, "hami.io/vgpu-devices-allocated", "hami.io/vgpu-node", "hami.io/bind-time",
                                 "hami.io/vgpu-time", "hami.io/vgpu-mig-allocations"])
def test_nobody_else_writes_the_schedulers_annotations(world, rest, identities, node, key):
    identities.add_node(node)
    words = "only HAMi's scheduler and the nodes write the annotations "
    refused(rest.request("POST", PODS, pod("forged", annotations={key: "x"})), words)
    path = world.pod(node)
    refused(rest.request("PATCH", path, annotated(**{key: "x"}), MERGE), words)
    if key in (CHOSEN, PHASE):
        refused(rest.request("PATCH", path, annotated(**{key: None}), MERGE), words)
    accepted(rest.request("PATCH", path, annotated(a="b"), MERGE))


def test_a_service_account_of_that_name_elsewhere_is_not_the_scheduler(world, identities, node):
    identities.add_node(node)
    path = world.pod(node)
    refused(world.scheduler("default").request("PATCH", path, annotated(**{PHASE: "success"}), MERGE),
            "only HAMi's scheduler and the nodes")


@pytest.mark.parametrize("spec", [
    {"gpus": 1},
    {"init_gpus": 1},
    {"gpus": 1, "schedulerName": "default-scheduler"},
    {"gpus": 1, "schedulerName": "hami-scheduler", "nodeName": "somewhere"},
])
def test_gpus_are_for_pods_of_hamis_scheduler(world, rest, spec):
    refused(rest.request("POST", PODS, pod("stranger", **spec)), "a pod that asks for nvidia.com/gpu must have "
            "schedulerName hami-scheduler")


def test_other_pods_are_left_alone(world, rest):
    accepted(rest.request("POST", f"{PODS}?dryRun=All", pod("plain", nodeName="somewhere")))
    accepted(rest.request("POST", f"{PODS}?dryRun=All", pod("plain", gpus=1, schedulerName="hami-scheduler")))
