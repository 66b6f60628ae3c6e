"""The controller and KubeVirt's own definitions on a real API server: permittedHostDevices and what machines were given.

KubeVirt's programs do not run: what they would read is looked at.
"""

import json
import signal
import threading
import time

import pytest

from cluster import WRITES, wait_until
from kubevirt import API, DETAILS, NAMESPACE, RECORD, KubeVirt, ours, pci, settle
from programs import run
from replicas import MERGE, OWN
from rest import GROUP, Rest

NIC, GPU, DISK = "8086:10d3", "10de:1eb8", "1b36:0010"
A, B, C = (pci(NIC, "example.com/a"), pci(GPU, "example.com/b"), pci(DISK, "example.com/c"))


@pytest.fixture(scope="module")
def defined(installed, rest):
    """KubeVirt's definitions."""
    made = KubeVirt(rest, "machines")
    made.install()
    yield made
    made.uninstall()


@pytest.fixture
def kubevirt(defined):
    yield defined
    defined.clear()


@pytest.fixture
def control(controllers):
    """control(*flags) -> a replica that leads and has listed everything."""
    def start(*flags):
        replica = controllers("--agent-pods", "none", *flags).start()
        wait_until(replica.leads, 30)
        replica.wait_line("have been listed")
        return replica

    return start


@pytest.fixture
def lend(world, node):
    """lend(number, entry) -> the claim of a device of that model and resource."""
    world.node(node)

    def claim(number, entry, **more):
        device = world.device(node, number, entry["resourceName"])
        vendor, model = entry["pciVendorSelector"].split(":")
        world.status(device, {"vendorId": vendor, "deviceId": model, **more})
        return world.claim(device, node)

    return claim


def release(world, claim):
    world.rest.request("PATCH", claim, {"metadata": {"finalizers": None}}, MERGE)
    world.delete(claim)


def claimed_stick(world, node):
    """A USB device with its claim."""
    meta = {"name": f"{node}-0951-1666-001002", "labels": {"nodename": node}}
    kind = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "USBDevice"}
    path = world.create(f"{GROUP}/usbdevices", kind | {"metadata": meta}, {
        "nodeName": node, "vendorID": "0951", "productID": "1666", "resourceName": f"kubevirt.io/{meta['name']}"})
    world.create(f"{GROUP}/usbdeviceclaims", kind | {"kind": "USBDeviceClaim", "metadata": {"name": meta["name"]}})
    return path


def name_of(path):
    return path.rsplit("/", 1)[1]


def kubevirt_writes(cluster, resource="kubevirts", since=0):
    """What the controllers have asked to be written."""
    return [event for event in cluster.audit()[since:]
            if event["verb"] in WRITES and event.get("userAgent", "").startswith("hostdev-controller/")
            and event.get("objectRef", {}).get("resource") == resource]


def same(listed, entries):
    """In any order."""
    def text(entry):
        return json.dumps(entry, sort_keys=True)

    return sorted(map(text, listed or [])) == sorted(map(text, entries))


def keys(*entries):
    return {"pciHostDevices": sorted(f"{one['pciVendorSelector']}={one['resourceName']}" for one in entries)}


# --- the list ---


def test_what_is_claimed_is_permitted_and_goes_with_its_last_claim(control, kubevirt, world, lend):
    kubevirt.create({"pciHostDevices": [C]})
    control()
    claims = [lend(number, A) for number in range(2)]
    kubevirt.wait_permitted([C, ours(A)])
    assert kubevirt.record() == keys(A)
    release(world, claims[0])
    settle()
    assert kubevirt.permitted() == [C, ours(A)], "another device of it is lent"
    release(world, claims[1])
    kubevirt.wait_permitted([C])
    assert kubevirt.record() is None


def entries_of(foreign):
    return {"foreign": [ours(one) for one in (A, B, C)], "KubeVirt's own": [A, B, C],
            "mixed": [A, ours(B), C]}[foreign]


