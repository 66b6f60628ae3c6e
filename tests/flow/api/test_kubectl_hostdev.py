"""`kubectl hostdev`, found by kubectl on PATH, with a real API server, agent, controller and webhook."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import termios

import pytest
import yaml

from cluster import ROOT, wait_until
from map_scene import NIC as NIC_MODEL
from map_scene import Scene
from programs import clean_environment, program
from replicas import GROUP
from webhook import Webhook

NIC, TWIN, THIRD = "0000:01:00.0", "0000:01:00.1", "0000:01:00.2"
CLAIMS = "/apis/devices.harvesterhci.io/v1beta1/pcideviceclaims"
CLAIM = "pcideviceclaim.devices.harvesterhci.io"


def name(node, address):
    return f"{node}-{address.replace(':', '').replace('.', '')}"


class Plugin:
    """kubectl with the plugin on PATH, as somebody."""

    def __init__(self, cluster, kubeconfig=None):
        self.kubectl = shutil.which(cluster._kubectl)
        path = f"{program('kubectl-hostdev').parent}:{os.path.dirname(self.kubectl)}:{os.environ['PATH']}"
        self.env = clean_environment(PATH=path, KUBECONFIG=str(kubeconfig or cluster.kubeconfig), LC_ALL="C.UTF-8",
                                     TERM="xterm")
        self.env.pop("NO_COLOR", None)

    def start(self, *words, **options):
        return subprocess.Popen([self.kubectl, "hostdev", *words], env=self.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **options)

    def __call__(self, *words, status=0):
        """What it prints; its exit status must be that (None: any). What it says beside is in `said`."""
        run = subprocess.run([self.kubectl, "hostdev", *words], env=self.env, text=True, capture_output=True,
                             timeout=200)
        assert status in (None, run.returncode), f"{words}: {run.returncode}, {run.stdout}{run.stderr}"
        self.said = run.stderr
        return run.stdout

    def events(self):
        run = subprocess.run([self.kubectl, "get", "events", "-n", "default", "-o", "json"], env=self.env, text=True,
                             capture_output=True, check=True, timeout=200)
        return json.loads(run.stdout)["items"]

    def on_terminal(self, *words, columns=0, **env):
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, columns))
        text = b""
        with subprocess.Popen([self.kubectl, "hostdev", *words], env={**self.env, **env}, stdout=theirs) as process:
            os.close(theirs)
            try:
                while chunk := os.read(ours, 65536):
                    text += chunk
            except OSError:  # the other end is closed
                pass
            os.close(ours)
        assert process.returncode == 0
        return text.decode()


@pytest.fixture
def plugin(installed):
    return Plugin(installed)


class Lender:
    """An agent whose machine has a NIC of which one function is on vfio-pci already: a made-up tree binds nothing."""

    def __init__(self, agents, machine, node):
        machine.bind(TWIN, "vfio-pci")
        (machine.folder / "sys/module/vfio_iommu_type1").mkdir(parents=True)
        self.machine = machine
        self.agent = agents(machine, node).start()
        self.agent.wait_converged()

    def was_on(self, driver):
        """As if the agent had taken it from this driver, to which it then goes back."""
        [path] = (self.machine.folder / "state/devices").glob("*.json")
        record = {**json.loads(path.read_text()), "native": driver}
        record.pop("override", None)
        path.write_text(json.dumps(record))
        self.look("a look at the record")

    def look(self, what):
        scans = self.agent.scans()
        self.machine.tell()
        wait_until(lambda: self.agent.scans() > scans, 10, what)

    def give_back_after_a_try(self):
        """A made-up tree refuses the agent's own try. It tries again when the device looks other than after that."""
        wait_until(lambda: self.agent.lines("verb=release"), 20, "the agent's try")
        self.look("a look at what the try left")
        self.give_back()

    def give_back(self):
        """What the kernel does when the agent releases it."""
        (self.machine.device(TWIN) / "driver_override").write_text("\n")
        self.machine.bind(TWIN, "e1000e")
        self.machine.tell()


