"""The agent and an API server that is not there, not ready, or does not let it in.

A control plane of this file's own, because nobody else likes it stopped.
"""

import itertools
import json
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster import ROOT, Cluster, wait_until
from identities import Identities
from programs import Agent
from rest import Rest

NIC = "0000:01:00.1"  # a function of the made-up machine
ADDED = "0000:00:1d.0"


@dataclass
class Own:
    """The control plane, not always running, and ways to it."""

    cluster: Cluster
    rest: Rest

    def kill(self):
        pid = (self.cluster.folder / "pids/kube-apiserver").read_text().split()[0]
        self.cluster.control("kill", "kube-apiserver")
        wait_until(lambda: not Path(f"/proc/{pid}/exe").exists(), 20, "its end")

    def start(self):
        self.cluster.control("start")

    def install(self):
        self.cluster.install_kinds()

    def manifests(self, *names):
        for name in names:
            self.cluster.kubectl("apply", "-f", ROOT / f"manifests/base/{name}.yaml")


@pytest.fixture(scope="module")
def own():
    """Without our kinds; the first test installs them."""
    folder = tempfile.mkdtemp(prefix="hostdev-outage-")
    try:
        cluster = Cluster.start(folder)
        own = Own(cluster, Rest(cluster.kubeconfig))
        own.manifests("namespace", "service-accounts", "rbac-agent", "policy-agents")
        yield own
    finally:
        Cluster.stop(folder)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def identities(own, tmp_path):
    made = Identities(own.cluster, own.rest, tmp_path)
    yield made
    made.close()


@pytest.fixture
def agents(own, identities, machine, node, tmp_path):
    """agents(kubeconfig) -> the agent of a machine of its own, not started; stopped at the end."""
    made = []

    def make(kubeconfig=None):
        made.append(Agent(own.rest, machine, node, kubeconfig or identities.agent(node), tmp_path))
        return made[-1]

    yield make
    for agent in made:
        if agent.process:
            agent.stop()


@pytest.fixture
def installed(own):
    own.install()
    return own


def test_kinds_that_are_installed_later_are_noticed_soon(own, agents):
    agent = agents().start()
    agent.wait_line("list or watch interrupted", "resource=pcidevices", 'reason="not installed"')
    agent.wait_line("devices read")
    # Attempts by the wait for a server that fails would be half a minute apart by now.
    wait_until(lambda: agent.metric("hostdev_watch_troubles_total", 'resource="pcidevices"', 'reason="not installed"') >= 6, 60)
    assert len(agent.lines("list or watch interrupted", "resource=pcidevices")) == 1, "told once"
    own.install()
    began = time.monotonic()
    agent.wait_converged()
    assert time.monotonic() - began < 20
    assert agent.ready()


def test_kinds_that_are_removed_and_installed_again(installed, agents):
    agent = agents().start()
    agent.wait_converged()
    installed.cluster.kubectl("delete", "-f", ROOT / "crds/devices.harvesterhci.io_pcidevices.yaml")
    agent.wait_line("list or watch interrupted", "resource=pcidevices", 'reason="not installed"')
    agent.assert_alive()
    installed.install()
    agent.wait_converged()


def test_a_server_that_is_down_at_the_start_is_waited_for(installed, agents):
    agent = agents()
    installed.kill()
    agent.start()
    try:
        agent.wait_line("list or watch interrupted", "resource=pcidevices", "reason=failed")
        agent.wait_line("devices read")
        status, text = agent.get("/readyz")
        assert status == 503 and "waiting for pcidevices: " in text
        assert agent.get("/healthz")[0] == 200
        wait_until(lambda: agent.metric("hostdev_api_requests_total", 'resource="pcidevices"', 'code="error"') >= 2, 30)
    finally:
        installed.start()
    agent.wait_converged()
    wait_until(agent.ready, 30)


def test_what_changed_while_the_server_was_down_is_published(installed, agents, machine):
    agent = agents().start()
    agent.wait_converged()
    wait_until(lambda: agent.ready() and agent.idle(), 30)
    writes = len(agent.written(installed.cluster))
    installed.kill()
    try:
        agent.wait_line("list or watch interrupted", "resource=pcidevices", "reason=failed")
        machine.remove(NIC)
        machine.add(ADDED)
        machine.tell()
        agent.wait_line("reconcile failed", "queue=inventory")
    finally:
        installed.start()
    agent.wait_converged()
    assert len(agent.lines("reconcile failed", "queue=inventory")) <= 3, "told once for each way to fail"
    done = [(one["verb"], one["objectRef"]["name"].rsplit("-", 1)[1], one["objectRef"].get("subresource"))
            for one in agent.written(installed.cluster)[writes:]]
    assert set(done) == {("delete", "000001001", None), ("patch", "0000001d0", None), ("patch", "0000001d0", "status")}
    # A server that has just begun may do the first part and refuse the second one; then both are tried again.
    assert len(done) <= 4, done


