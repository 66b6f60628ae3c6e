"""ResourceSlices on a real API server: a claimed function and an entry of the HostDeviceConfig for DRA, with a kubelet's
folder whose plugin watcher the test plays.
"""

import os
import threading
import time

import pytest

from cluster import wait_until
from fake_kubelet import FakeKubelet, texts
from policies import MERGE, accepted, claim, refused
from rest import GROUP, Rest
from test_hostile_names import NIC, POOL
from test_hostdeviceconfig import PATH as CONFIG

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
APPLY = "application/apply-patch+yaml"
HEALED_S = 20  # even three times that is less than the five minutes after which a watch lists again
SETTLED_S = 1
IDLE_S = 8
RUNTIME = "containerd://2.2.9"


class Registrar:
    """Does for the driver what the kubelet's plugin watcher does: once for each socket that appears."""

    def __init__(self, kubelet):
        self.kubelet = kubelet
        self.info = None
        self.done = set()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended.is_set():
            for socket in self.kubelet.registered():
                if "hostdev.io-" in socket.name:
                    self.register(socket)
            time.sleep(0.05)

    def register(self, socket):
        try:
            inode = socket.stat().st_ino
            if inode in self.done:
                return
            info = texts(self.kubelet.call(socket, "/pluginregistration.Registration/GetInfo"))
            if info[1] == "DRAPlugin":
                self.kubelet.call(socket, "/pluginregistration.Registration/NotifyRegistrationStatus", b"\x08\x01")
                self.info = info
            self.done.add(inode)
        except (AssertionError, IndexError, OSError):
            return  # it does not listen yet, or has gone: again

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


@pytest.fixture
def kubelet():
    made = FakeKubelet()
    yield made
    made.remove()


@pytest.fixture
def registrar(kubelet):
    with Registrar(kubelet) as made:
        yield made


class Config:
    """The HostDeviceConfig."""

    def __init__(self, rest):
        self.rest = rest

    def __call__(self, mode):
        entry = {"resourceName": "a.io/nic", "pciVendorSelector": "8086:10d3", "dra": {"mode": mode}}
        accepted(self.rest.request("PATCH", f"{CONFIG}/default?fieldManager=test&force=true", {
            "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
            "spec": {"pciHostDevices": [entry]}}, APPLY))

    def entries(self, node):
        nodes = self.rest.get(f"{CONFIG}/default").get("status", {}).get("nodes", [])
        return [(one["list"], one["index"], one["reason"]) for item in nodes if item["node"] == node
                for one in item["entries"]]


@pytest.fixture
def config(rest):
    rest.request("DELETE", f"{CONFIG}/default")
    yield Config(rest)
    rest.request("DELETE", f"{CONFIG}/default")


def says_runtime(rest, node, version):
    """What a kubelet writes into its Node."""
    accepted(rest.request("PATCH", f"/api/v1/nodes/{node}/status", {"status": {
        "nodeInfo": {"containerRuntimeVersion": version}}}, MERGE))


class Slice:
    """The slice of the node's PCI functions."""

    def __init__(self, rest, node):
        self.rest, self.node = rest, node
        self.path = f"{SLICES}/{node}-hostdev.io-pci"

    def get(self):
        """None: there is none."""
        status, answer = self.rest.request("GET", self.path)
        assert status in (200, 404), answer
        return answer if status == 200 else None

    def names(self):
        found = self.get()
        return None if found is None else [device["name"] for device in found["spec"]["devices"] or []]

    def wait(self, names, timeout=HEALED_S):
        wait_until(lambda: self.names() == names, timeout, f"{names}, not {self.names()}")


@pytest.fixture
def slices(rest, node):
    made = Slice(rest, node)
    yield made
    rest.request("DELETE", f"{SLICES}?fieldSelector=spec.nodeName={node}")


