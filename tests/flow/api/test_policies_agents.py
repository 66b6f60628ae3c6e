"""The fence around an agent on a real API server: it writes what is of its node, and is told so otherwise.

Agents have tokens of their nodes, as in pods.
"""

import uuid

import pytest
import yaml

from cluster import ROOT
from identities import NAMESPACE
from policies import FINALIZER, KINDS, MERGE, RENAMED, VGPU, accepted, claim, device, path, refused
from rest import Rest


@pytest.fixture
def agent_of(identities):
    """agent_of(node) -> the API server, asked by the agent of that node."""
    return lambda node: Rest(identities.agent(node))


def test_the_fence_stands_around_everything_that_an_agent_may_write():
    def resources(rule):
        return {(group, resource) for group in rule["apiGroups"] for resource in rule["resources"]}

    fenced, writable = set(), set()
    for policy in yaml.safe_load_all((ROOT / "manifests/base/policy-agents.yaml").read_text()):
        for rule in policy["spec"].get("matchConstraints", {}).get("resourceRules", []):
            fenced |= resources(rule)
    for role in yaml.safe_load_all((ROOT / "manifests/base/rbac-agent.yaml").read_text()):
        for rule in role.get("rules", []):
            # resourceclaims/driver is no resource: the API server asks for the right to it.
            if set(rule["verbs"]) - {"get", "list", "watch", "associated-node:patch"}:
                writable |= resources(rule)
    assert writable and fenced == writable


@pytest.mark.parametrize("plural", KINDS)
def test_an_agent_makes_changes_and_removes_what_is_of_its_node(agent_of, things, node, plural):
    agent, name = agent_of(node), things.own(plural, f"{node}-{KINDS[plural][1]}")
    accepted(agent.request("PATCH", f"{path(plural, name)}?fieldManager=a&force=true", device(plural, name, node),
                           "application/apply-patch+yaml"))
    accepted(agent.request("PATCH", path(plural, name), {"metadata": {"annotations": {"a": "b"}}}, MERGE))
    said = {"nodeName": node} if KINDS[plural][2] == "status" else {}
    accepted(agent.request("PATCH", path(plural, name, "status"), {"status": said}, MERGE))
    accepted(agent.request("DELETE", path(plural, name)))


@pytest.mark.parametrize("socket, ours", [("2-2", True), ("10-1.2.3", True), ("2", False), ("2-2-2", False), ("b-2", False)])
def test_a_usb_device_whose_name_a_claim_has_is_named_after_its_socket(agent_of, things, node, socket, ours):
    agent, name = agent_of(node), things.own("usbdevices", f"{node}-0951-1666-001002-{socket}")
    answer = agent.request("PATCH", f"{path('usbdevices', name)}?fieldManager=a&force=true", device("usbdevices", name, node),
                           "application/apply-patch+yaml")
    if ours:
        accepted(answer)
    else:
        refused(answer, "not of its node")


OTHERS = [
    pytest.param("{}-b", "{}", id="a node whose name is the beginning of its own"),
    pytest.param("{}", "{}-b", id="a node whose name begins with its own"),
    pytest.param("{}", "{}.b", id="a node whose name goes on with a dot"),
    pytest.param("{}", "other-{}", id="a node of another name"),
    pytest.param("{}" + "y" * 51, "{}" + "y" * 50 + "z", id="a node of another name, too long for a label"),
]


@pytest.mark.parametrize("mine, theirs", OTHERS)
@pytest.mark.parametrize("plural", KINDS)
def test_nothing_of_another_node(agent_of, things, rest, node, plural, mine, theirs):
    mine, theirs = mine.format(node), theirs.format(node)
    agent, name = agent_of(mine), f"{theirs}-{KINDS[plural][1]}"
    words = f"the agent of node '{mine}' may not write {plural}/{name}, which is not of its node"
    refused(agent.request("POST", path(plural), device(plural, name, mine)), words)
    rest_body = device(plural, name, theirs)
    rest_body["metadata"]["labels"] = {}
    things.make(plural, rest_body)
    if KINDS[plural][2] == "status":
        accepted(rest.request("PATCH", path(plural, name, "status"), {"status": {"nodeName": theirs}}, MERGE))
    refused(agent.request("PATCH", path(plural, name), {"metadata": {"annotations": {"a": "b"}}}, MERGE), words)
    refused(agent.request("PATCH", path(plural, name), {"metadata": {"labels": {"nodename": mine}}}, MERGE), words)
    refused(agent.request("PATCH", path(plural, name, "status"), {"status": {"nodeName": mine}}, MERGE), words)
    refused(agent.request("DELETE", path(plural, name)), words)


