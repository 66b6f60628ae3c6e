"""A DeviceClass with extendedResourceName (KEP-5004): a pod that asks for an extended resource, as for a device plugin, gets a
device that hostdev offers by DRA. Its own control plane, with the feature gate that Kubernetes 1.34 has off; the claim is made
and allocated by a real kube-scheduler, and prepared for a kubelet that the test plays.
"""

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from cluster import ROOT, Cluster, wait_until
from fake_kubelet import field
from identities import wait_fenced
from policies import MERGE, accepted
from rest import Rest
from test_dra import NAME, agent, config, kubelet, published, registrar, slices  # noqa: F401, fixtures
from test_dra_prepare import CLAIMS, KNOWN_S, driver  # noqa: F401, fixture
from test_hostile_names import NIC, POOL

GATE = "--feature-gates=DRAExtendedResource=true"
RESOURCE = POOL  # of the claim
VARIABLE = "PCI_RESOURCE_" + re.sub("[/.]", "_", POOL.upper())
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
PODS = "/api/v1/namespaces/default/pods"
PLACED_S = 60  # a scheduler tries a pod again that it could not place


@pytest.fixture(scope="module")
def cluster():
    folder = Path(tempfile.mkdtemp(prefix="hostdev-extended-"))
    scheduler = None
    try:
        made = Cluster.start(folder / "cluster", "--apiserver", GATE)
        with open(folder / "scheduler.log", "w", encoding="utf-8") as log:
            scheduler = subprocess.Popen([made.folder / "bin/kube-scheduler", "--secure-port=0", "--leader-elect=false", GATE,
                                          "--kubeconfig", made.folder / "pki/scheduler.kubeconfig"],
                                         stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        yield made
    finally:
        if scheduler:
            scheduler.kill()
            scheduler.wait()
        Cluster.stop(folder / "cluster")
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def crds(cluster):
    cluster.install_kinds()
    return cluster


@pytest.fixture(scope="module")
def rest(crds):
    return Rest(crds.kubeconfig)


@pytest.fixture(scope="module")
def installed(crds, rest, tmp_path_factory):
    crds.kubectl("apply", "--server-side", "--force-conflicts", "-k", ROOT / "manifests/overlays/processes")
    wait_fenced(crds, rest, tmp_path_factory.mktemp("unbound"))
    rest.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    return crds


@pytest.fixture
def device_class(rest, published):  # noqa: F811
    """As an administrator makes one of docs/dra.md."""
    expression = 'device.driver == "hostdev.io" && device.attributes["hostdev.io"].vendorID == "8086"'
    accepted(rest.request("POST", CLASSES, {
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "nics"},
        "spec": {"selectors": [{"cel": {"expression": expression}}], "extendedResourceName": RESOURCE}}))
    yield "nics"
    rest.request("DELETE", f"{CLASSES}/nics")


@pytest.fixture
def pod(rest, node):
    """pod(name, resource) -> asks for one of it, on this node; its path."""
    made = []
    room = {"cpu": "8", "memory": "8Gi", "pods": "10"}
    accepted(rest.request("PATCH", f"/api/v1/nodes/{node}/status", {"status": {"capacity": room, "allocatable": room}}, MERGE))
    accepted(rest.request("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"labels": {"test/node": node}}}, MERGE))

    def make(name, resource):
        container = {"name": "main", "image": "x", "resources": {"limits": {resource: "1"}}}
        accepted(rest.request("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "automountServiceAccountToken": False, "nodeSelector": {"test/node": node}, "containers": [container],
            "tolerations": [{"operator": "Exists"}]}}))  # the node is not Ready: it has no kubelet
        made.append(f"{PODS}/{name}")
        return made[-1]

    yield make
    for path in made:
        rest.request("DELETE", f"{path}?gracePeriodSeconds=0")
    rest.request("DELETE", CLAIMS)
    for one in rest.get(CLAIMS)["items"]:
        rest.request("PATCH", f"{CLAIMS}/{one['metadata']['name']}", {"metadata": {"finalizers": None}}, MERGE)


class Made:
    """The ResourceClaim that the scheduler has made for a pod; as test_dra_prepare.Claim."""

    def __init__(self, rest, name):
        found = rest.get(f"{CLAIMS}/{name}")
        self.name, self.uid, self.object = name, found["metadata"]["uid"], found

    def message(self):
        return field(1, field(1, b"default") + field(2, self.uid.encode()) + field(3, self.name.encode()))


def placed(rest, path):
    """The name of the pod's claim, once it is bound to its node."""
    found = rest.get(path)
    return found["spec"].get("nodeName") and found["status"].get("extendedResourceClaimStatus")


def wait_placed(rest, path):
    return wait_until(lambda: placed(rest, path), PLACED_S, lambda: json.dumps(rest.get(path)["status"]))


def wait_refused(rest, path):
    """What the scheduler says."""
    return wait_until(lambda: [c["message"] for c in rest.get(path)["status"].get("conditions", [])
                               if c["type"] == "PodScheduled" and c["status"] == "False"], PLACED_S)[0]


def test_a_pod_that_asks_for_an_extended_resource_gets_a_device_by_dra(driver, device_class, pod, rest, node,  # noqa: F811
                                                                       tmp_path):
    path = pod("unchanged", RESOURCE)
    status = wait_placed(rest, path)
    (mapping,) = status["requestMappings"]
    assert (mapping["containerName"], mapping["resourceName"]) == ("main", RESOURCE)
    claim = Made(rest, status["resourceClaimName"])
    (result,) = claim.object["status"]["allocation"]["devices"]["results"]
    assert (result["driver"], result["pool"], result["device"]) == ("hostdev.io", node, NAME)
    wait_until(lambda: not driver.refusal(claim), KNOWN_S, lambda: driver.refusal(claim))
    assert driver.prepare(claim) == [(mapping["requestName"], node, NAME,
                                      f"hostdev.io/device={claim.uid}-{mapping['requestName']}")]
    spec = json.loads((tmp_path / f"cdi/hostdev.io-device_{claim.uid}.json").read_text())
    assert f"{VARIABLE}={NIC}" in spec["containerEdits"]["env"], "KubeVirt reads it, as from a device plugin"
    assert "cannot allocate all claims" in wait_refused(rest, pod("second", RESOURCE))
    driver.unprepare(claim)


def test_a_resource_that_a_device_plugin_has_left_hides_the_class(device_class, pod, rest, node):
    """The kubelet keeps its name, with 0. So docs/dra.md says."""
    path, both = f"/api/v1/nodes/{node}/status", ("capacity", "allocatable")
    accepted(rest.request("PATCH", path, {"status": {which: {RESOURCE: "0"} for which in both}}, MERGE))
    waits = pod("unchanged", RESOURCE)
    assert f"Insufficient {RESOURCE}" in wait_refused(rest, waits)
    accepted(rest.request("PATCH", path, {"status": {which: {RESOURCE: None} for which in both}}, MERGE))
    wait_placed(rest, waits)