@pytest.fixture
def agent(agents, machine, node, kubelet, tmp_path, rest, identities):
    """With a function that is bound to vfio-pci, the nodes that VFIO makes of it, and its claim."""
    machine.bind(NIC, "vfio-pci")
    (machine.folder / "sys/module/vfio_iommu_type1").mkdir(parents=True)
    group = os.path.basename(os.path.realpath(machine.folder / f"sys/bus/pci/devices/{NIC}/iommu_group"))
    (tmp_path / "dev/vfio").mkdir(parents=True)
    for name in "vfio", group:
        (tmp_path / "dev/vfio" / name).symlink_to("/dev/null")
    made = agents(machine, node, [*kubelet.flags, "--dev-root", tmp_path / "dev", "--cdi-dir", tmp_path / "cdi"])
    made.vfio_node = tmp_path / "dev/vfio" / group
    says_runtime(rest, node, RUNTIME)
    rest.create("pcideviceclaims", claim(f"{node}-000001001"))
    yield made
    made.stop()
    rest.remove(f"{GROUP}/pcideviceclaims/{node}-000001001")


NAME = "pci-0000-01-00-1"


@pytest.fixture
def published(agent, config, registrar, slices):
    config("Claimed")
    agent.start()
    slices.wait([NAME], 60)
    wait_until(lambda: agent.ready() and agent.idle(), 30)
    return slices


def slice_writes(agent, cluster):
    return sum(event["objectRef"]["resource"] == "resourceslices" for event in agent.audit(cluster))


def test_a_claimed_function_is_in_a_slice_and_not_in_the_device_plugin(agent, published, kubelet, registrar, rest, node):
    found = published.get()
    assert found["spec"] | {"devices": None} == {
        "driver": "hostdev.io", "nodeName": node, "devices": None,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}}
    (device,) = found["spec"]["devices"]
    attributes = device["attributes"]
    assert attributes["resource.kubernetes.io/pciBusID"] == {"string": NIC}
    assert attributes["resource.kubernetes.io/pcieRoot"]["string"].startswith("pci0000:")
    assert attributes["type"] == {"string": "pci"} and attributes["vendorID"] == {"string": "8086"}
    assert attributes["driver"] == {"string": "vfio-pci"} and attributes["iommuGroup"]["int"] >= 0
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Node", node, True)
    assert owner["uid"] == rest.get(f"/api/v1/nodes/{node}")["metadata"]["uid"]
    assert registrar.info[2] == "hostdev.io"
    assert kubelet.devices(POOL) is None
    path = f"{GROUP}/pcideviceclaims/{node}-000001001"

    def ready():
        found = {c["type"]: (c["status"], c["message"]) for c in rest.get(path)["status"]["conditions"]}
        return found["Ready"][0] == "True" and found["Offered"] == ("True", f"node {node} offers it as {POOL}, by DRA")
    wait_until(ready, 20, "the claim's conditions")


def test_nothing_is_written_while_nothing_changes(agent, published, cluster):
    writes = slice_writes(agent, cluster)
    assert writes <= 2, "without devices at first, if the entry was there before the claim was carried out"
    version = published.get()["metadata"]["resourceVersion"]
    time.sleep(IDLE_S)
    assert slice_writes(agent, cluster) == writes
    assert published.get()["metadata"]["resourceVersion"] == version


def test_an_agent_that_starts_again_finds_its_slice_right(agent, published, cluster, kubelet):
    writes = slice_writes(agent, cluster)
    agent.stop()
    assert published.names() == [NAME], "the slices outlive the agent"
    with Registrar(kubelet) as again:
        agent.start()
        wait_until(lambda: again.info, 30, "the registration")
        wait_until(lambda: agent.ready() and agent.idle(), 30)
        time.sleep(SETTLED_S)
    assert slice_writes(agent, cluster) == writes
    published.rest.request("DELETE", published.path)
    published.wait([NAME])


def test_the_slices_are_back_after_a_kubelets_start(published, rest, node):
    """A kubelet removes all slices of its node."""
    for _ in range(5):
        accepted(rest.request("DELETE", f"{SLICES}?fieldSelector=spec.nodeName={node}"))
        published.wait([NAME])


