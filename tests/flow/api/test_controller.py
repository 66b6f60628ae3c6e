"""hostdev-controller on a real API server: one replica leads, another takes over; probes and metrics."""

import itertools
import json
import signal
import time

import pytest

from cluster import wait_until
from replicas import LEASE, NAMESPACE, Replica, lease


@pytest.fixture
def replicas(controllers):
    """replicas() -> one more, with the rights of its ServiceAccount, not started. The Lease is gone before and after."""
    return controllers


@pytest.fixture
def pair(replicas):
    """(the leader, one that waits)."""
    leader, other = replicas().start(), replicas()
    wait_until(leader.leads, 20)
    other.start()
    wait_until(other.ready, 20)
    return leader, other


def test_one_of_two_leads_and_the_lease_says_who(pair, rest):
    leader, other = pair
    spec = lease(rest)
    assert spec["holderIdentity"] == leader.identity
    assert (spec["leaseDurationSeconds"], spec.get("leaseTransitions", 0)) == (15, 0)
    assert not other.leads()
    assert leader.lines("msg=leading", leader.identity) and not other.lines("msg=leading")


def test_two_that_start_together_have_one_leader(replicas):
    both = [replicas().start() for _ in range(2)]
    wait_until(lambda: all(replica.ready() for replica in both), 20)
    wait_until(lambda: any(replica.leads() for replica in both), 20)
    assert [replica.leads() for replica in both].count(True) == 1


def test_sigterm_gives_the_lease_back(pair, rest):
    """The other replica leads without waiting for the Lease to expire."""
    leader, other = pair
    other.signal(signal.SIGSTOP)
    leader.signal(signal.SIGTERM)
    try:
        assert leader.process.wait(60) == 0
        given_back = lease(rest)
    finally:
        other.signal(signal.SIGCONT)
        began = time.monotonic()
    assert not given_back.get("holderIdentity"), given_back
    wait_until(other.leads, 20)
    assert time.monotonic() - began < 14, "not only when it would have run out"
    assert lease(rest)["holderIdentity"] == other.identity
    assert lease(rest)["leaseTransitions"] == 1


def test_after_kill_9_the_lease_runs_out(pair, rest):
    leader, other = pair
    began = time.monotonic()
    leader.kill()
    wait_until(other.leads, 30)
    # As long as the Lease lasts, less the time since its last renewal.
    assert time.monotonic() - began > 10
    assert lease(rest)["holderIdentity"] == other.identity


def test_a_leader_that_was_stopped_for_long_leads_no_more(pair, rest):
    leader, other = pair
    leader.signal(signal.SIGSTOP)
    wait_until(other.leads, 30)
    leader.signal(signal.SIGCONT)
    wait_until(lambda: not leader.leads(), 10)
    assert other.leads() and lease(rest)["holderIdentity"] == other.identity


def test_a_lease_that_is_deleted_comes_back(pair, rest):
    leader, other = pair
    rest.request("DELETE", LEASE)
    wait_until(lambda: lease(rest).get("holderIdentity"), 20)
    wait_until(lambda: [replica.leads() for replica in pair].count(True) == 1, 20)


def test_probes_and_metrics_are_served(replicas):
    replica = replicas().start()
    wait_until(replica.ready, 20)
    assert replica.get("/healthz") == (200, "ok\n")
    status, text = replica.get("/readyz?verbose")
    assert status == 200 and "[+]election ok" in text
    metrics = replica.get("/metrics")[1]
    for name in ("hostdev_build_info", "hostdev_controller_leader", "hostdev_api_requests_total"):
        assert f"# TYPE {name} " in metrics
    assert replica.get("/elsewhere")[0] == 404


def test_without_its_namespace_it_says_so_and_is_not_ready(installed, tmp_path):
    """As administrator: the ServiceAccount is told nothing of other namespaces."""
    replica = Replica(installed.kubeconfig, tmp_path, "--namespace", "nowhere").start()
    replica.wait_line("level=warn", "cannot write lease", "nowhere")
    wait_until(lambda: replica.metric("hostdev_api_requests_total", 'verb="create"', 'code="404"') >= 3, 20)
    assert len(replica.lines("cannot write lease")) == 1, "told once"
    assert replica.get("/healthz")[0] == 200
    assert not replica.ready() and not replica.leads()
    replica.stop()


def test_a_standby_writes_nothing(pair, crds):
    leader, other = pair
    reads = other.metric("hostdev_api_requests_total", 'verb="get"')
    wait_until(lambda: other.metric("hostdev_api_requests_total", 'verb="get"') >= reads + 3, 20)
    metrics = other.metrics()
    reading = ('verb="get"', 'verb="list"', 'verb="watch"')
    asked = [key[1] for key in metrics if key[0] == "hostdev_api_requests_total"]
    assert [labels for labels in asked if not any(verb in labels for verb in reading)] == []


def test_the_controller_has_these_rights_and_no_more(installed):
    """In its own namespace; elsewhere it has those of the first half. No Secret but one, nothing in pods."""
    review = installed.kubectl(
        "create", "--validate=false", "-o", "json", "-f", "-",
        f"--as=system:serviceaccount:{NAMESPACE}:hostdev-controller", input={
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": NAMESPACE}})
    rights = {}
    for rule in json.loads(review.stdout)["status"]["resourceRules"]:
        for group, resource in itertools.product(rule["apiGroups"], rule["resources"]):
            # What everybody may: ask about oneself.
            if group not in ("authentication.k8s.io", "authorization.k8s.io"):
                rights.setdefault((group, resource, *rule.get("resourceNames", [])), set()).update(rule["verbs"])
    group, own, read = "devices.harvesterhci.io", "hostdev.io", {"list", "watch"}
    hooks = "admissionregistration.k8s.io"
    assert rights == {
        **{(group, kind): {*read, "delete"} for kind in (
            "pcidevices", "usbdevices", "sriovnetworkdevices", "sriovgpudevices", "vgpudevices", "migconfigurations")},
        **{(group, kind): {*read, "delete", "get", "patch"} for kind in ("pcideviceclaims", "usbdeviceclaims")},
        **{(group, f"{kind}/status"): {"patch"} for kind in ("pcideviceclaims", "usbdeviceclaims")},
        **{(own, kind): {*read, "delete"} for kind in ("mediateddevices", "mediateddeviceparents")},
        (own, "hostdeviceconfigs"): read,
        (own, "hostdeviceconfigs/status"): {"patch"},
        (own, "devicepools"): {"get", *read, "create", "delete"},
        (own, "devicepools/status"): {"patch"},
        (hooks, "validatingwebhookconfigurations", "hostdev-webhook"): {*read, "patch"},
        (hooks, "mutatingwebhookconfigurations", "hostdev-webhook"): {*read, "patch"},
        # Of these two, policy-controller.yaml lets it change an annotation and three lists.
        ("kubevirt.io", "virtualmachines"): {*read, "patch"},
        ("kubevirt.io", "kubevirts"): {*read, "get", "patch"},
        ("", "nodes"): {*read, "get"},
        ("", "events"): {"create", "patch"},
        # In its namespace.
        ("", "pods"): read,
        ("", "secrets", "hostdev-webhook-tls"): {*read, "create", "patch"},
        ("coordination.k8s.io", "leases"): {"create"},
        ("coordination.k8s.io", "leases", "hostdev-controller"): {"get", "patch"},
        # What lets policies believe it, not a right to write.
        (group, "pcidevices"): {*read, "delete", "manage"},
        (group, "usbdevices"): {*read, "delete", "manage"},
    }