@pytest.fixture
def lender(agents, machine, node, rest):
    made = Lender(agents, machine, node)
    yield made
    # An API server goes on asking a webhook for a while after its configuration went.
    wait_until(lambda: rest.request("DELETE", f"{CLAIMS}/{name(node, TWIN)}")[0] in (200, 202, 404), 20, "the deletion")
    made.give_back()
    wait_until(lambda: rest.request("GET", f"{CLAIMS}/{name(node, TWIN)}")[0] == 404, 60, "the claim's end")
    rest.remove(f"{CLAIMS}/{name(node, NIC)}")


@pytest.fixture
def scene(rest):
    made = Scene(rest)
    yield made
    made.close()


@pytest.fixture
def webhook(installed, identities, tmp_path):
    made = Webhook(installed, identities, tmp_path).start()
    yield made
    made.close()


def test_the_tree_of_a_node(plugin, lender, node):
    lines = plugin("tree", node).splitlines()
    assert lines[0].split()[:3] == ["DEVICE", "STATE", "GROUP"] and lines[1] == node
    assert lines[2:4] == ["├─0000:00", "│ └─0000:00:01.0"]
    assert re.fullmatch(rf"│   ├─{NIC} +- refused: HostNetwork +1 +e1000e +Ethernet controller: Intel .*", lines[4])
    assert re.fullmatch(rf"│   ├─{TWIN} +o claimable +2 +vfio-pci +Ethernet controller: Intel .*", lines[5])
    assert any("USB 1-1.1" in line and "usbhid" in line for line in lines)
    names = plugin("tree", node, "-o", "name").split()
    assert f"pcidevice.devices.harvesterhci.io/{name(node, NIC)}" in names
    assert names[-1].startswith("usbdevice.devices.harvesterhci.io/")
    tree = json.loads(plugin("tree", node, "-o", "json"))
    assert tree == yaml.safe_load(plugin("tree", "-oyaml", node))
    (only,) = tree["nodes"]
    assert [(one["reason"], one["bridges"]) for one in only["devices"] if one["address"] == NIC] == [
        ("HostNetwork", ["0000:00:01.0"])]
    claimable = plugin("tree", node, "-o", "jsonpath={.nodes[*].devices[?(@.state==\"Claimable\")].address}").split(" ")
    assert claimable[:2] == [TWIN, THIRD] and claimable[-1] == "1-1.1" and NIC not in claimable
    assert plugin("tree", node, "-o=jsonpath={range .nodes[*]}{.name}{'\\n'}{end}") == f"{node}\n"
    assert "there is no node 'nowhere'" in (plugin("tree", "nowhere", status=1) or plugin.said)


def test_why_says_what_is_in_the_way_and_what_to_do(plugin, lender, node):
    text = plugin("why", f"{node}/01:00.0")
    assert "State:       - refused, HostNetwork: eth0 has the default route" in text
    assert re.search(r"PCIDevice +Claimable +False +HostNetwork +\d+s +eth0 has the default route", text)
    assert "What to do:\n  Move the node's address or default route to another interface first." in text
    wait_until(lambda: "LeftAlone" in plugin("why", f"{node}/{TWIN}"), 10, "the event")
    told = json.loads(plugin("why", name(node, TWIN), "-o", "json"))
    assert told["state"] == "Claimable" and told["conditions"][0]["of"] == "PCIDevice"
    assert told["events"][0]["reason"] == "LeftAlone"


