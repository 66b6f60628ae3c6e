"""What `kubectl hostdev` says of devices whose node is not ready, gone, without an agent, or not to be read."""

import json
import os
import re
import signal

import pytest

from cluster import wait_until
from replicas import OWN
from rest import GROUP
from test_kubectl_hostdev import Plugin, plugin  # noqa: F401, fixture

CLAIMABLE = [{"type": "Claimable", "status": "True", "reason": "Available", "message": "",
              "lastTransitionTime": "2026-01-01T00:00:00Z"}]


class Scene:
    """Two functions of a node that may be claimed, one of them claimed and ready."""

    def __init__(self, world, node):
        self.world = world
        self.resource = f"example.com/{node}"
        self.node = world.node(node)
        self.devices = [world.device(node, number, self.resource) for number in (1, 2)]
        for number, path in enumerate(self.devices):
            world.status(path, {"address": f"0000:01:00.{number}", "conditions": CLAIMABLE})
        self.claim = world.claim(self.devices[1], node)
        self.name = self.devices[0].rsplit("/", 1)[1]

    def sicken(self):
        self.world.set_ready(self.node, "Unknown")


@pytest.fixture
def scene(world, node, rest):
    for kind in (f"{GROUP}/usbdevices", f"{GROUP}/usbdeviceclaims", f"{OWN}/mediateddevices"):
        wait_until(lambda path=kind: rest.request("GET", path)[0] == 200, 20, "the storage of a kind that is new")
    return Scene(world, node)


def states(plugin, node):
    return [one["state"] for one in json.loads(plugin("tree", node, "-o", "json"))["nodes"][0]["devices"]]


def test_a_node_that_is_not_ready(plugin, scene, node):  # noqa: F811
    assert states(plugin, node) == ["Claimable", "Available"]
    assert plugin.said == "" and "Node:" not in plugin("why", scene.name)
    scene.sicken()
    lines = plugin("tree", node).splitlines()
    assert re.match(rf"{node} +\? NotReady for \d+d: ByHand$", lines[1])
    assert states(plugin, node) == ["Unknown", "Unknown"]
    text = plugin("why", scene.name)
    assert re.match(rf"Node: +{node} is NotReady for \d+d: ByHand; what follows is what was known before\nName:", text)
    assert "? unknown, NodeNotReady" in text
    assert "What to do:\n  See why the node is not ready: kubectl describe node " + f"{node}\n" in text
    assert plugin("who", scene.name).splitlines()[1].split()[1] == "unknown"
    plan = plugin("plan", scene.name)
    assert plan.startswith(f"{scene.name}: would wait: NodeNotReady\n") and "its node says" not in plan
    assert re.search(rf"^  {node} is NotReady for \d+d: ByHand$", plan, re.MULTILINE)
    assert "would wait: NodeNotReady\n" in plugin("plan", scene.name)


def test_a_claim_warns_at_once(plugin, scene, node):  # noqa: F811
    warning = rf"{scene.name}: {node} is NotReady for \d+d: ByHand: nothing is done until the node recovers."
    plugin("claim", scene.name, "--no-wait")
    assert "NotReady" not in plugin.said
    plugin("release", scene.name, "--no-wait")
    scene.sicken()
    assert plugin("claim", scene.name, "--timeout", "6s", status=3) == ""
    assert re.match(warning, plugin.said), plugin.said
    assert "Timed out" in plugin.said
    plugin("release", scene.name, "--no-wait")
    assert re.match(warning, plugin.said)


def test_a_node_that_is_gone(plugin, scene, node, world):  # noqa: F811
    world.delete(scene.node)
    assert re.match(rf"{node} +\? gone .* the cluster has no such node$", plugin("tree", node).splitlines()[1])
    assert states(plugin, node) == ["Unknown", "Unknown"]


def test_a_node_that_does_not_exist(plugin, scene, node, world):  # noqa: F811
    """Another matter than one without devices."""
    world.node(f"{node}-bare")
    plugin("tree", f"{node}-bare", status=1)
    assert f"node '{node}-bare' has no devices: does hostdev-agent run there?" in plugin.said
    missing = f"there is no node '{node}-none': kubectl get nodes lists them\n"
    for words in (["tree", f"{node}-none"], ["tree", f"{node}-none", "-n", "team-a"], ["why", f"{node}-none/01:00.0"],
                  ["claim", f"{node}-none/01:00.0"]):
        plugin(*words, status=1)
        assert plugin.said.endswith(missing) and plugin.said.count("\n") == 1, plugin.said
    plugin("why", f"{node}-bare/01:00.0", status=1)
    assert f"no device '{node}-bare/01:00.0' is listed" in plugin.said


