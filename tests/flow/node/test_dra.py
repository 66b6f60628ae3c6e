"""Claimed devices by Dynamic Resource Allocation: real kubelet, containerd with CDI, scheduler, VFIO."""

import os
import time

import pytest

from cards import Card
from claims import IGB, NIC, PAIR, SLOT, Claims
from cluster import wait_until
from dra import BUS_ID, CARDS, CDI, DRIVER, Dra, TwicePrepared, by_address, devices_of, on_demand, request
from kubelet import QEMU_IN_A_POD, Kubelet, Pod, variable
from mdev import Mdevs
from node import pci_name

WATCHED = 40  # seconds: even three times that is less than the five minutes after which a watch lists again
RACES = int(os.environ.get("HOSTDEV_FORCE_DELETES", "2"))
UUID = "11111111-2222-3333-4444-555555555552"
SERVICES = "v1.DRAPlugin", "v1beta1.DRAPlugin"


@pytest.fixture(scope="module")
def kubelet(booted):
    """With containerd 2, and with a scheduler and a controller manager, which DRA needs."""
    made = Kubelet(booted.guest, booted.cluster, cdi=True)
    booted.cluster.control("start", "--full", "--egress")
    try:
        made.start()
        yield made
    finally:
        for name in ("kube-scheduler", "kube-controller-manager"):
            booted.cluster.control("kill", name)
    booted.agent.signal("TERM")  # or it makes its sockets again in the folders that are removed
    wait_until(lambda: not booted.agent.alive(), 10, "the agent's end")
    made.stop()
    booted.agent.start()
    wait_until(booted.agent.ready, 30, "the agent's readiness")


@pytest.fixture(scope="module")
def installed(booted, kubelet):
    made = Dra(booted, kubelet)
    made.install()
    yield made
    made.remove()


@pytest.fixture
def dra(installed):
    """No ResourceClaim before and after."""
    yield installed
    installed.clear()


def condition(device, reason):
    """The condition of the object that has the reason; None: there is none."""
    return next((one for one in device["status"].get("conditions", []) if one.get("reason") == reason), None)


def wait_for_slices(dra, mark, address, what):
    """The first event behind the mark with a slice that has the device."""
    def has_it(event):
        devices = devices_of([event.object]).values()
        return event.type != "DELETED" and any(d["attributes"].get(BUS_ID) == {"string": address} for d in devices)
    return dra.watch.wait(mark, has_it, WATCHED, what)


def test_what_is_claimed_is_in_the_slices_and_nowhere_else(node, kubelet, dra, claims):
    dra.wait_offered()
    claims.bind(NIC)
    dra.wait_offered(NIC)
    (name, device), = dra.devices().items()
    group = claims.function(NIC).group()
    assert name == "pci-0000-01-00-0"
    expected = {BUS_ID: {"string": NIC}, "vendorID": {"string": "8086"}, "deviceID": {"string": "10d3"},
                "iommuGroup": {"int": int(group)}}
    assert expected.items() <= device["attributes"].items()
    assert kubelet.allocatable(node.resource_of(NIC)) in (None, "0")

    claims.bind(IGB)  # of no entry with DRA: the device plugin's
    kubelet.wait_allocatable(node.resource_of(IGB), 1)
    assert dra.offered() == {NIC}

    written = len(dra.written())
    time.sleep(5)
    assert len(dra.written()) == written, "nothing changed, and slices were written"
    claims.release(NIC)
    dra.wait_offered()


def test_slices_are_there_after_the_agent_has_started(node, dra, claims):
    claims.bind(NIC)
    dra.wait_offered(NIC)
    node.agent.signal("TERM")
    wait_until(lambda: not node.agent.alive(), 10, "the agent's end")
    assert dra.offered() == {NIC}, "an agent that ends takes its slices along"
    dra.kubectl("delete", "resourceslices", "--field-selector", f"spec.driver={DRIVER}")
    dra.wait_offered()
    mark, began = dra.watch.mark(), time.monotonic()
    node.agent.start()
    took = wait_for_slices(dra, mark, NIC, "a slice of the agent that has started").seen - began
    print(f"{took:.2f} s from the agent's start to its slices, on emulated processors")


