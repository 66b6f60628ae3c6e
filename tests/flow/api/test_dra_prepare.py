"""ResourceClaims on a real API server, prepared for a kubelet that the test plays, with the slice and the claimed function of
test_dra.py."""

import json
import os
import signal
import time

import pytest

from cluster import wait_until
from fake_kubelet import field, fields
from policies import MERGE, accepted, refused
from rest import GROUP, Rest
from test_dra import NAME, agent, config, kubelet, published, registrar, slice_writes, slices  # noqa: F401, fixtures
from test_hostile_names import NIC

SERVICE = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
KNOWN_S = 20  # until a kubelet without podresources counts as one without pods


class Claim:
    """A ResourceClaim, allocated as the scheduler would do it."""

    def __init__(self, rest, node, name, pools=()):
        """@pools: (driver, pool) of each device."""
        self.rest, self.name = rest, name
        spec = {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "pci.hostdev.io"}}]}}
        made = accepted(rest.request("POST", CLAIMS, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                                                      "metadata": {"name": name}, "spec": spec}))
        self.uid = made["metadata"]["uid"]
        results = [{"request": "a", "driver": driver, "pool": pool, "device": NAME}
                   for driver, pool in pools or [("hostdev.io", node)]]
        accepted(rest.request("PATCH", f"{CLAIMS}/{name}/status",
                              {"status": {"allocation": {"devices": {"results": results}}}}, MERGE))

    def message(self):
        return field(1, field(1, b"default") + field(2, self.uid.encode()) + field(3, self.name.encode()))

    def devices(self):
        """What drivers say in the status: [(device, {type: (status, message)})]."""
        said = self.rest.get(f"{CLAIMS}/{self.name}")["status"].get("devices") or []
        return [(one["device"], {c["type"]: (c["status"], c["message"]) for c in one["conditions"]}) for one in said]

    def remove(self):
        self.rest.request("DELETE", f"{CLAIMS}/{self.name}")


@pytest.fixture
def claim(rest, node):
    made = []

    def make(name, pools=()):
        made.append(Claim(rest, node, name, pools))
        return made[-1]

    yield make
    for one in made:
        one.remove()


class Driver:
    def __init__(self, kubelet):
        self.call, self.socket = kubelet.call, kubelet.folder / "plugins/hostdev.io/dra.sock"

    def answer(self, method, claim):
        """The answer about the claim: its devices, and the error."""
        ((_, entry),) = fields(self.call(self.socket, f"{SERVICE}/{method}", claim.message()))
        found = dict(fields(entry))
        assert found[1].decode() == claim.uid
        values = fields(found.get(2, b""))
        return values, next((value.decode() for number, value in values if method == "NodePrepareResources"
                             and number == 2 or method != "NodePrepareResources" and number == 1), "")

    def prepare(self, claim):
        """[(request, pool, device, CDI ID)]"""
        values, error = self.answer("NodePrepareResources", claim)
        assert not error, error
        return [tuple(text.decode() for _, text in fields(device)) for number, device in values if number == 1]

    def refusal(self, claim):
        return self.answer("NodePrepareResources", claim)[1]

    def unprepare(self, claim):
        assert self.answer("NodeUnprepareResources", claim)[1] == ""


@pytest.fixture
def driver(published, kubelet):  # noqa: F811
    return Driver(kubelet)


@pytest.fixture
def prepared(driver, claim, tmp_path):
    """A claim that is prepared, once the agent knows that no pod has its device."""
    made = claim("nic")
    wait_until(lambda: not driver.refusal(made), KNOWN_S, driver.refusal(made))
    made.cdi = tmp_path / f"cdi/hostdev.io-device_{made.uid}.json"
    yield made
    driver.unprepare(made)


