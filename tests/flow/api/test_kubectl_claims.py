"""How `kubectl hostdev claim` ends: an API server that hangs, refusals among several, words that mean no such thing."""

import json
import os
import re
import signal
import subprocess
import time

import pytest
import yaml

from cluster import wait_until
from faultproxy import FaultProxy
from test_kubectl_hostdev import plugin, webhook  # noqa: F401, fixtures
from test_kubectl_manners import PATH, devices  # noqa: F401, fixture

CLAIM = "pcideviceclaim.devices.harvesterhci.io"
REQUEST_S = 30  # that one request has, unless something else is said


@pytest.fixture
def names(devices, rest):  # noqa: F811
    made = [path.rsplit("/", 1)[1] for path in devices]
    yield made
    for one in made:
        rest.remove(f"{PATH}/pcideviceclaims/{one}")


@pytest.fixture
def hanging(faultproxy_program, installed):
    """An API server on the way to which somebody may be stopped."""
    proxy = FaultProxy(faultproxy_program, installed)
    yield proxy
    os.kill(proxy.process.pid, signal.SIGCONT)
    proxy.stop()


def ended(process, began):
    out, said = process.communicate(timeout=120)
    return process.returncode, out, said, time.monotonic() - began


def test_a_server_that_hangs_is_not_waited_for_longer(plugin, hanging, names, rest):  # noqa: F811
    began = time.monotonic()
    waiting = plugin.start("claim", names[0], "--timeout", "10s", "--server", hanging.server)
    wait_until(lambda: rest.request("GET", f"{PATH}/pcideviceclaims/{names[0]}")[0] == 200, 9, "the claim")
    os.kill(hanging.process.pid, signal.SIGSTOP)
    status, out, said, took = ended(waiting, began)
    assert (status, out) == (3, ""), said
    assert f"Timed out (--timeout): 1 claim is not ready: {names[0]}. It stays" in said
    assert 9 < took < REQUEST_S, took

    began = time.monotonic()
    waiting = plugin.start("claim", names[1], "--timeout", "2s", "--server", hanging.server)
    status, out, said, took = ended(waiting, began)
    assert (status, out) == (3, ""), said
    assert "Timed out (--timeout): nothing was claimed." in said
    assert "level=" not in said
    assert 1 < took < REQUEST_S, took

    # Who waits for nothing has the time of one request.
    began = time.monotonic()
    waiting = plugin.start("claim", names[1], "--no-wait", "--request-timeout", "1s", "--server", hanging.server)
    status, out, said, took = ended(waiting, began)
    assert status == 1 and took < REQUEST_S and "(--timeout)" not in said, said


def test_a_refusal_counts_more_than_the_time(plugin, installed, names):  # noqa: F811
    user = f"policy-{names[0]}"
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
              "metadata": {"name": user}, "spec": {
                  "failurePolicy": "Fail", "matchConstraints": {"resourceRules": [{
                      "apiGroups": ["devices.harvesterhci.io"], "apiVersions": ["*"], "operations": ["CREATE"],
                      "resources": ["pcideviceclaims"]}]},
                  "validations": [{"expression": f"object.metadata.name != '{names[1]}'", "message": "not this one"}]}}
    binding = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
               "metadata": {"name": user}, "spec": {"policyName": user, "validationActions": ["Deny"]}}
    installed.kubectl("apply", "-f", "-", input=yaml.safe_dump_all([policy, binding]))
    try:
        wait_until(lambda: "not this one" in subprocess.run(
            [plugin.kubectl, "hostdev", "claim", names[1], "--dry-run"], env=plugin.env, text=True,
            capture_output=True, timeout=60).stderr, 30, "the policy")
        assert plugin("claim", *names, "--timeout", "6s", status=1) == ""
        assert "not this one" in plugin.said
        assert f"1 claim is not ready: {names[0]}." in plugin.said
    finally:
        installed.kubectl("delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", user)