def test_claimed_until_ready_and_given_back(plugin, lender, node, rest):
    device = name(node, TWIN)
    assert plugin("claim", f"{node}/01:00.1", "--timeout", "120s") == f"{CLAIM}/{device} ready\n"
    assert rest.get(f"{CLAIMS}/{device}")["spec"]["address"] == TWIN
    assert re.search(rf"{TWIN} +\+ available", plugin("tree", node))
    assert plugin("claim", device) == f"{CLAIM}/{device} ready\n" and "already claimed" in plugin.said
    assert "Ready" in plugin("why", device) and "Bound" in plugin("why", device)
    assert plugin("who", device).splitlines()[1].split()[:4] == [device, "available", "(no", "user)"]
    lender.was_on("e1000e")
    assert plugin("release", device, "--timeout", "6s", status=3) == ""
    assert f"Timed out (--timeout): 1 device is not released: {device}." in plugin.said
    assert "< releasing" in plugin("tree", node)
    plugin("claim", device, status=1)
    assert "it is being released" in plugin.said
    waiting = plugin.start("release", device)
    assert device in waiting.stderr.readline()
    lender.give_back_after_a_try()
    said = waiting.communicate(timeout=120)
    assert waiting.returncode == 0 and said[0] == f"{CLAIM}/{device} released\n", said
    assert plugin("release", device, status=1) == "" and "it is not claimed" in plugin.said


def test_what_is_refused_is_waited_for_with_its_reason(plugin, lender, node):
    device = name(node, NIC)
    assert plugin("claim", device, "--timeout", "6s", status=3) == ""
    assert f"{device}: HostNetwork: eth0 has the default route" in plugin.said
    assert "kubectl hostdev why" in plugin.said
    assert plugin("release", device, "-o", "name") == f"{CLAIM}/{device}\n"


def test_nothing_is_waited_for_if_so_said(plugin, lender, node, rest):
    device = name(node, NIC)
    made = json.loads(plugin("claim", device, "--no-wait", "-o", "json"))
    assert made["kind"] == "PCIDeviceClaim" and made["metadata"]["name"] == device
    assert plugin("release", device, "--wait=false", "--dry-run=server") == \
        f"{CLAIM}/{device} deleted (server dry run)\n"
    assert rest.request("GET", f"{CLAIMS}/{device}")[0] == 200
    assert plugin("release", device, "--wait=false") == f"{CLAIM}/{device} deleted\n"


def test_an_interrupt_ends_the_waiting_and_not_the_claim(plugin, lender, node, rest):
    device = name(node, NIC)
    # In a group of its own, as a shell starts a job: kubectl becomes the plugin.
    waiting = plugin.start("claim", device, start_new_session=True)
    wait_until(lambda: rest.request("GET", f"{CLAIMS}/{device}")[0] == 200, 20)
    wait_until(lambda: "HostNetwork" in json.dumps(rest.get(f"{CLAIMS}/{device}").get("status", {})), 20)
    os.killpg(waiting.pid, signal.SIGINT)
    out, said = waiting.communicate(timeout=120)
    assert waiting.returncode == 130 and out == "", said
    assert "Interrupted. Claims that were created stay; `kubectl hostdev release` deletes them." in said
    assert rest.request("GET", f"{CLAIMS}/{device}")[0] == 200
    plugin("release", device)


def test_usb_devices_are_claimed_too(plugin, lender, node, rest):
    (device,) = (n for kind, n in rest.devices(node) if kind == "USBDevice")
    # No kubelet is there to lend it: what can be seen is that the claim is made, and goes.
    assert plugin("claim", f"{node}/1-1.1", "--no-wait", "-o", "name") == \
        f"usbdeviceclaim.devices.harvesterhci.io/{device}\n"
    wait_until(lambda: "Accepted" in plugin("why", device), 20, "the agent's word")
    assert plugin("release", device) == f"usbdeviceclaim.devices.harvesterhci.io/{device} released\n"


def test_words_that_mean_nothing_or_too_much(plugin, lender, agents, tmp_path, node, rest):
    plugin("why", "nothing-of-the-kind", status=1)
    assert "no device 'nothing-of-the-kind'" in plugin.said
    world = [{"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice", "metadata": {"name": f"{one}-0"}}
             for one in (f"{node}a", f"{node}b")]
    for one in world:
        rest.create("pcidevices", one)
        rest.patch("pcidevices", one["metadata"]["name"],
                   {"status": {"address": "0009:01:00.0", "nodeName": one["metadata"]["name"][:-2]}}, "status")
    try:
        plugin("claim", "0009:01:00.0", status=1)
        assert f"{node}a-0  ({node}a/0009:01:00.0)" in plugin.said and f"{node}b-0" in plugin.said
        assert rest.request("GET", f"{CLAIMS}/{node}a-0")[0] == 404
    finally:
        for one in world:
            rest.delete("pcidevices", one["metadata"]["name"])