def test_a_restart_of_the_server_costs_no_write(installed, agents):
    agent = agents().start()
    agent.wait_converged()
    writes = len(agent.audit(installed.cluster))
    installed.kill()
    agent.wait_line("list or watch interrupted", "resource=usbdevices", "reason=failed")
    installed.start()
    listed = agent.metric("hostdev_api_requests_total", 'verb="watch"', 'resource="usbdevices"')
    wait_until(lambda: agent.metric("hostdev_watch_events_total", 'resource="usbdevices"') > 0 and
               agent.metric("hostdev_api_requests_total", 'verb="watch"', 'resource="usbdevices"') >= listed and
               agent.idle(), 30)
    agent.wait_converged()
    assert len(agent.audit(installed.cluster)) == writes


def forbidden(agent, verb):
    return agent.metric("hostdev_api_requests_total", f'verb="{verb}"', 'code="403"')


def test_rights_that_are_missing_are_asked_for_slowly(installed, agents, machine):
    installed.cluster.kubectl("delete", "-f", ROOT / "manifests/base/rbac-agent.yaml")
    agent = agents().start()
    agent.wait_line("list or watch interrupted", "resource=pcidevices", "reason=denied", "cannot list resource")
    wait_until(lambda: forbidden(agent, "list") >= 5, 30)
    assert not agent.ready()
    installed.manifests("rbac-agent")
    agent.wait_converged()
    assert forbidden(agent, "list") <= 5 * 4

    # The right to write is taken away, and given back.
    role = installed.cluster.get("clusterrole", "hostdev-agent")
    readonly = [{**rule, "verbs": [verb for verb in rule["verbs"] if verb in ("get", "list", "watch")] or ["get"]}
                for rule in role["rules"]]
    installed.cluster.kubectl("replace", "-f", "-", input={
        **role, "rules": readonly, "metadata": {"name": "hostdev-agent"}})
    machine.add(ADDED)
    machine.remove(NIC)
    machine.tell()
    agent.wait_line("reconcile failed", "queue=inventory", "403 forbidden", "cannot")
    installed.manifests("rbac-agent")
    agent.wait_converged()
    assert forbidden(agent, "apply") + forbidden(agent, "delete") <= 8


def test_the_agent_has_these_rights_and_no_more(installed):
    review = installed.cluster.kubectl(
        "create", "--validate=false", "-o", "json", "-f", "-",
        "--as=system:serviceaccount:hostdev-system:hostdev-agent", input={
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": "default"}})
    rights = {}
    for rule in json.loads(review.stdout)["status"]["resourceRules"]:
        assert rule.get("resourceNames") in (None, ["hostdev.io"])
        for group, resource in itertools.product(rule["apiGroups"], rule["resources"]):
            # What everybody may: ask about oneself.
            if group not in ("authentication.k8s.io", "authorization.k8s.io"):
                rights.setdefault((group, resource), []).extend(rule["verbs"])
    group, own, read = "devices.harvesterhci.io", "hostdev.io", ["get", "list", "watch"]
    made = [(group, kind) for kind in ("pcidevices", "usbdevices", "sriovnetworkdevices", "sriovgpudevices",
                                       "vgpudevices", "migconfigurations")]
    made += [(own, "mediateddevices"), (own, "mediateddeviceparents")]
    told = [*made, (group, "pcideviceclaims"), (group, "usbdeviceclaims"), (own, "hostdeviceconfigs")]
    assert rights == {
        **{kind: [*read, "create", "patch", "delete"] for kind in made},
        **{(at, f"{kind}/status"): ["patch"] for at, kind in told},
        (group, "pcideviceclaims"): [*read, "create", "patch", "delete"],
        (group, "usbdeviceclaims"): [*read, "patch"],
        (own, "hostdeviceconfigs"): read,
        ("", "nodes"): read,
        ("resource.k8s.io", "resourceslices"): [*read, "create", "update", "patch", "delete"],
        ("resource.k8s.io", "resourceclaims"): ["get"],
        ("resource.k8s.io", "resourceclaims/status"): ["patch"],
        ("resource.k8s.io", "resourceclaims/driver"): ["associated-node:patch"],
        ("", "events"): ["create", "patch"],
    }


def test_a_token_that_is_replaced_is_used(installed, agents, identities, machine, node, tmp_path):
    """The old one is refused before the new one is there."""
    file = tmp_path / "token"
    old = identities.token("hostdev-agent", node)
    file.write_text(old)
    agent = agents(identities.kubeconfig("file", {"tokenFile": "token"})).start()
    agent.wait_converged()

    # A token belongs to the ServiceAccount that it was made for, not to its name.
    installed.cluster.kubectl("delete", "serviceaccount", "hostdev-agent", "-n", "hostdev-system")
    installed.manifests("service-accounts")
    config = identities.kubeconfig("old", {"token": old})
    ask = ["--kubeconfig", config, "get", "--raw", "/api"]
    wait_until(lambda: installed.cluster.kubectl(*ask, check=False).returncode, 30, "the old token is refused")
    machine.add(ADDED)
    machine.tell()
    agent.wait_line("reconcile failed", "queue=inventory", "401 unauthorized")
    new = tmp_path / "token.new"
    new.write_text(identities.token("hostdev-agent", node))
    new.rename(file)
    agent.wait_converged()
    assert old.strip() not in agent.log()
