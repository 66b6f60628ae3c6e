"""Replicas of hostdev-controller, and the world that they look at: nodes, pods, devices and claims made by hand."""

import uuid

from programs import Program
from rest import GROUP

NAMESPACE = "hostdev-system"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/hostdev-controller"
OWN = "/apis/hostdev.io/v1alpha1"
NODES = "/api/v1/nodes"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
FINALIZER = "wrangler.cattle.io/PCIDeviceClaimOnRemove"
MERGE = "application/merge-patch+json"


class Replica(Program):
    """One replica under a name of its own."""

    def __init__(self, kubeconfig, folder, *flags):
        self.identity = f"controller-{uuid.uuid4().hex[:6]}"
        super().__init__("hostdev-controller", ["--kubeconfig", kubeconfig, *flags], folder,
                         env={"POD_NAME": self.identity})

    def leads(self):
        self.assert_alive()
        return self.metric("hostdev_controller_leader") == 1


def lease(rest):
    """Its spec; empty if there is none."""
    status, answer = rest.request("GET", LEASE)
    return answer["spec"] if status == 200 else {}


def condition(obj, type_):
    """(status, reason) of it; (None, None) without."""
    for one in obj.get("status", {}).get("conditions", []):
        if one["type"] == type_:
            return one["status"], one["reason"]
    return None, None


class World:
    """Objects that agents and kubelets would write; what was made is removed at the end."""

    def __init__(self, rest):
        self.rest = rest
        self.made = []

    def create(self, collection, body, status=None):
        """The object; its status is written after it."""
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

    def get(self, path):
        """The object, None if there is none."""
        code, answer = self.rest.request("GET", path)
        assert code in (200, 404), answer
        return answer if code == 200 else None

    def delete(self, path):
        code, answer = self.rest.request("DELETE", path)
        assert code in (200, 202, 404), answer

    def node(self, name, ready="True"):
        meta = {"name": name}
        return self.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": meta}, ready_condition(ready))

    def set_ready(self, path, ready):
        self.status(path, ready_condition(ready))

    def agent_pod(self, node, ready="True"):
        """A pod of the agents' DaemonSet, as the kubelet of the node tells of it."""
        labels = {"app.kubernetes.io/part-of": "hostdev", "app.kubernetes.io/component": "agent"}
        spec = {"nodeName": node, "containers": [{"name": "agent", "image": "hostdev-agent"}],
                "serviceAccountName": "hostdev-agent", "automountServiceAccountToken": False,
                "terminationGracePeriodSeconds": 0}
        meta = {"name": f"agent-{node}", "namespace": NAMESPACE, "labels": labels}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        return self.create(PODS, body, {"phase": "Running", **ready_condition(ready)})

    def device(self, node, number, resource):
        name = f"{node}-{number:09d}"
        body = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice",
                "metadata": {"name": name, "labels": {"nodename": node}}}
        return self.create(f"{GROUP}/pcidevices", body, {"nodeName": node, "resourceName": resource})

    def claim(self, device, node, marked=True, ready="True"):
        """Of that device, as an agent has carried it out."""
        meta = {"name": device.rsplit("/", 1)[1]}
        if marked:
            meta["finalizers"] = [FINALIZER]
        body = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim", "metadata": meta,
                "spec": {"nodeName": node}}
        path = self.create(f"{GROUP}/pcideviceclaims", body)
        if ready:
            self.status(path, ready_condition(ready))
        return path

    def pool(self, resource):
        """Its DevicePool, None if there is none."""
        for item in self.rest.get(f"{OWN}/devicepools")["items"]:
            if item["spec"]["resourceName"] == resource:
                return item
        return None

    def counts(self, resource):
        """(devices, claimed, healthy, allocated, nodes) of it."""
        status = (self.pool(resource) or {}).get("status", {})
        return tuple(status.get(key) for key in ("devices", "claimed", "healthy", "allocated", "nodes"))

    def close(self):
        for path in reversed(self.made):
            self.rest.remove(path)


def ready_condition(status):
    return {"conditions": [{"type": "Ready", "status": status, "reason": "ByHand", "message": "",
                            "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