class TestAPodWithAClaim:
    """A pod whose claim has the NIC lives through all that is done around it."""

    @pytest.fixture(scope="class")
    def claims(self, booted, claim_watch):
        made = Claims(booted, claim_watch)
        yield made
        made.give_back()

    @pytest.fixture(scope="class")
    def pod(self, kubelet, installed, claims):
        claims.bind(NIC)
        installed.wait_offered(NIC)
        installed.claim("nic", request("card", by_address(NIC)))
        made = Pod(kubelet, "vm-dra", {}, restarts=True, claims={"vfio": {"resourceClaimName": "nic"}}, **QEMU_IN_A_POD)
        made.create()
        try:
            made.wait_running()
            yield made
        finally:
            made.clear()
            installed.clear()

    @pytest.fixture
    def dra(self, installed):
        return installed

    def runs_with_the_nic(self, pod, claims):
        return pod.exec("ls /dev/vfio").split() == sorted([claims.function(NIC).group(), "vfio"])

    def restart_container(self, pod, claims):
        before = pod.restarts_so_far()
        pod.end()
        wait_until(lambda: (pod.restarts_so_far() or 0) > before, 60, f"the container's next life: {pod.get()['status']}")
        pod.wait_known()
        assert self.runs_with_the_nic(pod, claims)

    def test_a_qemu_in_it_opens_the_device(self, node, dra, claims, pod):
        assert self.runs_with_the_nic(pod, claims)
        name = variable(node.resource_of(NIC))
        assert pod.environment()[name] == NIC
        assert pod.query_pci(f"host=${name}") == ["8086:10d3"]
        uid = dra.cluster.get("resourceclaim", "nic")["metadata"]["uid"]
        assert f"{CDI}/{DRIVER}-device_{uid}.json" in dra.cdi_files()

    def test_the_device_says_by_which_claim_the_pod_has_it(self, node, dra, pod):
        """And the status of the claim says nothing, because nothing is wrong."""
        node.wait_allocations(NIC, "default/vm-dra/main")
        (allocation,) = node.pci_object(NIC)["status"]["allocations"]
        assert allocation["resourceClaim"] == "nic"
        assert not dra.cluster.get("resourceclaim", "nic")["status"].get("devices")

    def test_kubevirts_own_code_finds_the_device(self, dra, pod, tmp_path):
        dra.metadata(pod, tmp_path)
        new, old = tmp_path / "kubernetes.io/dra-device-attributes", tmp_path / "dra-device-attributes"
        assert dra.read_by_kubevirt("reader", new, "vfio/nic/card") == (NIC, None)
        assert dra.read_by_kubevirt("reader-1.8", old, "vfio/nic/card") == (NIC, None)

    def test_slices_are_back_after_the_kubelet_has_deleted_them(self, node, kubelet, dra, claims, pod):
        before, files, mark = pod.identity(), dra.files(), dra.watch.mark()
        kubelet.restart()
        deleted = dra.watch.wait(mark, lambda event: event.type == "DELETED", WATCHED, "slices that the kubelet deletes")
        took = wait_for_slices(dra, dra.watch.events.index(deleted), NIC, "the slice again").seen - deleted.seen
        print(f"{took:.2f} s from the kubelet's deletion of the slices to new ones, on emulated processors")
        kubelet.wait_ready()
        assert pod.identity() == before and dra.files() == files

    def test_a_container_starts_again_without_the_agent(self, node, dra, claims, pod):
        files = dra.files()
        node.agent.kill()
        assert dra.files() == files
        self.restart_container(pod, claims)
        node.agent.start()
        wait_until(node.agent.ready, 30, "the agent's readiness")
        dra.wait_files(files)
        assert dra.offered() == {NIC}

    @pytest.mark.parametrize("script", [f"rm -f {CDI}/*", f"rm -rf {CDI}"], ids=["files", "folder"])
    def test_cdi_files_that_are_removed_are_restored(self, dra, claims, pod, script):
        files = dra.files()
        took = dra.seconds_until_restored(script)
        print(f"{took:.2f} s until the CDI file was back, on emulated processors")
        dra.wait_files(files)
        self.restart_container(pod, claims)

    def test_its_pcideviceclaim_waits_for_it(self, dra, claims, pod):
        """The last one: the pod ends."""
        claims.delete(NIC)
        claims.wait(NIC, "Ready", "False", "Held", "ResourceClaim default/nic")
        assert "ResourceClaim default/nic" in claims.now(NIC)["status"]["holder"]
        dra.wait_offered()  # nobody else gets it
        assert claims.function(NIC).driver() == "vfio-pci"
        assert self.runs_with_the_nic(pod, claims)

        pod.delete()
        wait_until(lambda: not dra.files(), 60, lambda: f"no file of the claim, but there is {list(dra.files())}")
        claims.wait_gone(NIC)
        claims.wait_drivers(NIC, "e1000e")