def test_a_claim_gets_the_files_of_its_device(driver, prepared, node, agent):  # noqa: F811
    device = f"hostdev.io/device={prepared.uid}-a"
    assert driver.prepare(prepared) == [("a", node, NAME, device)]
    spec = json.loads(prepared.cdi.read_text())
    (one,) = spec["devices"]
    group = os.path.basename(agent.vfio_node)
    assert [made["path"] for made in one["containerEdits"]["deviceNodes"]] == ["/dev/vfio/vfio", f"/dev/vfio/{group}"]
    assert any(NIC in env for env in spec["containerEdits"]["env"])
    for mount in one["containerEdits"]["mounts"]:
        with open(mount["hostPath"], encoding="utf-8") as file:
            objects = [json.loads(line) for line in file]
        assert [item["metadata"]["uid"] for item in objects] == [prepared.uid] * len(objects)
        (found,) = objects[0]["requests"][0]["devices"]
        assert found["attributes"]["resource.kubernetes.io/pciBusID"] == {"string": NIC}


def test_a_device_goes_to_one_claim(driver, prepared, claim):
    second = claim("second")
    assert "is in use by ResourceClaim default/nic" in driver.refusal(second)
    driver.unprepare(prepared)
    assert not prepared.cdi.exists()
    assert driver.refusal(second) == ""
    driver.unprepare(second)


def claim_writes(agent, cluster):  # noqa: F811
    return sum(event["objectRef"]["resource"] == "resourceclaims" and event["verb"] != "get"
               for event in agent.audit(cluster))


def test_the_status_of_a_claim_says_why_it_is_not_prepared(driver, prepared, claim, agent, cluster):  # noqa: F811
    second = claim("second")
    refusal = driver.refusal(second)
    wait_until(lambda: second.devices() == [(NAME, {"Ready": ("False", refusal)})], 10, second.devices)
    wait_until(lambda: prepared.devices() == [], 10, prepared.devices)
    writes = claim_writes(agent, cluster)
    for _ in range(3):
        assert driver.refusal(second) == refusal
    assert second.devices() == [(NAME, {"Ready": ("False", refusal)})]
    assert claim_writes(agent, cluster) == writes, "the same message was written again"

    driver.unprepare(prepared)
    assert driver.refusal(second) == ""
    wait_until(lambda: second.devices() == [], 10, second.devices)
    writes = claim_writes(agent, cluster)
    for _ in range(3):
        driver.unprepare(second)
        assert driver.refusal(second) == ""
    driver.unprepare(second)
    assert claim_writes(agent, cluster) == writes, "something was written though nothing failed"


def test_a_status_outlives_the_agent_that_wrote_it(driver, prepared, claim, agent):  # noqa: F811
    second = claim("second")
    refusal = driver.refusal(second)
    wait_until(lambda: second.devices() == [(NAME, {"Ready": ("False", refusal)})], 10, second.devices)
    agent.kill()
    agent.start()
    wait_until(agent.ready, 30)
    wait_until(lambda: driver.unprepare(prepared) is None and driver.refusal(second) == "", KNOWN_S)
    wait_until(lambda: second.devices() == [], 10, second.devices)
    driver.unprepare(second)


def test_the_status_of_a_claim_that_is_unprepared_says_nothing(driver, prepared, claim):
    second = claim("second")
    assert driver.refusal(second)
    wait_until(second.devices, 10)
    driver.unprepare(second)
    wait_until(lambda: second.devices() == [], 10, second.devices)


APPLY = "application/apply-patch+yaml"


def said(claim, pool, device=NAME, driver="hostdev.io"):
    """What an agent applies."""
    condition = {"type": "Ready", "status": "False", "reason": "NotPrepared", "message": "x",
                 "lastTransitionTime": "2026-01-02T03:04:05Z"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": claim.name},
            "status": {"devices": [{"driver": driver, "pool": pool, "device": device, "conditions": [condition]}]}}


