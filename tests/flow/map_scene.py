"""Objects for the device map: a small cluster in which every state is to be seen, and large ones."""

GROUP = "/apis/devices.harvesterhci.io/v1beta1"
OWN = "/apis/hostdev.io/v1alpha1"
MERGE = "application/merge-patch+json"
SINCE = "2026-01-01T00:00:00Z"

NIC = ("0200", "8086", "10d3", "Ethernet controller: Intel Corporation 82574L Gigabit Network Connection", "e1000e")
NVME = ("0108", "144d", "a80a", "Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD PM9A3", "nvme")
GPU = ("0302", "10de", "20b5", "3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB]", "nvidia")
AUDIO = ("0403", "10de", "228b", "Audio device: NVIDIA Corporation GA104 High Definition Audio Controller", None)
MLX = ("0200", "15b3", "101d", "Ethernet controller: Mellanox Technologies MT2892 Family [ConnectX-6 Dx]", "mlx5_core")
PORT = ("0604", "8086", "2030", "PCI bridge: Intel Corporation Sky Lake-E PCI Express Root Port A", "pcieport")
XHCI = ("0c03", "8086", "a12f", "USB controller: Intel Corporation 100 Series/C230 USB 3.0 xHCI Controller", "xhci_hcd")
KINDS = (NIC, NVME, GPU, MLX)


def condition(kind, status, reason, message=""):
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": SINCE}


def claimable(reason="Available", message="it may be claimed", status="True"):
    return [condition("Claimable", status, reason, message)]


REFUSED_PORT = claimable("HostBridge", "a bridge or port: other devices are reached through it", "False")