@pytest.mark.parametrize("foreign", ["foreign", "KubeVirt's own", "mixed"])
def test_a_b_c_of_somebody_else_stay_a_b_c(control, kubevirt, installed, world, lend, foreign):
    """harvester-api 4.1: reconciling A made [B, C, C] of it, and then B [C, C, C]."""
    listed = entries_of(foreign)
    kubevirt.create({"pciHostDevices": listed})
    before = kubevirt.version()
    control()
    claims = []
    for number, entry in enumerate((A, B, C)):
        claims.append(lend(number, entry))
        settle(2)
        assert kubevirt.permitted() == listed
    for claim in claims:
        release(world, claim)
        settle(2)
        assert kubevirt.permitted() == listed
    assert kubevirt.version() == before and kubevirt.record() is None


def test_a_b_c_of_ours_stay_a_b_c_and_lose_what_is_released(control, kubevirt, world, lend):
    kubevirt.create({})
    control()
    claims = [lend(number, entry) for number, entry in enumerate((A, B, C))]
    wait_until(lambda: len(kubevirt.permitted() or []) == 3, 15)
    listed = kubevirt.permitted()
    assert same(listed, [ours(A), ours(B), ours(C)])
    for claim in claims:  # looked at once more
        world.rest.request("PATCH", claim, {"spec": {"disableResourcePooling": True}}, MERGE)
        world.rest.request("PATCH", claim, {"spec": {"disableResourcePooling": None}}, MERGE)
    settle()
    left = kubevirt.permitted()
    assert same(left, listed)
    for claim, entry in zip(claims, (A, B, C)):
        release(world, claim)
        left.remove(ours(entry))
        kubevirt.wait_permitted(left or None)
    assert kubevirt.get()["spec"]["configuration"]["permittedHostDevices"] == {}


def test_what_others_do_to_our_entries_is_put_right(control, kubevirt, lend):
    kubevirt.create({"pciHostDevices": [C]})
    control()
    lend(0, A)
    lend(1, B)
    whole = [C, ours(A), ours(B)]
    wait_until(lambda: len(kubevirt.permitted()) == 3, 15)
    kubevirt.write({"pciHostDevices": whole})
    for drifted in ([C, A, ours(B)], [C, ours(B)], [C], None,
                    [ours(B), ours(A), C, ours(B), ours(B)],
                    [C, A | {"externalResourceProvider": False}, ours(B)]):
        kubevirt.write({"pciHostDevices": drifted})
        foreign = [C] if drifted and C in drifted else []
        wait_until(lambda: same(kubevirt.permitted(), foreign + [ours(A), ours(B)]), 15, str(drifted))
        kubevirt.write({"pciHostDevices": whole})
        settle(1.5)
    assert kubevirt.permitted() == whole


def test_a_list_that_is_not_there(control, kubevirt, installed, world, lend):
    kubevirt.create({"usb": [{"resourceName": "example.com/stick"}]})
    control()
    claim = lend(0, A)
    kubevirt.wait_permitted([ours(A)])
    release(world, claim)
    kubevirt.wait_permitted(None)
    assert kubevirt.permitted("usb") == [{"resourceName": "example.com/stick"}]


def test_without_permitted_host_devices_everything_is_permitted_and_stays_so(control, kubevirt, lend):
    kubevirt.create()
    before = kubevirt.version()
    control()
    lend(0, A)
    settle()
    assert kubevirt.version() == before
    kubevirt.write({})
    kubevirt.wait_permitted([ours(A)])
    kubevirt.write(None)
    wait_until(lambda: kubevirt.record() is None, 15)
    assert "permittedHostDevices" not in kubevirt.get()["spec"]["configuration"]


def test_they_are_made_where_that_is_asked_for_and_go_with_the_last_entry(control, kubevirt, world, lend):
    kubevirt.create()
    control("--kubevirt", "create")
    claim = lend(0, A)
    kubevirt.wait_permitted([ours(A)])
    assert kubevirt.record() == keys(A) | {"created": True}
    kubevirt.write(None)
    kubevirt.wait_permitted([ours(A)])
    release(world, claim)
    wait_until(lambda: "permittedHostDevices" not in kubevirt.get()["spec"]["configuration"], 15)
    assert kubevirt.record() is None