def test_a_status_is_removed_by_the_agent_after_the_one_that_prepared_the_claim(driver, prepared, claim, agent, cluster,  # noqa: F811
                                                                                rest, node):
    """An agent that has ended between a successful attempt and the removal of what it had said of earlier ones."""
    second = claim("second")
    wait_until(lambda: driver.refusal(second) and second.devices(), 10, second.devices)
    driver.unprepare(prepared)
    assert driver.refusal(second) == ""
    wait_until(lambda: second.devices() == [], 10, second.devices)
    agent.kill()
    accepted(rest.request("PATCH", f"{CLAIMS}/second/status?fieldManager=hostdev-agent&force=true", said(second, node), APPLY))
    assert second.devices()
    writes = claim_writes(agent, cluster)
    for _ in range(2):  # the second one finds nothing to be removed
        agent.start()
        wait_until(agent.ready, 30)
        wait_until(lambda: second.devices() == [], 10, second.devices)
        agent.kill()
    assert claim_writes(agent, cluster) == writes + 1
    agent.start()
    wait_until(agent.ready, 30)
    wait_until(lambda: driver.unprepare(second) is None, KNOWN_S)


def test_an_agent_writes_of_devices_of_its_node_and_driver_only(rest, identities, claim, node):
    one = claim("nic", [("hostdev.io", node), ("hostdev.io", f"{node}/usb"), ("hostdev.io", f"{node}-b"),
                        ("gpu.nvidia.com", node)])
    path = f"{CLAIMS}/nic/status?fieldManager=hostdev-agent&force=true"
    agent, other = Rest(identities.agent(node)), Rest(identities.agent(f"{node}-b"))
    for pool in (node, f"{node}/usb"):
        accepted(agent.request("PATCH", path, said(one, pool), APPLY))
    refused(other.request("PATCH", path, said(one, node), APPLY), "only what concerns devices of its node and driver")
    refused(agent.request("PATCH", path, said(one, f"{node}-b"), APPLY), "only what concerns devices of its node and driver")
    refused(agent.request("PATCH", path, said(one, node, driver="gpu.nvidia.com"), APPLY), "of its node and driver")
    refused(agent.request("PATCH", f"{CLAIMS}/nic/status", {"status": {"allocation": None}}, MERGE), "which devices")
    reserved = [{"resource": "pods", "name": "a", "uid": "u"}]
    refused(agent.request("PATCH", f"{CLAIMS}/nic/status", {"status": {"reservedFor": reserved}}, MERGE), "which devices")
    assert agent.request("PATCH", f"{CLAIMS}/nic", {"metadata": {"labels": {"a": "b"}}}, MERGE)[0] == 403
    unbound = Rest(identities.kubeconfig("unbound", {"token": identities.token("hostdev-agent")}))
    refused(unbound.request("PATCH", path, said(one, node), APPLY), "this token of the agent names no node")
    # Of another claim that has the name now.
    body = said(one, node)
    body["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    status, answer = agent.request("PATCH", path, body, APPLY)
    assert status in (409, 422), answer
    # And what it said it takes back.
    body = said(one, node)
    del body["status"]
    accepted(agent.request("PATCH", path, body, APPLY))
    assert one.devices() == []


def test_a_server_without_taints_has_an_unhealthy_device_out_of_the_slice(prepared, published, agent, cluster):  # noqa: F811
    """It is tried with a taint once; Kubernetes 1.34 and 1.35 have the gate off."""
    for most in 3, 2:  # out, and in again
        before = slice_writes(agent, cluster)
        agent.vfio_node.unlink()
        published.wait([], 5)
        time.sleep(1)
        agent.vfio_node.symlink_to("/dev/null")
        published.wait([NAME], 5)
        assert slice_writes(agent, cluster) - before <= most
    assert len(agent.lines("does not keep a ResourceSlice as it was written", "taints is missing")) == 1


def test_a_pool_of_a_node_whose_name_is_too_long_for_it(identities, claim):
    """As dra_pool_name() in agent/dra/dra_devices.c makes it."""
    long = ".".join(["y" * 62] * 4)[:249] + "zz"
    pools = [f"{name}-{'0a' * 8}/usb" for name in (long[:46], long[:46].replace("y", "x"), long.replace(".", "-")[:66])]
    one = claim("nic", [("hostdev.io", pool) for pool in pools])
    path = f"{CLAIMS}/nic/status?fieldManager=hostdev-agent&force=true"
    agent = Rest(identities.agent(long))
    for pool in pools[0], pools[2]:
        accepted(agent.request("PATCH", path, said(one, pool), APPLY))
    refused(agent.request("PATCH", path, said(one, pools[1]), APPLY), "only what concerns devices of its node and driver")


def test_the_release_of_a_device_waits_for_its_claim(driver, prepared, rest, node):
    path = f"{GROUP}/pcideviceclaims/{node}-000001001"
    accepted(rest.request("DELETE", path))

    def reason():
        status, found = rest.request("GET", path)
        conditions = found.get("status", {}).get("conditions", []) if status == 200 else []
        return status, " ".join(c["message"] for c in conditions)
    wait_until(lambda: "ResourceClaim default/nic" in reason()[1], 20, reason())
    driver.unprepare(prepared)
    wait_until(lambda: reason()[0] == 404, 30, reason())


def test_files_that_are_wiped_under_a_pod_are_written_again(agent, driver, prepared):  # noqa: F811
    before, written = prepared.cdi.read_text(), agent.metric("hostdev_dra_files_restored_total", 'result="done"')
    for _ in range(3):
        prepared.cdi.unlink()
        wait_until(prepared.cdi.exists, 20)
    assert prepared.cdi.read_text() == before
    assert agent.metric("hostdev_dra_files_restored_total", 'result="done"') >= written + 3


def test_the_next_agent_knows_what_is_prepared(driver, prepared, agent, node):  # noqa: F811
    agent.kill()
    prepared.cdi.unlink()
    agent.start()
    wait_until(lambda: agent.ready() and prepared.cdi.exists(), 30)
    assert driver.prepare(prepared) == [("a", node, NAME, f"hostdev.io/device={prepared.uid}-a")]


CHANGES = 5  # of agents
KUBELET_AGAIN_S = 10  # a kubelet asks again after 10 to 15 s


def test_a_change_of_agents_costs_one_attempt_at_most(driver, prepared, agent, agents, machine, node):  # noqa: F811
    """As in a rollout: the next agent stands by until this one has ended. What the kubelet asks in between fails, and what it
    asks when it would ask again does not."""
    files = prepared.cdi.stat().st_ino
    gaps, running = [], agent
    for _ in range(CHANGES):
        following = agents(machine, node, agent.flags).start()
        wait_until(following.ready, 60, "the agent that stands by")
        assert driver.prepare(prepared), "the old agent does not serve any more"
        running.signal(signal.SIGTERM)
        began = time.monotonic()
        answered = wait_until(lambda: asked(driver, prepared, running), KUBELET_AGAIN_S, "an answer of the next agent")
        gaps.append(time.monotonic() - began)
        assert answered[0][1:3] == (node, NAME)
        running.process.wait(60)
        running = following
    print("without an answer, with the time that a call takes here:", ", ".join(f"{gap:.2f} s" for gap in gaps))
    assert prepared.cdi.stat().st_ino == files, "the files of the claim were written again"


def asked(driver, claim, old):
    """The next agent's answer; None: the old one still runs, or nobody answers."""
    gone = old.process.poll() is not None
    try:
        found = driver.prepare(claim)
    except (AssertionError, IndexError, ValueError):
        return None
    return found if gone else None


def test_a_claim_that_is_replaced_is_refused(driver, claim, rest, node):
    old = claim("nic")
    old.remove()
    new = claim("nic")
    wait_until(lambda: "was replaced by another one of this name" in driver.refusal(old), KNOWN_S, driver.refusal(old))
    driver.unprepare(old)
    wait_until(lambda: driver.refusal(new) == "", KNOWN_S, driver.refusal(new))
    driver.unprepare(new)
