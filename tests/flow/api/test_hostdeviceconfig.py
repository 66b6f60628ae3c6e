"""HostDeviceConfig on a real API server: the agent follows it without a restart, and says what it cannot do."""

import os
import shutil
import socket
import time

import pytest
import yaml

from cluster import ROOT, wait_until
from fake_kubelet import FakeKubelet
from machine import Machine
from programs import run

PATH = "/apis/hostdev.io/v1alpha1/hostdeviceconfigs"
CLAIMS = "/apis/devices.harvesterhci.io/v1beta1/pcideviceclaims"
NIC = "0000:01:00.1"  # a function of the made-up machine that is not in use
KVM = {"resourceName": "a.io/kvm", "path": "/dev/kvm", "count": 2}
TUN = {"resourceName": "a.io/tun", "path": "/dev/net/tun", "count": 2, "preOpen": True, "permissions": "mrw"}
QGS = {"resourceName": "a.io/tdx", "socketPath": "/var/run/tdx-qgs/qgs.socket", "count": 2}


@pytest.fixture
def kubelet():
    made = FakeKubelet()
    yield made
    made.remove()


@pytest.fixture
def config(rest):
    """config(generation's spec) makes or replaces the HostDeviceConfig; gone at the end."""
    made = Config(rest)
    yield made
    made.delete()


class Config:
    def __init__(self, rest):
        self.rest = rest
        self.delete()

    def __call__(self, **spec):
        body = {"apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
                "spec": spec}
        status, answer = self.rest.request("POST", PATH, body)
        end = time.monotonic() + 60
        while status == 409 and time.monotonic() < end:  # agents write its status meanwhile
            body["metadata"]["resourceVersion"] = self.get()["metadata"]["resourceVersion"]
            status, answer = self.rest.request("PUT", f"{PATH}/default", body)
        assert status in (200, 201), answer
        return answer["metadata"]["generation"]

    def get(self):
        return self.rest.get(f"{PATH}/default")

    def status(self):
        return self.get().get("status", {})

    def accepted(self):
        """(generation, status, reason)."""
        status = self.status()
        for one in status.get("conditions", []):
            if one["type"] == "Accepted":
                return status["observedGeneration"], one["status"], one["reason"]
        return None

    def wait_accepted(self, generation, status, reason):
        wait_until(lambda: self.accepted() == (generation, status, reason), 20,
                   f"generation {generation} {status} {reason}, not {self.status()}")

    def delete(self):
        status, answer = self.rest.request("DELETE", f"{PATH}/default")
        assert status in (200, 404), answer


@pytest.fixture
def host(tmp_path):
    """A made-up root with device nodes (links to those that everybody has) and a folder for sockets."""
    made = tmp_path / "host"
    for node in ("kvm", "net/tun", "vfio/vfio"):
        path = made / "dev" / node
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to("/dev/null")
    (made / "run").mkdir()
    (made / "var").mkdir()
    (made / "var/run").symlink_to("../run")
    return made


@pytest.fixture
def start(agents, kubelet, host, node, crds):
    """start(machine) -> the agent of the node on this kubelet and host, ready."""
    crds.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node",
                                            "metadata": {"name": node, "labels": {"zone": "a"}}})

    def run(machine, name=node, kubelet=kubelet):
        agent = agents(machine, name, flags=[*kubelet.flags, "--host-root", host, "--dev-root", host / "dev"]).start()
        wait_until(agent.ready, 30, "the agent's readiness")
        return agent

    yield run
    crds.kubectl("delete", "node", node, check=False)


INOTIFY_S = 15  # even three times that is less than the minute between two looks without inotify


def wait_devices(kubelet, resource, wanted, timeout=20):
    last = None

    def there():
        nonlocal last
        last = kubelet.devices(resource)
        return last == wanted
    try:
        wait_until(there, timeout)
    except AssertionError:
        raise AssertionError(f"{resource} is {last}, not {wanted}") from None


def units(name, healthy=True):
    return {f"{name}0": healthy, f"{name}1": healthy}


