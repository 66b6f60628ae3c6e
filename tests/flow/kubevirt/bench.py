"""Stock KubeVirt on the local cluster: claims, virtual machines, and what is seen of their devices from inside and outside."""

import json
import subprocess
from xml.etree import ElementTree

from cluster import ROOT, Cluster, wait_until
from guest import Guest
from kubelet import Kubelet

NODE = "vm1"
LOCAL = ROOT / "build/local"
SCRIPT = ROOT / "hack/kubevirt"
VIRSH = "virsh", "-c", "qemu+unix:///session?socket=/var/run/libvirt/virtqemud-sock"
DETAILS = "harvesterhci.io/deviceAllocationDetails"
BOOT = 1500  # seconds: an emulated machine in an emulated machine, beside others
CLAIMS = "pcideviceclaims", "usbdeviceclaims"


class Bench:
    """The cluster, its node, and KubeVirt."""

    def __init__(self):
        self.cluster = Cluster(LOCAL / "kubeconfig")
        self.guest = Guest(NODE)
        self.kubelet = Kubelet(self.guest, self.cluster)
        self.kubectl = self.cluster.kubectl

    # --- devices ---

    def claim(self, *names, kind="PCIDeviceClaim", **spec):
        """Claims of these devices, until they are Ready."""
        for name in names:
            self.kubectl("apply", "-f", "-", input={"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": kind,
                                                    "metadata": {"name": name}, "spec": spec})
        for name in names:
            self.kubectl("wait", f"{kind}/{name}", "--for=condition=Ready", "--timeout=300s")

    def device(self, name, kind="pcidevice"):
        return self.cluster.get(kind, name)["status"]

    def offered(self, resource, count):
        """Until the node offers so many of it."""
        wait_until(lambda: self.kubelet.allocatable(resource) == str(count), 300, lambda: (
            f"{count} of {resource}: {self.cluster.get('node', NODE)['status']['allocatable']}"))

    def card(self, address):
        """The SRIOVNetworkDevice at an address."""
        return next(one for one in self.cluster.get("sriovnetworkdevices") if one["spec"]["address"] == address)

    def set_functions(self, address, **spec):
        """The virtual functions of a card, until they are as the spec says."""
        name = self.card(address)["metadata"]["name"]
        self.kubectl("patch", "sriovnetworkdevice", name, "--type=merge", "--patch-file=/dev/stdin", input={"spec": spec})

        def applied():
            card = self.card(address)
            ready = [c for c in card["status"].get("conditions", []) if c["type"] == "Ready"]
            return (card["status"].get("observedGeneration") == card["metadata"]["generation"] and ready
                    and ready[0]["status"] == "True")
        wait_until(applied, 300, lambda: f"{spec} of {name}: {self.card(address)}")

    def permitted(self, kind):
        """The list of the KubeVirt object: pciHostDevices, mediatedDevices or usb."""
        return self.kubevirt()["spec"]["configuration"]["permittedHostDevices"].get(kind, [])

    def kubevirt(self):
        return self.cluster.get("kubevirt", "kubevirt", "-n", "kubevirt")

    # --- virtual machines ---

    def machine(self, name, host_devices=(), gpus=(), kind="VirtualMachine", **more):
        """Created; (name, resource) each. more: of its devices."""
        made = Machine(self, name, kind)
        self.kubectl("apply", "-f", "-", input=made.manifest(host_devices, gpus, **more))
        return made

    def ask(self, manifest):
        """What the API server would answer to its creation."""
        return self.kubectl("create", "--dry-run=server", "-o", "json", "-n", "default", "-f", "-", input=manifest, check=False)

    def clear(self):
        """No virtual machine, no claim, no virtual function, no mediated device."""
        for kind in ("virtualmachines", "virtualmachineinstances"):
            self.kubectl("delete", kind, "--all", "-n", "default", "--timeout=300s")
        wait_until(lambda: not self.cluster.get("pods", "-n", "default"), 300, "the end of all launchers")
        # A pod's end reaches the claims a moment later.
        for kind in CLAIMS:
            wait_until(lambda: self.kubectl("delete", kind, "--all", "--timeout=300s", check=False).returncode == 0, 180,
                       f"the end of all {kind}")
        self.kubectl("delete", "hostdeviceconfig", "default", "--ignore-not-found")
        wait_until(lambda: not self.cluster.get("mediateddevices"), 300, "the end of all mediated devices")
        for card in self.cluster.get("sriovnetworkdevices"):
            if card["spec"].get("numVFs"):
                self.set_functions(card["spec"]["address"], numVFs=0, virtualFunctions=None)

    # --- what runs ---

    def restart_pods(self, namespace, daemonset, label):
        """Deletes the DaemonSet's pods and waits for new ones."""
        self.kubectl("-n", namespace, "delete", "pod", "-l", label, "--timeout=300s")
        self.kubectl("-n", namespace, "rollout", "status", f"daemonset/{daemonset}", "--timeout=300s")

    def words(self):
        """(title, text) of what the programs said last, for the report of a failure."""
        found = []
        for program in ("virt-controller", "virt-api"):
            found.append((program, (LOCAL / f"logs/{program}.log").read_text(errors="replace")[-3000:]))
        for namespace, workload in (("kubevirt", "daemonset/virt-handler"), ("hostdev-system", "daemonset/hostdev-agent"),
                                    ("hostdev-system", "deployment/hostdev-controller")):
            said = self.kubectl("-n", namespace, "logs", workload, "--tail=30", check=False)
            found.append((workload, said.stdout + said.stderr))
        said = self.kubectl("get", "pods,vmi,vm,pcideviceclaims,usbdeviceclaims", "-n", "default", "-o", "wide", check=False)
        return [*found, ("objects", said.stdout)]