def test_a_free_device_is_bound_for_a_pod_and_given_back(node, dra, claims, pods):
    dra.configure(pciHostDevices=[on_demand(CARDS["e1000e"])])
    try:
        wait_until(lambda: NIC in dra.offered(), 30, f"{NIC} in the slices")
        nic, name = claims.function(NIC), pci_name(NIC)
        assert nic.driver() == "e1000e"
        dra.claim("nic", request("card", by_address(NIC)))
        pod = pods("dra-on-demand", {}, claims={"vfio": {"resourceClaimName": "nic"}}, **QEMU_IN_A_POD)
        pod.wait_running()
        assert nic.driver() == "vfio-pci"
        assert pod.exec("ls /dev/vfio").split() == sorted([nic.group(), "vfio"])
        assert NIC in pod.environment().values()
        assert pod.query_pci(f"host={NIC}") == ["8086:10d3"]
        offered = wait_until(lambda: condition(node.cluster.get("pcidevice", name), "BoundOnDemand"), 30, "BoundOnDemand")
        assert "ResourceClaim default/nic" in offered["message"]

        claims.apply(NIC)
        claims.wait(NIC, "Accepted", "False", "Held", "ResourceClaim default/nic")
        claims.delete(NIC)
        claims.wait_gone(NIC)

        node.agent.kill()
        node.agent.start()
        wait_until(node.agent.ready, 30, "the agent's readiness")
        time.sleep(5)
        assert nic.driver() == "vfio-pci"
        (attributes,) = [one["attributes"] for one in dra.devices().values() if one["attributes"][BUS_ID] == {"string": NIC}]
        assert attributes["driver"] == {"string": "e1000e"}

        pod.delete()
        wait_until(lambda: not dra.files(), 60, "no file of the claim")
        claims.wait_drivers(NIC, "e1000e")
        wait_until(lambda: NIC in dra.offered(), 30, f"{NIC} in the slices")
    finally:
        dra.configure()


def test_a_virtual_function_is_bound_for_a_pod_and_given_back(node, dra, claims, pods):
    card = Card(node, IGB)
    wait_until(card.object, 30, "the card's object")
    try:
        card.patch(numVFs=1, driversAutoprobe=True)
        (address,) = card.wait_number(1)
        claims.wait_drivers(address, "igbvf")
        dra.configure(pciHostDevices=[on_demand(CARDS["igbvf"])])
        dra.wait_offered(address)
        dra.claim("vf", request("card", by_address(address)))
        pod = pods("dra-vf", {}, claims={"vfio": {"resourceClaimName": "vf"}}, **QEMU_IN_A_POD)
        pod.wait_running()
        function = claims.function(address)
        assert function.driver() == "vfio-pci"
        assert pod.exec("ls /dev/vfio").split() == sorted([function.group(), "vfio"])
        assert pod.query_pci(f"host={address}") == [CARDS["igbvf"]]

        pod.delete()
        wait_until(lambda: not dra.files(), 60, "no file of the claim")
        claims.wait_drivers(address, "igbvf")
        dra.wait_offered(address)
    finally:
        dra.configure()
        card.give_back()


