"""The policies about claims on a real API server: what they refuse, in which words, and what they let pass.

People have client certificates of their own.
"""

import pytest

from cluster import wait_until
from identities import NAMESPACE, Identities
from policies import (
    CRITICAL, FINALIZER, KINDS, MERGE, RENAMED, VGPU, accepted, binding, claim, device, path, refused, role,
)
from rest import Rest

LENT, OTHER = "lent-000001000", "lent-000002000"
LENT_USB = "lent-0951-1666-001002"
GC = "system:serviceaccount:kube-system:generic-garbage-collector"


ROLES = [
    role("test-lent", (["pcidevices"], ["claim"], [LENT]), (["usbdevices"], ["claim"], [LENT_USB])),
    role("test-group", (["pcidevices"], ["claim-group"], [LENT])),
    role("test-override", (["pcidevices"], ["override"], [LENT])),
    role("test-manage", (["pcidevices"], ["claim", "manage"], [LENT])),
    role("test-collection", (["pcideviceclaims"], ["deletecollection"], None)),
]
PEOPLE = {
    "alice": ["hostdev-user", "test-lent"],  # who is lent one PCI device and one USB device
    "bob": ["hostdev-user", "test-lent"],  # who is lent the same ones
    "carol": ["hostdev-user"],  # who is lent nothing
    "dora": ["hostdev-user", "test-lent", "test-group"],
    "erik": ["hostdev-user", "test-lent", "test-override"],
    "fred": ["hostdev-user", "test-manage"],
    "gina": ["hostdev-claim"],
    "hugo": ["hostdev-admin"],
    "ines": ["hostdev-view"],
    "joan": ["hostdev-user", "test-collection"],
}


@pytest.fixture(scope="module")
def people(installed, rest, tmp_path_factory):
    """The API server as each of PEOPLE sees it."""
    objects = ROLES + [binding(user, name) for user, names in PEOPLE.items() for name in names]
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    installed.kubectl("apply", "-f", "-", input=listed)
    made = Identities(installed, rest, tmp_path_factory.mktemp("people"))
    people = {name: Rest(made.user(name)) for name in PEOPLE}
    dry = path("pcideviceclaims") + "?dryRun=All"
    wait_until(lambda: "may not claim" in str(people["carol"].request("POST", dry, claim(LENT))), 30, "the policy")
    for name in ("alice", "bob", "dora", "erik", "fred", "gina", "hugo"):
        wait_until(lambda name=name: people[name].request("POST", dry, claim(LENT))[0] == 201, 30, "the roles")
    yield people
    installed.kubectl("delete", "-f", "-", input=listed)


@pytest.fixture
def claims(things):
    """claims(owner, ...) makes a claim of the lent device."""
    def make(owner="alice", name=LENT, plural="pcideviceclaims", **parts):
        return things.make(plural, claim(name, plural, userName=owner, **parts))
    return make


