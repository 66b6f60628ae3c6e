"""A stand-in for HAMi's scheduler: the extender that a real kube-scheduler asks, by the rules of HAMi 2.5 to 2.10.

HAMi's own is a Go module that the module proxy refuses, so these are its rules as we know them, not its code: how it reads
a node's list of GPUs, what it writes to pods and Nodes, in which order, and when it refuses.
"""

import json
import threading
import time
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer

from rest import MERGE, Refused, Rest

RESOURCE = "nvidia.com/gpu"
MEMORY, CORES, PERCENT = "nvidia.com/gpumem", "nvidia.com/gpucores", "nvidia.com/gpumem-percentage"
REGISTER = "hami.io/node-nvidia-register"
HANDSHAKE = "hami.io/node-handshake"
CORDON = "hami.io/device-cordon"
LOCK = "hami.io/mutex.lock"
NODE = "hami.io/vgpu-node"
PHASE = "hami.io/bind-phase"
LEFT = "hami.io/vgpu-devices-to-allocate"
GIVEN = "hami.io/vgpu-devices-allocated"
USE_UUID = "nvidia.com/use-gpuuuid"
LOCK_LASTS = timedelta(minutes=5)

# Of a GPU in the JSON list; a value that is zero or false may be left out.
FIELDS = {"id": str, "index": int, "count": int, "devmem": int, "devcore": int, "type": str, "numa": int, "mode": str,
          "health": bool, "devicevendor": str, "custominfo": dict, "migProfiles": list, "migtemplate": list}


class Unreadable(Exception):
    """HAMi's scheduler would not take the node's list."""


def read_json(text):
    """2.8 and later."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Unreadable(error) from None
    if not isinstance(found, list) or not found:
        raise Unreadable(f"no list of GPUs: {text}")
    for one in found:
        for key, kind in FIELDS.items():
            if key in one and type(one[key]) is not kind:  # bool is an int elsewhere
                raise Unreadable(f"{key} of {one}")
    return [{key: kind() for key, kind in FIELDS.items()} | one for one in found]


def read_text(text):
    """2.7 and before: a colon behind each GPU, of 7 fields, or 9 with index and mode."""
    if ":" not in text:
        raise Unreadable(f"no colon: {text}")
    found = []
    for one in filter(None, text.split(":")):
        words = one.split(",")
        if len(words) not in (7, 9):
            raise Unreadable(f"{len(words)} fields: {one}")
        if words[6] not in ("true", "false"):
            raise Unreadable(f"health: {one}")
        try:
            count, memory, cores, numa, index = map(int, [*words[1:4], words[5], words[7] if len(words) > 7 else "0"])
        except ValueError:
            raise Unreadable(f"a number: {one}") from None
        found.append({"id": words[0], "count": count, "devmem": memory, "devcore": cores, "type": words[4], "numa": numa,
                      "health": words[6] == "true", "index": index})
    return found


class Version:
    """What one version of HAMi's scheduler reads and writes."""

    def __init__(self, read, empty):
        self.read = read
        self.empty = empty  # what stands for a container without GPUs

    def write(self, containers):
        """The annotation of a pod's devices: [[(UUID, type, memory, cores)]] by container, init containers first."""
        return "".join("".join(f"{','.join(map(str, one))}:" for one in devices) + ";" if devices else self.empty
                       for devices in containers)


VERSIONS = {"2.10": Version(read_json, ""), "2.8": Version(read_json, ";"), "2.7": Version(read_text, ";"),
            "2.5": Version(read_text, ",,0,0:;")}


def quantity(one, name):
    """Of a container's resource; None: it does not say."""
    resources = one.get("resources", {})
    text = resources.get("limits", {}).get(name, resources.get("requests", {}).get(name))
    if text is None:
        return None
    digits = text.rstrip("kMG")  # kube-scheduler writes 3k for 3000
    return int(digits) * 1000 ** " kMG".index(text[len(digits):] or " ")


def devices_of(text):
    """[(UUID, memory, cores)] in a pod's annotation."""
    words = (one.split(",") for slot in text.split(";") for one in slot.split(":"))
    return [(one[0], int(one[2]), int(one[3])) for one in words if len(one) == 4 and one[0]]


