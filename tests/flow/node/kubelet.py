"""The kubelet and containerd of the guest, and pods on it."""

import json
import shutil
import subprocess
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import yaml

from cluster import ROOT, SLOWNESS, wait_until

RUN = "/run/hostdev-node"  # of hack/vm.d/node-start
DIR = "/var/lib/kubelet"
IMAGE = "localhost/hostdev/busybox:1"


class Kubelet:
    """Makes the guest a node that runs pods; the Node object is there already. With cdi, its containerd is one that knows
    CDI."""

    def __init__(self, guest, cluster, cdi=False):
        self.guest = guest
        self.cdi = cdi
        self.cluster = cluster
        self.node = guest.name
        self.folder = ROOT / "build/local/vm" / guest.name / "node"
        self.kubectl = cluster.kubectl

    def start(self, images=()):
        """containerd with these images, too, and kubelet, until the Node is Ready."""
        self._fill_folder(images)
        self.kubectl("create", "serviceaccount", "default", check=False)
        self.guest.vm("node")
        self.wait_ready()

    def _server(self):
        """As the guest reaches it."""
        port = urlsplit(yaml.safe_load(self.cluster.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]).port
        return f"https://10.0.2.2:{port}"

    def _configure(self, server):
        config = self.cluster.control("node-kubeconfig", self.node, "--server", server)
        (self.folder / "kubelet.kubeconfig").write_text(config)

    def _fill_folder(self, images):
        folder = self.folder
        shutil.rmtree(folder / "images", ignore_errors=True)
        (folder / "images").mkdir(parents=True)
        for image in images:
            shutil.copy(image, folder / "images")
        self._configure(self._server())
        # hack/vm.d/node-start gives pods these addresses.
        (self.cluster.folder / "egress.nodes").write_text(f"10.89.0.0/24 {folder.parent}\n")
        (folder / "ca.crt").write_bytes((self.cluster.folder / "pki/ca.crt").read_bytes())
        script = f"""source {ROOT}/hack/lib.sh; source {ROOT}/hack/cluster.d/runtime.sh; node_runtime
                     link_runtime {ROOT}/build/local/bin; cp "$RUNTIME"/images/*.tar {folder}/images/
                     printf '%s\\n' "$PAUSE_IMAGE" >{folder}/sandbox-image; rm -f {folder}/containerd-2"""
        if self.cdi:
            script += f"""
                     source {ROOT}/hack/cluster.d/binaries.sh; source {ROOT}/hack/cluster.d/containerd.sh; containerd_2
                     link_containerd {ROOT}/build/local/bin
                     printf '%s\\n' {ROOT}/build/local/bin/containerd-2 >{folder}/containerd-2"""
        subprocess.run(["bash", "-euc", script], check=True)

    def in_node_shell(self, script):
        """bash in the guest, with hack/lib.sh and the node's programs."""
        path = f"{ROOT}/build/local/bin"
        return self.guest.run("bash", "-euc", f"source {ROOT}/hack/lib.sh; export PATH={path}:$PATH; {script}")

    def stop(self):
        """Node and folders are again as before there was a kubelet, or the next agent's claims would wait for that one."""
        self.in_node_shell(f"stop_process {RUN} kubelet; stop_process {RUN} containerd; "
                           f"rm -rf {DIR}/device-plugins {DIR}/pod-resources {DIR}/plugins_registry {DIR}/plugins")
        self.kubectl("patch", "node", self.node, "--subresource=status", "--type=merge", "-p", json.dumps({"status": {
            key: None for key in ("conditions", "allocatable", "capacity")}}))

    def restart(self):
        """The kubelet alone; the pods stay with containerd."""
        self.in_node_shell(f"mapfile -d '' -t words </proc/$(<{RUN}/pids/kubelet)/cmdline; "
                           f'stop_process {RUN} kubelet; start_process {RUN} kubelet - "${{words[@]}}"')

    @contextmanager
    def paused(self):
        """It hears of what was done meanwhile at once, at the end."""
        pid = self.guest.run("cat", f"{RUN}/pids/kubelet").strip()
        self.guest.run("kill", "-STOP", pid)
        try:
            yield
        finally:
            self.guest.run("kill", "-CONT", pid)

    @contextmanager
    def cut_off(self):
        """It begins anew, and its API server is not there; at the end once more, with the right one."""
        self._configure("https://127.0.0.1:1")
        try:
            self.restart()
            yield
        finally:
            self._configure(self._server())
            self.restart()

    def log(self):
        return self.guest.run("cat", f"{RUN}/logs/kubelet.log")

    def wait_ready(self):
        self.kubectl("wait", "--for=condition=Ready", "--timeout=180s", f"node/{self.node}")

    def allocatable(self, resource):
        return self.cluster.get("node", self.node)["status"]["allocatable"].get(resource)

    def wait_allocatable(self, resource, count, timeout=90):
        """A resource of which there is none may be listed or not."""
        wait_until(lambda: int(self.allocatable(resource) or 0) == count, timeout,
                   f"{resource}: {count} allocatable on {self.node}")


