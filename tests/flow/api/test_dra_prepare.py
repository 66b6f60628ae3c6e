"""ResourceClaims on a real API server, prepared for a kubelet that the test plays, with the slice and the claimed function of
test_dra.py."""

import json
import os

import pytest

from cluster import wait_until
from fake_kubelet import field, fields
from policies import MERGE, accepted
from rest import GROUP
from test_dra import NAME, agent, config, kubelet, published, registrar, slices  # noqa: F401, fixtures
from test_hostile_names import NIC

SERVICE = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
KNOWN_S = 20  # until a kubelet without podresources counts as one without pods


class Claim:
    """A ResourceClaim, allocated as the scheduler would do it."""

    def __init__(self, rest, node, name):
        self.rest, self.name = rest, name
        spec = {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "pci.hostdev.io"}}]}}
        made = accepted(rest.request("POST", CLAIMS, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                                                      "metadata": {"name": name}, "spec": spec}))
        self.uid = made["metadata"]["uid"]
        result = {"request": "a", "driver": "hostdev.io", "pool": node, "device": NAME}
        accepted(rest.request("PATCH", f"{CLAIMS}/{name}/status",
                              {"status": {"allocation": {"devices": {"results": [result]}}}}, MERGE))

    def message(self):
        return field(1, field(1, b"default") + field(2, self.uid.encode()) + field(3, self.name.encode()))

    def remove(self):
        self.rest.request("DELETE", f"{CLAIMS}/{self.name}")


@pytest.fixture
def claim(rest, node):
    made = []

    def make(name):
        made.append(Claim(rest, node, name))
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


def test_files_that_are_wiped_under_a_pod_are_back_at_once(driver, prepared):
    before = prepared.cdi.read_text()
    for _ in range(3):
        prepared.cdi.unlink()
        wait_until(prepared.cdi.exists, 1)
    assert prepared.cdi.read_text() == before


def test_the_next_agent_knows_what_is_prepared(driver, prepared, agent, node):  # noqa: F811
    agent.kill()
    prepared.cdi.unlink()
    agent.start()
    wait_until(lambda: agent.ready() and prepared.cdi.exists(), 30)
    assert driver.prepare(prepared) == [("a", node, NAME, f"hostdev.io/device={prepared.uid}-a")]


def test_a_claim_that_is_replaced_is_refused(driver, claim, rest, node):
    old = claim("nic")
    old.remove()
    new = claim("nic")
    wait_until(lambda: "was replaced by another one of this name" in driver.refusal(old), KNOWN_S, driver.refusal(old))
    driver.unprepare(old)
    wait_until(lambda: driver.refusal(new) == "", KNOWN_S, driver.refusal(new))
    driver.unprepare(new)
