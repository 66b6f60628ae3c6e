"""The policies about the controller's own webhook configurations and about claims on a real API server: it may say whom
API servers trust, and neither what they ask about nor whom they ask; and it may end a claim, and not change it.

That it writes caBundle and all goes on: test_webhook.py. The policies about KubeVirt: test_kubevirt.py.
"""

import base64
import copy

import pytest
import yaml

from cluster import ROOT, wait_until
from policies import FINALIZER, MERGE, RENAMED, VGPU, accepted, claim, path, refused
from rest import Rest

HOOKS = "/apis/admissionregistration.k8s.io/v1"
KINDS = {"ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
         "MutatingWebhookConfiguration": "mutatingwebhookconfigurations"}
PATCH = "application/json-patch+json"
OWN = "hostdev's controller may change nothing of its webhook configurations but caBundle"
META = "hostdev's controller may not change labels, annotations, finalizers and owners of its webhook configurations"
CA = base64.b64encode(b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n").decode()
CONFIGURATIONS = [one for one in yaml.safe_load_all((ROOT / "manifests/base/webhook.yaml").read_text())
                  if one["kind"] in KINDS]


@pytest.fixture
def token(identities):
    """The API server as the controller's ServiceAccount."""
    return Rest(identities.kubeconfig("fenced", {"token": identities.token("hostdev-controller")}))


@pytest.fixture(params=CONFIGURATIONS, ids=lambda one: one["kind"])
def hooks(request, installed, rest, token):
    """The path of a configuration of the manifest, about a kind that there is not, so that nobody is asked."""
    body = copy.deepcopy(request.param)
    for hook in body["webhooks"]:
        for rule in hook["rules"]:
            rule["apiGroups"] = ["nowhere.example.com"]
    collection = f"{HOOKS}/{KINDS[body['kind']]}"
    at = f"{collection}/hostdev-webhook"
    remove(rest, at)
    accepted(rest.request("POST", collection, body))
    wait_in_force(token, at)
    yield at
    remove(rest, at)


def wait_in_force(token, at):
    """The API server looks for policies once a second: the fixture `installed` waits for that of the agents alone."""
    change = {"metadata": {"labels": {"a": "b"}}}
    wait_until(lambda: token.request("PATCH", f"{at}?dryRun=All", change, MERGE)[0] == 403, 30, "the policy")


def remove(rest, at):
    """Also where a finalizer was let in, which would keep the object and fail the rows behind it in their set-up."""
    rest.request("PATCH", at, {"metadata": {"finalizers": None}}, MERGE)
    rest.request("DELETE", at)


def put(path, value):
    return {"op": "add", "path": path, "value": value}


def gone(path):
    return {"op": "remove", "path": path}


FIRST = "/webhooks/0"
SERVICE = {"name": "hostdev-webhook", "namespace": "kube-system", "path": "/validate"}
EVERYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
NOBODY = {"name": "x.hostdev.io", "sideEffects": "None", "admissionReviewVersions": ["v1"],
          "clientConfig": {"url": "https://example.com/x"}}
CHANGES = [
    pytest.param([put(f"{FIRST}/rules/0", EVERYTHING)], OWN, id="asked about everything"),
    pytest.param([put(f"{FIRST}/rules", [])], OWN, id="asked about nothing"),
    pytest.param([gone(f"{FIRST}/clientConfig/service"), put(f"{FIRST}/clientConfig/url", "https://example.com/x")], OWN,
                 id="another url"),
    pytest.param([put(f"{FIRST}/clientConfig/service", SERVICE)], OWN, id="another service"),
    pytest.param([put(f"{FIRST}/clientConfig/service/port", 444), put(f"{FIRST}/clientConfig/caBundle", CA)], OWN,
                 id="another port beside caBundle"),
    pytest.param([put(f"{FIRST}/failurePolicy", "Ignore")], OWN, id="failurePolicy"),
    pytest.param([gone(f"{FIRST}/matchConditions")], OWN, id="no matchConditions"),
    pytest.param([put(f"{FIRST}/namespaceSelector", {"matchLabels": {"a": "b"}})], OWN, id="a namespaceSelector"),
    pytest.param([put(f"{FIRST}/timeoutSeconds", 30)], OWN, id="timeoutSeconds"),
    pytest.param([put(f"{FIRST}/name", "y.hostdev.io")], OWN, id="a name"),
    pytest.param([put("/webhooks/-", NOBODY)], OWN, id="one more webhook"),
    pytest.param([gone(FIRST)], OWN, id="one webhook less"),
    pytest.param([gone("/webhooks")], OWN, id="no webhooks"),
    pytest.param([put("/metadata/labels/a", "b")], META, id="labels"),
    pytest.param([put("/metadata/annotations", {"a": "b"})], META, id="annotations"),
    pytest.param([put("/metadata/finalizers", ["example.com/x"])], META, id="finalizers"),
    pytest.param([put("/metadata/ownerReferences", [{"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "x"}])], META,
                 id="owners"),
]


@pytest.mark.parametrize("patch, words", CHANGES)
def test_nothing_else_of_its_configurations(hooks, token, patch, words):
    refused(token.request("PATCH", hooks, patch, PATCH), words)


def test_whom_api_servers_trust(hooks, token, rest):
    for index, _ in enumerate(rest.get(hooks)["webhooks"]):
        accepted(token.request("PATCH", hooks, [put(f"/webhooks/{index}/clientConfig/caBundle", CA)], PATCH))
    before = rest.get(hooks)
    accepted(token.request("PATCH", hooks, [gone(f"{FIRST}/clientConfig/caBundle")], PATCH))
    after = rest.get(hooks)
    del before["webhooks"][0]["clientConfig"]["caBundle"]
    assert after["webhooks"] == before["webhooks"]


def test_neither_may_it_make_nor_delete_one(hooks, token, rest):
    body = rest.get(hooks)
    del body["metadata"]["resourceVersion"]
    assert token.request("DELETE", hooks)[0] == 403
    assert token.request("POST", hooks.rsplit("/", 1)[0], body)[0] == 403


def test_others_are_not_asked_about(hooks, rest):
    accepted(rest.request("PATCH", hooks, [put(f"{FIRST}/timeoutSeconds", 7)], PATCH))


CLAIMS = {"pcideviceclaims": FINALIZER, "usbdeviceclaims": "wrangler.cattle.io/usbClaimClient-device-claim-remove"}
WHOLE = "hostdev's controller may change nothing of a claim but its finalizers"
HELD = "hostdev's controller may only remove hostdev's finalizer, from a claim that is being deleted"
OWNER = [{"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "x"}]


@pytest.fixture(params=CLAIMS)
def held(request, things, rest, token, node):
    """The path of a user's claim, as its agent has marked it, and the finalizer."""
    rest_of_name = {"pcideviceclaims": "000001000", "usbdeviceclaims": "0951-1666-001002"}[request.param]
    body = claim(f"{node}-{rest_of_name}", request.param)
    body["metadata"]["finalizers"] = ["example.com/theirs", CLAIMS[request.param]]
    at = path(request.param, things.make(request.param, body))
    wait_in_force(token, at)
    yield at, CLAIMS[request.param]
    rest.request("PATCH", at, {"metadata": {"finalizers": None}}, MERGE)


@pytest.mark.parametrize("patch, words", [
    pytest.param({"metadata": {"annotations": {RENAMED: "example.com/x"}}}, WHOLE, id="another resource"),
    pytest.param({"metadata": {"annotations": {VGPU: "true"}}}, WHOLE, id="left on its driver"),
    pytest.param({"metadata": {"labels": {"a": "b"}}}, WHOLE, id="labels"),
    pytest.param({"metadata": {"ownerReferences": OWNER}}, WHOLE, id="owners"),
    pytest.param({"spec": {"userName": "somebody"}}, WHOLE, id="an owner"),
    pytest.param({"metadata": {"finalizers": None}}, HELD, id="no finalizers"),
    pytest.param({"metadata": {"finalizers": ["example.com/theirs"]}}, HELD, id="without the agent's, of a living one"),
])
def test_a_claim_stays_as_its_user_wants_it(held, token, patch, words):
    refused(token.request("PATCH", held[0], patch, MERGE), words)


def test_a_claim_may_end(held, token, rest):
    at, finalizer = held
    assert token.request("DELETE", at)[0] == 200
    refused(token.request("PATCH", at, {"metadata": {"finalizers": [finalizer]}}, MERGE), HELD)  # somebody else's
    accepted(token.request("PATCH", at, {"metadata": {"finalizers": ["example.com/theirs"]}}, MERGE))
    accepted(token.request("PATCH", f"{at}/status", {"status": {"conditions": []}}, MERGE))