def test_the_webhooks_words_are_shown(plugin, lender, webhook, node, rest):
    device = name(node, TWIN)
    text = plugin("plan", device)
    assert text.startswith(f"{device}: would be accepted\n") and "no webhook has said" not in text, text
    assert plugin("claim", device, "--dry-run=server") == f"{CLAIM}/{device} created (server dry run)\n"
    assert "Warning: " in plugin.said
    assert rest.request("GET", f"{CLAIMS}/{device}")[0] == 404
    refused = plugin("plan", name(node, NIC), status=1)
    assert "would be refused" in refused and "eth0 has the default route" in refused
    plugin("claim", name(node, NIC), status=1)
    assert "eth0 has the default route" in plugin.said
    # It fills in whose the claim is.
    plugin("claim", device)
    assert plugin("who", device).splitlines()[1].split()[2] != "(no"
    assert plugin("plan", device, "--release").startswith(f"{device}: would be accepted")


def test_a_refused_deletion_is_one_event_and_a_release_that_waits_is_none(plugin, webhook, world, node, rest):
    """No agent is there, so that the pod stays the test's."""
    device = f"{node}-held"
    seen = {"nodeName": node, "address": "0000:0a:00.0", "iommuGroup": "7"}
    claim = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim", "metadata": {"name": device}}
    world.node(node)
    owned = world.create(f"{GROUP}/pcidevices", {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice",
                                                 "metadata": {"name": device}}, seen)
    wait_until(lambda: rest.request("POST", CLAIMS, claim)[0] == 201, 20, "the webhook's cache")
    world.status(owned, {"allocations": [{"namespace": "default", "pod": "p", "container": "c"}]})
    wait_until(lambda: plugin("plan", device, "--release", status=None).startswith(f"{device}: would wait"), 10,
               "the refusal")

    def refusals():
        return [event for event in plugin.events() if event["reason"] == "ClaimRefused"
                and event["involvedObject"]["name"] == device]

    assert plugin("release", device, "--timeout", "6s", status=3) == ""
    # There is no such pod any more.
    assert f"{device}: its pod is deleted: waiting until the kubelet lists the device as free" in plugin.said
    assert "denied" not in plugin.said
    assert f"Timed out (--timeout): 1 device is not released: {device}.\n" in plugin.said
    assert f"{device}: its claim is not deleted, for the reason above" in plugin.said
    assert rest.request("DELETE", f"{CLAIMS}/{device}")[0] == 409
    wait_until(refusals, 20, "the event")
    assert [event.get("count") or 1 for event in refusals()] == [1]
    world.status(owned, {"allocations": None})
    wait_until(lambda: plugin("release", device, "--timeout", "120s", status=None), 20, "the release")
    world.delete(owned)


