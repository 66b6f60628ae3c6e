"""The policy about the label by which agents see the objects of their node, on a real API server: it warns."""

import pytest

from cluster import wait_until
from policies import device

KINDS = ["sriovnetworkdevices", "sriovgpudevices", "vgpudevices", "migconfigurations"]
NODE = "node1"
LONG = "n" * 70
CUT = f"{'n' * 46}-0123456789abcdef"  # the form that lib/api/names.h gives a label of such a node


@pytest.fixture(scope="module")
def warned(installed):
    """warned(plural, label, node) -> what kubectl warns of when such an object is made; it is made all the same."""
    def apply(plural, label, node=NODE):
        one = device(plural, f"{NODE}-000008000", node)
        one["metadata"]["labels"] = {} if label is None else {"nodename": label}
        done = installed.kubectl("apply", "--dry-run=server", "-f", "-", input=one)
        assert "created (server dry run)" in done.stdout
        return done.stderr
    wait_until(lambda: apply(KINDS[0], None), 30, "the policy")
    return apply


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
def test_the_label_says_the_node(warned, plural, label, node, text):
    said = warned(plural, label, node)
    if text:
        assert f"{plural}/{NODE}-000008000" in said and text in said
    else:
        assert said == ""


def test_the_label_is_not_taken_away_silently(installed, warned, things):
    plural, name = KINDS[0], f"{NODE}-000008000"
    things.make(plural, device(plural, name, NODE))
    kubectl = ["patch", plural, name, "--dry-run=server", "--type=merge", "-p"]
    assert "needs the label nodename" in installed.kubectl(*kubectl, '{"metadata":{"labels":null}}').stderr
    assert "says node2" in installed.kubectl(*kubectl, '{"metadata":{"labels":{"nodename":"node2"}}}').stderr
    assert installed.kubectl(*kubectl, '{"metadata":{"annotations":{"a":"b"}}}').stderr == ""
