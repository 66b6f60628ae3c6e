"""A USB controller and the devices on it are never claimed at the same time, whichever came first."""

import pytest

from cluster import wait_until

CONTROLLER = "0000:00:1f.0"


def pci_name(node):
    return f"{node}-{CONTROLLER.replace(':', '').replace('.', '')}"


class Claim:
    def __init__(self, rest, plural, kind, name):
        self.rest, self.path, self.name = rest, f"/apis/devices.harvesterhci.io/v1beta1/{plural}", name
        status, answer = rest.request("POST", self.path, {
            "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": kind, "metadata": {"name": name}})
        assert status == 201, answer

    def condition(self, kind):
        status, claim = self.rest.request("GET", f"{self.path}/{self.name}")
        if status == 404:
            return None
        found = [c for c in claim.get("status", {}).get("conditions", []) if c["type"] == kind]
        return (found[0]["reason"], found[0]["message"]) if found else None

    def wait(self, reason, message=""):
        def there():
            said = self.condition("Accepted")
            return said and said[0] == reason and message in said[1]
        wait_until(there, 20, f"Accepted {reason} ('{message}'), not {self.condition('Accepted')}")

    def delete(self):
        self.rest.request("DELETE", f"{self.path}/{self.name}")
        wait_until(lambda: self.condition("Accepted") is None, 30, f"the end of {self.name}")


@pytest.fixture
def agent(agents, machine, node):
    machine.add(CONTROLLER, driver="xhci_hcd")
    made = agents(machine, node).start()
    made.wait_converged()
    return made


def usb_device(rest, node):
    (name,) = (name for kind, name in rest.devices(node) if kind == "USBDevice")
    return name


def test_the_controller_waits_for_claims_of_its_devices(agent, node, rest):
    stick = Claim(rest, "usbdeviceclaims", "USBDeviceClaim", usb_device(rest, node))
    stick.wait("Accepted")
    controller = Claim(rest, "pcideviceclaims", "PCIDeviceClaim", pci_name(node))
    controller.wait("USBDevicesClaimed", f"USBDeviceClaim '{stick.name}'")
    stick.delete()
    controller.wait("Accepted")
    controller.delete()


def test_a_device_waits_for_the_claim_of_its_controller(agent, node, rest):
    controller = Claim(rest, "pcideviceclaims", "PCIDeviceClaim", pci_name(node))
    controller.wait("Accepted")
    stick = Claim(rest, "usbdeviceclaims", "USBDeviceClaim", usb_device(rest, node))
    stick.wait("ControllerClaimed", CONTROLLER)
    controller.delete()
    stick.wait("Accepted")
    stick.delete()
