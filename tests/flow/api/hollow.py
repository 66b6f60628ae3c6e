"""Nodes without a kubelet: what their pods' objects would say if they ran, on a control plane with its controllers."""

import threading
import time

from replicas import MERGE
from rest import GROUP, Rest

HEARTBEAT_SECONDS = 10
NOW = "%Y-%m-%dT%H:%M:%SZ"


class HollowNodes(threading.Thread):
    """Pods that are bound to them are ready at once, and gone when they are deleted. An agent publishes one device."""

    def __init__(self, cluster, *names):
        super().__init__(daemon=True)
        self.rest, self.names, self.beat = Rest(cluster.kubeconfig), names, 0.0
        self.ended, self.trouble = threading.Event(), None
        for name in names:
            self.rest.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {
                "name": name, "labels": {"kubernetes.io/os": "linux", "kubernetes.io/hostname": name}}})

    def run(self):
        try:
            while not self.ended.wait(0.2):
                self.look()
        except Exception as error:  # noqa: BLE001, told by stop()
            self.trouble = error

    def stop(self):
        self.ended.set()
        self.join()
        if self.trouble:
            raise self.trouble

    def look(self):
        if time.monotonic() > self.beat + HEARTBEAT_SECONDS:
            self.beat = time.monotonic()
            for name in self.names:
                self.rest.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
                    "allocatable": {"cpu": "8", "memory": "8Gi", "pods": "100"},
                    "capacity": {"cpu": "8", "memory": "8Gi", "pods": "100"},
                    "conditions": [{"type": "Ready", "status": "True", "reason": "Hollow",
                                    "lastHeartbeatTime": time.strftime(NOW, time.gmtime())}]}}, MERGE)
        for pod in self.rest.get("/api/v1/pods")["items"]:
            meta = pod["metadata"]
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
            if "deletionTimestamp" in meta:
                self.rest.request("DELETE", f"{path}?gracePeriodSeconds=0")
            elif pod["spec"].get("nodeName") in self.names and pod["status"].get("phase") != "Running":
                self.run_pod(path, pod)

    def run_pod(self, path, pod):
        started = time.strftime(NOW, time.gmtime())
        containers = [{"name": one["name"], "ready": True, "started": True, "restartCount": 0, "image": one["image"],
                       "imageID": "", "state": {"running": {"startedAt": started}}} for one in pod["spec"]["containers"]]
        self.rest.request("PATCH", f"{path}/status", {"status": {
            "phase": "Running", "startTime": started, "containerStatuses": containers,
            "conditions": [{"type": name, "status": "True"} for name in ("Initialized", "ContainersReady", "Ready")]}}, MERGE)
        if pod["metadata"]["labels"].get("app.kubernetes.io/component") == "agent":
            self.publish(pod["spec"]["nodeName"])

    def publish(self, node):
        name = f"{node}-000001000"
        self.rest.request("POST", f"{GROUP}/pcidevices", {
            "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice",
            "metadata": {"name": name, "labels": {"nodename": node}}})
        self.rest.request("PATCH", f"{GROUP}/pcidevices/{name}/status", {"status": {
            "address": "0000:01:00.0", "nodeName": node, "vendorId": "8086", "deviceId": "10d3",
            "kernelDriverInUse": "e1000e"}}, MERGE)