def test_switched_off_nothing_is_done(control, kubevirt, lend):
    kubevirt.create({})
    before = kubevirt.version()
    replica = control("--kubevirt", "off")
    lend(0, A)
    settle()
    assert kubevirt.version() == before
    assert replica.metric("hostdev_api_requests_total", 'resource="kubevirts"') == 0


def test_devices_of_all_kinds_and_of_the_configuration(control, kubevirt, world, lend, node):
    kubevirt.create({})
    control()
    lend(0, A)
    stick = name_of(claimed_stick(world, node))
    mdev = world.create(f"{OWN}/mediateddevices", {
        "apiVersion": "hostdev.io/v1alpha1", "kind": "MediatedDevice",
        "metadata": {"name": f"{node}-0f8fad5b-d9cb-469f-a165-70867728950e", "labels": {"nodename": node}}},
        {"nodeName": node, "type": "nvidia-222", "typeName": "GRID_T4-1B", "resourceName": "nvidia.com/GRID_T4-1B"})
    config = world.create(f"{OWN}/hostdeviceconfigs", {
        "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"}, "spec": {
            "pciHostDevices": [{"resourceName": "example.com/c", "pciVendorSelector": DISK},
                               {"resourceName": "example.com/theirs", "pciVendorSelector": GPU,
                                "externalResourceProvider": True}],
            "mediatedDevices": [{"resourceName": "nvidia.com/GRID_T4-2B", "mdevNameSelector": "GRID_T4-2B"}],
            "usb": [{"resourceName": "example.com/keys", "selectors": [
                {"vendor": "1050", "product": "407"}, {"vendor": "1050", "product": "0406"}]}]}})
    types = [ours({"mdevNameSelector": f"GRID_T4-{n}B", "resourceName": f"nvidia.com/GRID_T4-{n}B"}) for n in (1, 2)]
    bundle = ours({"resourceName": "example.com/keys", "selectors": [
        {"vendor": "1050", "product": "407"}, {"vendor": "1050", "product": "0406"}]})
    wait_until(lambda: same(kubevirt.permitted(), [ours(A), ours(C)]), 15)
    kubevirt.wait_permitted(types, "mediatedDevices")
    single = ours({"resourceName": f"kubevirt.io/{stick}", "selectors": [{"vendor": "0951", "product": "1666"}]})
    kubevirt.wait_permitted([bundle, single], "usb")
    world.delete(config)
    world.delete(mdev)
    kubevirt.wait_permitted([ours(A)])
    kubevirt.wait_permitted([single], "usb")
    kubevirt.wait_permitted(None, "mediatedDevices")


def test_what_a_deleted_node_has_lent_is_permitted_no_more(control, kubevirt, world, lend, node):
    kubevirt.create({"pciHostDevices": [C]})
    control("--node-gone-after", "3s")
    lend(0, A)
    kubevirt.wait_permitted([C, ours(A)])
    world.delete(f"/api/v1/nodes/{node}")
    kubevirt.wait_permitted([C], seconds=30)


@pytest.mark.parametrize("with_controller", [True, False])
def test_uninstall_takes_our_entries_away(control, kubevirt, installed, world, lend, with_controller):
    kubevirt.create({"pciHostDevices": [C]})
    controller = control()
    claim = lend(0, A)
    kubevirt.wait_permitted([C, ours(A)])
    if not with_controller:
        controller.stop()
    world.rest.request("PATCH", claim, {"metadata": {"finalizers": None}}, MERGE)  # as its agent does
    ended = run("hostdev-controller", "uninstall", "--kubeconfig", installed.kubeconfig)
    assert ended.returncode == 0, ended.stderr
    assert "by hand" not in ended.stdout
    assert (kubevirt.permitted(), kubevirt.record()) == ([C], None)


# --- others write, too ---


