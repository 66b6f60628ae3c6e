"""What HAMi's node side costs (--hami): the agent as it ships, with an API server, a made-up node and the stand-in for
NVIDIA's library. The bench writes what HAMi's scheduler would; grpc-go is the kubelet (tests/bench/plugins/kubelet).

Beside each figure is what was measured of HAMi's device plugin 2.10 with another stand-in and on another machine: its
order of magnitude counts.
"""

import tempfile
import time
from pathlib import Path

import claim_cost  # noqa: F401 - where the modules of the flow tests are
import hami
from agent_cost import control_plane, smaps
from cluster import wait_until
from gpu_cost import NODE, Kubelet, Node, load, ms, ns_to_ms
from hami_extender import GIVEN, LEFT, LOCK, PHASE, now
from plugin_cost import tools
from report import figure, heading
from rest import Rest

GPUS, SPLIT = 8, 10
ALLOCATES = 200
SETTLE_S = 3


class HamiNode(Node):
    """The same node with HAMi's units, and its Node and pods as HAMi's scheduler writes them."""

    def __init__(self, cluster, kubelet, folder):
        super().__init__(cluster, kubelet, folder, GPUS)
        hami.install_core(folder)
        self.rest = Rest(cluster.kubeconfig)
        self.rest.request("POST", "/api/v1/nodes", {"metadata": {"name": NODE}})
        self.api = hami.Node(self.rest, None, NODE, None)
        self.plain = ["--nvidia", "--nvidia-driver-root", folder]
        self.shared = [*self.plain, "--hami", "--host-root", folder]

    def use(self, shared):
        self.flags, self.devices = (self.shared, GPUS * SPLIT) if shared else (self.plain, GPUS)
        return self

    def place(self, name, uuid):
        """A pod that the scheduler has bound, and its lock."""
        seconds = str(int(time.time()))
        entry = f"{uuid},NVIDIA,1000,10:;"
        self.api.create(name, hami.container("a", gpus=1, memory=1000, cores=10), nodeName=NODE, annotations={
            "hami.io/vgpu-node": NODE, "hami.io/vgpu-time": seconds, "hami.io/bind-time": seconds,
            PHASE: "allocating", LEFT: entry, GIVEN: entry})
        self.api.annotate(LOCK, f"{now()},{hami.NAMESPACE},{name}")

    def read_and_patch(self, name):
        """How long the API server takes for both, in ms."""
        began = time.monotonic_ns()
        self.api.pod(name)
        self.api.patch_pod(name, {"metadata": {"annotations": {"example.com/a": "b"}}})
        return (time.monotonic_ns() - began) / 1e6

    def writes(self):
        return sum(self.cluster.writes("hostdev-agent/").values())


def allocates(node):
    heading(f"HAMi: {ALLOCATES} Allocates of a pod with one GPU, API server beside; load {load()}")
    with node.use(shared=True).running():
        wait_until(node.api.registered, 30, "the register annotation")
        node.api.ready(node.devices)
        time.sleep(SETTLE_S)
        before, times, plain = node.writes(), [], []
        for i in range(ALLOCATES):
            uuid = node.uuids[i % GPUS]
            node.place(f"pod-{i}", uuid)
            plain.append(node.read_and_patch(f"pod-{i}"))
            times += ns_to_ms(node.kubelet.allocate([f"{uuid}-{i // GPUS % SPLIT}"], 1)["took"])
            wait_until(lambda: not node.api.annotation(LOCK), 30, "the lock is released")
            node.api.delete(f"pod-{i}")
        writes = node.writes() - before
    figure("Allocate, client in Go: p50, p99", ms(times), "goal p50 10 ms; peer 21 to 35 ms")
    figure("    a read and a patch of a pod alone", ms(plain), "what the API server takes of it")
    figure("writes to the API server for each", f"{writes / ALLOCATES:.2f}", "goal 2")


def lost(node):
    heading("HAMi: a GPU of 8 is lost, and another one")
    times, touched = [], 0
    with node.use(shared=True).running():
        wait_until(node.api.registered, 30, "the register annotation")
        before = node.api.registered()
        for gpu in range(GPUS - 1):
            at = node.tell(f"lost {gpu}")
            uuid = node.uuids[gpu]
            while (now := node.api.registered())[uuid].get("health"):
                time.sleep(0.002)
            times.append((time.monotonic_ns() - at) / 1e6)
            after = {other: one for other, one in now.items() if other not in node.uuids[:gpu + 1]}
            touched += sum(one != before[other] for other, one in after.items())
    figure("until the Node's annotation says so: p50, p99", ms(times, 0), "goal 1 s; peer ends with a panic")
    figure("entries of other GPUs that changed", f"{touched}", "goal 0; peer loses all of the node")


def at_rest(node, seconds):
    heading(f"HAMi: 8 GPUs with {SPLIT} units each at rest for {seconds} s")
    used = {}
    for shared in False, True:
        with node.use(shared).running():
            time.sleep(SETTLE_S)
            before = node.writes()
            if shared:
                time.sleep(seconds)
            writes, used[shared] = node.writes() - before, smaps(node.agent.pid)
    figure("RSS of the agent", f"+{used[True]['Rss'] - used[False]['Rss']:.2f} MiB",
           f"goal 0.5 MiB; {used[False]['Rss']:.1f} MiB with --nvidia alone; peer 40 to 42 MB in all")
    figure("private dirty memory of the agent", f"+{used[True]['Private_Dirty'] - used[False]['Private_Dirty']:.2f} MiB")
    figure("writes to the API server", f"{writes}", "goal 0; peer one per 30 s")


def run(idle):
    with tools() as folder, control_plane() as cluster, tempfile.TemporaryDirectory(prefix="g-", dir="/tmp") as scratch:
        scratch = Path(scratch)
        kubelet = Kubelet(folder / "kubelet", scratch / "k")
        node = HamiNode(cluster, kubelet, scratch / "node")
        try:
            allocates(node)
            lost(node)
            at_rest(node, idle)
        finally:
            node.api.close()
            kubelet.end()