def test_what_is_claimed_already_is_unchanged(plugin, names, rest):  # noqa: F811
    (device, _) = names
    assert plugin("claim", device, "--no-wait") == f"{CLAIM}/{device} created\n"
    assert plugin("claim", device, "--no-wait") == f"{CLAIM}/{device} unchanged\n"
    assert "already claimed" in plugin.said
    assert plugin("claim", device, "--dry-run=server") == f"{CLAIM}/{device} unchanged (server dry run)\n"


def test_flags_that_differ_from_the_claim(plugin, names, rest):  # noqa: F811
    """What a claim can take on is added to it; of the rest it is said that it cannot."""
    (device, _) = names

    def spec():
        return rest.get(f"{PATH}/pcideviceclaims/{device}")["spec"]

    plugin("claim", device, "--no-wait", "--for", "alice")
    for command in ("claim", "plan"):
        told = plugin(command, device, "--for", "bob", "--as", "alice", "--as-group", "system:masters", status=1)
        assert "already claimed, by 'alice': release it, and claim it again with --for bob" in told + plugin.said
    for flags, said in ((["--driver=evil"], "already claimed, with driver 'vfio-pci'"),
                        (["--for", "bob"], "already claimed, by 'alice'")):
        assert plugin("claim", device, "--for", "alice", *flags, status=1) == ""
        assert f"{device}: {said}" in plugin.said
    assert "driver" not in spec()
    assert plugin("claim", device, "--no-wait", "--for", "alice", "--include-group", "--dry-run=server") == \
        f"{CLAIM}/{device} patched (server dry run)\n"
    assert "includeIOMMUGroup" not in spec()
    assert plugin("claim", device, "--no-wait", "--for", "alice", "--include-group") == f"{CLAIM}/{device} patched\n"
    assert spec()["includeIOMMUGroup"] is True
    assert plugin("plan", device, "--for", "alice").startswith(f"{device}: already claimed, nothing would change\n")
    assert plugin("plan", device, "--for", "bob", status=1).splitlines()[1:] == ["  it is already claimed, by alice"]
    for flags in (["--include-group"], []):
        assert plugin("claim", device, "--no-wait", "--for", "alice", *flags) == f"{CLAIM}/{device} unchanged\n"
    assert spec()["includeIOMMUGroup"] is True


