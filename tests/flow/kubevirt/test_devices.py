"""One virtual machine as Harvester writes it, with devices of every kind: two NICs of one resource, a virtual function with
a MAC address, a USB device, a mediated device. Its tests share it, in this order: an instance takes minutes to start.
"""

import re
from types import SimpleNamespace

import pytest

from bench import Machine
from claims import IGB
from cluster import ROOT, wait_until

pytestmark = pytest.mark.timeout(2400)

NICS = "vm1-000001000", "vm1-000002000"
FUNCTION = "vm1-000003100"
EDU = "vm1-000000070"
NIC_RESOURCE = "intel.com/82574L_GIGABIT_NETWORK_CONNECTION"
FUNCTION_RESOURCE = "intel.com/82576_VIRTUAL_FUNCTION"
SERIAL = "example.com/serial"
MAC = "02:00:00:00:00:0a"
FOREIGN = {"pciVendorSelector": "10de:1eb8", "resourceName": "nvidia.com/TU104GL_Tesla_T4"}
PRIVILEGED = """
resources: [../local/manifests]
components: [../../manifests/components/privileged]
"""


@pytest.fixture(scope="module")
def privileged(bench):
    """Agents that may set the MAC address of a virtual function; afterwards as they were."""
    folder = ROOT / "build/privileged"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kustomization.yaml").write_text(PRIVILEGED)

    def apply(what):
        bench.kubectl("apply", "--server-side", "--force-conflicts", "-k", what)
        bench.kubectl("-n", "hostdev-system", "rollout", "status", "daemonset/hostdev-agent", "--timeout=300s")
    apply(folder)
    yield
    apply(ROOT / "build/local/manifests")


@pytest.fixture(scope="module")
def devices(clean, privileged):
    """What the virtual machine asks for: claimed, and offered by the node."""
    bench = clean
    bench.set_functions(IGB, numVFs=2, virtualFunctions=[{"index": 0, "macAddress": MAC}])
    bench.kubectl("wait", f"pcidevice/{FUNCTION}", "--for=create", "--timeout=300s")
    stick = next(one for one in bench.cluster.get("usbdevices") if one["status"].get("portPath") == "1-1")
    usb = stick["metadata"]["name"]
    bench.claim(*NICS, FUNCTION)
    bench.claim(usb, kind="USBDeviceClaim")
    bench.kubectl("apply", "-f", "-", input={
        "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
        "spec": {"mediatedDevicesConfiguration": {"mediatedDeviceTypes": ["Dual_port_serial"]},
                 "mediatedDevices": [{"resourceName": SERIAL, "mdevNameSelector": "Dual_port_serial"}]}})
    for resource, count in ((NIC_RESOURCE, 2), (FUNCTION_RESOURCE, 1), (f"kubevirt.io/{usb}", 1), (SERIAL, 12)):
        bench.offered(resource, count)
    return SimpleNamespace(usb=usb, mdevs=mdevs(bench))


@pytest.fixture(scope="module")
def machine(clean, devices):
    made = clean.machine("box", [(name, NIC_RESOURCE) for name in NICS] + [
        (FUNCTION, FUNCTION_RESOURCE), (devices.usb, f"kubevirt.io/{devices.usb}"), ("serial", SERIAL)])
    made.wait_ready()
    return made


@pytest.fixture
def untouched(bench, machine):
    """The instance and its devices are the same after the test."""
    pod, has, details = machine.pod()["metadata"]["uid"], machine.host_devices(), machine.details()
    process, before = qemu(bench), machine.rounds()
    yield
    assert machine.is_ready()
    assert (machine.pod()["metadata"]["uid"], machine.host_devices()) == (pod, has)
    machine.wait_details(details)
    assert qemu(bench) == process
    wait_until(lambda: machine.rounds() > before, 120, "a machine that goes on")


def qemu(bench):
    """The process of the one virtual machine, and when it began."""
    return bench.guest.sh("pid=$(pidof qemu-system-x86_64); echo $pid $(cut -d ' ' -f 22 /proc/$pid/stat)").strip()


def mdevs(bench):
    return set(bench.guest.sh("ls /sys/bus/mdev/devices").split())


def lent_mdev(bench):
    """(object's name, UUID) of the one mediated device that a pod has."""
    [one] = [o for o in bench.cluster.get("mediateddevices") if o["status"].get("allocations")]
    return one["metadata"]["name"], one["status"]["uuid"]


def bus_and_number(bench, usb):
    numbers = bench.device(usb, "usbdevice")["devicePath"].split("/")[-2:]
    return ":".join(str(int(number)) for number in numbers)


def expected(bench, devices):
    return sorted([("pci", "0000:01:00.0"), ("pci", "0000:02:00.0"), ("pci", "0000:03:10.0"),
                   ("usb", bus_and_number(bench, devices.usb)), ("mdev", lent_mdev(bench)[1])])


def test_the_domain_has_each_device_and_no_other(bench, devices, machine):
    assert machine.host_devices() == expected(bench, devices)


def test_the_machine_sees_them(machine):
    seen = machine.seen()
    found = [words[2] for words in seen if words[0] == "PCI"]
    assert (found.count("8086:10d3"), found.count("8086:10ca"), found.count("4348:3253")) == (2, 1, 1), seen
    assert sorted(words[2] for words in seen if words[0] == "NET") == ["52:54:00:12:00:01", "52:54:00:12:00:02"], seen
    assert len([words for words in seen if words[0] == "USB"]) == 1, seen


def test_the_virtual_function_has_its_mac_address(bench, machine):
    """The card says so. In the machine it cannot be read: registers of the emulated card's functions read as 0."""
    assert re.search(rf"^ +vf 0 .*{MAC}", bench.guest.sh(f"ip link show $(ls /sys/bus/pci/devices/{IGB}/net)"), re.M)