@pytest.mark.parametrize("plural", [plural for plural, (_, _, said) in KINDS.items() if said == "status"])
def test_an_agent_removes_what_somebody_made_for_its_node_and_gave_no_status(agent_of, things, rest, node, plural):
    name = things.make(plural, device(plural, f"by-hand-{node}", node))
    words = f"may not write {plural}/{name}, which is not of its node"
    refused(agent_of("elsewhere").request("DELETE", path(plural, name)), words)
    refused(agent_of(node).request("PATCH", path(plural, name), {"metadata": {"annotations": {"a": "b"}}}, MERGE), words)
    accepted(rest.request("PATCH", path(plural, name, "status"), {"status": {"nodeName": "elsewhere"}}, MERGE))
    refused(agent_of(node).request("DELETE", path(plural, name)), words)
    accepted(rest.request("PATCH", path(plural, name, "status"), {"status": {"nodeName": ""}}, MERGE))
    accepted(agent_of(node).request("DELETE", path(plural, name)))


@pytest.mark.parametrize("plural", KINDS)
def test_an_agent_does_not_pass_its_own_for_another_nodes(agent_of, things, node, plural):
    agent = agent_of(node)
    name, other = f"{node}-{KINDS[plural][1]}", "elsewhere"
    body = device(plural, name, node)
    body["metadata"]["labels"]["nodename"] = other
    refused(agent.request("POST", path(plural), body), f"{plural}/{name} the label nodename of another node")
    things.device(plural, node)
    refused(agent.request("PATCH", path(plural, name), {"metadata": {"labels": {"nodename": other}}}, MERGE),
            f"{plural}/{name} the label nodename of another node")
    if KINDS[plural][2] == "status":
        refused(agent.request("PATCH", path(plural, name, "status"), {"status": {"nodeName": other}}, MERGE),
                f"may not write another node into {plural}/{name}")


def test_no_object_is_made_with_another_node_in_its_spec(agent_of, node):
    for plural in [plural for plural, (_, _, said) in KINDS.items() if said == "spec"]:
        body = device(plural, f"{node}-{KINDS[plural][1]}", node)
        body["spec"]["nodeName"] = "elsewhere"
        refused(agent_of(node).request("POST", path(plural), body))


@pytest.mark.parametrize("interface", ["enp4s0f0np0", "p1.1", "eth-1-5fc495ef8cc6a078", "af64724c8602eb6e"])
def test_a_card_of_any_interface_is_of_its_node(agent_of, things, node, interface):
    """As lib/api/names.h names them; another node's whose name goes on would be taken for one of this node otherwise."""
    plural = "sriovnetworkdevices"
    name = things.own(plural, f"{node}-{interface}")
    accepted(agent_of(node).request("POST", path(plural), device(plural, name, node)))
    refused(agent_of(f"{node}-b").request("DELETE", path(plural, name)), "not of its node")


def test_a_card_that_somebody_named_freely_is_served_by_its_node_only(agent_of, things, node):
    """An SRIOVNetworkDevice may have any name: the label, and later spec.nodeName, says whose it is."""
    name = f"free-{node}"
    things.make("sriovnetworkdevices", {
        "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "SRIOVNetworkDevice",
        "metadata": {"name": name, "labels": {"nodename": node}}, "spec": {"address": "0000:04:00.0"}})
    other, own = agent_of(f"{node}-b"), agent_of(node)
    take = {"spec": {"nodeName": f"{node}-b"}, "metadata": {"labels": {"nodename": f"{node}-b"}}}
    refused(other.request("PATCH", path("sriovnetworkdevices", name), take, MERGE), "not of its node")
    accepted(own.request("PATCH", path("sriovnetworkdevices", name), {"spec": {"nodeName": node}}, MERGE))
    accepted(own.request("PATCH", path("sriovnetworkdevices", name, "status"), {"status": {"status": "x"}}, MERGE))
    refused(other.request("DELETE", path("sriovnetworkdevices", name)), "not of its node")