def test_a_device_that_a_claim_has_is_prepared_for_no_other(dra, claims):
    """Two claims have it when a pod was deleted by force, or when there are two schedulers."""
    claims.bind(NIC)
    dra.wait_offered(NIC)
    first, second = (dra.allocated(name, NIC) for name in ("first", "second"))
    got, refused, freed, then, end = dra.call(
        SERVICES[0], ("prepare", "first", first), ("prepare", "second", second), ("unprepare", "first", first),
        ("prepare", "second", second), ("unprepare", "second", second))
    assert [one.get("error") for one in (got, freed, then, end)] == [None] * 4
    assert NIC in refused["error"] and "ResourceClaim default/first" in refused["error"]
    assert not dra.files()


def test_pods_that_are_deleted_by_force_hand_the_device_on(kubelet, dra, claims):
    """The API server forgets a pod and its claim before the kubelet has ended the containers, so that the scheduler gives
    the device to the next pod at once."""
    claims.bind(NIC)
    dra.wait_offered(NIC)
    dra.template("nic", request("card", by_address(NIC)))
    pods = [Pod(kubelet, f"dra-heir-{i}", {}, claims={"vfio": {"resourceClaimTemplateName": "nic"}}) for i in range(RACES + 1)]
    try:
        with TwicePrepared(kubelet.guest) as twice:
            pods[0].create()
            pods[0].wait_running()
            for former, heir in zip(pods, pods[1:]):
                dra.kubectl("delete", "pod", former.name, "-n", "default", "--force", "--grace-period=0", "--wait=false")
                heir.create()
                heir.wait_running(180)
                assert heir.exec("ls /dev/vfio").split() == sorted([claims.function(NIC).group(), "vfio"])
            pods[-1].delete()
            wait_until(lambda: not dra.files(), 60, "no file of a claim")
            assert twice.seen() == []
    finally:
        for pod in pods:
            pod.clear()


def test_half_of_a_group_is_refused_by_the_name_of_who_has_the_other(dra, claims):
    for address in PAIR:
        claims.apply(address)
    for address in PAIR:
        claims.wait_ready(address)
    dra.wait_offered(*PAIR)
    first, second = (dra.allocated(f"half-{i}", address) for i, address in enumerate(PAIR))
    got, refused, freed, then, end = dra.call(
        SERVICES[0], ("prepare", "half-0", first), ("prepare", "half-1", second), ("unprepare", "half-0", first),
        ("prepare", "half-1", second), ("unprepare", "half-1", second))
    assert [one.get("error") for one in (got, freed, then, end)] == [None] * 4
    assert "default/half-0 has" in refused["error"] and PAIR[0] in refused["error"]


def test_a_pod_gets_a_whole_group(node, dra, claims, pods):
    for address in PAIR:
        claims.apply(address)
    for address in PAIR:
        claims.wait_ready(address)
    dra.wait_offered(*PAIR)
    dra.claim("group", request("cards", f'device.driver == "{DRIVER}"', count=2),
              constraints=[{"requests": ["cards"], "matchAttribute": f"{DRIVER}/iommuGroup"}])
    pod = pods("dra-group", {}, claims={"vfio": {"resourceClaimName": "group"}})
    pod.wait_running()
    assert pod.exec("ls /dev/vfio").split() == sorted([claims.function(PAIR[0]).group(), "vfio"])
    assert sorted(pod.environment()[variable(node.resource_of(PAIR[0]))].split(",")) == [*PAIR]