def test_a_plan_says_what_is_known_and_what_is_not(plugin, lender, world, node):
    """Nobody has the API server ask a webhook."""
    device = name(node, NIC)
    assert plugin("plan", device).splitlines()[:2] == [
        f"{device}: would wait: HostNetwork",
        "  its node says: HostNetwork: eth0 has the default route"]
    free = plugin("plan", name(node, TWIN))
    assert free.startswith(f"{name(node, TWIN)}: would be accepted\n") and "no webhook has checked it" in free
    unsaid = world.create(f"{GROUP}/pcidevices", {
        "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice", "metadata": {"name": f"{node}-x"}})
    assert plugin("plan", f"{node}-x").splitlines()[1] == "  no agent has said whether it may be claimed"
    world.delete(unsaid)
    # A claim without an agent, and one that is on its way out.
    world.create(f"{GROUP}/pcideviceclaims", {
        "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
        "metadata": {"name": f"{node}-y", "finalizers": ["example.com/stays"]}})
    assert plugin("plan", f"{node}-y").startswith(f"{node}-y: already claimed, nothing would change\n")
    plugin("release", f"{node}-y", "--timeout", "3s", status=3)
    assert f"1 device is released, but its claim is not deleted: {node}-y.\n" in plugin.said
    assert "finalizer 'example.com/stays' keeps the claim. An administrator can remove" in plugin.said
    assert "finalizer 'example.com/stays' keeps the claim" in plugin("why", f"{node}-y")
    assert plugin("plan", f"{node}-y", status=1) == \
        f"{node}-y: would be refused\n  the device is released; the finalizer 'example.com/stays' keeps the claim\n"
    plugin("claim", f"{node}-y", status=1)
    assert "the finalizer 'example.com/stays' keeps the claim" in plugin.said


def test_a_plan_that_nobody_judges_is_no_refusal(plugin, lender, webhook, node):
    webhook.stop()
    device = name(node, TWIN)
    said = plugin("plan", device, status=1)
    assert said.startswith(f"{device}: could not be checked\n") and "webhook" in said
    [plan] = json.loads(plugin("plan", device, "-o", "json", status=1))["plans"]
    assert "accepted" not in plan and "webhook" in plan["message"]


def test_advice_finds_the_agents_pods():
    """With the labels of manifests/base."""
    pod = next(one for one in yaml.safe_load_all((ROOT / "manifests/base/agent.yaml").read_text())
               if one["kind"] == "DaemonSet")["spec"]["template"]
    advice = re.sub(r'"\s+"', "", (ROOT / "cli/print/advice.c").read_text())  # literals that go over several lines
    selectors = re.findall(r"-l (\S+?)=([^ \"]+)", advice)
    assert selectors and set(selectors) <= set(pod["metadata"]["labels"].items())


def test_somebody_elses_claim_is_not_mine(plugin, lender, webhook, identities, installed, node, rest):
    device = name(node, TWIN)
    rest.create("pcideviceclaims", {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
                                    "metadata": {"name": device}, "spec": {"userName": "somebody"}})
    plugin("claim", device, status=1)
    assert re.search(r"already claimed, by 'somebody' since \d{4}-", plugin.said)
    assert re.search(rf"{TWIN} .* somebody ", plugin("tree", node))


def test_who_may_read_one_device_alone_claims_it(plugin, lender, identities, installed, node, rest):
    device, user = name(node, TWIN), f"nora-{node}"
    installed.kubectl("apply", "-f", "-", input={
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": user}, "rules": [
            {"apiGroups": ["devices.harvesterhci.io"], "resources": ["pcidevices"], "resourceNames": [device],
             "verbs": ["get", "claim"]},
            {"apiGroups": ["devices.harvesterhci.io"], "resources": ["pcideviceclaims"], "verbs": ["create"]},
            {"apiGroups": ["devices.harvesterhci.io"], "resources": ["pcideviceclaims"], "resourceNames": [device],
             "verbs": ["get", "delete"]}]})
    installed.kubectl("create", "clusterrolebinding", user, f"--clusterrole={user}", f"--user={user}")
    nora = Plugin(installed, identities.user(user))
    try:
        wait_until(lambda: subprocess.run([nora.kubectl, "auth", "can-i", "create", "pcideviceclaims"],
                                          env=nora.env, capture_output=True).returncode == 0, 20, "her role")
        assert nora("claim", device, "--timeout", "120s") == f"{CLAIM}/{device} ready\n"
        assert "State:       + available" in nora("why", device)
        assert "forbidden" in nora.said
        nora("claim", name(node, THIRD), status=1)
        assert (f"no device '{name(node, THIRD)}' is among those that you may read, so you may not claim it: ask an administrator "
                f"for the verbs get and claim on pcidevices/{name(node, THIRD)}\n") in nora.said
        for words, kind in ((["tree"], "pcidevices"), (["who"], "pcidevices"), (["top"], "devicepools")):
            nora(*words, status=1)
            assert nora.said == (f"kubectl hostdev {words[0]}: user '{user}' may not list {kind} (403 forbidden): ask an "
                                 "administrator for the role hostdev-view\n")
        nora("log", device, status=1)
        assert nora.said.endswith("may not list events in the namespace default (403 forbidden): ask an administrator for "
                                  "the role event-reader of docs/audit.md\n")
        nora("claim", "--resource", "example.com/none", status=1)
        assert (f"no device that you may read has the resource 'example.com/none'\n  user '{user}' may not list pcidevices, "
                "pcideviceclaims, ") in nora.said
        assert nora.said.count("403 forbidden") == 1
        # By its address, she sees the same.
        for address in (TWIN, TWIN.removeprefix("0000:")):
            assert "Driver:      vfio-pci" in nora("why", f"{node}/{address}")
        # Else it stays on vfio-pci, and the claim is gone before anyone can look.
        lender.was_on("e1000e")
        waiting = nora.start("release", device)
        wait_until(lambda: "deletionTimestamp" in rest.get(f"{CLAIMS}/{device}")["metadata"], 10)
        lender.give_back_after_a_try()
        assert waiting.wait(120) == 0
    finally:
        installed.kubectl("delete", "clusterrolebinding,clusterrole", user, "--ignore-not-found")