def test_there_is_only_one(kubectl):
    run = kubectl("create", "-f", "-", check=False, input={
        "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "other"}})
    assert "its name must be default" in run.stderr


@pytest.mark.parametrize("spec, message", [
    ({"genericDevices": [{"resourceName": "a.io/kvm"}]}, "genericDevices[0].path: Required value"),
    ({"genericDevices": [{"resourceName": "kvm", "path": "/dev/kvm"}]},
     'genericDevices[0].resourceName: Invalid value: "string": must be DOMAIN/NAME, such as intel.com/qat'),
    ({"genericDevices": [{**KVM, "count": 10001}]}, "less than or equal to 10000"),
    ({"genericDevices": [{**KVM, "path": "/etc/passwd"}]}, "should match '^/dev/.'"),
    ({"pciHostDevices": [{"resourceName": "a.io/x", "pciVendorSelector": "8086"}]}, "pciVendorSelector"),
    ({"genericDevices": [KVM] * 129}, "must have at most 128 items"),
], ids=["a missing field", "a name without a domain", "too many units", "a path elsewhere", "half a selector", "too long a list"])
def test_what_is_wrong_by_itself_is_refused_at_once(kubectl, spec, message):
    run = kubectl("create", "-f", "-", check=False, input={
        "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"}, "spec": spec})
    assert message in run.stderr


def test_the_example_is_right(start, machine, config):
    start(machine)
    spec = yaml.safe_load((ROOT / "manifests/examples/hostdeviceconfig.yaml").read_text())["spec"]
    config.wait_accepted(config(**spec), "True", "Accepted")


def test_each_entry_comes_changes_and_goes_alone(start, machine, kubelet, config):
    start(machine)
    assert kubelet.endpoints() == {}
    config(genericDevices=[KVM])
    wait_devices(kubelet, "a.io/kvm", units("kvm"))
    kvm = kubelet.endpoints()["a.io/kvm"]

    generation = config(genericDevices=[KVM, TUN])
    wait_devices(kubelet, "a.io/tun", units("tun"))
    config.wait_accepted(generation, "True", "Accepted")
    (got,) = kubelet.allocate("a.io/tun", ["tun0", "tun1"])
    assert got == {"envs": {}, "mounts": [], "devices": [("/dev/net/tun", "/dev/net/tun", "mrw")]}

    config(genericDevices=[{**KVM, "containerPath": "/opt/kvm", "count": 3}, TUN])
    wait_devices(kubelet, "a.io/kvm", {**units("kvm"), "kvm2": True})
    first, second = kubelet.allocate("a.io/kvm", ["kvm0"], ["kvm1", "kvm2"])
    assert first == second == {"envs": {}, "mounts": [], "devices": [("/opt/kvm", "/dev/kvm", "rw")]}

    config(genericDevices=[{**KVM, "count": 3}])
    wait_until(lambda: set(kubelet.endpoints()) == {"a.io/kvm"}, 20, "tun gone")
    assert kubelet.endpoints()["a.io/kvm"] == kvm, "an entry that stayed was offered anew"
    config.delete()
    wait_until(lambda: kubelet.endpoints() == {}, 20, "nothing offered")


def test_names_that_differ_in_the_vendor_alone_stay_apart(start, machine, kubelet, config):
    """Defect 9: sockets were named after what stands behind the slash, and one plugin removed the other's."""
    start(machine)
    config(genericDevices=[KVM, {**KVM, "resourceName": "b.io/kvm", "count": 1}])
    wait_devices(kubelet, "a.io/kvm", units("kvm"))
    wait_devices(kubelet, "b.io/kvm", {"kvm0": True})
    assert kubelet.endpoints()["a.io/kvm"] != kubelet.endpoints()["b.io/kvm"]
    config(genericDevices=[KVM])
    wait_until(lambda: set(kubelet.endpoints()) == {"a.io/kvm"}, 20, "the other gone")
    assert kubelet.allocate("a.io/kvm", ["kvm1"])


def test_a_node_that_comes_and_goes_is_seen_by_events(start, machine, kubelet, config, host):
    start(machine)
    (host / "dev/kvm").unlink()
    config(genericDevices=[KVM])
    wait_devices(kubelet, "a.io/kvm", units("kvm", False))
    with pytest.raises(AssertionError, match="/dev/kvm is not there"):
        kubelet.allocate("a.io/kvm", ["kvm0"])
    (host / "dev/kvm").symlink_to("/dev/null")
    wait_devices(kubelet, "a.io/kvm", units("kvm"), timeout=INOTIFY_S)
    (host / "dev/kvm").unlink()
    wait_devices(kubelet, "a.io/kvm", units("kvm", False), timeout=INOTIFY_S)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        folder = os.open(path.parent, os.O_RDONLY)  # a path may be too long for a socket
        try:
            made.bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)


