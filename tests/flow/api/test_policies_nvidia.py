"""The fence of components/nvidia on a real API server: what agents may write of Nodes. And with that of components/hami, which
allows the same labels.
"""

import pytest
import yaml

from cluster import ROOT, wait_until
from policies import MERGE, accepted, refused
from rest import Rest

KINDS = {"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
         "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
         "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings"}
NAMES = ("rbac", "policy-agents")
RECORD = "hostdev.io/gpu-labels"


def labelled(**labels):
    return {"metadata": {"labels": {f"nvidia.com/{key}": value for key, value in labels.items()}}}


def annotated(**annotations):
    return {"metadata": {"annotations": annotations}}


@pytest.fixture(scope="module", params=[("nvidia",), ("nvidia", "hami")], ids=["alone", "with HAMi"])
def fences(installed, rest, request):
    made = []
    for component in request.param:
        for name in NAMES:
            path = ROOT / f"manifests/components/{component}/{name}.yaml"
            for body in yaml.safe_load_all(path.read_text()):
                group = body["apiVersion"].split("/")[0]
                one = f"/apis/{group}/v1/{KINDS[body['kind']]}"
                accepted(rest.request("POST", one, body))
                made.append(f"{one}/{body['metadata']['name']}")
    yield request.param
    for one in made:
        rest.remove(one)


@pytest.fixture
def path(node):
    return f"/api/v1/nodes/{node}"


@pytest.fixture
def agent(fences, identities, rest, node, path):
    """An agent's client; the fences are in force."""
    client = Rest(identities.agent(node))
    refusal = labelled(**{"gpu.present": "true"})
    wait_until(lambda: client.request("PATCH", f"{path}?dryRun=All", labelled(**{"gpu.count": "1"}), MERGE)[0] == 200, 30,
               "the right")
    wait_until(lambda: "denied request" in str(client.request("PATCH", f"{path}?dryRun=All", refusal, MERGE)[1]), 30,
               "the fence")
    return client


@pytest.mark.parametrize("key", [
    "gpu.count", "gpu.product", "gpu.memory", "gpu.replicas", "gpu.family", "gpu.compute.major", "gpu.machine", "gpu.mode",
    "gpu.clique", "gpu.sharing-strategy", "cuda.driver.rev", "cuda.driver-version.full", "cuda.runtime-version.minor",
    "mig.capable", "mig.strategy", "mps.capable", "mig-1g.5gb.me.count", "mig-1g.5gb.slices.gi", "gpu.engines.copy"])
def test_an_agent_labels_its_node(agent, path, key):
    body = labelled(**{key: "1"})
    body["metadata"]["annotations"] = {RECORD: "{}"}
    accepted(agent.request("PATCH", path, body, MERGE))
    accepted(agent.request("PATCH", path, labelled(**{key: "2"}), MERGE))
    accepted(agent.request("PATCH", path, labelled(**{key: None}), MERGE))


@pytest.mark.parametrize("body", [
    labelled(**{"gpu.present": "true"}), labelled(**{"gpu.deploy.driver": "false"}), labelled(**{"mig.config": "all"}),
    labelled(**{"gpu.workload.config": "vm-passthrough"}), labelled(**{"device-plugin.config": "a"}),
    labelled(**{"gfd.timestamp": "1"}), {"metadata": {"labels": {"a": "b"}}},
    {"metadata": {"labels": {"xnvidia.com/gpu.count": "1"}}}, annotated(a="b"),
    {"spec": {"unschedulable": True}}, {"metadata": {"finalizers": ["a.example/b"]}}],
    ids=lambda body: str(body)[:60])
def test_and_nothing_else_of_it(agent, path, node, body):
    refused(agent.request("PATCH", path, body, MERGE), f"the agent of node '{node}' may ")


def test_nor_does_it_remove_what_others_wrote(agent, rest, path, node):
    accepted(rest.request("PATCH", path, {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}, MERGE))
    refused(agent.request("PATCH", path, {"metadata": {"labels": {"a": None}}}, MERGE), f"the agent of node '{node}' may ")
    refused(agent.request("PATCH", path, annotated(c=None), MERGE), f"the agent of node '{node}' may ")


def test_another_node_is_not_its(agent, identities, node):
    identities.agent(f"{node}-b")
    refused(agent.request("PATCH", f"/api/v1/nodes/{node}-b", labelled(**{"gpu.count": "1"}), MERGE),
            f"the agent of node '{node}' may not write nodes/{node}-b")
