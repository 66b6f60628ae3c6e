"""What the tests of the policies share: objects, the paths to them, and answers."""

GROUPS = {"devices.harvesterhci.io": "v1beta1", "hostdev.io": "v1alpha1"}
MERGE = "application/merge-patch+json"
UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
FINALIZER = "wrangler.cattle.io/PCIDeviceClaimOnRemove"
CRITICAL = "hostdev.io/allow-host-critical"
RENAMED = "pcidevice.harvesterhci.io/override-resource-name"
VGPU = "pcidevices.harvesterhci.io/skip-vfio-binding"

# Of each kind that agents make: what stands behind the node's name, and where the object says its node.
KINDS = {
    "pcidevices": ("PCIDevice", "000001000", "status"),
    "usbdevices": ("USBDevice", "0951-1666-001002", "status"),
    "sriovnetworkdevices": ("SRIOVNetworkDevice", "eth0", "spec"),
    "sriovgpudevices": ("SRIOVGPUDevice", "000008000", "spec"),
    "vgpudevices": ("VGPUDevice", "000008004", "spec"),
    "migconfigurations": ("MigConfiguration", "000008000", "spec"),
    "mediateddevices": ("MediatedDevice", UUID, "status"),
    "mediateddeviceparents": ("MediatedDeviceParent", "mtty", "status"),
}


def path(plural, name=None, subresource=None):
    group = "hostdev.io" if plural.startswith(("mediated", "hostdevice")) else "devices.harvesterhci.io"
    return "/".join(filter(None, [f"/apis/{group}/{GROUPS[group]}/{plural}", name, subresource]))


def device(plural, name, node):
    kind, _, said = KINDS[plural]
    group = path(plural).split("/")[2]
    return {"apiVersion": f"{group}/{GROUPS[group]}", "kind": kind, said: {"nodeName": node},
            "metadata": {"name": name, "labels": {"nodename": node}}}


def claim(name, plural="pcideviceclaims", annotations=None, **spec):
    return {"apiVersion": "devices.harvesterhci.io/v1beta1", "spec": spec,
            "kind": {"pcideviceclaims": "PCIDeviceClaim", "usbdeviceclaims": "USBDeviceClaim"}[plural],
            "metadata": {"name": name, "annotations": annotations or {}}}


def role(name, *rules):
    """A ClusterRole of our kinds, by (resources, verbs, names or None)."""
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": ["devices.harvesterhci.io"], "resources": resources, "verbs": verbs,
                       **({"resourceNames": names} if names else {})} for resources, verbs, names in rules]}


def binding(user, name):
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": f"test-{user}-{name}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]}


def refused(answer, *texts):
    status, body = answer
    assert status == 403, body
    for text in ("denied request: ", *texts):
        assert text in body["message"]


def accepted(answer):
    status, body = answer
    assert status in (200, 201), body
    return body


class Things:
    """Objects of the administrator's, removed at the end."""

    def __init__(self, rest):
        self.rest = rest
        self.made = []

    def own(self, plural, name):
        self.made.append(path(plural, name))
        return name

    def make(self, plural, body):
        accepted(self.rest.request("POST", path(plural), body))
        return self.own(plural, body["metadata"]["name"])

    def device(self, plural, node):
        """As the node's own agent left it."""
        name = f"{node}-{KINDS[plural][1]}"
        self.make(plural, device(plural, name, node))
        body = {"status": {"nodeName": node}} if KINDS[plural][2] == "status" else {"status": {}}
        accepted(self.rest.request("PATCH", path(plural, name, "status"), body, MERGE))
        return name

    def close(self):
        for one in self.made:
            self.rest.remove(one)
