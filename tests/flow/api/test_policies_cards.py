"""The policy about the card that an SRIOVNetworkDevice is about, on a real API server.

Who may change one object sets the virtual functions of one card.
"""

import pytest

from cluster import wait_until
from identities import Identities
from policies import MERGE, accepted, binding, device, path, refused, role
from rest import Rest

KIND = "sriovnetworkdevices"
NODE, CARD = "net", "net-eth1"
AT, OTHER = "0000:04:00.0", "0000:05:00.1"
MANAGED = "net-000005001"

ROLES = [
    role("test-card", ([KIND], ["get", "patch", "update"], [CARD])),
    role("test-card-managed", (["pcidevices"], ["manage"], [MANAGED])),
    role("test-cards-managed", (["pcidevices"], ["manage"], None)),
]
PEOPLE = {
    "nina": ["test-card"],  # who may change one card's object
    "olga": ["test-card", "test-card-managed"],  # and manage one other function of the node
    "paul": ["test-card", "test-cards-managed"],  # and manage all functions
    "rosa": ["hostdev-admin"],
}


@pytest.fixture(scope="module")
def people(installed, rest, tmp_path_factory):
    """The API server as each of PEOPLE sees it."""
    objects = ROLES + [binding(user, name) for user, names in PEOPLE.items() for name in names]
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    installed.kubectl("apply", "-f", "-", input=listed)
    made = Identities(installed, rest, tmp_path_factory.mktemp("people"))
    people = {name: Rest(made.user(name)) for name in PEOPLE}
    for who in people:
        wait_until(lambda who=who: people[who].request("GET", path(KIND, CARD))[0] == 404, 30, "the roles")
    for who, name in (("olga", MANAGED), ("paul", "any")):
        wait_until(lambda who=who, name=name: may_manage(people[who], name), 30, "the verb manage")
    yield people
    installed.kubectl("delete", "-f", "-", input=listed)


def may_manage(person, name):
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {
        "group": "devices.harvesterhci.io", "resource": "pcidevices", "verb": "manage", "name": name}}}
    return person.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asked)[1]["status"]["allowed"]


@pytest.fixture
def card(things):
    """card(...) makes the object of the card, as its agent does."""
    def make(**spec):
        body = device(KIND, CARD, NODE)
        body["spec"] = {"address": AT, "nodeName": NODE, "numVFs": 0, **spec}
        things.make(KIND, body)
    return make


def told(who, verb):
    return (f"user '{who}' may not change which card {KIND}/{CARD} is about, {AT} of node '{NODE}': leave spec.address and "
            f"the node as they are, or ask an administrator for the verb manage on {verb}")


SPEC = "spec"
CHANGES = [
    # who, the patch, what they are told; None: nothing is refused
    pytest.param("nina", {SPEC: {"numVFs": 2, "virtualFunctions": [{"index": 0, "vlan": 5}]}}, None, id="its functions"),
    pytest.param("nina", {SPEC: {"address": AT, "numVFs": 1}}, None, id="the address that it has"),
    pytest.param("nina", {SPEC: {"address": OTHER, "numVFs": 7}}, told("nina", f"pcidevices/{MANAGED}"), id="another card"),
    pytest.param("nina", {SPEC: {"address": None}}, told("nina", "all pcidevices"), id="no address"),
    pytest.param("nina", {SPEC: {"address": ""}}, told("nina", "all pcidevices"), id="an empty address"),
    pytest.param("nina", {"metadata": {"labels": {"nodename": "elsewhere"}}}, None, id="the label beside the node"),
    pytest.param("olga", {SPEC: {"address": OTHER}}, None, id="another card by who may manage it"),
    pytest.param("olga", {SPEC: {"address": "0000:05:00.0"}}, told("olga", "pcidevices/net-000005000"),
                 id="a third card by who may manage the second"),
    pytest.param("olga", {SPEC: {"address": None}}, told("olga", "all pcidevices"), id="no address by who manages one"),
    pytest.param("paul", {SPEC: {"address": OTHER}}, None, id="another card by who manages all"),
    pytest.param("paul", {SPEC: {"address": None}}, None, id="no address by who manages all"),
    pytest.param("rosa", {SPEC: {"address": OTHER}}, None, id="another card by hostdev-admin"),
]


@pytest.mark.parametrize("who, patch, words", CHANGES)
def test_which_card_it_is_about(people, card, who, patch, words):
    card()
    answer = people[who].request("PATCH", path(KIND, CARD), patch, MERGE)
    if words:
        refused(answer, words)
    else:
        accepted(answer)


def test_whole_objects_and_applied_ones_likewise(people, card):
    card()
    nina, at = people["nina"], path(KIND, CARD)
    body = accepted(nina.request("GET", at))
    body["spec"]["address"] = OTHER
    refused(nina.request("PUT", at, body), told("nina", f"pcidevices/{MANAGED}"))
    applied = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": {"name": CARD},
               "spec": {"address": OTHER}}
    refused(nina.request("PATCH", f"{at}?fieldManager=nina&force=true", applied, "application/apply-patch+yaml"),
            told("nina", f"pcidevices/{MANAGED}"))


def test_an_object_without_an_address_gets_none_but_by_the_verb(people, card):
    """The agent writes the address of the card that has its name; others take the verb on what they write."""
    card(address=None)
    nina = people["nina"]
    refused(nina.request("PATCH", path(KIND, CARD), {"spec": {"address": OTHER}}, MERGE),
            f"is about, none of node '{NODE}'", f"the verb manage on pcidevices/{MANAGED}")
    accepted(people["olga"].request("PATCH", path(KIND, CARD), {"spec": {"address": OTHER}}, MERGE))


def test_without_a_node_in_the_spec_the_label_counts(people, card):
    card(nodeName=None)
    nina, at = people["nina"], path(KIND, CARD)
    refused(nina.request("PATCH", at, {"metadata": {"labels": {"nodename": "elsewhere"}}}, MERGE),
            "the verb manage on pcidevices/elsewhere-000004000")
    accepted(nina.request("PATCH", at, {"spec": {"nodeName": NODE}}, MERGE))


def test_the_agent_of_the_node_writes_the_address_that_it_finds(identities, card):
    card(address=None)
    agent = Rest(identities.agent(NODE))
    accepted(agent.request("PATCH", path(KIND, CARD), {"spec": {"address": AT}}, MERGE))
