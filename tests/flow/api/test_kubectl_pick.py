"""`kubectl hostdev claim --resource`: all devices or none, also when others are faster, may not, or press Ctrl-C."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from cluster import wait_until
from faultproxy import FaultProxy
from test_kubectl_hostdev import CLAIM, CLAIMS, Plugin, plugin  # noqa: F401, fixture

KINDS = "devices.harvesterhci.io"
CREATE = r"/pcideviceclaims\?fieldManager=kubectl-hostdev$"  # without dryRun
SHOWN = 100  # columns


class Shelf:
    """Devices of one resource, as agents publish them."""

    def __init__(self, world, rest, node):
        self.world, self.rest, self.node = world, rest, node
        self.resource = f"example.com/{node}"
        self.names = []
        self.nodes = set()

    def add(self, node=None, reason="Available", status="True", group=None, **fields):
        node = node or self.node
        if node not in self.nodes:
            self.world.node(node)
            self.nodes.add(node)
        number = len(self.names)
        path = self.world.device(node, number, self.resource)
        self.world.status(path, {
            "address": f"0000:00:{number:02x}.0", "iommuGroup": str(group or 100 + number), "kernelDriverInUse": "igb",
            "conditions": [{"type": "Claimable", "status": status, "reason": reason, "message": "",
                            "lastTransitionTime": "2026-01-01T00:00:00Z"}], **fields})
        self.names.append(path.rsplit("/", 1)[1])
        return self.names[-1]

    def claimed(self):
        """The names of those that have a claim."""
        return sorted({item["metadata"]["name"] for item in self.rest.get(CLAIMS)["items"]} & set(self.names))

    def make_ready(self, *names):
        for name in names:
            wait_until(lambda name=name: self.rest.request("GET", f"{CLAIMS}/{name}")[0] == 200, 20, name)
            self.world.status(f"{CLAIMS}/{name}", {"conditions": [
                {"type": "Ready", "status": "True", "reason": "Ready", "message": "",
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}]})

    def release(self):
        for name in self.names:
            self.rest.remove(f"{CLAIMS}/{name}")


@pytest.fixture
def shelf(world, rest, installed, node):
    for kind in ("usbdevices", "pcideviceclaims", "usbdeviceclaims", "sriovnetworkdevices", "sriovgpudevices"):
        wait_until(lambda: rest.request("GET", f"/apis/{KINDS}/v1beta1/{kind}?limit=1")[0] == 200, 20, kind)
    wait_until(lambda: rest.request("GET", "/apis/hostdev.io/v1alpha1/mediateddevices?limit=1")[0] == 200, 20, "mdevs")
    made = Shelf(world, rest, node)
    yield made
    made.release()


@pytest.fixture
def proxy(faultproxy_program, installed):
    made = FaultProxy(faultproxy_program, installed)
    yield made
    made.stop()


@pytest.fixture
def roles(installed):
    """roles(user, rules...): binds them in a ClusterRole of this name."""
    made = []

    def bind(user, *rules, role=None):
        name = role or user
        if not role:
            body = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": user},
                    "rules": list(rules)}
            installed.kubectl("apply", "-f", "-", input=yaml.safe_dump(body))
            made.append(f"clusterrole/{user}")
        installed.kubectl("create", "clusterrolebinding", f"{user}-{name}", f"--clusterrole={name}", f"--user={user}")
        made.append(f"clusterrolebinding/{user}-{name}")

    yield bind
    for one in reversed(made):
        installed.kubectl("delete", one)


def lines(word, *names):
    return "".join(f"{CLAIM}/{name} {word}\n" for name in names)


def test_free_ones_are_claimed_and_printed(plugin, shelf):  # noqa: F811
    critical, first, taken, second, _ = (shelf.add(reason="HostNetwork", status="False"), shelf.add(), shelf.add(),
                                         shelf.add(), shelf.add())
    plugin("claim", taken, "--no-wait")
    want = ("claim", "--resource", shelf.resource, "--count", "2")

    assert plugin(*want, "--dry-run") == lines("created (server dry run)", first, second)
    assert plugin(*want, "--dry-run=client") == lines("created (dry run)", first, second)
    sent = json.loads(plugin(*want, "--dry-run=client", "-o", "json"))["items"]
    assert [item["metadata"]["name"] for item in sent] == [first, second]
    assert shelf.claimed() == [taken]

    waiting = plugin.start(*want)
    shelf.make_ready(first, second)
    out, said = waiting.communicate(timeout=200)
    assert (waiting.returncode, out) == (0, lines("ready", first, second)), said
    assert shelf.claimed() == [first, taken, second]

    made = plugin("claim", "--resource", shelf.resource, "--no-wait", "-o", "name").split()
    assert made == [f"{CLAIM}/{shelf.names[-1]}"]
    plugin("release", *made, "--no-wait")
    assert critical not in shelf.claimed()
    item = yaml.safe_load(plugin("claim", f"--resource={shelf.resource}", "--no-wait", "-o", "yaml"))
    assert (item["kind"], item["metadata"]["name"]) == ("PCIDeviceClaim", shelf.names[-1])


def test_too_few_are_explained_and_none_is_claimed(plugin, shelf):  # noqa: F811
    node = shelf.node
    free, held, critical, shared = (shelf.add(), shelf.add(), shelf.add(reason="HostNetwork", status="False"),
                                    shelf.add(reason="GroupShared"))
    busy = shelf.add(allocations=[{"namespace": "a", "pod": "p", "container": "c"}])
    plugin("claim", held, "--no-wait", "--for", "bob")
    assert plugin("claim", "--resource", shelf.resource, "--count", "2", status=1) == ""
    assert plugin.said.splitlines() == [
        "kubectl hostdev claim: 2 wanted on one node, 1 free",
        f"  1 free on {node}: {free}",
        f"  1 claimed by 'bob': {held}",
        f"  1 refused (HostNetwork): {critical}",
        f"  1 in a shared IOMMU group, which needs --include-group: {shared}",
        f"  1 in use by a pod: {busy}",
        "  nothing is claimed"]
    assert all(len(line) <= SHOWN for line in plugin.said.splitlines())
    assert shelf.claimed() == [held]

    assert plugin("claim", "--resource", f"{shelf.resource}x", status=1) == ""
    assert f"did you mean '{shelf.resource}'?" in plugin.said
    assert plugin("claim", "--resource", shelf.resource, "--node", "nowhere", status=1) == ""
    assert "there is no node 'nowhere'" in plugin.said


def test_where_they_may_be(plugin, shelf, rest):  # noqa: F811
    near, far = f"{shelf.node}-1", f"{shelf.node}-2"
    here, there = shelf.add(near), shelf.add(far)
    want = ("claim", "--resource", shelf.resource, "--dry-run")
    assert plugin(*want, "--count", "2", status=1) == ""
    assert "2 wanted on one node, and no node has so many free" in plugin.said and "--any-node" in plugin.said
    assert plugin(*want, "--count", "2", "--any-node") == lines("created (server dry run)", here, there)
    assert plugin(*want, "--node", far) == lines("created (server dry run)", there)
    assert plugin(*want, "-l", f"nodename={far}") == lines("created (server dry run)", there)
    assert plugin(*want, "--count", "2", "--node", far, status=1) == ""
    assert "2 wanted, 1 free" in plugin.said
    rest.request("PATCH", f"/api/v1/nodes/{near}", {"spec": {"unschedulable": True}}, "application/merge-patch+json")
    assert plugin(*want) == lines("created (server dry run)", there)
    shelf.world.set_ready(f"/api/v1/nodes/{far}", "False")
    assert plugin(*want, "--node", far, status=1) == ""
    assert f"1 unknown (NodeNotReady): {there}" in plugin.said


def test_a_group_is_claimed_as_a_whole(plugin, shelf, rest):  # noqa: F811
    both = ["0000:00:00.0", "0000:00:01.0"]
    first, second = (shelf.add(reason="GroupShared", group=7, iommuGroupMembers=both) for _ in both)
    assert plugin("claim", "--resource", shelf.resource, status=1) == ""
    assert "needs --include-group" in plugin.said
    assert plugin("claim", "--resource", shelf.resource, "--count", "2", "--include-group", "--no-wait") == \
        lines("created", first, second)
    assert all(rest.get(f"{CLAIMS}/{name}")["spec"]["includeIOMMUGroup"] for name in (first, second))


def test_a_usb_device(plugin, shelf, world, rest):  # noqa: F811
    """A flag that is only for PCI devices picks none."""
    name, resource = f"{shelf.node}-0951-1666-001005", f"{shelf.resource}-usb"
    world.node(shelf.node)
    world.create(f"/apis/{KINDS}/v1beta1/usbdevices", {
        "apiVersion": f"{KINDS}/v1beta1", "kind": "USBDevice", "metadata": {"name": name}}, {
        "nodeName": shelf.node, "portPath": "1-2", "resourceName": resource, "conditions": [
            {"type": "Claimable", "status": "True", "reason": "Available", "message": "",
             "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    assert plugin("claim", "--resource", resource, "--driver", "mlx5_vfio_pci", status=1) == ""
    assert f"  1 refused: {name}\n    it is a USB device: --driver applies only to PCI devices\n" in plugin.said
    assert plugin("claim", "--resource", resource, "--no-wait", "-o", "name") == \
        f"usbdeviceclaim.{KINDS}/{name}\n"
    rest.remove(f"/apis/{KINDS}/v1beta1/usbdeviceclaims/{name}")


@pytest.mark.parametrize("words, said", [
    (["x", "--resource", "r"], "give either DEVICE or --resource, not both"),
    ([], "DEVICE or --resource is missing"),
    (["x", "--count", "2"], "--count goes with --resource"),
    (["x", "-l", "a=b"], "--selector goes with --resource"),
    (["--resource", "r", "--count", "0"], "--count"),
    (["--resource", ""], "--resource is empty"),
    (["--resource", "r", "--node", "n", "--any-node"], "give either --node or --any-node"),
])
def test_words_that_do_not_go_together(plugin, words, said):  # noqa: F811
    assert plugin("claim", *words, status=2) == "" and said in plugin.said


# --- rights ---


CLAIMS_RULE = {"apiGroups": [KINDS], "resources": ["pcideviceclaims"], "verbs": ["create", "get", "list", "delete"]}


def named_rule(*names, verbs=("get", "claim")):
    return {"apiGroups": [KINDS], "resources": ["pcidevices"], "resourceNames": list(names), "verbs": list(verbs)}


def test_a_user_gets_what_is_theirs(installed, identities, plugin, roles, shelf):  # noqa: F811
    """With the right to list devices, and without it."""
    _, mine, _, also = (shelf.add() for _ in range(4))
    user = f"carol-{shelf.node}"
    carol = Plugin(installed, identities.user(user))
    roles(user, named_rule(mine, also), CLAIMS_RULE)
    want = ("claim", "--resource", shelf.resource, "--no-wait", "--count")
    wait_until(lambda: mine in carol(*want, "1", "--dry-run", status=None), 20, "her role")
    assert carol(*want, "2", "--dry-run") == lines("created (server dry run)", mine, also)
    assert carol(*want, "3", status=1) == "" and "3 wanted on one node, 2 free" in carol.said

    roles(user, role="hostdev-view")
    wait_until(lambda: "2 that you may not claim" in (carol(*want, "3", status=None) or carol.said), 20, "her role")
    assert carol(*want, "2") == lines("created", mine, also)
    assert shelf.claimed() == [mine, also]


def test_what_the_api_server_refuses_is_not_picked(plugin, installed, shelf):  # noqa: F811
    """In the dry run already: by a policy of the site."""
    first, second = shelf.add(), shelf.add()
    name = f"policy-{shelf.node}"
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
              "metadata": {"name": name}, "spec": {
                  "failurePolicy": "Fail", "matchConstraints": {"resourceRules": [{
                      "apiGroups": [KINDS], "apiVersions": ["*"], "operations": ["CREATE"],
                      "resources": ["pcideviceclaims"]}]},
                  "validations": [{"expression": f"object.metadata.name != '{first}'", "message": "not this one"}]}}
    binding = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
               "metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}}
    want = ("claim", "--resource", shelf.resource, "--no-wait")
    installed.kubectl("apply", "-f", "-", input=yaml.safe_dump_all([policy, binding]))
    try:
        wait_until(lambda: second in plugin(*want, "--dry-run"), 30, "the policy")
        assert plugin(*want, "--count", "2", status=1) == ""
        assert "1 refused by the API server: " in plugin.said and "not this one" in plugin.said
        assert all(len(line) <= SHOWN for line in plugin.said.splitlines())
        assert shelf.claimed() == []
        assert plugin(*want) == lines("created", second)
    finally:
        installed.kubectl("delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", name)


def test_refusals_are_bounded(plugin, proxy, shelf):  # noqa: F811
    for _ in range(40):
        shelf.add()
    proxy.rules([{"verb": "write", "path": "/pcideviceclaims.*dryRun=All", "fault": "status", "code": 403,
                  "reason": "Forbidden", "message": "no claims here"}])
    assert plugin("claim", "--resource", shelf.resource, "--server", proxy.server, status=1) == ""
    assert "stopped after 32 refusals: 1 wanted, 8 free" in plugin.said and plugin.said.count("no claims here") == 1
    assert proxy.rules()[0]["met"] == 32
    assert all(len(line) <= SHOWN for line in plugin.said.splitlines())


# --- a failure after a success ---


def denied(**more):
    """The second claim is refused, although its dry run was not."""
    return [{"verb": "write", "path": CREATE, "after": 1, "fault": "status", "code": 403, "reason": "Forbidden",
             "message": "quota exceeded", **more}]


def test_another_device_is_tried(plugin, proxy, shelf):  # noqa: F811
    first, second, third = shelf.add(), shelf.add(), shelf.add()
    proxy.rules(denied(times=1))
    want = ("claim", "--resource", shelf.resource, "--count", "2", "--no-wait", "--server", proxy.server)
    assert plugin(*want) == lines("created", first, third)
    assert f"{second}: quota exceeded; trying another device" in plugin.said
    assert shelf.claimed() == [first, third]


def test_another_node_is_tried(plugin, proxy, shelf):  # noqa: F811
    """And what was claimed on the first one is released."""
    near, far = f"{shelf.node}-1", f"{shelf.node}-2"
    first, _, third, fourth = shelf.add(near), shelf.add(near), shelf.add(far), shelf.add(far)
    proxy.rules(denied(times=1))
    want = ("claim", "--resource", shelf.resource, "--count", "2", "--no-wait", "--server", proxy.server)
    assert plugin(*want) == lines("created", third, fourth)
    assert f"{first}: released again" in plugin.said
    assert shelf.claimed() == [third, fourth]


def test_nothing_is_left_if_there_is_no_other(plugin, proxy, shelf):  # noqa: F811
    first, second = shelf.add(), shelf.add()
    proxy.rules(denied())
    want = ("claim", "--resource", shelf.resource, "--count", "2", "--server", proxy.server)
    assert plugin(*want, status=1) == ""
    assert plugin.said.splitlines() == [
        f"{second}: quota exceeded; trying another device",
        "kubectl hostdev claim: 2 wanted on one node, 1 free",
        f"  1 free on {shelf.node}: {first}",
        f"  1 refused by the API server: {second}",
        "    quota exceeded",
        f"  released again: {first}",
        "  nothing is claimed"]
    assert shelf.claimed() == []


def test_what_cannot_be_released_is_named(plugin, proxy, shelf):  # noqa: F811
    first, _ = shelf.add(), shelf.add()
    proxy.rules(denied() + [{"verb": "write", "path": f"/pcideviceclaims/{first}", "fault": "status", "code": 403,
                             "reason": "Forbidden", "message": "no deletions"}])
    assert plugin("claim", "--resource", shelf.resource, "--count", "2", "--server", proxy.server, status=1) == ""
    assert f"still claimed: {first}: no deletions" in plugin.said and "nothing is claimed" not in plugin.said
    assert shelf.claimed() == [first]


def test_a_server_that_fails_ends_the_attempt(plugin, proxy, shelf):  # noqa: F811
    """All devices would fail: none other is tried."""
    first, second, third = shelf.add(), shelf.add(), shelf.add()
    want = ("claim", "--resource", shelf.resource, "--count", "2", "--server", proxy.server)
    proxy.rules(denied(code=500, reason="InternalError", message="webhook down"))
    assert plugin(*want, status=1) == ""
    assert f"{second}: webhook down" in plugin.said and third not in plugin.said
    assert f"released again: {first}" in plugin.said and shelf.claimed() == []
    # An answer that is lost: whether that claim is there is found out, but not whose it is.
    proxy.rules([{"verb": "write", "path": CREATE, "after": 1, "times": 1, "fault": "truncate"}])
    assert plugin(*want, status=1) == ""
    assert f"not known whether claimed, see kubectl hostdev who: {second}" in plugin.said
    assert "nothing is claimed" not in plugin.said and shelf.claimed() == [second]


def pending(pid):
    """Signals that a process has not taken yet: two of a kind would be one."""
    status = Path(f"/proc/{pid}/status").read_text()
    return sum(int(mask, 16) for mask in re.findall(r"^(?:Sig|Shd)Pnd:\s+(\w+)", status, re.MULTILINE))


@pytest.mark.parametrize("times,request_s", [(1, 6), (2, 120)])
def test_ctrl_c_releases_what_was_claimed(plugin, proxy, shelf, times, request_s):  # noqa: F811
    """The second time it ends the command, which says what is left."""
    first, _ = shelf.add(), shelf.add()
    proxy.rules([{"verb": "write", "path": CREATE, "after": 1, "fault": "hang"}])
    running = plugin.start("claim", "--resource", shelf.resource, "--count", "2", "--request-timeout", f"{request_s}s",
                           "--server", proxy.server)
    wait_until(lambda: proxy.rules()[0]["met"], 20, "the second claim")
    began = time.monotonic()
    for _ in range(times):
        running.send_signal(signal.SIGINT)
        wait_until(lambda: running.poll() is not None or not pending(running.pid), 20, "it has got the signal")
        time.sleep(0.3)
    out, said = running.communicate(timeout=200)
    assert (running.returncode, out) == (130, ""), said
    assert "Interrupted: what was claimed is released" in said
    if times == 1:
        assert f"released again: {first}" in said and shelf.claimed() == []
    else:
        assert time.monotonic() - began < request_s / 2, said
        assert f"still claimed: {first}: " in said and shelf.claimed() == [first]


def test_ctrl_c_while_it_waits_leaves_the_claims(plugin, shelf):  # noqa: F811
    names = [shelf.add(), shelf.add()]
    running = plugin.start("claim", "--resource", shelf.resource, "--count", "2", stdin=subprocess.DEVNULL)
    wait_until(lambda: shelf.claimed() == names, 20, "the claims")
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    out, said = running.communicate(timeout=200)
    assert (running.returncode, out) == (130, "") and "Claims that were created stay" in said
    assert shelf.claimed() == names


def test_the_time_counts_for_all(plugin, proxy, shelf):  # noqa: F811
    first, _ = shelf.add(), shelf.add()
    proxy.rules([{"verb": "write", "path": CREATE, "after": 1, "fault": "hang"}])
    assert plugin("claim", "--resource", shelf.resource, "--count", "2", "--timeout", "6s", "--server", proxy.server,
                  status=3) == ""
    assert "timed out (--timeout)" in plugin.said and f"released again: {first}" in plugin.said
    assert shelf.claimed() == []


# --- two at once ---


@pytest.mark.parametrize("devices, winners", [(2, 1), (3, 1), (4, 2)])
def test_of_two_users_none_has_half(plugin, shelf, devices, winners):  # noqa: F811
    for _ in range(devices):
        shelf.add()
    for _ in range(3):
        runs = [plugin.start("claim", "--resource", shelf.resource, "--count", "2", "--no-wait", "-o", "name")
                for _ in range(2)]
        ends = [run.communicate(timeout=200) for run in runs]
        got = [out.split() for out, _ in ends]
        assert sorted(run.returncode for run in runs) == ([0, 0] if winners == 2 else [0, 1]), ends
        assert sorted(len(names) for names in got) == ([2, 2] if winners == 2 else [0, 2]), ends
        assert sorted(name.rsplit("/", 1)[1] for names in got for name in names) == shelf.claimed()
        shelf.release()


def test_completion_offers_resources_and_nodes(plugin, shelf):  # noqa: F811
    shelf.add()
    claimed = shelf.add()
    plugin("claim", claimed, "--no-wait")
    assert f"{shelf.resource}\t1 claimable" in plugin("__complete", "claim", "--resource", "")
    assert f"--resource={shelf.resource}\t" in plugin("__complete", "claim", f"--resource={shelf.resource[:-2]}")
    assert f"{shelf.node}\n" in plugin("__complete", "claim", "--resource", "r", "--node", "")