def test_top_counts_by_resource_name(plugin, controllers, world, node):
    resource = f"example.com/{node}"
    replica = controllers("--agent-pods", "none").start()
    wait_until(replica.leads, 30)
    world.node(node)
    devices = [world.device(node, number, resource) for number in range(3)]
    world.claim(devices[0], node)
    world.claim(devices[1], node, ready=None)
    wait_until(lambda: world.counts(resource) == (3, 2, 1, 0, 1), 20, lambda: world.pool(resource))
    rows = [line.split() for line in plugin("top").splitlines()]
    assert rows[0] == ["RESOURCE", "DEVICES", "CLAIMABLE", "CLAIMED", "ALLOCATED", "AVAILABLE"]
    assert [resource, "3", "0", "2", "0", "1"] in rows
    rows = [line.split() for line in plugin("top", "--nodes").splitlines()]
    assert [resource, node, "3", "0", "2", "0", "1"] in rows
    assert [resource, "3", "0", "2", "1", "0", "1", "1"] in [line.split() for line in plugin("top", "-o", "wide").splitlines()]
    world.status(devices[2], {"conditions": [{"type": "Claimable", "status": "True", "reason": "Available", "message": "",
                                              "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    assert [resource, "3", "1", "2", "0", "1"] in [line.split() for line in plugin("top").splitlines()]
    for words in (("top",), ("top", "--nodes")):
        lines = plugin.on_terminal(*words, columns=80, TERM="dumb").splitlines()
        assert len(lines) > 1 and max(map(len, lines)) <= 80, lines
    # The states of the tree are the same.
    tree = [line.split()[1:3] for line in plugin("tree", node).splitlines() if "─" in line]
    assert (tree.count(["o", "claimable"]), tree.count(["+", "available"])) == (1, 1)
    assert resource in [one["spec"]["resourceName"] for one in json.loads(plugin("top", "-o", "json"))["items"]]


def test_who_has_it(plugin, world, rest, node):
    """A pod of KubeVirt's, as its controllers would make it."""
    world.node(node)
    device = world.device(node, 1, "example.com/x")
    world.status(device, {"allocations": [{"namespace": "default", "pod": f"vm-{node}", "container": "compute"}]})
    rest.request("POST", "/api/v1/namespaces/default/serviceaccounts",
                 {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    world.create("/api/v1/namespaces/default/pods", {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": f"vm-{node}", "labels": {"vm.kubevirt.io/name": "my-machine"}},
        "spec": {"containers": [{"name": "compute", "image": "none"}], "automountServiceAccountToken": False,
                 "terminationGracePeriodSeconds": 0}}, {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"})
    row = plugin("who", f"{node}-000000001").splitlines()[1].split()
    assert row[:6] == [f"{node}-000000001", "in", "use", "-", f"default/vm-{node}", "compute"]
    assert row[6] == "my-machine" and row[7].endswith("d")


def test_kubectl_completes_devices_of_the_cluster(plugin, lender, node):
    """It asks kubectl_complete-hostdev, which lies beside the plugin. Shells: test_completion.py."""
    def offers(*words):
        run = subprocess.run([plugin.kubectl, "__complete", "hostdev", *words], env=plugin.env, text=True,
                             capture_output=True, timeout=200)
        return [line.split("\t")[0] for line in run.stdout.splitlines()]

    offered = offers("claim", node)
    assert name(node, TWIN) in offered and name(node, NIC) not in offered and offered[-1] == ":4", offered
    assert "--as" not in offers("tree", "--") and "--all-namespaces" in offers("tree", "--")


def test_colour_is_for_terminals(plugin, lender, node):
    assert "\x1b[2m- refused: HostNetwork\x1b[0m" in plugin.on_terminal("tree", node)
    assert "\x1b" not in plugin.on_terminal("tree", node, NO_COLOR="1")
    assert "\x1b" not in plugin.on_terminal("tree", node, TERM="dumb")
    assert "\x1b" not in plugin("tree", node)


def test_tables_fit_the_terminal(plugin, lender, node, rest):
    """Descriptions are cut, on a terminal alone; the tables of kubectl have the rest in -o wide."""
    whole = plugin("tree", node)
    cut = plugin.on_terminal("tree", node, columns=100, TERM="dumb").replace("\r\n", "\n")
    assert max(map(len, whole.splitlines())) > 130
    assert max(map(len, cut.splitlines())) == 100 and "…" in cut
    assert cut.splitlines()[0].split() == ["DEVICE", "STATE", "GROUP", "DRIVER", "DESCRIPTION"]  # nothing is claimed
    for short, long in zip(cut.splitlines(), whole.splitlines(), strict=True):
        assert short[-1] != "…" or short[:-1].split("  ")[-1].strip() in long
    assert "…" not in plugin.on_terminal("tree", node, "-o", "wide", columns=100, TERM="dumb")
    assert plugin.on_terminal("tree", node, columns=0, TERM="dumb").replace("\r\n", "\n") == whole
    assert max(map(len, plugin("who", f"{node}-000001001").splitlines())) > 80
    for words in (("who", f"{node}-000001001"), ("log", f"{node}-000001001")):
        lines = plugin.on_terminal(*words, columns=80, TERM="dumb").splitlines()
        assert lines and max(map(len, lines)) <= 80, lines
    explained = plugin("why", name(node, NIC))
    assert max(map(len, explained.splitlines())) > 80
    for columns in 60, 80:  # the same words, in lines that fit; a command is not broken, so that it can be copied
        text = plugin.on_terminal("why", name(node, NIC), columns=columns, TERM="dumb").replace("\r\n", "\n")
        assert max(len(line) for line in text.splitlines() if " kubectl " not in line) <= columns, text
        assert re.sub(r"\b\d+s\b", "", text).split() == re.sub(r"\b\d+s\b", "", explained).split()

    def table(*words):
        return subprocess.run([plugin.kubectl, "get", "pcidevices", "-l", f"nodename={node}", *words], env=plugin.env,
                              check=True, capture_output=True, text=True).stdout.splitlines()
    assert table()[0].split() == ["NAME", "DRIVER", "CLAIMABLE", "CLAIMED", "DESCRIPTION"]
    assert max(map(len, table())) <= 128
    assert "ADDRESS" in table("-o", "wide")[0] and table("-o", "wide")[0].endswith("DESCRIPTION")


@pytest.mark.parametrize("columns", [100, 80])
def test_tables_fit_with_devices_that_are_claimed_too(plugin, scene, node, columns):
    """Ready for a pod, waiting, and with a pod, by names as long as those of hack/up."""
    scene.node(node)
    pod = [{"namespace": "default", "pod": "try", "container": "main"}]
    ready, waits, used = (scene.pci(node, f"0000:0{slot}:00.0", NIC_MODEL, slot, **more) for slot, more in (
        (1, {}), (2, {}), (3, {"allocations": pod, "kernelDriverInUse": "vfio-pci"})))
    scene.claim(ready, user="kubernetes-admin")
    scene.claim(waits, "False", "NotOffered", "the kubelet of the node does not list intel.com/82574L_GIGABIT_NETWORK_CONNECTION "
                "yet: it does so every 10 s", user="kubernetes-admin")
    scene.claim(used, user="kubernetes-admin")
    scene.event(waits, "NotOffered", "the kubelet does not list intel.com/82574L_GIGABIT_NETWORK_CONNECTION yet", warning=True)
    counts = {"devices": 3, "claimed": 3, "healthy": 3, "allocated": 1}
    scene.create("/apis/hostdev.io/v1alpha1/devicepools", {
        "apiVersion": "hostdev.io/v1alpha1", "kind": "DevicePool", "metadata": {"name": node},
        "spec": {"resourceName": "intel.com/82574L_GIGABIT_NETWORK_CONNECTION"}}, {
            **counts, "nodes": 1, "perNode": [{"nodeName": node, **counts}]})
    names = [path.rsplit("/", 1)[1] for path in (ready, waits, used)]
    for words in (["tree", node], ["top"], ["who"], *(["who", one] for one in names), *(["why", one] for one in names),
                  ["log", names[1]]):
        whole, seen = plugin(*words), plugin.on_terminal(*words, columns=columns, TERM="dumb").splitlines()
        assert len(seen) >= len(whole.splitlines()) > 0
        assert [line for line in seen if len(line) > columns and " kubectl " not in line] == [], words
    tree = plugin.on_terminal("tree", node, columns=columns, TERM="dumb")
    assert all(word in tree for word in ("+ available", "~ pending", "# in use", "kubernetes", "default")), tree


def test_a_reader_who_leaves_is_no_error(plugin, lender, node):
    ours, theirs = os.pipe()
    os.close(ours)
    run = subprocess.run([plugin.kubectl, "hostdev", "tree"], env=plugin.env, stdout=theirs, stderr=subprocess.PIPE,
                         text=True, timeout=200, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    os.close(theirs)
    assert run.returncode == -signal.SIGPIPE and run.stderr == "", run


def test_what_is_wrong_is_said_in_one_line(plugin, installed, tmp_path):
    plugin("tree", "--context", "none", status=1)
    assert "context" in plugin.said and plugin.said.count("\n") == 1
    plugin("tree", "-o", "jsn", status=2)
    assert "'jsn' is not table, wide, json, yaml, name or jsonpath=TEMPLATE" in plugin.said
    plugin("tree", "-o", "jsonpath={.nodes", status=2)
    assert "--output: jsonpath: } is missing" in plugin.said and plugin.said.count("\n") == 1
    plugin("why", status=2)
    assert "DEVICE is missing" in plugin.said
    plugin("tree", "--ass", "jane", status=2)
    assert "unknown flag '--ass': see kubectl hostdev tree --help" in plugin.said  # and nobody is led to act as somebody
    for before in (), ("help",):
        plugin(*before, "clam", status=2)
        assert plugin.said.endswith("unknown command 'clam': did you mean 'claim'?\n") and plugin.said.count("\n") == 1
        plugin(*before, "explain", status=2)
        assert plugin.said.endswith("unknown command 'explain': did you mean 'why'?\n")
        plugin(*before, "bogus", status=2)
        assert plugin.said.endswith("unknown command 'bogus': see kubectl hostdev --help\n")
    assert plugin("help", "claim") == plugin("claim", "--help") and plugin("help", "options") == plugin("options")
    assert "why" in plugin() and "why" in plugin("help") and "EXIT STATUS" in plugin("claim", "--help")
