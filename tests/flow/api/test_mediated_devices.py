"""Mediated devices of a made-up machine on a real API server: what is listed, followed and told.

That instances are made and removed needs a kernel: tests/flow/node/test_mdev.py.
"""

import shutil

import pytest

from cluster import wait_until

UUID = "11111111-2222-3333-4444-55555555555{}"
TYPES = {"mtty-1": ("Single port serial", 24), "mtty-2": ("Dual port serial", 12)}
RESOURCE = "example.com/serial"


class Serial:
    """A device of the machine that can be divided, as the kernel's sample mtty can."""

    def __init__(self, machine, crds, node):
        self.machine, self.crds, self.node = machine, crds, node
        sys = machine.folder / "sys"
        self.folder = sys / "devices/virtual/mtty/mtty"
        self.bus = sys / "bus/mdev/devices"
        self.bus.mkdir(parents=True)
        (sys / "class/mdev_bus").mkdir(parents=True)
        for kind, (name, available) in TYPES.items():
            folder = self.folder / "mdev_supported_types" / kind
            folder.mkdir(parents=True)
            for attribute, text in (("name", name), ("available_instances", available), ("device_api", "vfio-pci"),
                                    ("create", "")):
                (folder / attribute).write_text(f"{text}\n")
        (sys / "class/mdev_bus/mtty").symlink_to("../../devices/virtual/mtty/mtty")
        boot_id = machine.folder / "proc/sys/kernel/random/boot_id"
        boot_id.parent.mkdir(parents=True, exist_ok=True)
        boot_id.write_text("0f8fad5b-d9cb-469f-a165-70867728950e\n")

    def make(self, index, kind="mtty-1"):
        """As anybody may."""
        uuid = UUID.format(index)
        (self.folder / uuid).mkdir()
        (self.folder / uuid / "mdev_type").symlink_to(f"../mdev_supported_types/{kind}")
        (self.folder / uuid / "iommu_group").symlink_to(f"../../../../../kernel/iommu_groups/{90 + index}")
        (self.bus / uuid).symlink_to(f"../../../devices/virtual/mtty/mtty/{uuid}")
        self.machine.tell()
        return uuid

    def remove(self, uuid):
        (self.bus / uuid).unlink()
        shutil.rmtree(self.folder / uuid)
        self.machine.tell()

    def objects(self):
        return {o["status"]["uuid"]: o["status"]
                for o in self.crds.get("mediateddevices", "--selector", f"nodename={self.node}") if o.get("status")}

    def parent(self):
        found = self.crds.get("mediateddeviceparents", "--selector", f"nodename={self.node}")
        return found[0] if found else None

    def fares(self):
        conditions = (self.parent() or {}).get("status", {}).get("conditions", [])
        return next(((c["status"], c["reason"]) for c in conditions if c["type"] == "Configured"), None)

    def wait(self, status, reason):
        wait_until(lambda: self.fares() == (status, reason), 30, f"Configured {status} {reason}, not {self.fares()}")

    def configure(self, **spec):
        self.crds.kubectl("apply", "-f", "-", input={
            "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
            "spec": spec})


@pytest.fixture
def serial(machine, crds, node):
    """With a Node, whose labels are known."""
    crds.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    yield Serial(machine, crds, node)
    crds.kubectl("delete", "hostdeviceconfig", "default", "--ignore-not-found")
    crds.kubectl("delete", "node", node)
    for kind in ("mediateddevices", "mediateddeviceparents"):
        crds.kubectl("delete", kind, "--selector", f"nodename={node}")


def test_parents_and_instances_are_listed_and_then_nothing_is_written(serial, agents, machine, node, crds):
    uuid = serial.make(1)
    agent = agents(machine, node).start()
    serial.wait("False", "NotConfigured")
    assert serial.parent()["metadata"]["name"] == f"{node}-mtty"
    assert serial.parent()["status"]["types"] == [
        {"id": "mtty-1", "name": "Single_port_serial", "deviceAPI": "vfio-pci", "availableInstances": 24,
         "instances": 1},
        {"id": "mtty-2", "name": "Dual_port_serial", "deviceAPI": "vfio-pci", "availableInstances": 12,
         "instances": 0}]
    wait_until(serial.objects, 30)
    assert serial.objects() == {uuid: {
        "nodeName": node, "uuid": uuid, "type": "mtty-1", "typeName": "Single_port_serial", "deviceAPI": "vfio-pci",
        "parent": "mtty", "iommuGroup": "91", "createdByHostdev": False}}

    wait_until(agent.idle, 30)
    written = len(agent.written(crds))
    scans = agent.scans()
    for _ in range(3):
        machine.tell()
        wait_until(lambda: agent.scans() > scans, 30)
        scans = agent.scans()
    wait_until(agent.idle, 30)
    assert len(agent.written(crds)) == written


