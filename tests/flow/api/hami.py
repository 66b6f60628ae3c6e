"""A real kube-scheduler that asks an extender by HAMi's rules, and the kubelet's side of the pods that they bind."""

import json
import subprocess

import yaml

from cluster import wait_until
from hami_extender import CORES, MEMORY, PERCENT, REGISTER, RESOURCE, Extender
from rest import MERGE, Refused, Rest

NAME = "hami-scheduler"
SYSTEM = "kube-system"  # where HAMi's chart puts it
NAMESPACE, ACCOUNT = "default", "hami-pods"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
HOSTNAME = "kubernetes.io/hostname"
MANAGED = (RESOURCE, MEMORY, CORES, PERCENT, "nvidia.com/priority")


HOOK = "/usr/local/vgpu"


def install_core(root):
    """What HAMi-core is on a host whose root is that folder."""
    folder = root / HOOK[1:]
    folder.mkdir(parents=True)
    (folder / "libvgpu.so").write_bytes(b"\x7fELF")
    (folder / "ld.so.preload").write_text(f"{HOOK}/libvgpu.so\n")
    (root / "tmp").mkdir()


class Schedulers:
    """kube-scheduler as a process, and its extender with the rights of HAMi's scheduler; who asks for NAME gets them."""

    def __init__(self, cluster, identities, folder):
        self.cluster, self.folder, self.made = cluster, folder, []
        self.extender = Extender(identities.kubeconfig(NAME, {"token": self._token()}))

    def _token(self):
        self.admin = Rest(self.cluster.kubeconfig)
        accounts = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts"
        role = {"metadata": {"name": NAME}, "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": SYSTEM}],
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}}
        for collection, body in ((accounts, {"metadata": {"name": NAME}}),
                                 ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", role)):
            status, answer = self.admin.request("POST", collection, body)
            assert status == 201, answer
            self.made.append(f"{collection}/{NAME}")
        return self.admin.request("POST", f"{accounts}/{NAME}/token", {"spec": {}})[1]["status"]["token"]

    def __enter__(self):
        config, self.log_file = self.folder / "scheduler.yaml", self.folder / "scheduler.log"
        config.write_text(yaml.safe_dump(self._configuration()))
        self.extender.__enter__()
        with open(self.log_file, "w") as log:
            self.process = subprocess.Popen([self.cluster.folder / "bin/kube-scheduler", "--config", config,
                                             "--secure-port=0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def _configuration(self):
        """As HAMi's chart has it; who must wait for another pod's lock tries again after a second."""
        extender = {"urlPrefix": self.extender.url, "filterVerb": "filter", "bindVerb": "bind", "weight": 1,
                    "nodeCacheCapable": True, "httpTimeout": "30s",
                    "managedResources": [{"name": name, "ignoredByScheduler": True} for name in MANAGED]}
        return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False},
                "clientConnection": {"kubeconfig": str(self.cluster.folder / "pki/scheduler.kubeconfig")},
                "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1,
                "profiles": [{"schedulerName": NAME}], "extenders": [extender]}

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.extender.__exit__()
        for path in self.made:
            self.admin.remove(path)

    def log(self):
        return self.log_file.read_text()[-4000:]


def container(name, gpus=0, memory=None, cores=None, env=None, side_car=False):
    """Of a pod; memory in MiB, cores in percent, of each GPU."""
    wanted = {RESOURCE: gpus, MEMORY: memory, CORES: cores}
    return {"name": name, "image": "cuda", "resources": {"limits": {k: str(v) for k, v in wanted.items() if v}},
            "env": [{"name": k, "value": v} for k, v in (env or {}).items()],
            **({"restartPolicy": "Always"} if side_car else {})}


def without(units, some):
    return [unit for unit in units if unit not in some]


def gpus_of(one):
    return int(one["resources"].get("limits", {}).get(RESOURCE, 0))


class Node:
    """The Node of an agent as its kubelet would keep it, its pods, and what the kubelet asks the agent for."""

    def __init__(self, rest, kubelet, name, devices):
        """devices: what the agent offers, {ID: healthy}, as often as it is called."""
        self.rest, self.kubelet, self.name, self.devices = rest, kubelet, name, devices
        self.path, self.held = f"/api/v1/nodes/{name}", {}
        status, answer = rest.request("POST", ACCOUNTS, {"metadata": {"name": ACCOUNT}})
        assert status == 201, answer

    # --- the Node ---

    def ready(self, gpus):
        """With so many units of the resource, and no taint of a Node that is new."""
        capacity = {"cpu": "64", "memory": "64Gi", "pods": "110", RESOURCE: str(gpus)}
        condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "",
                     "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        self.patch("/status", {"status": {"capacity": capacity, "allocatable": capacity, "conditions": [condition]}})
        self.patch("", {"metadata": {"labels": {HOSTNAME: self.name}}, "spec": {"taints": None}})

    def patch(self, subresource, body):
        status, answer = self.rest.request("PATCH", self.path + subresource, body, MERGE)
        assert status == 200, answer

    def annotation(self, key):
        return self.rest.get(self.path)["metadata"].get("annotations", {}).get(key)

    def annotate(self, key, value):
        self.patch("", {"metadata": {"annotations": {key: value}}})

    def registered(self):
        """The GPUs in the Node's annotation, by UUID; empty if there is none."""
        return {one["id"]: one for one in json.loads(self.annotation(REGISTER) or "[]")}

    # --- pods ---

    def create(self, *words, **more):
        """One that HAMi's scheduler places on this Node."""
        status, answer = self.request_pod(*words, **more)
        assert status == 201, answer
        self.held[words[0]] = set()

    def request_pod(self, name, *containers, init=(), annotations=None, **spec):
        meta = {"name": name, "annotations": annotations or {}}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta,
                "spec": {"schedulerName": NAME, "nodeSelector": {HOSTNAME: self.name},
                         "serviceAccountName": ACCOUNT, "automountServiceAccountToken": False,
                         "initContainers": list(init), "containers": list(containers), **spec}}
        return self.rest.request("POST", PODS, body)

    def pod(self, name):
        return self.rest.get(f"{PODS}/{name}")

    def pod_annotation(self, name, key):
        return self.pod(name)["metadata"].get("annotations", {}).get(key)

    def patch_pod(self, name, body):
        return self.rest.request("PATCH", f"{PODS}/{name}", body, MERGE)

    def bound(self, name):
        return self.pod(name)["spec"].get("nodeName")

    def all_bound(self):
        """The names of those that are."""
        return [one["metadata"]["name"] for one in self.rest.get(PODS, fieldSelector=f"spec.nodeName={self.name}")["items"]]

    def delete(self, name):
        self.rest.remove(f"{PODS}/{name}")
        self.held.pop(name, None)

    def clear(self):
        for name in list(self.held):
            self.delete(name)

    def close(self):
        self.clear()
        self.rest.remove(f"{ACCOUNTS}/{ACCOUNT}")

    # --- the kubelet ---

    def admit(self, name):
        """What each container gets that wants GPUs: init containers are asked for first, and the units of one that ends
        are given to the next. As the kubelet does, a pod that is refused has failed."""
        pod, answers, over = self.pod(name)["spec"], {}, []
        try:
            for one in pod.get("initContainers", []):
                ids = self._allocate(name, one, over, answers)
                over = sorted({*over, *ids}) if one.get("restartPolicy") != "Always" else without(over, ids)
            for one in pod["containers"]:
                over = without(over, self._allocate(name, one, over, answers))
        except AssertionError:
            self._status(name, {"phase": "Failed", "reason": "UnexpectedAdmissionError"})
            raise
        self._status(name, {"phase": "Running"})
        return answers

    def _allocate(self, name, one, over, answers):
        count = gpus_of(one)
        taken = set().union(*self.held.values())
        free = [unit for unit, healthy in self.devices().items() if healthy and unit not in taken]
        ids = (over + free)[:count]
        assert len(ids) == count, f"{self.name} has {len(free)} units left of {RESOURCE}"
        if ids:
            self.held[name] |= set(ids)
            [answers[one["name"]]] = self.kubelet.allocate(RESOURCE, ids)
        return ids

    def _status(self, name, status):
        try:
            self.rest.get(f"{PODS}/{name}")
        except Refused:  # it has gone
            return
        assert self.rest.request("PATCH", f"{PODS}/{name}/status", {"status": status}, MERGE)[0] == 200

    def run(self, name, *containers, **more):
        """A pod from its creation to its end at admit()."""
        self.create(name, *containers, **more)
        wait_until(lambda: self.bound(name), 30, lambda: self.events(name))
        return self.admit(name)

    def events(self, name):
        items = self.rest.get(f"/api/v1/namespaces/{NAMESPACE}/events")["items"]
        return [(one["reason"], one["message"]) for one in items if one["involvedObject"]["name"] == name]
