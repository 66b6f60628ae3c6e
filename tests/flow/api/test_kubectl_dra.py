"""`kubectl hostdev` and Dynamic Resource Allocation, on a real API server: the device of test_dra_prepare.py, and a kubelet's
podresources that the test plays."""

import json
import re

import pytest

from cluster import ROOT, wait_until
from policies import accepted
from rest import GROUP
from test_dra import NAME, agent, config, kubelet, published, registrar, slices  # noqa: F401, fixtures
from test_dra_prepare import CLAIMS, KNOWN_S, claim, driver  # noqa: F401, fixtures
from test_kubectl_hostdev import Plugin, plugin  # noqa: F401, fixture

PODS = "/api/v1/namespaces/default/pods"
SEEN_S = 40  # the agent asks podresources every half minute


@pytest.fixture
def device(node):
    return f"{node}-000001001"


@pytest.fixture
def classes(installed):
    path = ROOT / "manifests/examples/device-classes.yaml"
    installed.kubectl("apply", "-f", path)
    yield
    installed.kubectl("delete", "--ignore-not-found", "-f", path)


@pytest.fixture
def pod(rest):
    """A pod that no scheduler looks at, with this entry of spec.resourceClaims."""
    made = []
    rest.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})

    def make(name, entry):
        container = {"name": "main", "image": "x", "resources": {"claims": [{"name": entry["name"]}]}}
        accepted(rest.request("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "automountServiceAccountToken": False, "containers": [container], "resourceClaims": [entry]}}))
        made.append(name)
        return f"default/{name}"

    yield make
    for name in made:
        rest.request("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")


def words(text):
    """Lines are broken nowhere, and blanks make columns."""
    return re.sub(" +", " ", text)


def test_a_device_that_dra_offers_says_so(plugin, published, device, node):  # noqa: F811
    offered = f"Offered: by DRA as {NAME} in the pool {node} (ResourceSlice {node}-hostdev.io-pci)\n"
    assert offered in words(plugin("why", device)) and plugin.said == ""
    found = json.loads(plugin("why", device, "-o", "json"))
    assert found["dra"] == {"pool": node, "device": NAME, "resourceSlice": f"{node}-hostdev.io-pci"}
    assert "resourceClaim" not in found


def test_a_device_that_is_allocated_has_its_claim(plugin, published, claim, device):  # noqa: F811
    claim("nic")
    assert "DRA claim: default/nic, not prepared yet; no pod uses it\n" in words(plugin("why", device))
    assert "State: # in use" in words(plugin("why", device))
    row = words(plugin("who", device, "-o", "wide")).splitlines()[1]
    assert " ResourceClaim default/nic " in row and row.endswith(" default/nic")
    assert device in plugin("who") and device in plugin("who", "-n", "default")
    assert json.loads(plugin("who", device, "-o", "json"))["devices"][0]["resourceClaim"] == {
        "namespace": "default", "name": "nic", "prepared": False, "reservedFor": []}


def test_the_tree_shows_why_a_claim_waits(plugin, published, claim, classes, driver, rest, device, node):  # noqa: F811
    """Below its device the one that is allocated, with what its status says; after the devices the one that is not."""
    made = claim("nic")
    line = re.search("[└`]─?-?ResourceClaim default/nic .*", words(plugin("tree", node)))[0]
    assert "~ pending: Allocated" in line and line.endswith(" allocated to it, and no container has it yet")
    second = claim("second")
    wait_until(lambda: not driver.refusal(made), KNOWN_S, driver.refusal(made))
    assert "is in use by ResourceClaim default/nic" in driver.refusal(second)
    wait_until(second.devices, 10, "the status of the second claim")
    driver.unprepare(made)
    made.remove()

    def said():
        return words(plugin("tree", node))
    wait_until(lambda: re.search("ResourceClaim default/second ~ pending: NotPrepared .* is in use by .*default/nic", said()), 10, said)
    (found,) = [each["resourceClaim"] for each in json.loads(plugin("tree", node, "-o", "json"))["nodes"][0]["devices"]
                if each["name"] == device] or [None]
    assert found["reason"] == "NotPrepared" and "default/nic" in found["message"] and not found["prepared"]
    request = {"name": "r", "exactly": {"deviceClassName": "pci.hostdev.io", "count": 2}}
    accepted(rest.request("POST", CLAIMS, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "two"},
                                           "spec": {"devices": {"requests": [request]}}}))
    try:
        asks = "asks for 2 devices of the DeviceClass pci.hostdev.io: DRA offers 1, and 0 of these are free"
        assert f"default/two ~ pending {asks}\n" in words(plugin("tree"))
        assert "default/two" not in plugin("tree", node) and "default/two" not in plugin("tree", "-n", "other")
    finally:
        rest.request("DELETE", f"{CLAIMS}/two")