class Extender:
    """Serves /filter and /bind, one call at a time."""

    def __init__(self, kubeconfig, version="2.10"):
        self.rest = Rest(kubeconfig)
        self.version = VERSIONS[version]
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):  # noqa: N802
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = json.dumps(getattr(outer, self.path[1:])(body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, args=[0.1])
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    # --- filter ---

    def filter(self, args):
        """Chooses one node and the GPUs, and writes both to the pod."""
        pod, failed = args["Pod"], {}
        for name in args["NodeNames"]:
            try:
                chosen = self._fit(self.rest.get(f"/api/v1/nodes/{name}"), pod)
            except (Unreadable, LookupError) as error:
                failed[name] = str(error)
                continue
            text = self.version.write(chosen)
            self._patch(pod_path(pod["metadata"]), {"metadata": {"labels": {NODE: name}, "annotations": {
                NODE: name, "hami.io/vgpu-time": str(int(time.time())), LEFT: text, GIVEN: text}}})
            return {"NodeNames": [name], "FailedNodes": failed}
        return {"NodeNames": [], "FailedNodes": failed}

    def _fit(self, node, pod):
        """The devices of each container, init containers first."""
        gpus = {one["id"]: one | {"used": 0, "memory": 0, "cores": 0} for one in self._gpus(node)}
        self._count_used(gpus, node["metadata"]["name"], pod)
        cordoned = node["metadata"]["annotations"].get(CORDON, "").split(",")
        only = pod["metadata"].get("annotations", {}).get(USE_UUID)
        usable = [one for one in gpus.values() if one["health"] and one["id"] not in cordoned
                  and (not only or one["id"] in only.split(","))]
        return [self._choose(usable, one) for one in containers_of(pod)]

    def _gpus(self, node):
        annotations = node["metadata"].get("annotations", {})
        if REGISTER not in annotations:
            raise Unreadable("node unregistered")
        if not int(node["status"].get("allocatable", {}).get(RESOURCE, 0)):
            raise Unreadable("the node has no units")
        return self.version.read(annotations[REGISTER])

    def _count_used(self, gpus, node, pod):
        for other in self.rest.get("/api/v1/pods")["items"]:
            annotations = other["metadata"].get("annotations", {})
            if other["metadata"]["uid"] == pod["metadata"]["uid"] or annotations.get(NODE) != node \
                    or other["status"].get("phase") in ("Failed", "Succeeded"):
                continue
            for uuid, memory, cores in devices_of(annotations.get(GIVEN, "")):
                if gpu := gpus.get(uuid):
                    gpu["used"] += 1
                    gpu["memory"] += memory
                    gpu["cores"] += cores

    @staticmethod
    def _choose(gpus, one):
        """The least used ones."""
        count = quantity(one, RESOURCE) or 0
        percent, cores = quantity(one, PERCENT) or 100, quantity(one, CORES) or 0
        chosen = []
        for gpu in sorted(gpus, key=lambda gpu: (gpu["used"], gpu["index"])):
            memory = quantity(one, MEMORY) or gpu["devmem"] * percent // 100
            if len(chosen) < count and gpu["used"] < gpu["count"] and gpu["memory"] + memory <= gpu["devmem"] \
                    and gpu["cores"] + cores <= gpu["devcore"]:
                chosen.append((gpu, memory))
        if len(chosen) < count:
            raise LookupError("NodeInsufficientDevice")
        for gpu, memory in chosen:
            gpu["used"] += 1
            gpu["memory"] += memory
            gpu["cores"] += cores
        return [(gpu["id"], gpu["type"], memory, cores) for gpu, memory in chosen]

    # --- bind ---

    def bind(self, args):
        """The Node's lock, the phase, the binding; a failure gives the lock back."""
        meta = {"namespace": args["PodNamespace"], "name": args["PodName"]}
        path, node = pod_path(meta), f"/api/v1/nodes/{args['Node']}"
        # Only what app containers ask for makes it lock the Node.
        locks = any(quantity(one, RESOURCE) for one in self.rest.get(path)["spec"]["containers"])
        try:
            if locks:
                self._lock(node, args["Node"], meta)
            try:
                self._patch(path, {"metadata": {"annotations": {PHASE: "allocating",
                                                                "hami.io/bind-time": str(int(time.time()))}}})
                self._post(f"{path}/binding", {"apiVersion": "v1", "kind": "Binding",
                                               "metadata": {"name": meta["name"], "uid": args["PodUID"]},
                                               "target": {"kind": "Node", "name": args["Node"]}})
            except Refused:
                if locks:
                    self._patch(node, {"metadata": {"annotations": {LOCK: None}}})
                raise
        except Refused as error:
            return {"Error": str(error)}
        return {}

    def _lock(self, path, node, meta):
        found = self.rest.get(path)["metadata"]
        lock = found.get("annotations", {}).get(LOCK)
        if lock and self._holds(lock):
            raise Refused(f"node {node} has been locked within 5m0s: node lock contention")
        self._patch(path, {"metadata": {"resourceVersion": found["resourceVersion"], "annotations": {
            LOCK: f"{now()},{meta['namespace']},{meta['name']}"}}})

    def _holds(self, lock):
        since, namespace, name = lock.split(",")
        taken = datetime.strptime(since, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
        there = self.rest.request("GET", pod_path({"namespace": namespace, "name": name}))[0] == 200
        return there and datetime.now(timezone.utc) - taken < LOCK_LASTS

    def _patch(self, path, body):
        status, answer = self.rest.request("PATCH", path, body, MERGE)
        if status != 200:
            raise Refused(f"{path}: {answer}")

    def _post(self, path, body):
        status, answer = self.rest.request("POST", path, body)
        if status != 201:
            raise Refused(f"{path}: {answer}")


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod_path(meta):
    return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"


def containers_of(pod):
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]