def test_the_machine_says_which_devices_it_has(bench, devices, machine):
    machine.wait_details({"hostdevices": {
        NIC_RESOURCE: sorted(NICS), FUNCTION_RESOURCE: [FUNCTION], f"kubevirt.io/{devices.usb}": [devices.usb],
        SERIAL: [lent_mdev(bench)[0]]}})
    spec = machine.get()["spec"]["template"]["spec"]["domain"]["devices"]["hostDevices"]
    assert [one["name"] for one in spec] == [*NICS, FUNCTION, devices.usb, "serial"], "the spec is as it was written"


def test_what_it_has_is_permitted_and_stays_so_when_others_edit_the_lists(bench, devices, machine):
    def names(kind):
        return [entry["resourceName"] for entry in bench.permitted(kind)]

    assert set(names("pciHostDevices")) == {NIC_RESOURCE, FUNCTION_RESOURCE}
    assert (names("mediatedDevices"), names("usb")) == ([SERIAL], [f"kubevirt.io/{devices.usb}"])
    assert all(entry["externalResourceProvider"] for kind in ("pciHostDevices", "mediatedDevices", "usb")
               for entry in bench.permitted(kind))
    ours = bench.permitted("pciHostDevices")
    path = "/spec/configuration/permittedHostDevices/pciHostDevices"

    def edit(patch):
        bench.kubectl("-n", "kubevirt", "patch", "kubevirt", "kubevirt", "--type=json", "--field-manager=someone",
                      "--patch-file=/dev/stdin", input=patch)
    edit([{"op": "add", "path": f"{path}/0", "value": FOREIGN}])
    bench.claim(EDU)
    resource = bench.device(EDU)["resourceName"]
    wait_until(lambda: resource in names("pciHostDevices"), 30, "the new claim's resource")
    now = bench.permitted("pciHostDevices")
    assert now[0]["resourceName"] == FOREIGN["resourceName"] and not now[0].get("externalResourceProvider")
    assert [entry for entry in now[1:] if entry["resourceName"] != resource] == ours
    bench.kubectl("delete", "pcideviceclaim", EDU, "--timeout=300s")
    wait_until(lambda: resource not in names("pciHostDevices"), 30, "the end of the released one's entry")
    assert bench.permitted("pciHostDevices")[0]["resourceName"] == FOREIGN["resourceName"]
    edit([{"op": "remove", "path": f"{path}/0"}])
    assert bench.permitted("pciHostDevices") == ours


@pytest.mark.parametrize("kind", ["pcideviceclaim", "usbdeviceclaim"])
def test_a_claim_of_what_it_has_cannot_be_deleted(bench, devices, machine, kind):
    name = NICS[0] if kind == "pcideviceclaim" else devices.usb
    answer = bench.kubectl("delete", kind, name, check=False)
    pod = machine.pod()["metadata"]["name"]
    assert answer.returncode != 0
    assert f"pod default/{pod} has it: delete the pod, or stop its virtual machine, first" in answer.stderr
    assert pod.startswith("virt-launcher-box-")
    assert "deletionTimestamp" not in bench.cluster.get(kind, name)["metadata"]


def test_another_machine_cannot_name_a_device_that_it_has(bench, machine):
    answer = bench.ask(Machine(bench, "other").manifest([(NICS[0], NIC_RESOURCE)]))
    assert answer.returncode != 0
    assert f"virtual machine default/box names device '{NICS[0]}' too" in answer.stderr


def test_it_goes_on_while_the_agent_restarts(bench, machine, untouched):
    bench.restart_pods("hostdev-system", "hostdev-agent", "app.kubernetes.io/component=agent")


def test_it_goes_on_while_the_kubelet_restarts(bench, machine, untouched):
    bench.kubelet.restart()
    wait_until(machine.can_exec, 300, "a kubelet that serves requests again")
    wait_until(machine.is_ready, 180, "a machine that is ready")
    bench.offered(NIC_RESOURCE, 2)


def test_it_goes_on_while_virt_handler_restarts_and_no_mediated_device_is_removed(bench, devices, machine, untouched):
    """virt-handler removes mediated devices of types that the KubeVirt does not name."""
    bench.restart_pods("kubevirt", "virt-handler", "kubevirt.io=virt-handler")
    wait_until(machine.is_ready, 300, "a machine that is ready")
    assert mdevs(bench) == devices.mdevs


def test_the_next_instance_has_the_same_devices(bench, devices, machine):
    machine.restart()
    machine.wait_ready()
    has = machine.host_devices()
    assert has == expected(bench, devices)
    machine.wait_details({"hostdevices": {
        NIC_RESOURCE: sorted(NICS), FUNCTION_RESOURCE: [FUNCTION], f"kubevirt.io/{devices.usb}": [devices.usb],
        SERIAL: [lent_mdev(bench)[0]]}})


def test_a_halted_machine_has_none_and_its_devices_can_be_released(bench, devices, machine):
    bench.kubectl("patch", "virtualmachine", "box", "--type=merge", "-p", '{"spec":{"runStrategy":"Halted"}}')
    wait_until(lambda: machine.instance() is None, 300, "the end of the instance")
    machine.wait_details(None)
    wait_until(lambda: bench.kubectl("delete", "pcideviceclaim", NICS[0], "--timeout=300s", check=False).returncode == 0,
               120, "the end of the claim")
    driver = bench.guest.sh("basename $(readlink /sys/bus/pci/devices/0000:01:00.0/driver)").strip()
    assert driver == "e1000e"