def test_no_entry_is_lost_to_others_who_write_at_the_same_time(control, kubevirt, installed, world, lend):
    """Somebody who reads and replaces the whole object, as kubectl edit does, as fast as it goes."""
    kubevirt.create({})
    control()
    theirs = [pci(f"abcd:{number:04x}", f"example.com/theirs-{number}") for number in range(40)]
    editor = Rest(installed.kubeconfig)
    conflicts = []

    def replace():
        for entry in theirs:
            while True:
                body = editor.get(kubevirt.path)
                lists = body["spec"]["configuration"].setdefault("permittedHostDevices", {})
                lists.setdefault("pciHostDevices", []).append(entry)
                time.sleep(0.02)
                status, answer = editor.request("PUT", kubevirt.path, body)
                if status == 200:
                    break
                assert status == 409, answer
                conflicts.append(entry)

    before = len(installed.audit())
    thread = threading.Thread(target=replace)
    thread.start()
    models = [pci(f"beef:{number:04x}", f"example.com/ours-{number}") for number in range(12)]
    claims = []
    for number, model in enumerate(models):
        claims.append(lend(number, model))
        time.sleep(0.3)
    thread.join(200)
    assert not thread.is_alive()
    wait_until(lambda: same(kubevirt.permitted(), theirs + [ours(model) for model in models]), 20)
    for claim in claims:
        release(world, claim)
    kubevirt.wait_permitted(theirs, seconds=20)
    assert kubevirt.record() is None
    time.sleep(1)  # the audit log is written behind
    codes = {event["responseStatus"]["code"] for event in kubevirt_writes(installed, since=before)}
    assert codes <= {200, 409}


def test_a_write_on_an_older_state_is_refused_and_made_anew(control, kubevirt, installed, lend):
    """A leader that is stopped between read and write, and another writer in between: it cannot undo that."""
    kubevirt.create({"pciHostDevices": [C]})
    replica = control()
    stale = threading.Event()

    def churn():
        number = 0
        while not stale.is_set():
            number += 1
            kubevirt_rest.request("PATCH", kubevirt.path, {"metadata": {"labels": {"n": str(number)}}}, MERGE)

    kubevirt_rest = Rest(installed.kubeconfig)
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for number in range(10):
            lend(number, pci(f"cafe:{number:04x}", f"example.com/{number}"))
            time.sleep(1.2)
    finally:
        stale.set()
        thread.join()
    wait_until(lambda: len(kubevirt.permitted()) == 11, 20)
    assert kubevirt.permitted()[0] == C
    assert replica.metric("hostdev_api_requests_total", 'resource="kubevirts"', 'verb="patch"', 'code="409"')


def test_nothing_is_written_when_nothing_changes(control, kubevirt, installed, world, lend, node):
    kubevirt.create({"pciHostDevices": [C]})
    control()
    claim = lend(0, A)
    kubevirt.wait_permitted([C, ours(A)])
    before = len(installed.audit())
    settled = kubevirt.version()
    for text in ("one", "two"):
        world.status(claim.replace("pcideviceclaims", "pcidevices"), {"description": text})
        world.rest.request("PATCH", f"{kubevirt.path}/status", {"status": {"phase": "Deployed"}}, MERGE)
        settle(2)
    assert kubevirt_writes(installed, since=before) == []
    assert kubevirt.version() != settled, "the status was written"


def test_one_of_two_controllers_writes_and_the_other_goes_on(controllers, control, kubevirt, installed, world, lend):
    kubevirt.create({"pciHostDevices": [C]})
    first, second = control(), controllers("--agent-pods", "none").start()
    second.wait_line("have been listed")
    claim = lend(0, A)
    kubevirt.wait_permitted([C, ours(A)])
    assert second.metric("hostdev_api_requests_total", 'resource="kubevirts"') == 0
    first.kill()
    lend(1, B)
    kubevirt.wait_permitted([C, ours(A), ours(B)], seconds=45)
    release(world, claim)
    kubevirt.wait_permitted([C, ours(B)])
    assert second.leads()


def test_a_leader_that_was_stopped_undoes_nothing(controllers, control, kubevirt, world, lend):
    kubevirt.create({"pciHostDevices": [C]})
    first, second = control(), controllers("--agent-pods", "none").start()
    second.wait_line("have been listed")
    claim = lend(0, A)
    kubevirt.wait_permitted([C, ours(A)])
    release(world, claim)
    lend(1, B)
    time.sleep(0.7)  # its write is about to come
    first.signal(signal.SIGSTOP)
    wait_until(second.leads, 40)
    kubevirt.wait_permitted([C, ours(B)], seconds=20)
    kubevirt.write({"pciHostDevices": [pci("abcd:0001", "example.com/new"), ours(B)]})
    settle(2)
    settled = kubevirt.version()
    first.signal(signal.SIGCONT)
    settle(4)
    assert kubevirt.version() == settled
    assert not first.leads()


