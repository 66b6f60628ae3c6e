"""The policy about the label by which agents see the objects of their node, on a real API server."""

import pytest

from cluster import wait_until
from policies import MERGE, accepted, device, path

KINDS = ["sriovnetworkdevices", "sriovgpudevices", "vgpudevices", "migconfigurations"]
NODE = "node1"
LONG = "n" * 70
CUT = f"{'n' * 46}-0123456789abcdef"  # the form that lib/api/names.h gives a label of such a node


def refused(answer, *texts):
    status, body = answer
    assert status == 422, body
    for text in texts:
        assert text in body["message"]


def labelled(plural, label, node=NODE):
    one = device(plural, f"{NODE}-000008000", node)
    one["metadata"]["labels"] = {"nodename": label} if label is not None else {}
    return one


@pytest.fixture(scope="module", autouse=True)
def policy(installed, rest):
    ask = path(KINDS[0]) + "?dryRun=All"
    wait_until(lambda: rest.request("POST", ask, labelled(KINDS[0], None))[0] == 422, 30, "the policy")


@pytest.mark.parametrize("plural", KINDS)
@pytest.mark.parametrize(("label", "node", "text"), [
    (None, NODE, "needs the label nodename with the name of its node"),
    ("", NODE, "needs the label nodename"),
    ("node2", NODE, "says node2, and spec.nodeName node1: both must be the node that has it"),
    (NODE, NODE, None),
    (NODE, "", None),
    (CUT, LONG, None),
    (CUT, "m" * 70, "both must be the node that has it"),
])
def test_the_label_says_the_node(rest, plural, label, node, text):
    answer = rest.request("POST", path(plural) + "?dryRun=All", labelled(plural, label, node))
    if text:
        refused(answer, f"{plural}/{NODE}-000008000", text)
    else:
        accepted(answer)


def test_the_label_is_not_taken_away(rest, things):
    plural, name = KINDS[0], f"{NODE}-000008000"
    things.make(plural, labelled(plural, NODE))
    refused(rest.request("PATCH", path(plural, name), {"metadata": {"labels": None}}, MERGE), "needs the label nodename")
    refused(rest.request("PATCH", path(plural, name), {"metadata": {"labels": {"nodename": "node2"}}}, MERGE),
            "says node2, and spec.nodeName node1")
    accepted(rest.request("PATCH", path(plural, name), {"metadata": {"annotations": {"a": "b"}}}, MERGE))