class Machine:
    """A VirtualMachine, or a VirtualMachineInstance without one."""

    def __init__(self, bench, name, kind="VirtualMachine"):
        self.bench = bench
        self.cluster = bench.cluster
        self.name = name
        self.kind = kind

    def manifest(self, host_devices=(), gpus=(), **more):
        """As `hack/kubevirt vm` prints it, with these devices."""
        text = subprocess.run([SCRIPT, "vm", self.name], check=True, stdout=subprocess.PIPE, text=True).stdout
        made = json.loads(text)
        devices = made["spec"]["template"]["spec"]["domain"]["devices"]
        for key, items in (("hostDevices", host_devices), ("gpus", gpus)):
            devices[key] = [{"name": name, "deviceName": resource} for name, resource in items]
        devices |= more
        if self.kind == "VirtualMachine":
            return made
        return {"apiVersion": made["apiVersion"], "kind": self.kind, "metadata": made["metadata"],
                "spec": made["spec"]["template"]["spec"]}

    def get(self):
        return self.cluster.get(self.kind, self.name, "-n", "default")

    def instance(self):
        """None if there is none."""
        found = [one for one in self.cluster.get("virtualmachineinstances", "-n", "default")
                 if one["metadata"]["name"] == self.name]
        return found[0] if found else None

    def uid(self):
        return self.instance()["metadata"]["uid"]

    def pod(self):
        [pod] = self.cluster.get("pods", "-n", "default", "-l", f"kubevirt.io/created-by={self.uid()}")
        return pod

    def is_ready(self):
        found = self.instance()
        return bool(found) and found["status"].get("phase") == "Running" and any(
            c["type"] == "Ready" and c["status"] == "True" for c in found["status"].get("conditions", []))

    def wait_ready(self, timeout=BOOT):
        wait_until(self.is_ready, timeout, lambda: f"{self.name} is not ready: {(self.instance() or {}).get('status')}")

    def details(self):
        text = self.get()["metadata"].get("annotations", {}).get(DETAILS)
        return json.loads(text) if text else None

    def wait_details(self, wanted):
        wait_until(lambda: self.details() == wanted, 180, lambda: f"{self.name} says {self.details()}, not {wanted}")

    def can_exec(self):
        """Does the kubelet serve requests about its containers?"""
        pod = self.pod()["metadata"]["name"]
        return self.bench.kubectl("exec", "-n", "default", pod, "-c", "compute", "--", "true", check=False).returncode == 0

    def host_devices(self):
        """What libvirt's domain says of each device that is passed through, sorted."""
        pod = self.pod()["metadata"]["name"]
        text = self.bench.kubectl("exec", "-n", "default", pod, "-c", "compute", "--", *VIRSH, "dumpxml",
                                  f"default_{self.name}").stdout
        return sorted(passed(one) for one in ElementTree.fromstring(text).findall("./devices/hostdev"))

    def console(self):
        """What the machine wrote to its serial console until now."""
        pod = self.pod()["metadata"]["name"]
        return self.bench.kubectl("logs", "-n", "default", pod, "-c", "guest-console-log", check=False).stdout

    def rounds(self):
        return sum(1 for line in self.console().splitlines() if line.startswith("END "))

    def seen(self, timeout=BOOT):
        """What the machine sees: the words of the lines of one round (hack/kubevirt.d/kernel.c)."""
        wait_until(self.rounds, timeout, lambda: f"{self.name} did not tell its devices: {self.console()[-2000:]}")
        lines = [line.split() for line in self.console().splitlines()]
        end = max(number for number, words in enumerate(lines) if words[:1] == ["END"])
        begin = max((number for number, words in enumerate(lines[:end]) if words[:1] in (["END"], ["UP"])), default=-1)
        return lines[begin + 1:end]

    def restart(self):
        """As virtctl does it."""
        path = f"/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachines/{self.name}/restart"
        before = self.uid()
        self.bench.kubectl("replace", "--raw", path, "-f", "-", input={})
        wait_until(lambda: (found := self.instance()) and found["metadata"]["uid"] != before, 300,
                   f"another instance of {self.name}")


def passed(element):
    """("pci", address), ("mdev", uuid) or ("usb", "bus:device") of a hostdev element."""
    address = element.find("./source/address")
    kind = element.get("type")
    if kind == "pci":
        parts = [int(address.get(part), 16) for part in ("domain", "bus", "slot", "function")]
        return kind, "{:04x}:{:02x}:{:02x}.{:x}".format(*parts)
    if kind == "mdev":
        return kind, address.get("uuid")
    return kind, f"{int(address.get('bus'), 0)}:{int(address.get('device'), 0)}"