# --- KubeVirt comes and goes ---


def test_it_begins_when_the_kubevirt_appears_and_again(control, kubevirt, lend):
    replica = control()
    lend(0, A)
    settle(2)
    kubevirt.create({"pciHostDevices": [C]})
    kubevirt.wait_permitted([C, ours(A)])
    kubevirt.delete()
    settle(2)
    kubevirt.create({})
    kubevirt.wait_permitted([ours(A)])
    assert not replica.lines("level=warn")


def test_it_begins_when_the_definitions_appear_and_again(controllers, kubevirt, world, lend):
    """Other tests want them there, so that they are away for this one only."""
    kubevirt.uninstall()
    try:
        replica = controllers("--agent-pods", "none").start()
        wait_until(replica.leads, 30)
        lend(0, A)
        settle()
        assert replica.ready() and not replica.lines("level=warn", "kubevirt")
        kubevirt.install()
        kubevirt.create({"pciHostDevices": [C]})
        kubevirt.wait_permitted([C, ours(A)], seconds=20)
        kubevirt.uninstall()
        settle()
        assert replica.ready()
    finally:
        kubevirt.install()
    kubevirt.create({})
    kubevirt.wait_permitted([ours(A)], seconds=20)
    vm = kubevirt.vm("back", {DETAILS: "{}"})
    kubevirt.wait_details(vm, None, 20)


# --- what machines were given ---


def give(world, claim, pod):
    """The device of that claim to a pod; None: it is given back."""
    given = [{"namespace": "machines", "pod": pod, "container": "compute"}] if pod else None
    world.status(claim.replace("pcideviceclaims", "pcidevices"), {"allocations": given})


def test_a_machine_says_what_it_was_given(control, kubevirt, world, lend):
    control()
    nics = [lend(number, A) for number in range(2)]
    gpu = lend(2, B)
    vm = kubevirt.vm("one", {"theirs": "stays"}, hostDevices=[{"name": "nic", "deviceName": "example.com/a"}],
                     gpus=[{"name": "gpu", "deviceName": "example.com/b"}])
    other = kubevirt.vm("one-more")
    settle(2)
    assert kubevirt.details(vm) is None, "nothing is given"
    for claim in (nics[1], nics[0], gpu):
        give(world, claim, "virt-launcher-one-x7k2p")
    whole = {"gpus": {"example.com/b": [name_of(gpu)]},
             "hostdevices": {"example.com/a": sorted(map(name_of, nics))}}
    kubevirt.wait_details(vm, whole)
    assert kubevirt.details(other) is None
    assert kubevirt.rest.get(vm)["metadata"]["annotations"]["theirs"] == "stays"

    give(world, gpu, None)
    kubevirt.wait_details(vm, {"hostdevices": whole["hostdevices"]})
    give(world, nics[0], "virt-launcher-one-more-x7k2p")
    kubevirt.wait_details(other, {"hostdevices": {"example.com/a": [name_of(nics[0])]}})
    kubevirt.wait_details(vm, {"hostdevices": {"example.com/a": [name_of(nics[1])]}})
    for claim in nics:
        give(world, claim, None)
    kubevirt.wait_details(vm, None)
    kubevirt.wait_details(other, None)