@pytest.mark.parametrize("length", [63, 64, 235, 253])
def test_a_node_name_of_any_length_writes_its_own(agents, machine, rest, length):
    """The agent itself makes the names here, which are cut where they are too long."""
    name = ("n" * (length - 1) + "z") if length <= 64 else ".".join(["y" * 62] * 4)[:length - 2] + "zz"
    agent = agents(machine, name).start()
    agent.wait_converged()
    assert not agent.lines("403 forbidden")


def test_an_agent_without_a_node_writes_nothing(identities, node):
    agent = Rest(identities.kubeconfig("unbound", {"token": identities.token("hostdev-agent")}))
    for plural in KINDS:
        body = device(plural, f"{node}-{KINDS[plural][1]}", node)
        refused(agent.request("POST", path(plural), body), "this token of the agent names no node",
                "--bound-object-kind Node --bound-object-name NODE")
    # As if its name began with nothing.
    refused(agent.request("POST", path("pcidevices"), device("pcidevices", "000001000", "")), "names no node")


def test_a_pod_says_its_node(identities, rest, things, node):
    """What the kubelet gives to a pod: a token that is bound to the pod."""
    identities.add_node(node)
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": node}, "spec": {
        "nodeName": node, "serviceAccountName": "hostdev-agent", "automountServiceAccountToken": False,
        "containers": [{"name": "agent", "image": "none"}]}}
    accepted(rest.request("POST", pods, pod))
    try:
        made = accepted(rest.request(
            "POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/hostdev-agent/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": node}}}))
        agent = Rest(identities.kubeconfig("pod", {"token": made["status"]["token"]}))
        name = things.own("pcidevices", f"{node}-000001000")
        accepted(agent.request("POST", path("pcidevices"), device("pcidevices", name, node)))
        refused(agent.request("POST", path("pcidevices"), device("pcidevices", "b-000001000", "b")), "not of its node")
    finally:
        rest.request("DELETE", f"{pods}/{node}?gracePeriodSeconds=0")


def test_an_agent_marks_and_answers_the_claims_of_its_node_only(agent_of, things, node):
    name, agent, other = f"{node}-000001000", agent_of(node), agent_of(f"{node}-b")
    things.make("pcideviceclaims", claim(name))
    mark = {"metadata": {"finalizers": [FINALIZER]}, "spec": {"nodeName": node, "address": "0000:01:00.0"}}
    tell = {"status": {"passthroughEnabled": True}}
    theirs = {"metadata": {"finalizers": [FINALIZER]}, "spec": {"nodeName": f"{node}-b"}}
    refused(other.request("PATCH", path("pcideviceclaims", name), theirs, MERGE), "not of its node")
    refused(other.request("PATCH", path("pcideviceclaims", name, "status"), tell, MERGE), "not of its node")
    refused(agent.request("PATCH", path("pcideviceclaims", name), theirs, MERGE), "another node into")
    accepted(agent.request("PATCH", path("pcideviceclaims", name), mark, MERGE))
    accepted(agent.request("PATCH", path("pcideviceclaims", name, "status"), tell, MERGE))
    refused(other.request("PATCH", path("pcideviceclaims", name, "status"), tell, MERGE), "not of its node")
    accepted(agent.request("PATCH", path("pcideviceclaims", name), {"metadata": {"finalizers": None}}, MERGE))

    # A name that is none of the node's devices, but the node: its agent says what is wrong.
    wrong = things.make("pcideviceclaims", claim(f"wrong-{node}", nodeName=node))
    accepted(agent.request("PATCH", path("pcideviceclaims", wrong, "status"), tell, MERGE))
    refused(other.request("PATCH", path("pcideviceclaims", wrong, "status"), tell, MERGE), "not of its node")