UNTIL_END = "until [ -e /tmp/end ]; do sleep 0.2; done"
# A program that does not handle the signal, as process 1, is killed after two seconds: its device is held as long.
UNTIL_SIGTERM = "trap 'exit 0' TERM; sleep 100000 & wait"
SILENT_PORT = 8099  # accepts a connection, and sends nothing
UNTIL_KILLED = f"sleep 100000 | nc -l -p {SILENT_PORT} & trap : TERM; while :; do sleep 1; done"


# For the node's QEMU in a container: VFIO locks the machine's memory.
QEMU_IN_A_POD = {"capabilities": ["IPC_LOCK"], "folders": {"/usr": "/usr", "/lib": "/usr/lib", "/lib64": "/usr/lib64"}}


def qemu(device):
    return ("/usr/bin/qemu-system-x86_64 -accel tcg -machine q35 -m 64 -nodefaults -display none -S -qmp stdio "
            f"-device vfio-pci,{device},id=lent")


def variable(resource):
    """Where a launcher looks for the addresses of a resource's devices."""
    return "PCI_RESOURCE_" + resource.upper().replace("/", "_").replace(".", "_")


class Pod:
    """One container that waits for its end, put on the node without a scheduler; folders: of the node, by their
    path in the container; first: the resources of an init container that ends at once; restarts: it is started again
    when it has ended (end()); hangs: the kubelet cannot end it, because it waits for the hook of a second container;
    claims: {name in the pod: {"resourceClaimName" or "resourceClaimTemplateName": name}}, for which it needs a scheduler."""

    def __init__(self, kubelet, name, resources, folders=None, capabilities=(), first=None, restarts=False, hangs=False,
                 claims=None):
        self.kubelet = kubelet
        self.kubectl = kubelet.kubectl
        self.name = name
        self.resources = resources
        self.folders = folders or {}
        self.capabilities = list(capabilities)
        self.first = first
        self.restarts = restarts
        self.hangs = hangs
        self.claims = claims or {}
        self.uid = None

    def _command(self):
        return UNTIL_KILLED if self.hangs else UNTIL_END if self.restarts else UNTIL_SIGTERM

    def _hanging_containers(self):
        """The kubelet's request of the hook has no time limit."""
        return [{"name": "slow", "image": IMAGE, "imagePullPolicy": "Never", "command": ["sleep", "100000"],
                 "lifecycle": {"postStart": {"httpGet": {"path": "/", "port": SILENT_PORT}}}}] if self.hangs else []

    def _init_containers(self):
        return [{"name": "first", "image": IMAGE, "imagePullPolicy": "Never", "command": ["true"],
                 "resources": {"limits": self.first}}] if self.first else []

    def _place(self):
        """On the node; what has claims only the scheduler can put there."""
        if not self.claims:
            return {"nodeName": self.kubelet.node}
        return {"resourceClaims": [{"name": name, **source} for name, source in self.claims.items()]}

    def create(self):
        self.kubectl("apply", "-f", "-", input={
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": self.name, "namespace": "default"},
            # A network of its own costs three programs at a pod's start and three at its end, and shows nothing here.
            "spec": {**self._place(), "terminationGracePeriodSeconds": 0, "hostNetwork": not self.hangs,
                     "restartPolicy": "Always" if self.restarts else "Never",
                     "automountServiceAccountToken": False,
                     "volumes": [{"name": f"folder{i}", "hostPath": {"path": path, "type": "Directory"}}
                                 for i, path in enumerate(self.folders.values())],
                     "initContainers": self._init_containers(),
                     "containers": [{"name": "main", "image": IMAGE, "imagePullPolicy": "Never",
                                     "securityContext": {"capabilities": {"add": self.capabilities}},
                                     "volumeMounts": [{"name": f"folder{i}", "mountPath": path, "readOnly": True}
                                                      for i, path in enumerate(self.folders)],
                                     "command": ["sh", "-c", self._command()],
                                     "resources": {"limits": self.resources,
                                                   "claims": [{"name": name} for name in self.claims]}},
                                    *self._hanging_containers()]}})

    def get(self):
        return self.kubelet.cluster.get("pod", self.name, "-n", "default")

    def wait_running(self, timeout=120):
        end = time.monotonic() + SLOWNESS * timeout
        while (status := self.get()["status"]).get("phase") != "Running":
            assert status.get("phase") != "Failed", f"{self.name}: {json.dumps(status)}"
            assert time.monotonic() < end, f"{self.name} does not run: {json.dumps(status)}"
            time.sleep(0.2)

    def end(self):
        self.exec("touch /tmp/end")

    def processes(self):
        """Those of a pod that hangs; the pod may be gone."""
        return self.kubelet.guest.sh(f"{self._list_processes()}; true").split()

    def _list_processes(self):
        either = self.uid.replace("-", "[-_]")
        return f"grep -lE 'pod{either}' /proc/[0-9]*/cgroup 2>/dev/null | cut -d/ -f3"

    def wait_hung(self):
        """Both containers run, each a process and main's four, beside the pod's own."""
        self.uid = self.get()["metadata"]["uid"]
        wait_until(lambda: len(self.processes()) > 4, 60, f"{self.name}: its processes, and the hook that hangs")

    def kill(self):
        self.kubelet.guest.sh(f"{self._list_processes()} | xargs -r kill -9 || true")

    def restarts_so_far(self):
        """Of the container that runs."""
        status = self.get()["status"]["containerStatuses"][0]
        return status["restartCount"] if "running" in status["state"] else None

    def wait_not_started(self, message, timeout=60):
        """It is to be started again, and is not, for this reason."""
        def reason():
            [container] = self.get()["status"].get("containerStatuses", [{"state": {}}])
            return container["state"].get("waiting", {}).get("message", "")
        wait_until(lambda: message in reason(), timeout, lambda: f"'{message}' in '{reason()}'")

    def wait_failed(self, message, timeout=60):
        end = time.monotonic() + SLOWNESS * timeout
        while (status := self.get()["status"]).get("phase") != "Failed":
            assert time.monotonic() < end, f"{self.name} does not fail: {json.dumps(status)}"
            time.sleep(0.2)
        assert message in status["message"]

    def exec(self, script):
        return self.kubectl("exec", "-n", "default", self.name, "--", "sh", "-c", script).stdout

    def environment(self):
        """What it was started with: a shell passes no names with hyphens on."""
        return dict(line.split("=", 1) for line in self.exec("tr '\\0' '\\n' </proc/1/environ").splitlines())

    def query_pci(self, device):
        """The ids of the device, which a QEMU in the container opens; the pod needs what QEMU_IN_A_POD says."""
        commands = "".join(json.dumps({"execute": word}) + "\n" for word in ("qmp_capabilities", "query-pci", "quit"))
        lines = [json.loads(line) for line in self.exec(f"printf '{commands}' | {qemu(device)}").splitlines()]
        (buses,) = [line["return"] for line in lines if line.get("return")]
        return [f"{d['id']['vendor']:04x}:{d['id']['device']:04x}"
                for bus in buses for d in bus["devices"] if d["qdev_id"] == "lent"]

    def identity(self):
        """What is another one when the container was started anew."""
        status = self.get()["status"]["containerStatuses"][0]
        self.wait_known()
        return status["containerID"], status["restartCount"], self.exec("stat -c %Y /proc/1").strip()

    def wait_known(self):
        """A kubelet that has just begun knows its pods a little later than its devices."""
        wait_until(lambda: self.kubectl("exec", "-n", "default", self.name, "--", "true", check=False).returncode == 0,
                   30, f"a kubelet that knows {self.name}")

    def delete(self):
        self.kubectl("delete", "pod", self.name, "-n", "default", "--ignore-not-found", "--timeout=180s")

    def clear(self):
        """Gone at the end of a test, whatever it came to: of a pod that hangs the processes, too."""
        self.delete()
        if self.hangs and self.uid:
            self.kill()