def test_the_status_of_a_device_has_the_pods_of_its_claim(plugin, published, claim, driver, kubelet, rest, device,  # noqa: F811
                                                          node):
    """As it has those of a device plugin, and no longer than the claim is prepared."""
    made = claim("nic")

    def allocations():
        return rest.get(f"{GROUP}/pcidevices/{device}")["status"].get("allocations", [])
    with kubelet.podresources() as lists:
        wait_until(lambda: not driver.refusal(made), KNOWN_S, driver.refusal(made))
        lists(("default", "vm-1", "main", "nic", "hostdev.io", node, NAME),
              ("default", "vm-2", "main", "other", "hostdev.io", node, NAME),
              ("default", "vm-3", "main", "nic", "gpu.example.com", node, NAME))
        wait_until(allocations, SEEN_S, "the pod in the status")
        assert allocations() == [{"namespace": "default", "pod": "vm-1", "container": "main", "resourceClaim": "nic"}]
        assert "DRA claim: default/nic, prepared; no pod uses it\n" in words(plugin("why", device))
        assert "Pod: default/vm-1\n" in words(plugin("why", device))
        assert " default/vm-1 main\n" in words(plugin("who", device)) and " default/vm-1 " in words(plugin("tree"))
        driver.unprepare(made)
        wait_until(lambda: not allocations(), 5, "the status without the pod")


def test_a_pod_learns_what_its_claims_wait_for(plugin, published, claim, classes, pod, rest, device):  # noqa: F811
    said = words(plugin("why", "pod", pod("a", {"name": "nic", "resourceClaimName": "none"})))
    assert "ResourceClaim default/none, nic in the pod:\n there is no such ResourceClaim: create it\n" in said
    said = words(plugin("why", "pod", pod("b", {"name": "nic", "resourceClaimTemplateName": "none"})))
    assert "ResourceClaim nic in the pod:\n there is no ResourceClaimTemplate 'none': create it\n" in said
    request = {"name": "r", "exactly": {"deviceClassName": "pci.hostdev.io"}}
    free = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "free"},
            "spec": {"devices": {"requests": [request]}}}
    accepted(rest.request("POST", CLAIMS, free))
    try:
        name = pod("c", {"name": "nic", "resourceClaimName": "free"})
        asks = " request 'r' asks for 1 device of the DeviceClass pci.hostdev.io: DRA offers 1, and "
        assert asks + "1 of these is free\n" in words(plugin("why", "pod", name))
        claim("nic")
        said = words(plugin("why", "pod", name))
        assert asks + "0 of these are free\n" in said
        assert f"{device} " in said and " in use default/nic -\n" in said
        name = pod("d", {"name": "nic", "resourceClaimName": "nic"})
        assert f" {device} is allocated to it, but not prepared yet: " in words(plugin("why", "pod", name))
        (one,) = json.loads(plugin("why", "pod", name, "-o", "json"))["resourceClaims"]
        assert one["allocated"] and [each["name"] for each in one["devices"]] == [device]
    finally:
        rest.request("DELETE", f"{CLAIMS}/free")


def test_a_user_without_rights_learns_what_is_not_seen(installed, identities, published, claim, device):  # noqa: F811
    """With the devices of hostdev, and nothing of DRA."""
    claim("nic")
    installed.kubectl("create", "clusterrole", "no-dra", "--verb=get,list",
                      "--resource=pcidevices,usbdevices,pcideviceclaims,usbdeviceclaims,mediateddevices")
    installed.kubectl("create", "clusterrolebinding", "no-dra", "--clusterrole=no-dra", "--user=ann")
    try:
        ann = Plugin(installed, identities.user("ann"))
        wait_until(lambda: device in ann("who", status=None), 20, "the role")
        assert "resourceslices" in ann.said
        assert "Offered:" not in ann("why", device) and "resourceslices" in ann.said
    finally:
        installed.kubectl("delete", "clusterrolebinding/no-dra", "clusterrole/no-dra")