@pytest.mark.parametrize("edit", [
    pytest.param({"spec": {"devices": []}}, id="no devices"),
    pytest.param({"spec": {"devices": [{"name": "pci-0000-01-00-1"}]}}, id="no attributes"),
    pytest.param({"spec": {"pool": {"generation": 5}}}, id="another generation"),
    pytest.param({"spec": {"pool": {"resourceSliceCount": 2}}}, id="an incomplete pool"),
    pytest.param({"metadata": {"ownerReferences": None}}, id="no owner"),
])
def test_a_foreign_edit_is_healed(published, rest, edit):
    before = published.get()
    accepted(rest.request("PATCH", published.path, edit, MERGE))
    wait_until(lambda: published.get()["spec"] == before["spec"]
               and published.get()["metadata"].get("ownerReferences") == before["metadata"]["ownerReferences"], HEALED_S)


def test_a_slice_of_the_pool_that_is_none_of_ours_goes(published, rest, node):
    body = published.get()
    body["metadata"] = {"name": f"stranger-{node}"}
    body["spec"]["pool"]["generation"] = 7
    accepted(rest.request("POST", SLICES, body))
    wait_until(lambda: rest.request("GET", f"{SLICES}/stranger-{node}")[0] == 404, HEALED_S)
    assert published.names() == [NAME]


def test_what_is_not_healthy_leaves_the_slice(agent, published):
    agent.vfio_node.unlink()
    published.wait([], 5)  # the slice stays: the driver is there
    agent.vfio_node.symlink_to("/dev/null")
    published.wait([NAME], 5)


def test_slices_go_with_the_entry(published, config, kubelet):
    config("Off")
    published.wait(None, 5)
    wait_until(lambda: kubelet.devices(POOL) == {NIC: True}, 20, "the device plugin offers it again")
    config("Claimed")
    published.wait([NAME], 5)


def test_a_runtime_without_cdi_gets_no_slices_and_the_config_says_why(published, rest, node, config):
    says_runtime(rest, node, "containerd://1.6.20")
    published.wait(None, 5)
    wait_until(lambda: config.entries(node) == [("pciHostDevices", 0, "NoCDI")], 20, config.entries(node))
    says_runtime(rest, node, RUNTIME)
    published.wait([NAME], 5)
    wait_until(lambda: config.entries(node) == [], 20)


def body(name, node, driver="hostdev.io"):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": {
        "driver": driver, "nodeName": node, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "a"}]}}


def test_an_agent_writes_slices_of_its_node_and_driver_only(rest, identities, node):
    agent, other = Rest(identities.agent(node)), Rest(identities.agent(f"{node}-b"))
    own = f"{SLICES}/{node}-own"
    try:
        accepted(agent.request("PATCH", f"{own}?fieldManager=a&force=true", body(f"{node}-own", node), APPLY))
        accepted(agent.request("PATCH", own, {"metadata": {"labels": {"a": "b"}}}, MERGE))
        words = f"the agent of node '{node}-b' may not write resourceslices/{node}-own, which is not of its node and driver"
        refused(other.request("PATCH", own, {"spec": {"devices": []}}, MERGE), words)
        refused(other.request("DELETE", own), words)
        refused(other.request("POST", SLICES, body(f"{node}-theirs", node)), "not of its node and driver")
        refused(agent.request("POST", SLICES, body(f"{node}-gpu", node, "gpu.nvidia.com")), "not of its node and driver")
        theirs = body(f"{node}-gpu", node, "gpu.nvidia.com")
        accepted(rest.request("POST", SLICES, theirs))
        refused(agent.request("DELETE", f"{SLICES}/{node}-gpu"), "not of its node and driver")
        every = {"spec": {"nodeName": None, "allNodes": True}}
        assert agent.request("PATCH", own, every, MERGE)[0] in (403, 422)
        accepted(agent.request("DELETE", own))
    finally:
        for name in ("own", "gpu", "theirs"):
            rest.request("DELETE", f"{SLICES}/{node}-{name}")


def test_the_example_device_classes_select_by_type(crds, rest):
    crds.kubectl("apply", "-f", "manifests/examples/device-classes.yaml")
    try:
        found = rest.get("/apis/resource.k8s.io/v1/deviceclasses")["items"]
        assert {"pci.hostdev.io", "usb.hostdev.io", "mdev.hostdev.io"} <= {one["metadata"]["name"] for one in found}
    finally:
        crds.kubectl("delete", "-f", "manifests/examples/device-classes.yaml", check=False)