NO_VERB = "ask an administrator for the verb {} on it"
CREATIONS = [
    # who, the claim, what they are told; None: nothing is refused
    pytest.param("alice", claim(LENT), None, id="a device that is lent"),
    pytest.param("alice", claim(LENT, userName="alice"), None, id="in one's own name"),
    pytest.param("alice", claim(LENT, disableResourcePooling=True, driver="mlx5_vfio_pci"), None, id="with options"),
    pytest.param("alice", claim(LENT_USB, "usbdeviceclaims"), None, id="a USB device that is lent"),
    pytest.param("alice", claim(OTHER), f"user 'alice' may not claim pcidevices/{OTHER}: {NO_VERB.format('claim')}",
                 id="a device that is not lent"),
    pytest.param("alice", claim("lent-0951-1666-001003", "usbdeviceclaims"),
                 "user 'alice' may not claim usbdevices/lent-0951-1666-001003: " + NO_VERB.format("claim"),
                 id="a USB device that is not lent"),
    pytest.param("alice", claim(LENT, "usbdeviceclaims"), f"may not claim usbdevices/{LENT}",
                 id="a USB device with the name of a PCI device"),
    pytest.param("carol", claim(LENT), f"user 'carol' may not claim pcidevices/{LENT}", id="by somebody else"),
    pytest.param("alice", claim(LENT, userName="bob"), "user 'alice' may not claim for user 'bob': leave spec.userName "
                 f"out, or ask an administrator for the verb manage on pcidevices/{LENT}", id="in another's name"),
    pytest.param("alice", claim(LENT, userName="admin"), "may not claim for user 'admin'", id="in the name of admin"),
    pytest.param("alice", claim(LENT_USB, "usbdeviceclaims", userName="bob"), "may not claim for user 'bob'",
                 id="a USB device in another's name"),
    pytest.param("fred", claim(LENT, userName="bob"), None, id="in another's name by a manager"),
    pytest.param("fred", claim(OTHER, userName="bob"), f"may not claim pcidevices/{OTHER}", id="not managed"),
    pytest.param("alice", claim(LENT, includeIOMMUGroup=True),
                 f"user 'alice' may not claim the whole IOMMU group of pcidevices/{LENT}: leave spec.includeIOMMUGroup "
                 "out and claim its functions one by one", id="the whole group"),
    pytest.param("alice", claim(LENT, includeIOMMUGroup=False), None, id="not the whole group"),
    pytest.param("dora", claim(LENT, includeIOMMUGroup=True), None, id="the whole group by who may"),
    pytest.param("alice", claim(LENT, annotations={CRITICAL: "true"}), f"user 'alice' may not use the annotation "
                 f"{CRITICAL}: remove it, or ask an administrator for the verb override on pcidevices/{LENT}",
                 id="what the node needs"),
    pytest.param("erik", claim(LENT, annotations={CRITICAL: "true"}), None, id="what the node needs by who may"),
    pytest.param("alice", claim(LENT, annotations={RENAMED: "nvidia.com/A"}), "may not use the annotations " + RENAMED,
                 id="under another's resource name"),
    pytest.param("alice", claim(LENT, annotations={VGPU: "true"}), "verb manage on pcidevices/" + LENT,
                 id="without binding it"),
    pytest.param("fred", claim(LENT, annotations={RENAMED: "nvidia.com/A"}), None, id="under a name by a manager"),
    pytest.param("alice", claim(LENT, annotations={"example.com/a": "b"}), None, id="with other annotations"),
    pytest.param("gina", claim(OTHER), None, id="any device by hostdev-claim"),
    pytest.param("gina", claim(OTHER, includeIOMMUGroup=True), None, id="any group by hostdev-claim"),
    pytest.param("gina", claim(OTHER, userName="bob"), "may not claim for user 'bob'",
                 id="in another's name by hostdev-claim"),
    pytest.param("gina", claim(OTHER, annotations={CRITICAL: "true"}), "verb override on pcidevices/" + OTHER,
                 id="what the node needs by hostdev-claim"),
    pytest.param("hugo", claim(OTHER, userName="bob", includeIOMMUGroup=True,
                               annotations={CRITICAL: "true", RENAMED: "a.io/b"}), None, id="all by hostdev-admin"),
]


@pytest.mark.parametrize("who, body, words", CREATIONS)
def test_a_claim_is_made(people, things, who, body, words):
    plural = body["kind"].lower() + "s"
    answer = people[who].request("POST", path(plural), body)
    if words:
        refused(answer, words)
    else:
        things.own(plural, accepted(answer)["metadata"]["name"])