def test_an_agent_that_does_not_run_is_known_by_one_claim(plugin, scene, node, world):  # noqa: F811
    """The controller writes it to the claims of the node; what else the node has is as unknown."""
    world.status(scene.claim, {"conditions": [
        {"type": "NodeReachable", "status": "False", "reason": "AgentNotRunning", "message": "no pod",
         "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    assert re.match(rf"{node} +\? no agent for \d+d .* no pod$", plugin("tree", node).splitlines()[1])
    assert states(plugin, node) == ["Unknown", "Unknown"]
    assert re.match(rf"Node: +no agent has been running on {node} for \d+d: no pod; what follows", plugin("why", scene.name))
    plugin("claim", scene.name, "--no-wait")
    assert re.match(rf"{scene.name}: no agent has been running on {node} for \d+d: nothing is done until one runs\.", plugin.said)
    plugin("release", scene.name, "--no-wait")


def test_top_leaves_out_what_is_not_to_be_had(plugin, scene, node, controllers, world):  # noqa: F811
    replica = controllers("--agent-pods", "none").start()
    wait_until(replica.leads, 30)
    wait_until(lambda: world.counts(scene.resource) == (2, 1, 1, 0, 1), 20)
    replica.stop()
    assert [scene.resource, "2", "1", "1", "0", "1"] in [line.split() for line in plugin("top").splitlines()]
    scene.sicken()
    rows = [line.split() for line in plugin("top").splitlines()]
    assert [scene.resource, "2", "0", "1", "0", "0"] in rows
    assert "Not counted as claimable, healthy or available: the devices of " in plugin.said
    assert re.search(rf"^{scene.name}\tunknown: ", plugin("__complete", "why", node), re.MULTILINE)
    assert scene.resource not in plugin("__complete", "claim", "--resource", "")
    assert re.search(rf"{scene.resource} +{node} +2 +0 +1 +0 +0 +NotReady for \d+d: ByHand\n", plugin("top", "--nodes"))


def test_the_tree_is_watched(plugin, scene, node, world):  # noqa: F811
    """It is printed again whenever it has changed, and only then."""
    watching = plugin.start("tree", node, "-w", start_new_session=True)
    try:
        def read():
            lines = []
            while (line := watching.stdout.readline()).strip():
                lines.append(line)
                if len(lines) == 5:
                    break
            return "".join(lines)
        first = read()
        assert first == plugin("tree", node) and first.count("\n") == 5 and "o claimable" in first
        world.claim(scene.devices[0], node, marked=False, ready=None)
        assert watching.stdout.readline() == "\n"
        assert "o claimable" not in (second := read()) and second == plugin("tree", node)
        scene.sicken()
        assert watching.stdout.readline() == "\n"
        assert re.search(rf"{node} +\? NotReady", read())
    finally:
        os.killpg(watching.pid, signal.SIGINT)
    assert watching.wait(60) == -signal.SIGINT and watching.stdout.read() == "" and watching.stderr.read() == ""
    plugin("tree", "-w", "-o", "json", status=2)
    assert "--watch supports only -o table" in plugin.said


def test_who_may_not_read_nodes_is_told_so_in_one_line(scene, node, installed, identities, rest):
    """What hostdev-view gives is enough for all else; of a claim that says it the node is known all the same."""
    user = f"vera-{node}"
    installed.kubectl("create", "clusterrolebinding", user, "--clusterrole=hostdev-view", f"--user={user}")
    vera = Plugin(installed, identities.user(user))
    try:
        wait_until(lambda: rest.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
                "user": user, "resourceAttributes": {"group": GROUP.split("/")[2], "resource": "pcidevices",
                                                     "verb": "list"}}})[1]["status"]["allowed"], 20, "her role")
        scene.sicken()
        for words in (["tree", node], ["top"], ["who", scene.name], ["why", scene.name]):
            vera(*words)
            (line,) = [line for line in vera.said.splitlines() if "403" in line]
            events = ", events" if words[0] == "why" else ""
            assert line == (f"Not shown: user '{user}' may not list nodes{events} (403 forbidden); "
                            "whether nodes are ready is not known")
        assert states(vera, node) == ["Claimable", "Available"]
    finally:
        installed.kubectl("delete", "clusterrolebinding", user, "--ignore-not-found")