class Scene:
    """What it makes it also removes."""

    def __init__(self, rest):
        self.rest = rest
        self.made = []

    def create(self, collection, body, status=None):
        path = f"{collection}/{body['metadata']['name']}"
        code, answer = self.rest.request("POST", collection, body)
        assert code == 201, answer
        self.made.append(path)
        if status is not None:
            self.status(path, status)
        return path

    def status(self, path, status):
        code, answer = self.rest.request("PATCH", f"{path}/status", {"status": status}, MERGE)
        assert code == 200, answer

    def close(self):
        for path in reversed(self.made):
            self.rest.remove(path)

    def node(self, name, ready="True", message="kubelet is posting ready status", reason="KubeletReady", **spec):
        return self.create("/api/v1/nodes", {"metadata": {"name": name}, "spec": spec}, {
            "conditions": [condition("Ready", ready, reason, message)],
            "nodeInfo": {key: "6.1.0-25-amd64" if key == "kernelVersion" else "" for key in (
                "architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeletVersion",
                "kubeProxyVersion", "machineID", "operatingSystem", "osImage", "systemUUID")}})

    def pci(self, node, address, model, group, conditions=None, **more):
        name = f"{node}-{address.replace(':', '').replace('.', '')}"
        kind, vendor, device, text, driver = model
        status = {"address": address, "vendorId": vendor, "deviceId": device, "classId": kind, "iommuGroup": str(group),
                  "nodeName": node, "description": text, "resourceName": f"example.com/{device}",
                  "conditions": conditions or claimable(), **({"kernelDriverInUse": driver} if driver else {}), **more}
        meta = {"name": name, "labels": {"nodename": node}}
        return self.create(f"{GROUP}/pcidevices", {"apiVersion": "devices.harvesterhci.io/v1beta1",
                                                   "kind": "PCIDevice", "metadata": meta}, status)

    def claim(self, device, status="True", reason="Ready", message="", kind="PCIDeviceClaim", user="ana", **more):
        plural = "usbdeviceclaims" if kind == "USBDeviceClaim" else "pcideviceclaims"
        name = device.rsplit("/", 1)[1]
        spec = {"userName": user}
        if plural == "pcideviceclaims":
            spec["nodeName"] = name.rsplit("-", 1)[0]
        body = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        return self.create(f"{GROUP}/{plural}", body, {"conditions": [
            condition("Accepted", "True", "Accepted"), condition("Ready", status, reason, message)], **more})

    def usb(self, node, name, port, on, text, **more):
        status = {"nodeName": node, "portPath": port, "pciAddress": on, "description": text, "vendorID": "0951",
                  "productID": "1666", "conditions": claimable(), "speedMbps": 480, **more}
        meta = {"name": f"{node}-{name}", "labels": {"nodename": node}}
        return self.create(f"{GROUP}/usbdevices", {"apiVersion": "devices.harvesterhci.io/v1beta1",
                                                   "kind": "USBDevice", "metadata": meta}, status)

    def mdev(self, node, uuid, parent, **more):
        status = {"nodeName": node, "uuid": uuid, "type": "nvidia-222", "typeName": "GRID_A100-10C", "parent": parent,
                  "pciAddress": parent, "deviceAPI": "vfio-pci", "createdByHostdev": True, **more}
        meta = {"name": f"{node}-{uuid}", "labels": {"nodename": node}}
        return self.create(f"{OWN}/mediateddevices", {"apiVersion": "hostdev.io/v1alpha1", "kind": "MediatedDevice",
                                                      "metadata": meta}, status)

    def event(self, device, reason, message, kind="PCIDeviceClaim", warning=False):
        name = device.rsplit("/", 1)[1]
        about = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": kind, "name": name}
        meta = {"name": f"{name}.{len(self.made):x}", "namespace": "default"}
        return self.create("/api/v1/namespaces/default/events", {
            "metadata": meta, "involvedObject": about, "reason": reason, "message": message, "count": 1,
            "type": "Warning" if warning else "Normal", "firstTimestamp": SINCE, "lastTimestamp": SINCE})

    # --- clusters ---

    def every_state(self, name="rack1"):
        """Two nodes with each state, a shared group, and USB and mediated devices, and one that is not ready; devices by
        state."""
        a, b, c = f"{name}-a", f"{name}-b", f"{name}-c"
        pod = [{"namespace": "lab", "pod": "trainer-0", "container": "main"}]
        self.node(a)
        self.node(b)
        self.node(c, "False", "container runtime is down.", "KubeletNotReady", unschedulable=True)
        for slot in range(1, 6):
            self.pci(a, f"0000:00:{slot:02x}.0", PORT, slot, REFUSED_PORT)
        usb = self.pci(a, "0000:00:14.0", XHCI, 9)
        self.usb(a, "0951-1666-001002", "1-2", "0000:00:14.0", "Kingston Technology DataTraveler 100 G3",
                 interfaces=[{"class": "08", "subclass": "06", "protocol": "50", "driver": "usb-storage"}])
        stick = self.usb(a, "1050-0407-001003", "1-3", "0000:00:14.0", "Yubico.com Yubikey 4/5 OTP+U2F+CCID")
        self.claim(stick, kind="USBDeviceClaim", user="ben")
        made = {"claimable": self.pci(a, "0000:01:00.0", NIC, 14, numaNode=0), "usb": usb, "nodes": (a, b, c)}
        made["refused"] = self.pci(a, "0000:02:00.0", NVME, 15, claimable(
            "HostFilesystem", "/var/lib/kubelet is on it: /dev/nvme0n1p2, mounted at /var", "False"))
        made["used"] = self.pci(a, "0000:03:00.0", (*GPU[:4], "vfio-pci"), 16, allocations=pod, numaNode=0,
                                iommuGroupMembers=["0000:03:00.0", "0000:03:00.1"])
        self.claim(made["used"])
        made["available"] = self.pci(a, "0000:03:00.1", (*AUDIO[:4], "vfio-pci"), 16,
                                 iommuGroupMembers=["0000:03:00.0", "0000:03:00.1"])
        self.claim(made["available"])
        for number in range(2):
            self.mdev(a, f"c0ffee00-1111-4222-8333-44445555666{number}", "0000:04:00.0",
                      **({"resourceName": "nvidia.com/GRID_A100-10C"} if number else {}))
        self.pci(a, "0000:04:00.0", GPU, 17, claimable("VirtualFunctionsActive", "it has mediated devices", "False"))
        made["stuck"] = self.pci(b, "0000:01:00.0", MLX, 21)
        self.claim(made["stuck"], "False", "Stuck", "unbind from mlx5_core has not ended for 312 s (helper pid 4211): "
                   "the kernel waits for the driver", step="unbind from mlx5_core")
        self.event(made["stuck"], "Stuck", "unbind from mlx5_core has not ended for 30 s", warning=True)
        self.event(made["stuck"], "Binding", "unbind from mlx5_core")
        made["pending"] = self.pci(b, "0000:02:00.0", NVME, 22)
        self.claim(made["pending"], "False", "Held", "mounted at /data", holder="/data is mounted from it")
        gone = self.claim(f"x/{b}-000009000", "False", "DeviceNotFound", "there is no such device on the node")
        made["missing"] = gone
        made["unknown"] = self.pci(b, "0000:05:00.0", NIC, 23)
        self.status(made["unknown"], {"conditions": None})
        self.pci(c, "0000:01:00.0", NIC, 31)
        made["lost"] = self.pci(c, "0000:02:00.0", (*GPU[:4], "vfio-pci"), 32, allocations=pod)
        self.claim(made["lost"])
        return made

    def divided(self, name="rack2"):
        """A node with a network card of six virtual functions, one of them claimed, and a GPU with a vGPU that a pod has
        and MIG instances that are not there yet; its devices by what they are."""
        self.node(name)
        card, gpu = "0000:03:00.0", "0000:08:00.0"
        pod = [{"namespace": "lab", "pod": "vm-1", "container": "compute"}]
        made = {"card": self.pci(name, card, MLX, 40, claimable("VirtualFunctionsActive", "it has six", "False"))}
        made["vfs"] = [self.pci(name, f"0000:03:10.{number}", MLX, 41 + number, physicalFunction=card,
                                role="VirtualFunction") for number in range(6)]
        self.claim(made["vfs"][2])
        made["gpu"] = self.pci(name, gpu, GPU, 50, claimable("VirtualFunctionsActive", "it has one", "False"))
        made["vf"] = self.pci(name, "0000:08:00.4", GPU, 51, physicalFunction=gpu, role="VirtualFunction",
                              allocations=pod)
        self.claim(made["vf"])
        for plural, at, spec, status in (
                ("VGPUDevice", made["vf"], {"address": "0000:08:00.4", "vGPUTypeName": "NVIDIA A2-4C"},
                 {"conditions": [condition("Ready", "True", "Configured")]}),
                ("MigConfiguration", made["gpu"], {"gpuAddress": gpu}, {
                    "profileStatus": [{"name": "MIG 1g.5gb", "id": 19, "available": 5, "total": 7, "vGPUID": ["3", "4"]}],
                    "conditions": [condition("Ready", "False", "ModePending", "after the next reset")]})):
            body = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": plural,
                    "metadata": {"name": at.rsplit("/", 1)[1]}, "spec": {"nodeName": name, "enabled": True, **spec}}
            self.create(f"{GROUP}/{plural.lower()}s", body, status)
        return made

    def resource_claim(self, name, node, device, pod="vm-1", refused=""):
        """One of default, to which DRA has allocated @device of hostdev."""
        claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
        result = {"driver": "hostdev.io", "pool": node, "device": device}
        said = [{**result, "conditions": [condition("Ready", "False", "NotPrepared", refused)]}] if refused else []
        request = {"name": "a", "exactly": {"deviceClassName": "pci.hostdev.io"}}
        return self.create(claims, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name},
                                    "spec": {"devices": {"requests": [request]}}}, {
            "allocation": {"devices": {"results": [{"request": "a", **result}]}}, "devices": said,
            "reservedFor": [{"resource": "pods", "name": pod, "uid": f"u-{pod}"}]})

    def allocated(self, name="rack5"):
        """A node with devices that ResourceClaims have: prepared, refused, and before the pod starts; two claims of one."""
        self.node(name)
        pod = [{"namespace": "default", "pod": "vm-1", "container": "compute", "resourceClaim": "ready"}]
        made = [self.pci(name, "0000:03:00.0", NIC, 41, allocations=pod), self.pci(name, "0000:04:00.0", NIC, 42),
                self.usb(name, "0951-1666-001002", "1-2.3", "0000:00:14.0", "Stick"),
                self.mdev(name, "c0ffee00-1111-4222-8333-444455556669", "0000:04:00.0", resourceName="nvidia.com/GRID"),
                self.pci(name, "0000:05:00.0", NIC, 43)]
        self.resource_claim("ready", name, "pci-0000-03-00-0")
        self.resource_claim("refused", name, "pci-0000-04-00-0", refused="default/other has it")
        self.resource_claim("second", name, "pci-0000-04-00-0")
        self.resource_claim("stick", f"{name}/usb", "usb-1-2-3")
        self.resource_claim("mdev", f"{name}/mdev", "mdev-c0ffee00-1111-4222-8333-444455556669")
        return made

    def many(self, nodes, per_node, name="big"):
        """That many devices: behind each port a card with four functions, which share a group on every third."""
        made = []
        for number in range(nodes):
            node = f"{name}-{number:02d}"
            self.node(node)
            for at in range(per_node // 5):
                address = f"0000:00:{at:02x}.0"
                self.pci(node, address, PORT, at, REFUSED_PORT)
                for function in range(4):
                    group = 100 + at if at % 3 == 0 else 1000 + at * 4 + function
                    made.append(self.pci(node, f"0000:{at + 1:02x}:00.{function}", KINDS[at % 4], group))
        return made