def test_instances_that_others_make_and_remove_are_followed(serial, agents, machine, node):
    agents(machine, node).start()
    uuids = {serial.make(index) for index in range(1, 4)}
    wait_until(lambda: set(serial.objects()) == uuids, 30, "an object for each")
    serial.remove(UUID.format(2))
    wait_until(lambda: set(serial.objects()) == uuids - {UUID.format(2)}, 30, "the end of one")


def test_the_resource_follows_the_config(serial, agents, machine, node):
    agents(machine, node).start()
    uuid = serial.make(1)
    serial.configure(mediatedDevices=[{"resourceName": RESOURCE, "mdevNameSelector": "Single port serial"}])
    wait_until(lambda: serial.objects().get(uuid, {}).get("resourceName") == RESOURCE, 30, "a resource")
    serial.configure(mediatedDevices=[{"resourceName": "example.com/other", "mdevNameSelector": "mtty-1"}])
    wait_until(lambda: serial.objects()[uuid].get("resourceName") == "example.com/other", 30, "another resource")
    serial.configure()
    wait_until(lambda: "resourceName" not in serial.objects()[uuid], 30, "no resource")


def test_what_goes_wrong_is_a_condition_and_one_event(serial, agents, machine, node, crds):
    agents(machine, node).start()
    serial.wait("False", "NotConfigured")
    serial.configure(mediatedDevicesConfiguration={"mediatedDeviceTypes": ["Dual_port_serial"]})
    serial.wait("False", "CreateFailed")  # this kernel takes what is written and does nothing
    (condition,) = serial.parent()["status"]["conditions"]
    assert "the kernel accepted the write, but the device does not exist" in condition["message"]
    events = [e for e in crds.get("events.events.k8s.io", "-A") if e["regarding"].get("name") == f"{node}-mtty"]
    assert [(e["reason"], e["type"]) for e in events] == [("CreateFailed", "Warning")]
    assert not list((machine.folder / "state/mdevs").glob("*.json")), "a record of what was not made"

    serial.configure(mediatedDevicesConfiguration={"enabled": False})
    serial.wait("False", "Disabled")
    serial.configure(mediatedDevicesConfiguration={"mediatedDeviceTypes": ["nvidia-222"]})
    serial.wait("False", "NoTypeFits")
    serial.configure(mediatedDevicesConfiguration={"mediatedDevicesTypes": ["mtty-2"]})
    serial.wait("False", "CreateFailed")


def test_types_follow_the_labels_of_the_node(serial, agents, machine, node, crds):
    serial.make(1, "mtty-1")
    serial.configure(mediatedDevicesConfiguration={
        "mediatedDeviceTypes": ["nvidia-222"],
        "nodeMediatedDeviceTypes": [{"nodeSelector": {"serial": "many"}, "mediatedDeviceTypes": ["mtty-2"]}]})
    agents(machine, node).start()
    serial.wait("False", "OtherInstances")
    serial.remove(UUID.format(1))
    serial.wait("False", "NoTypeFits")
    crds.kubectl("label", "node", node, "serial=many")
    serial.wait("False", "CreateFailed")


def test_kubectl_has_its_columns(serial, agents, machine, node, kubectl):
    uuid = serial.make(1)
    agents(machine, node).start()
    wait_until(serial.objects, 30)
    lines = kubectl("get", "mdev", "-l", f"nodename={node}").stdout.splitlines()
    assert lines[0].split("  ")[0] == "NAME"
    for text in (f"{node}-{uuid}", "Single_port_serial"):
        assert text in lines[1]
    assert "mtty" in kubectl("get", "mdev", "-o", "wide", "-l", f"nodename={node}").stdout
    wide = kubectl("get", "mdevparent", "-o", "wide", "-l", f"nodename={node}").stdout
    for text in ("CONFIGURED", "NotConfigured", "names no type of mediated devices for this node"):
        assert text in wide