SPEC, META = "spec", "metadata"
CHANGES = [
    # who, whose claim, the patch, what they are told
    pytest.param("alice", "alice", {SPEC: {"disableResourcePooling": True}}, None, id="by its owner"),
    pytest.param("bob", "alice", {SPEC: {"disableResourcePooling": True}},
                 f"user 'bob' may not change this claim of user 'alice': only its owner may, and users with the verb manage on "
                 f"pcidevices/{LENT}", id="by another who may claim the device"),
    pytest.param("bob", "alice", {META: {"labels": {"a": "b"}}}, "may not change this claim", id="its labels"),
    pytest.param("gina", "alice", {SPEC: {"disableResourcePooling": True}}, "may not change", id="by hostdev-claim"),
    pytest.param("fred", "alice", {SPEC: {"disableResourcePooling": True}}, None, id="by a manager"),
    pytest.param("hugo", "alice", {SPEC: {"disableResourcePooling": True}}, None, id="by hostdev-admin"),
    pytest.param("alice", "", {SPEC: {"userName": "alice"}}, None, id="nobody's is taken"),
    pytest.param("alice", "", {SPEC: {"userName": "bob"}}, "may not claim for user 'bob'", id="nobody's is given away"),
    pytest.param("carol", "", {SPEC: {"userName": "carol"}}, "user 'carol' may not change this claim: only its owner",
                 id="nobody's by who may not claim the device"),
    pytest.param("fred", "", {SPEC: {"userName": "bob"}}, None, id="nobody's is given away by a manager"),
    pytest.param("alice", "alice", {SPEC: {"includeIOMMUGroup": True}}, "may not claim the whole IOMMU group",
                 id="to the whole group"),
    pytest.param("dora", "dora", {SPEC: {"includeIOMMUGroup": True}}, None, id="to the whole group by who may"),
    pytest.param("alice", "alice", {META: {"annotations": {CRITICAL: "true"}}}, "verb override", id="node needs it"),
    pytest.param("erik", "erik", {META: {"annotations": {CRITICAL: "true"}}}, None, id="what a node needs by who may"),
    pytest.param("alice", "alice", {META: {"annotations": {RENAMED: "a.io/b"}}}, "verb manage", id="its resource"),
    pytest.param("alice", "alice", {META: {"finalizers": None}},
                 "user 'alice' may not remove the finalizer of this claim", id="its finalizer"),
    pytest.param("alice", "alice", {META: {"finalizers": [FINALIZER, "example.com/a"]}}, None, id="one more finalizer"),
    pytest.param("fred", "alice", {META: {"finalizers": None}}, None, id="its finalizer by a manager"),
]


@pytest.mark.parametrize("who, owner, patch, words", CHANGES)
def test_a_claim_is_changed(people, claims, rest, who, owner, patch, words):
    name = claims(owner)
    rest.patch("pcideviceclaims", name, {"metadata": {"finalizers": [FINALIZER]}})
    answer = people[who].request("PATCH", path("pcideviceclaims", name), patch, MERGE)
    if words:
        refused(answer, words)
    else:
        accepted(answer)


def test_what_an_administrator_wrote_into_a_claim_does_not_bind_its_owner(people, claims):
    """Annotations that take a verb may stay as they are when the owner changes something else."""
    name = claims("alice", annotations={CRITICAL: "true", RENAMED: "a.io/b"}, includeIOMMUGroup=True)
    at = path("pcideviceclaims", name)
    alice = people["alice"]
    accepted(alice.request("PATCH", at, {META: {"labels": {"a": "b"}}}, MERGE))
    accepted(alice.request("PATCH", at, {META: {"annotations": {CRITICAL: None}}}, MERGE))
    refused(alice.request("PATCH", at, {META: {"annotations": {RENAMED: None}}}, MERGE), "verb manage")


DELETIONS = [
    pytest.param("alice", "alice", None, id="by its owner"),
    pytest.param("bob", "alice", "user 'bob' may not delete this claim of user 'alice': only its owner", id="by another"),
    pytest.param("gina", "alice", "may not delete", id="by hostdev-claim"),
    pytest.param("fred", "alice", None, id="by a manager"),
    pytest.param("hugo", "alice", None, id="by hostdev-admin"),
    pytest.param("bob", "", None, id="nobody's by who may claim the device"),
    pytest.param("carol", "", "user 'carol' may not delete this claim: only its owner may", id="nobody's by another"),
]