def test_a_release_waits_while_a_pod_has_the_device(plugin, webhook, world, node, rest):  # noqa: F811
    """The webhook refuses the deletion as long as that is so."""
    wait_until(lambda: rest.request("GET", f"{PATH}/usbdevices?limit=1")[0] == 200, 20, "usbdevices")
    world.node(node)  # of a node that is gone, everything may be deleted
    path = world.device(node, 1, "example.com/x")
    device = path.rsplit("/", 1)[1]
    world.status(path, {"address": "0000:00:00.1", "iommuGroup": "1"})
    wait_until(lambda: "NoIOMMU" not in plugin("claim", device, "--dry-run=server", status=None) + plugin.said, 20)
    claim = world.claim(path, node, marked=False)
    rest.request("POST", "/api/v1/namespaces/default/serviceaccounts",
                 {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    pod = world.create("/api/v1/namespaces/default/pods", {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p-{node}"}, "spec": {
            "nodeName": node, "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "x"}]}})
    world.status(path, {"allocations": [{"namespace": "default", "pod": f"p-{node}", "container": "c"}]})
    refused = f"pod default/p-{node} has it"
    wait_until(lambda: refused in rest.request("DELETE", f"{claim}?dryRun=All")[1].get("message", ""), 20,
               "the webhook knows")
    assert plugin("release", device, "--no-wait", status=1) == "" and refused in plugin.said
    assert plugin("release", device, "--timeout", "6s", status=3) == ""
    assert refused in plugin.said and f"{device}: its claim is not deleted" in plugin.said
    assert plugin("plan", device, "--release", status=1).startswith(f"{device}: would wait\n")
    waiting = plugin.start("release", device)
    assert refused in waiting.stderr.readline()
    # The pod is deleted; the kubelet still lists what it had.
    rest.request("DELETE", pod)
    assert "its pod is deleted: waiting until the kubelet lists the device as free" in waiting.stderr.readline()
    assert rest.request("GET", claim)[0] == 200
    world.status(path, {"allocations": []})
    out, said = waiting.communicate(timeout=120)
    assert (waiting.returncode, out) == (0, f"{CLAIM}/{device} released\n"), said


def test_what_a_pod_waits_for(plugin, world, node, installed):  # noqa: F811
    """It is never scheduled: the cluster has no scheduler."""
    world.node(node)
    resource = f"example.com/{node}"
    paths = [world.device(node, number, resource) for number in range(2)]
    names = [path.rsplit("/", 1)[1] for path in paths]
    offered = [{"type": "Offered", "status": "True", "reason": "Offered", "message": "the HostDeviceConfig offers it",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    world.status(paths[0], {"conditions": offered, "allocations": [{"namespace": "team", "pod": "p", "container": "c"}]})
    world.status(paths[1], {"conditions": offered, "allocations": []})
    pod = f"wants-{node}"
    containers = [{"name": f"c{i}", "image": "x", "resources": {"limits": {resource: "1", "cpu": "1"}}} for i in range(2)]
    installed.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": pod, "namespace": "default"}, "spec": {"containers": containers, "automountServiceAccountToken": False}})
    try:
        lines = plugin("why", "pod", f"default/{pod}").splitlines()
        assert lines[0] == f"Pod:      default/{pod}" and lines[1] == "Phase:    Pending"
        assert f"{resource}: 2 requested, 1 of 2 devices with this name available" in lines
        rows = {line.split()[0]: line.split() for line in lines if line.startswith(f"{node}-")}
        assert rows[names[0]][1:5] == [node, "in", "use", "team/p"] and rows[names[1]][1:4] == [node, "available", "-"]
        [told] = json.loads(plugin("why", "pod", f"default/{pod}", "-o", "json"))["resources"]
        assert (told["name"], told["requested"], [one["name"] for one in told["devices"]]) == (resource, 2, names)
    finally:
        installed.kubectl("delete", "pod", pod, "--grace-period=0", "--force")
    plugin("why", "pod", f"default/{pod}", status=1)
    assert f'pods "{pod}" not found' in plugin.said
    plugin("why", "pod", pod, status=2)
    assert "name the pod as NAMESPACE/NAME" in plugin.said
    plugin("why", names[0], names[1], status=2)
    assert "one DEVICE, or pod NAMESPACE/NAME" in plugin.said


def test_a_shared_group_names_the_command_that_works(plugin, world, node, rest):  # noqa: F811
    for kind in ("usbdevices", "pcideviceclaims", "usbdeviceclaims"):
        wait_until(lambda: rest.request("GET", f"{PATH}/{kind}?limit=1")[0] == 200, 20, kind)
    world.node(node)
    addresses = ["0000:01:00.0", "0000:01:00.1"]
    paths = [world.device(node, number, "example.com/x") for number in range(2)]
    for path, address in zip(paths, addresses):
        world.status(path, {"address": address, "iommuGroup": "1", "iommuGroupMembers": ["0000:00:1c.0", *addresses],
                            "bridges": ["0000:00:1c.0"], "kernelDriverInUse": "e1000e", "conditions": [
                                {"type": "Claimable", "status": "True", "reason": "GroupShared", "message": "both",
                                 "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    first, second = (path.rsplit("/", 1)[1] for path in paths)
    try:
        command = f"kubectl hostdev claim {first} --include-group"
        lines = plugin("plan", first).splitlines()
        assert lines[0] == f"{first}: would wait: GroupShared"
        assert f"  claim its whole IOMMU group: {command}" in lines
        assert f"a part of it, claim its whole IOMMU group: {command}\n" in plugin("why", first)
        for words in ([first, "--include-group"], [first, second]):
            told = plugin("plan", *words)
            assert f"{first}: would be accepted\n" in told and "claim its whole" not in told and "GroupShared" not in told
        # Of a claim that waits for the rest of the group, too.
        plugin("claim", first, "--no-wait")
        assert plugin("plan", second).startswith(f"{second}: would be accepted\n")
        plugin("claim", second, "--no-wait")
        left = "  pending after that (GroupShared), because its IOMMU group is no longer claimed as a whole: "
        assert left + second in plugin("plan", "--release", first).splitlines()
        assert left not in plugin("plan", "--release", first, second)
        rest.remove(f"{PATH}/pcideviceclaims/{second}")
        same = f"{first}: already claimed, nothing would change\n"
        assert plugin("plan", first).startswith(same) and "no webhook" not in plugin("plan", first)
        [plan] = json.loads(plugin("plan", first, "-o", "json"))["plans"]
        assert plan["accepted"] is True and plan["message"] == "already claimed, nothing would change"
        assert plugin("plan", first, "--include-group").startswith(f"{first}: would be accepted")
        assert "cannot change" in plugin("plan", first, "--driver", "evil", status=1)
        assert plugin(*command.split()[2:], "--no-wait") == f"{CLAIM}/{first} patched\n"
        assert plugin("plan", first, "--include-group").startswith(same)
        assert rest.get(f"{PATH}/pcideviceclaims/{first}")["spec"]["includeIOMMUGroup"] is True
        # A pod that has one of the functions is waited for.
        world.status(paths[1], {"allocations": [{"namespace": "team", "pod": "p", "container": "c"}]})
        assert plugin("plan", "--release", first).splitlines()[:2] == [
            f"{first}: would wait", "  pod team/p has 0000:01:00.1: the agent waits until it ends"]
        world.status(f"{PATH}/pcideviceclaims/{first}", {"conditions": [
            {"type": "Ready", "status": "False", "reason": "Held", "message": "a pod has it",
             "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
        assert plugin("plan", "--release", first).startswith(f"{first}: would be accepted")  # it has nothing yet
        assert plugin("plan", second).splitlines()[:2] == [
            f"{second}: would wait", "  pod team/p has it: the agent waits until it ends"]
        assert "would wait" not in plugin("plan", first, "--release-without-driver")
    finally:
        rest.remove(f"{PATH}/pcideviceclaims/{first}")


CLAIMABLE = {"type": "Claimable", "status": "True", "reason": "Available", "message": "",
             "lastTransitionTime": "2026-01-01T00:00:00Z"}


def test_a_controller_whose_stick_a_pod_has(plugin, world, node, rest):  # noqa: F811
    """Through the HostDeviceConfig, without a claim."""
    for kind in ("usbdevices", "pcideviceclaims", "usbdeviceclaims"):
        wait_until(lambda: rest.request("GET", f"{PATH}/{kind}?limit=1")[0] == 200, 20, kind)
    world.node(node)
    path = world.device(node, 1, "example.com/xhci")
    device = path.rsplit("/", 1)[1]
    world.status(path, {"address": "0000:00:1f.0", "kernelDriverInUse": "xhci_hcd", "classId": "0c03", "iommuGroup": "1",
                        "conditions": [CLAIMABLE]})
    stick = world.create(f"{PATH}/usbdevices", {
        "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "USBDevice",
        "metadata": {"name": f"{node}-0951-1666-003001", "labels": {"nodename": node}}},
        {"nodeName": node, "pciAddress": "0000:00:1f.0", "portPath": "1-3.1",
         "conditions": [{**CLAIMABLE, "type": "Offered", "reason": "Offered"}]})
    assert plugin("plan", device).startswith(f"{device}: would be accepted\n")
    world.status(stick, {"allocations": [{"namespace": "default", "pod": "stick", "container": "c"}]})
    assert re.search("0000:00:1f.0 +- refused: USBDevicesClaimed ", plugin("tree", node))
    assert "USBDevicesClaimed: " in plugin("why", device) and "delete the pods that have them" in plugin("why", device)
    told = plugin("plan", device)
    assert told.startswith(f"{device}: would wait: USBDevicesClaimed\n") and "disappear" not in told


def test_a_function_of_a_group_that_is_claimed(plugin, world, node, rest):  # noqa: F811
    """Its claim is accepted, so it is claimable in all commands."""
    for kind in ("usbdevices", "pcideviceclaims", "usbdeviceclaims"):
        wait_until(lambda: rest.request("GET", f"{PATH}/{kind}?limit=1")[0] == 200, 20, kind)
    world.node(node)
    addresses = ["0000:07:01.0", "0000:07:02.0"]
    paths = [world.device(node, number, f"example.com/{node}") for number in range(2)]
    for path, address in zip(paths, addresses):
        world.status(path, {"address": address, "iommuGroup": "7", "iommuGroupMembers": addresses, "kernelDriverInUse": "vfio-pci",
                            "conditions": [{**CLAIMABLE, "reason": "GroupShared"}]})
    first, second = (path.rsplit("/", 1)[1] for path in paths)
    try:
        plugin("claim", first, "--include-group", "--no-wait")
        assert re.search("0000:07:02.0 +o claimable: GroupClaimed ", plugin("tree", node))
        assert "State:       o claimable, GroupClaimed: " in plugin("why", second)
        assert f"of its IOMMU group. Claim it: kubectl hostdev claim {second}\n" in plugin("why", second)
        assert plugin("plan", second).startswith(f"{second}: would be accepted\n")
        plugin("claim", "--resource", f"example.com/{node}", "--no-wait", status=1)
        assert f"1 in an IOMMU group that another claim has: {second}" in plugin.said
        assert plugin("claim", second, "--no-wait") == f"{CLAIM}/{second} created\n"
    finally:
        rest.remove(f"{PATH}/pcideviceclaims/{first}")
        rest.remove(f"{PATH}/pcideviceclaims/{second}")
    try:
        plugin("claim", first, "--include-group", "--for", "bob", "--no-wait")
        assert re.search("0000:07:02.0 +- refused: GroupOwned ", plugin("tree", node))
        assert f"kubectl hostdev claim {second} --for USER" in " ".join(plugin("why", second).split())
        assert plugin("plan", second, "--for", "carol").startswith(f"{second}: would wait: GroupOwned")
        assert plugin("plan", second, "--for", "bob").startswith(f"{second}: would be accepted\n")
    finally:
        rest.remove(f"{PATH}/pcideviceclaims/{first}")


def test_one_function_of_a_shared_group_is_not_waited_for(plugin, world, webhook, node, rest):  # noqa: F811
    for kind in ("usbdevices", "pcideviceclaims", "usbdeviceclaims"):
        wait_until(lambda: rest.request("GET", f"{PATH}/{kind}?limit=1")[0] == 200, 20, kind)
    world.node(node)
    addresses = ["0000:00:00.0", "0000:00:00.1"]
    paths = [world.device(node, number, "example.com/x") for number in range(2)]
    for path, address in zip(paths, addresses):
        world.status(path, {"address": address, "iommuGroup": "1", "iommuGroupMembers": addresses,
                            "kernelDriverInUse": "e1000e", "conditions": [
                                {**CLAIMABLE, "reason": "GroupShared",
                                 "message": "shares IOMMU group 1: claim them all, or set includeIOMMUGroup in the claim"}]})
    first = paths[0].rsplit("/", 1)[1]
    claim = f"{PATH}/pcideviceclaims/{first}"
    try:
        wait_until(lambda: "waits, GroupShared: " in plugin("plan", first, status=None), 20, "the webhook knows")
        assert "use --include-group\n" in plugin("plan", first) and "includeIOMMUGroup" not in plugin("plan", first)
        whole = plugin("plan", first, "--include-group")
        assert whole.startswith(f"{first}: would be accepted\n") and "nclude" not in whole, whole
        # Nor does it warn of a function that is claimed by the same command.
        second = paths[1].rsplit("/", 1)[1]
        assert "GroupShared" not in plugin("plan", first, second)
        plugin("claim", first, second, "--dry-run")
        assert "GroupShared" not in plugin.said
        plugin("claim", first, "--dry-run")
        assert "waits, GroupShared: " in plugin.said
        waiting = plugin.start("claim", first)
        wait_until(lambda: rest.request("GET", claim)[0] == 200, 20, "the claim")
        world.status(claim, {"conditions": [{
            "type": "Ready", "status": "False", "reason": "GroupShared", "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": "IOMMU group 1 also holds 0000:00:00.1 (e1000e): claim them too, or set spec.includeIOMMUGroup"}]})
        status, out, said, _ = ended(waiting, time.monotonic())
        assert (status, out) == (1, ""), said
        assert f"{first}: GroupShared: IOMMU group 1 also holds 0000:00:00.1 (e1000e): claim them too, or use --include-group" in said
        assert f"`kubectl hostdev claim {first} --include-group` claims the whole group" in said
        # The webhook warns of a claim with these flags, which the existing one does not have.
        assert plugin("claim", first, "--include-group", "--no-wait") == f"{CLAIM}/{first} patched\n"
        assert plugin("claim", first, "--no-wait") == f"{CLAIM}/{first} unchanged\n"
        assert "Warning" not in plugin.said, plugin.said
    finally:
        rest.remove(claim)


def test_objects_are_printed_as_kubectl_does(plugin, names, rest):  # noqa: F811
    (device, _) = names
    made = json.loads(plugin("claim", device, "--no-wait", "-o", "json"))
    assert "managedFields" in rest.get(f"{PATH}/pcideviceclaims/{device}")["metadata"]
    assert made["metadata"]["name"] == device and "managedFields" not in made["metadata"]
    assert "managedFields" not in plugin("claim", device, "--dry-run=server", "-o", "yaml")


def test_flags_of_pci_devices_are_refused_for_usb_devices(plugin, world, node, names, rest):  # noqa: F811
    usb = f"{node}-0951-1666-001003"
    world.create(f"{PATH}/usbdevices", {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "USBDevice",
                                        "metadata": {"name": usb, "labels": {"nodename": node}}})
    both = [("--driver", "foo"), ("--include-group",)]
    for command, flags in ("plan", both), ("claim", [*both, ("--release-without-driver",)]):
        for flag in flags:
            out = plugin(command, usb, *flag, status=1)
            assert f"{usb}: " in out + plugin.said
            assert f"it is a USB device: {flag[0]} applies only to PCI devices" in out + plugin.said
    assert rest.request("GET", f"{PATH}/usbdeviceclaims/{usb}")[0] == 404


def test_formats_are_those_of_the_command(plugin):  # noqa: F811
    for command, formats in (("tree", "table, wide, json, yaml, name, jsonpath="), ("why", "table, wide, json, yaml, jsonpath="),
                             ("plan", "table, json, yaml, jsonpath=")):
        assert f"One of: {formats}. Default: table." in " ".join(plugin(command, "--help").split())
    plugin("why", "-o", "name", "x", status=2)
    assert "--output: 'name' is not table, wide, json, yaml or jsonpath=TEMPLATE" in plugin.said
    plugin("plan", "-o", "wide", "x", status=2)
    assert "--output: 'wide' is not table, json, yaml or jsonpath=TEMPLATE" in plugin.said


def test_statuses_are_those_of_the_command(plugin):  # noqa: F811
    for command, wanted in (("claim", "3 when not ready within --timeout"), ("release", "3 when not released"),
                            ("plan", "could not be checked"), ("tree", "0 on success")):
        text = " ".join(plugin(command, "--help").split())
        assert len(re.findall(" 0 (?:when|on)", text)) == 1 and "Exit status:" not in text
        assert wanted in text.split("EXIT STATUS")[1]
    assert "--wait[=BOOL]" in plugin("claim", "--help") and "--wait[=BOOL]" in plugin("release", "--help")


def test_words_of_tree_that_are_nodes(plugin, names, node):  # noqa: F811
    assert plugin("tree", f"node/{node}") == plugin("tree", f"nodes/{node}") == plugin("tree", node)
    for empty in ("", "node/"):
        assert plugin("tree", empty, status=2) == ""
        assert "the name of a node is empty" in plugin.said


def test_a_kind_that_is_not_the_devices(plugin, names, rest):  # noqa: F811
    plugin("claim", f"usbdevice/{names[0]}", "--no-wait", status=1)
    assert f"'{names[0]}' is a PCI device" in plugin.said
    assert rest.request("GET", f"{PATH}/pcideviceclaims/{names[0]}")[0] == 404