def test_a_socket_whose_folder_is_made_anew_recovers_with_its_owner(start, machine, kubelet, config, host):
    """Defect 2 of KubeVirt's device manager, #18669: the resource stayed at 0."""
    folder = host / "run/tdx-qgs"
    start(machine)
    config(socketDevices=[{**QGS, "owner": {"uid": 107, "gid": 108}}])
    wait_devices(kubelet, "a.io/tdx", units("tdx", False))
    for _ in range(2):
        folder.mkdir()
        make_socket(folder / "qgs.socket")
        wait_devices(kubelet, "a.io/tdx", units("tdx"), timeout=INOTIFY_S)
        for path in (folder, folder / "qgs.socket"):
            assert (path.stat().st_uid, path.stat().st_gid) == (107, 108)
        (got,) = kubelet.allocate("a.io/tdx", ["tdx1"])
        assert got == {"envs": {}, "devices": [], "mounts": [("/var/run/tdx-qgs", "/var/run/tdx-qgs", False)]}
        shutil.rmtree(folder)
        wait_devices(kubelet, "a.io/tdx", units("tdx", False), timeout=INOTIFY_S)
    config(socketDevices=[{**QGS, "optional": True}])
    wait_devices(kubelet, "a.io/tdx", units("tdx"))


def test_a_function_on_vfio_is_lent_by_selector_and_by_its_claim(start, machine, kubelet, config, host, rest, node):
    machine.bind(NIC, "vfio-pci")
    group = os.path.basename(os.path.realpath(machine.device(NIC) / "iommu_group"))
    (host / "dev/vfio" / group).symlink_to("/dev/null")
    start(machine)
    config(pciHostDevices=[{"resourceName": "a.io/nic", "pciVendorSelector": "8086:10D3"},
                           {"resourceName": "a.io/other", "pciVendorSelector": "1af4:1041",
                            "externalResourceProvider": True}])
    wait_devices(kubelet, "a.io/nic", {NIC: True})
    assert set(kubelet.endpoints()) == {"a.io/nic"}
    (got,) = kubelet.allocate("a.io/nic", [NIC])
    assert got["envs"] == {"PCI_RESOURCE_A_IO_NIC": NIC}
    assert [device[0] for device in got["devices"]] == ["/dev/vfio/vfio", f"/dev/vfio/{group}"]
    with pytest.raises(AssertionError, match="has no device '0000:09:00.0'"):
        kubelet.allocate("a.io/nic", ["0000:09:00.0"])  # defect 7: unknown IDs were passed over

    name = f"{node}-{NIC.replace(':', '').replace('.', '')}"

    def said():
        """The name of its resource, and what its PCIDevice says of the HostDeviceConfig."""
        status = rest.get(f"/apis/devices.harvesterhci.io/v1beta1/pcidevices/{name}")["status"]
        offered = [(c["status"], c["reason"]) for c in status["conditions"] if c["type"] == "Offered"]
        return status["resourceName"], offered
    wait_until(lambda: said() == ("a.io/nic", [("True", "Offered")]), 20, "the PCIDevice says so")
    (host / "dev/vfio" / group).unlink()
    wait_until(lambda: said() == ("a.io/nic", [("False", "Unhealthy")]), 20, "its node in /dev/vfio is missed")
    (host / "dev/vfio" / group).symlink_to("/dev/null")
    rest.create("pcideviceclaims", {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
                                    "metadata": {"name": name}})
    try:
        wait_until(lambda: "a.io/nic" not in kubelet.endpoints(), 20, "the claim's own resource")
        wait_until(lambda: said()[0] != "a.io/nic" and not said()[1], 20, "the claim says it now")
    finally:
        rest.remove(f"{CLAIMS}/{name}")


def test_a_bad_entry_is_told_and_hurts_nothing_else(start, machine, kubelet, config, crds):
    start(machine)
    generation = config(genericDevices=[{**KVM, "resourceName": "a.kubernetes.io/x"}, KVM,
                                        {**TUN, "resourceName": "a.io/kvm"}],
                        socketDevices=[{**QGS, "resourceName": "a.io/kvm"}])
    wait_devices(kubelet, "a.io/kvm", units("kvm"))
    config.wait_accepted(generation, "False", "EntriesLeftOut")
    entries = config.status()["entries"]
    assert [(e["list"], e["index"], e["resourceName"]) for e in entries] == [
        ("genericDevices", 0, "a.kubernetes.io/x"), ("genericDevices", 2, "a.io/kvm"),
        ("socketDevices", 0, "a.io/kvm")]
    assert set(kubelet.endpoints()) == {"a.io/kvm"}
    wait_until(lambda: events_of(crds, "EntriesLeftOut"), 10, "an event")
    columns = crds.kubectl("get", "hostdevconf").stdout
    assert columns.split() == ["NAME", "ACCEPTED", "NOT", "APPLIED", "ON", "AGE", "default", "False", columns.split()[-1]]
    config.wait_accepted(config(genericDevices=[KVM]), "True", "Accepted")
    assert "entries" not in config.status()