@pytest.mark.parametrize("plural", ["pcideviceclaims", "usbdeviceclaims"])
@pytest.mark.parametrize("who, owner, words", DELETIONS)
def test_a_claim_is_deleted(people, claims, plural, who, owner, words):
    if who == "fred" and plural == "usbdeviceclaims":
        words = "may not delete"  # who manages the PCI device only
    name = claims(owner, LENT if plural == "pcideviceclaims" else LENT_USB, plural)
    answer = people[who].request("DELETE", path(plural, name))
    if words:
        refused(answer, words)
    else:
        accepted(answer)


def test_whose_claim_is_lent_no_more_may_still_give_it_back(people, claims):
    name = claims("carol")
    refused(people["carol"].request("POST", path("pcideviceclaims"), claim(OTHER)), "may not claim")
    accepted(people["carol"].request("DELETE", path("pcideviceclaims", name)))


def test_a_collection_is_deleted_claim_by_claim(people, claims, rest):
    """The request then has no name: whose each claim is counts."""
    claims("alice")
    rest.patch("pcideviceclaims", LENT, {"metadata": {"labels": {"test": "collection"}}})
    all_of_them = path("pcideviceclaims") + "?labelSelector=test%3Dcollection"
    refused(people["joan"].request("DELETE", all_of_them), f"verb manage on pcidevices/{LENT}")
    accepted(people["hugo"].request("DELETE", all_of_them))
    assert rest.request("GET", path("pcideviceclaims", LENT))[0] == 404


@pytest.mark.parametrize("user", [GC, "system:kube-controller-manager",
                                  f"system:serviceaccount:{NAMESPACE}:hostdev-controller"])
def test_cleaners_of_the_cluster_have_the_verb_manage(installed, people, user):
    for kind in ("pcidevices", "usbdevices"):
        answer = installed.kubectl("auth", "can-i", "manage", f"{kind}.devices.harvesterhci.io/{LENT}", f"--as={user}")
        assert answer.stdout.strip() == "yes"


def test_the_garbage_collector_removes_anybodys_claim(installed, people, claims):
    name = claims("alice")
    installed.kubectl("label", "pcideviceclaim", name, f"--as={GC}", "a=b")
    installed.kubectl("delete", "pcideviceclaim", name, f"--as={GC}")


def test_who_may_look_may_do_nothing_else(people, claims):
    name, ines = claims("alice"), people["ines"]
    for plural in [*KINDS, "pcideviceclaims", "usbdeviceclaims", "hostdeviceconfigs"]:
        wait_until(lambda at=path(plural): ines.request("GET", at)[0] == 200, 20, plural)  # its storage may yet begin
    at = path("pcideviceclaims", name)
    for method, at, body in ("POST", path("pcideviceclaims"), claim(OTHER)), ("DELETE", at, None), ("PATCH", at, {}):
        status, answer = ines.request(method, at, body, MERGE if method == "PATCH" else "application/json")
        assert status == 403 and "ines" in answer["message"] and "cannot" in answer["message"]


@pytest.mark.parametrize("who", [who for who in PEOPLE if who != "ines"])
def test_nobody_writes_a_status_or_a_device(people, claims, rest, things, who):
    """The status of a claim is the agents'; so are devices, but for an administrator, who may remove them."""
    name = claims("alice")
    bodies = {"status": {"passthroughEnabled": True}}
    status, answer = people[who].request("PATCH", path("pcideviceclaims", name, "status"), bodies, MERGE)
    assert status == 403 and "pcideviceclaims/status" in answer["message"]
    if who != "hugo":
        status, answer = people[who].request("POST", path("pcidevices"), device("pcidevices", LENT, "lent"))
        assert status == 403 and 'cannot create resource "pcidevices"' in answer["message"]


def test_a_refusal_as_kubectl_shows_it(installed, people, identities):
    carol = identities.user("carol")
    run = installed.kubectl("--kubeconfig", carol, "create", "-f", "-", input=claim(LENT), check=False)
    assert run.stderr.strip().endswith(
        f'pcideviceclaims.devices.harvesterhci.io "{LENT}" is forbidden: ValidatingAdmissionPolicy \'hostdev-claims\' '
        f"with binding 'hostdev-claims' denied request: user 'carol' may not claim pcidevices/{LENT}: ask an "
        "administrator for the verb claim on it")