def test_usb_and_mediated_devices_are_told_as_well(control, kubevirt, world, node):
    control()
    world.node(node)
    given = {"allocations": [{"namespace": "machines", "pod": "virt-launcher-one-x7k2p", "container": "compute"}]}
    stick = claimed_stick(world, node)
    mdev = world.create(f"{OWN}/mediateddevices", {
        "apiVersion": "hostdev.io/v1alpha1", "kind": "MediatedDevice", "metadata": {
            "name": f"{node}-0f8fad5b-d9cb-469f-a165-70867728950e", "labels": {"nodename": node}}},
        {"nodeName": node, "type": "nvidia-222", "resourceName": "nvidia.com/GRID_T4-1B"})
    vm = kubevirt.vm("one", gpus=[{"name": "gpu", "deviceName": "nvidia.com/GRID_T4-1B"}])
    for path in (stick, mdev):
        world.status(path, given)
    kubevirt.wait_details(vm, {"gpus": {"nvidia.com/GRID_T4-1B": [name_of(mdev)]},
                               "hostdevices": {f"kubevirt.io/{name_of(stick)}": [name_of(stick)]}})
    world.status(stick, {"allocations": None})
    world.delete(mdev)
    kubevirt.wait_details(vm, None)


def test_what_it_says_is_true_whoever_wrote_it(control, kubevirt, installed, world, lend):
    stale = kubevirt.vm("stale", {DETAILS: json.dumps({"hostdevices": {"example.com/a": ["gone"]}})})
    control()
    kubevirt.wait_details(stale, None)
    claim = lend(0, A)
    vm = kubevirt.vm("one")
    give(world, claim, "virt-launcher-one-x7k2p")
    said = {"hostdevices": {"example.com/a": [name_of(claim)]}}
    kubevirt.wait_details(vm, said)
    kubevirt.rest.request("PATCH", vm, {"metadata": {"annotations": {DETAILS: "nonsense"}}}, MERGE)
    kubevirt.wait_details(vm, said)
    before = len(installed.audit())
    kubevirt.rest.request("PATCH", vm, {"metadata": {"annotations": {"theirs": "new"}}}, MERGE)
    kubevirt.rest.request("PATCH", f"{vm}/status", {"status": {"ready": True}}, MERGE)
    settle()
    assert kubevirt_writes(installed, "virtualmachines", before) == []


def test_machines_are_listed_once_for_the_rules_and_for_what_they_were_given(control, kubevirt, world, lend):
    vm = kubevirt.vm("one")
    replica = control("--webhook-listen", "127.0.0.1:0", "--webhook-host", "127.0.0.1")
    give(world, lend(0, A), "virt-launcher-one-x7k2p")
    wait_until(lambda: kubevirt.details(vm), 20)
    assert replica.metric("hostdev_api_requests_total", 'resource="virtualmachines"', 'verb="list"') == 1
    assert replica.metric("hostdev_api_requests_total", 'resource="kubevirts"', 'verb="list"') == 1


def test_a_device_without_pooling_is_told_under_its_own_resource(control, kubevirt, world, lend, node):
    control()
    claim = lend(0, A)
    world.rest.request("PATCH", claim, {"spec": {"disableResourcePooling": True}}, MERGE)
    vm = kubevirt.vm("one")
    give(world, claim, "virt-launcher-one-x7k2p")
    kubevirt.wait_details(vm, {"hostdevices": {f"example.com/{name_of(claim)}": [name_of(claim)]}})


@pytest.mark.parametrize("pod", ["virt-launcher-one", "virt-launcher-one-more-x7k2p", "one", "virt-launcher-x7k2p"])
def test_another_pod_is_no_machine_s(control, kubevirt, world, lend, pod):
    control()
    claim = lend(0, A)
    vm = kubevirt.vm("one")
    give(world, claim, pod)
    settle()
    assert kubevirt.details(vm) is None


def test_a_machine_with_a_long_name(control, kubevirt, world, lend):
    """The API server cuts the names of its pods: k8s.io/apiserver/pkg/storage/names."""
    control()
    name = "a-machine-with-a-name-that-is-rather-too-long-for-a-pod"
    claim = lend(0, A)
    pod = f"virt-launcher-{name[:44]}x7k2p"
    given = {"hostdevices": {"example.com/a": [name_of(claim)]}}
    vm = kubevirt.vm(name)
    give(world, claim, pod)
    kubevirt.wait_details(vm, given)
    twin = kubevirt.vm(f"{name}-too")
    kubevirt.wait_details(vm, None)
    assert kubevirt.details(twin) is None, "it could be either's"
    kubevirt.rest.request("DELETE", twin)
    kubevirt.wait_details(vm, given)


# --- what it may not do ---