def test_both_versions_of_the_service_answer_alike(dra, claims):
    """To gRPC and messages in Go, as the kubelet has them."""
    claims.bind(NIC)
    dra.wait_offered(NIC)
    uid = dra.allocated("nic", NIC)
    wrong = "00000000-0000-0000-0000-000000000000"
    answers = []
    for service in SERVICES:
        first, again, other, freed, unknown = dra.call(
            service, ("prepare", "nic", uid), ("prepare", "nic", uid), ("prepare", "nic", wrong),
            ("unprepare", "nic", uid), ("unprepare", "nic", wrong))
        assert first["devices"] == again["devices"] and "error" not in freed and "error" not in unknown
        assert uid in other["error"] or wrong in other["error"]
        assert not dra.files()
        answers.append(first["devices"])
    assert answers[0] == answers[1]
    ((device,),) = {tuple((d["pool"], d["device"], *d["requests"]) for d in devices) for devices in answers}
    assert device == (dra.guest.name, "pci-0000-01-00-0", "card")


def test_parameters_of_a_claim_are_refused_by_name(dra, claims):
    claims.bind(NIC)
    dra.wait_offered(NIC)
    opaque = {"driver": DRIVER, "parameters": {"apiVersion": "hostdev.io/v1alpha1", "kind": "Config", "speed": 10}}
    uid = dra.allocated("nic", NIC, [{"source": "FromClaim", "opaque": opaque}])
    (refused,) = dra.call(SERVICES[0], ("prepare", "nic", uid))
    assert any(name in refused["error"] for name in opaque["parameters"])
    assert not dra.files()


def test_a_device_that_is_unplugged_leaves_the_slices(node, dra, claims):
    nic = node.guest.plug("nic", "--bus", "spare1", "--model", "e1000e", "--mac", "52:54:00:12:01:08")
    try:
        claims.wait_drivers(SLOT, "e1000e")
        claims.bind(SLOT)
        dra.wait_offered(SLOT)
        mark = dra.watch.mark()
    finally:
        node.guest.unplug(nic)
    began = time.monotonic()  # the guest has let go of it
    gone = dra.watch.wait(mark, lambda event: not devices_of([event.object]) or event.type == "DELETED", WATCHED,
                          "a slice without the device")
    print(f"{gone.seen - began:.2f} s until it was out of the slices, on emulated processors")
    dra.wait_offered()


def test_kubevirts_own_code_finds_a_mediated_device(node, dra, pods, tmp_path):
    mdevs = Mdevs(node)
    mdevs.create("mtty", "mtty-1", UUID)
    try:
        dra.configure(mediatedDevices=[{"resourceName": "example.com/serial", "mdevNameSelector": "mtty-1",
                                        "dra": {"mode": "Claimed"}}])
        dra.wait_offered(UUID)
        (device,) = dra.devices()
        assert device == f"mdev-{UUID}"
        dra.template("serial", request("port", f'device.attributes["{DRIVER}"].?mdevUUID.orValue("") == "{UUID}"'))
        pod = pods("dra-mdev", {}, claims={"mdev": {"resourceClaimTemplateName": "serial"}})
        pod.wait_running()
        assert pod.exec("ls /dev/vfio").split() == sorted([mdevs.group(UUID), "vfio"])
        assert pod.environment()["MDEV_PCI_RESOURCE_EXAMPLE_COM_SERIAL"] == UUID
        dra.metadata(pod, tmp_path)
        new, old = tmp_path / "kubernetes.io/dra-device-attributes", tmp_path / "dra-device-attributes"
        assert dra.read_by_kubevirt("reader", new, "mdev//port") == (None, UUID)
        assert dra.read_by_kubevirt("reader-1.8", old, "mdev//port") == (None, UUID)
        pod.delete()
        wait_until(lambda: not dra.files(), 60, "no file of the claim")
    finally:
        mdevs.remove(UUID)
        dra.configure()