def events_of(crds, reason):
    return [e for e in crds.get("events", "-n", "default") if e["reason"] == reason
            and e["involvedObject"]["kind"] == "HostDeviceConfig"]


def test_each_node_tells_its_own_trouble_and_takes_it_back(start, machine, tmp_path, kubelet, config, crds, node):
    """Two agents, of which each has an item of its own in one status; at rest nothing is written."""
    other_kubelet, other = FakeKubelet(), f"{node}-2"
    crds.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node",
                                            "metadata": {"name": other, "labels": {"zone": "a"}}})
    both = [start(machine), start(Machine(tmp_path / "other"), other, other_kubelet)]
    here = {"nodeSelector": {"zone": "a"}}
    try:
        generation = config(genericDevices=[{**KVM, **here}, {**TUN, "resourceName": "a.io/kvm", **here}])
        wait_devices(kubelet, "a.io/kvm", units("kvm"))
        config.wait_accepted(generation, "True", "Accepted")
        wait_until(lambda: troubled(config) == {node, other}, 20, "both nodes in the status")
        shown = crds.kubectl("get", "hostdevconf", "--no-headers").stdout.split()
        assert shown[1] == "True" and shown[2].startswith(node), shown
        (entry,) = config.status()["nodes"][0]["entries"]
        assert (entry["list"], entry["index"], entry["resourceName"]) == ("genericDevices", 1, "a.io/kvm")
        assert entry["message"] == "entry 0 has the same name on this node, and the first counts"
        assert {e["message"].split(":")[0] for e in events_of(crds, "NotCarriedOut")} >= {f"node {node}", f"node {other}"}

        before = [len(agent.written(crds)) for agent in both]
        verdicts = [e for agent in both for e in agent.written(crds)
                    if e["objectRef"]["resource"] == "hostdeviceconfigs" and "hostdev-agent-" not in e["requestURI"]]
        assert len(verdicts) == 1, "one verdict for a generation, whoever wrote it"
        time.sleep(3)
        assert [len(agent.written(crds)) for agent in both] == before

        crds.kubectl("label", "node", other, "zone-")
        wait_until(lambda: troubled(config) == {node}, 20, "one node in the status")
        assert other_kubelet.endpoints() == {}
        config(genericDevices=[{**KVM, **here}])
        wait_until(lambda: troubled(config) == set(), 20, "no node in the status")
    finally:
        crds.kubectl("delete", "node", other)
        both[1].stop()
        other_kubelet.remove()


def told(config, node):
    """{(list, index): (reason, message)} of what a node cannot carry out."""
    for item in config.status().get("nodes", []):
        if item["node"] == node:
            return {(e["list"], e.get("index", -1)): (e["reason"], e["message"]) for e in item["entries"]}
    return {}


def stick_says(crds, model):
    """The resource of the USBDevice of that model, and what it says of the HostDeviceConfig."""
    (status,) = [one["status"] for one in crds.get("usbdevices")
                 if (one["status"]["vendorID"], one["status"]["productID"]) == (model["vendor"], model["product"])]
    return status["resourceName"], [(c["status"], c["reason"]) for c in status["conditions"] if c["type"] == "Offered"]