@pytest.fixture
def token(identities):
    """The API server as the controller's ServiceAccount."""
    return Rest(identities.kubeconfig("fenced", {"token": identities.token("hostdev-controller")}))


def forbidden(answer, text):
    status, body = answer
    assert status in (403, 422) and text in body["message"], body


@pytest.mark.parametrize("change", [
    {"spec": {"imageTag": "v0"}}, {"spec": {"configuration": {"developerConfiguration": {"logVerbosity": {}}}}},
    {"spec": {"configuration": {"vmStateStorageClass": None}}},
    {"metadata": {"annotations": {"theirs": "x"}}}, {"metadata": {"annotations": {"there": None}}},
    {"metadata": {"annotations": {"there": "other"}}}, {"metadata": {"labels": {"a": "b"}}},
    {"metadata": {"finalizers": ["example.com/x"]}},
    {"spec": {"configuration": {"permittedHostDevices": {"pciHostDevices": [A]}}}},
    {"spec": {"configuration": {"permittedHostDevices": {"usb": [{"resourceName": "a.b/c"}]}}}}],
    ids=lambda change: json.dumps(change).translate({ord(c): None for c in '{}"[]: '})[:60])
def test_of_a_kubevirt_the_controller_may_change_nothing_else(kubevirt, token, change):
    kubevirt.create({"pciHostDevices": [C]}, annotations={"there": "is"})
    body = {"spec": {"configuration": {"vmStateStorageClass": "slow"}}}
    assert kubevirt.rest.request("PATCH", kubevirt.path, body, MERGE)[0] == 200
    forbidden(token.request("PATCH", kubevirt.path, change, MERGE), "hostdev's controller may")


def test_neither_may_it_make_or_delete_one_or_write_its_status(kubevirt, token):
    kubevirt.create({})
    vm = kubevirt.vm("one")
    for path in (kubevirt.path, vm):
        assert token.request("DELETE", path)[0] == 403
        assert token.request("PATCH", f"{path}/status", {"status": {"phase": "Deleted"}}, MERGE)[0] == 403
    body = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "two"}}
    assert token.request("POST", f"{API}/namespaces/{NAMESPACE}/kubevirts", body)[0] == 403


def test_what_it_needs_it_may_however_long_the_lists(kubevirt, token):
    """A policy has a budget; who exceeds it is refused."""
    listed = [pci(f"abcd:{number:04x}", f"example.com/theirs-{number}") for number in range(150)]
    kubevirt.create({"pciHostDevices": listed})
    more = [ours(pci(f"beef:{number:04x}", f"example.com/{number}")) for number in range(1500)]
    body = {"metadata": {"annotations": {RECORD: "x" * 50000}},
            "spec": {"configuration": {"permittedHostDevices": {"pciHostDevices": listed + more, "usb": None}}}}
    status, answer = token.request("PATCH", kubevirt.path, body, MERGE)
    assert status == 200, answer
    body["spec"]["configuration"]["permittedHostDevices"] = None
    status, answer = token.request("PATCH", kubevirt.path, body, MERGE)
    assert status == 200, answer


@pytest.mark.parametrize("change", [
    {"spec": {"runStrategy": "Halted"}}, {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}},
    {"metadata": {"annotations": {"theirs": "x"}}}, {"metadata": {"annotations": {"there": None}}},
    {"metadata": {"labels": {"a": "b"}}}, {"metadata": {"finalizers": ["example.com/x"]}},
    {"metadata": {"annotations": {DETAILS: "{}", "there": "other"}}}],
    ids=lambda change: json.dumps(change).translate({ord(c): None for c in '{}"[]: '})[:60])
def test_of_a_machine_the_controller_may_change_nothing_else(kubevirt, token, change):
    vm = kubevirt.vm("one", {"there": "is"})
    forbidden(token.request("PATCH", vm, change, MERGE), "hostdev's controller may")
    assert token.request("PATCH", vm, {"metadata": {"annotations": {DETAILS: "{}"}}}, MERGE)[0] == 200
    assert token.request("PATCH", vm, {"metadata": {"annotations": {DETAILS: None}}}, MERGE)[0] == 200