def test_a_usb_claim_stays_with_the_node_that_answered_first(agent_of, things, node):
    name, agent, other = f"{node}-0951-1666-001002", agent_of(node), agent_of(f"{node}-b")
    things.make("usbdeviceclaims", claim(name, "usbdeviceclaims"))

    def tell(who, where):
        return who.request("PATCH", path("usbdeviceclaims", name, "status"), {"status": {"nodeName": where}}, MERGE)

    refused(tell(other, f"{node}-b"), "not of its node")
    refused(tell(agent, f"{node}-b"), "another node into")
    accepted(tell(agent, node))
    refused(tell(other, node), "not of its node")


def test_an_agent_claims_and_releases_vgpus_and_nothing_else(agent_of, things, rest, node):
    agent, name = agent_of(node), f"{node}-000008004"
    words = f"pcideviceclaims/{name}, which is not the claim of a vGPU"
    refused(agent.request("POST", path("pcideviceclaims"), claim(name, nodeName=node)), words)
    vgpu = claim(name, nodeName=node, userName="admin", annotations={VGPU: "true", RENAMED: "nvidia.com/A"})
    refused(agent_of(f"{node}-b").request("POST", path("pcideviceclaims"), vgpu), "not of its node")
    accepted(agent.request("POST", path("pcideviceclaims"), vgpu))
    accepted(agent.request("DELETE", path("pcideviceclaims", name)))
    things.make("pcideviceclaims", claim(name))
    refused(agent.request("DELETE", path("pcideviceclaims", name)), words)


def test_in_the_configs_status_an_agent_writes_its_own_entry(agent_of, identities, things, rest, node):
    agent, own, config = agent_of(node), f"{node}-b", path("hostdeviceconfigs", "default", "status")
    rest.request("DELETE", path("hostdeviceconfigs", "default"))
    things.make("hostdeviceconfigs", {"apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig",
                                      "metadata": {"name": "default"}, "spec": {}})

    def tell(who, generation, *nodes):
        return who.request("PATCH", config, {"status": {
            "observedGeneration": generation,
            "nodes": [{"node": one, "observedGeneration": 1} for one in nodes]}}, MERGE)

    words = "may not change entries of other nodes in the status of hostdeviceconfigs/default"
    accepted(tell(agent_of(own), 1, own))
    refused(tell(agent, 1, node), words)
    refused(tell(agent, 1, own, "third"), words)
    theirs = {"status": {"nodes": [{"node": own, "observedGeneration": 2}]}}
    refused(agent.request("PATCH", config, theirs, MERGE), words)
    accepted(tell(agent, 1, own, node))
    accepted(tell(agent, 1, own))
    refused(tell(agent, 1), words)
    refused(tell(agent, 2), "may not report generation 2", "it is at 1")
    refused(tell(agent, 0, own), "may not report generation 0")
    accepted(rest.request("PATCH", path("hostdeviceconfigs", "default"), {"spec": {"usb": []}}, MERGE))
    accepted(tell(agent, 2))
    unbound = Rest(identities.kubeconfig("unbound", {"token": identities.token("hostdev-agent")}))
    refused(tell(unbound, 3), "this token of the agent names no node")


def test_an_agent_speaks_for_no_other_in_events(agent_of, rest, node):
    agent = agent_of(node)

    def event(host, component="hostdev-agent", ns="default"):
        return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"e-{uuid.uuid4().hex}", "namespace": ns},
                "involvedObject": {"kind": "PCIDevice", "name": "x"}, "reason": "R", "message": "m", "type": "Normal",
                "source": {"component": component, "host": host}, "reportingComponent": component,
                "reportingInstance": host}

    events = "/api/v1/namespaces/default/events"
    own = accepted(agent.request("POST", events, event(node)))["metadata"]["name"]
    accepted(agent.request("PATCH", f"{events}/{own}", {"count": 2}, MERGE))
    words = f"the agent of node '{node}' may not write an event of another reporter"
    refused(agent.request("POST", events, event("elsewhere")), words)
    refused(agent.request("POST", events, event(node, "kubelet")), words)
    foreign = accepted(rest.request("POST", events, event("elsewhere")))["metadata"]["name"]
    refused(agent.request("PATCH", f"{events}/{foreign}", {"source": {"host": node}}, MERGE), words)
    status, answer = agent.request("POST", "/api/v1/namespaces/kube-system/events", event(node, ns="kube-system"))
    assert status == 403 and "cannot create resource" in answer["message"]