def test_entries_that_give_nothing_are_told_and_taken_back(start, machine, kubelet, config, host, node, crds):
    """Each with its reason and what to do; they are right in themselves, and nothing is written at rest."""
    (host / "dev/kvm").unlink()
    agent = start(machine)
    port, stick = "1-1.1", {"vendor": "046d", "product": "c31c"}
    generation = config(
        genericDevices=[KVM, TUN], iommufd={"enabled": True, "count": 2}, socketDevices=[{**QGS, "countFromMisc": "tdx"}],
        usb=[{"resourceName": "a.io/stick", "selectors": [stick]}, {"resourceName": "a.io/again", "selectors": [stick]},
             {"resourceName": "a.io/pair", "selectors": [{"vendor": "0bad", "product": "0001"}, stick]}])
    config.wait_accepted(generation, "True", "Accepted")
    wanted = {("genericDevices", 0): "NodeMissing", ("iommufd", -1): "NodeMissing", ("socketDevices", 0): "NoCapacity",
              ("usb", 0): "NodeMissing", ("usb", 1): "DevicesTaken", ("usb", 2): "NoDevice"}
    wait_until(lambda: {k: reason for k, (reason, _) in told(config, node).items()} == wanted, 20,
               f"{wanted}, not {told(config, node)}")
    messages = {k: message for k, (_, message) in told(config, node).items()}
    assert messages["usb", 1] == (f"the device in port {port} ({stick['vendor']}:{stick['product']}) is already offered as "
                                  "'a.io/stick': change one of the two claims or entries")
    assert f"the device in port {port}: /dev/bus/usb/" in messages["usb", 0]  # the made-up node has none
    assert "0bad:0001" in messages["usb", 2] and "capacity 'tdx'" in messages["socketDevices", 0]
    assert "load the module iommufd" in messages["iommufd", -1] and "/dev/kvm is not there" in messages["genericDevices", 0]
    assert stick_says(crds, stick) == ("a.io/stick", [("False", "Unhealthy")])  # for want of the node

    wait_until(agent.idle, 30)
    before = len(agent.written(crds))
    time.sleep(3)
    assert len(agent.written(crds)) == before
    agent.stop()
    agent.start()
    wait_until(lambda: set(kubelet.endpoints()) >= {"a.io/stick"}, 30, "the resources of the new process")
    time.sleep(3)
    assert not [e for e in agent.written(crds)[before:] if e["objectRef"]["resource"] == "hostdeviceconfigs"], (
        "a new process wrote what was told already")

    (host / "dev/kvm").symlink_to("/dev/null")
    wanted.pop(("genericDevices", 0))
    wait_until(lambda: {k: reason for k, (reason, _) in told(config, node).items()} == wanted, 20, "one trouble less")
    config(genericDevices=[KVM, TUN])
    wait_until(lambda: troubled(config) == set(), 20, "no trouble")


def test_what_a_deleted_node_told_goes(start, machine, kubelet, config, crds, node, controllers):
    """The controller takes it away, in the name of the agent that is no more."""
    agent, here = start(machine), {"nodeSelector": {"zone": "a"}}
    config(genericDevices=[{**KVM, **here}, {**TUN, "resourceName": "a.io/kvm", **here}])
    wait_until(lambda: troubled(config) == {node}, 20, "the node in the status")
    agent.stop()
    replica = controllers().start()
    wait_until(replica.leads, 20)
    time.sleep(2)
    assert troubled(config) == {node}, "its agent is away, not the node"
    crds.kubectl("delete", "node", node)
    wait_until(lambda: troubled(config) == set(), 90, "no node in the status")
    replica.wait_line("deleted node removed from the HostDeviceConfig", node)


def troubled(config):
    return {item["node"] for item in config.status().get("nodes", [])}


def test_a_name_that_a_function_on_vfio_has_is_another_kinds(start, machine, kubelet, config, host, node):
    """The first on the node keeps a name; the config says on which node which entry has none."""
    machine.bind(NIC, "vfio-pci")
    start(machine)
    name = f"{node}-{NIC.replace(':', '').replace('.', '')}"
    resource = "intel.com/82574L_GIGABIT_NETWORK_CONNECTION"
    config.rest.create("pcideviceclaims", {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
                                           "metadata": {"name": name}})
    try:
        wait_until(lambda: resource in kubelet.endpoints(), 20, "the claimed device")
        config(genericDevices=[{**KVM, "resourceName": resource}, TUN])
        wait_devices(kubelet, "a.io/tun", units("tun"))
        wait_until(lambda: troubled(config) == {node}, 20, "the collision in the status")
        (entry,) = config.status()["nodes"][0]["entries"]
        assert "devices of another type (pci) already have this resource name on this node" in entry["message"]
        assert NIC in kubelet.devices(resource)
    finally:
        config.rest.remove(f"{CLAIMS}/{name}")


@pytest.mark.parametrize("make, says", [
    (lambda path: path.symlink_to("/dev/null"), '"result":"Done"'),
    (lambda path: None, '"result":"Failed","message":"No such file or directory"'),
    (lambda path: path.write_text(""), '"result":"Failed","message":"it is no character device"'),
    (os.mkfifo, '"result":"Failed","message":"it is no character device"'),
], ids=["a node", "nothing", "a file", "a FIFO, which would hang"])
def test_the_helper_opens_a_node_and_nothing_else(tmp_path, make, says):
    make(tmp_path / "x")
    answer = run("hostdev-helper", "open", "--dev-root", tmp_path, "/dev/x")
    assert (answer.returncode, says in answer.stdout) == (0, True), answer


@pytest.mark.parametrize("words", [[], ["/etc/passwd"], ["/dev/x", "/dev/y"]], ids=["nothing", "elsewhere", "two"])
def test_the_helper_takes_one_path_below_dev(words):
    answer = run("hostdev-helper", "open", *words)
    assert (answer.returncode, answer.stderr) == (2, "hostdev-helper: open takes one path below /dev\n")
