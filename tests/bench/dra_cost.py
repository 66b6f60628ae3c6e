"""What Dynamic Resource Allocation costs: the agent beside a driver on Kubernetes' own helper, on one API server.

tests/flow/dra/kubelet plays the kubelet. The agent has 64 claimed devices of a synthetic machine; the peer says that it has
the same ones. Both read each claim from the API server, and write CDI files and metadata. Only the agent keeps a checkpoint.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from agent_cost import control_plane, program, smaps
from claim_cost import ENDED, Bench, make_vfio
from cluster import ROOT, WRITES, wait_until
from report import figure, heading, quantile

sys.path += [str(ROOT / "tests/flow/node"), str(ROOT / "tests/flow")]
from dra import programs  # noqa: E402
from rest import MERGE, Rest  # noqa: E402

NODE, OURS, PEER = "dra-bench", "hostdev.io", "peer.example.com"
DEVICES, FUNCTIONS, PREPARED, FREE, CALLS = 64, 96, 32, 8, 500
GOALS = {"p50": 5, "p99": 15}  # ms of the agent's Prepare
ON_DEMAND_GOAL = 50  # ms beyond the bind itself
RUNTIME = "containerd://2.2.9"
API = "/apis/resource.k8s.io/v1"
CLAIMS = f"{API}/namespaces/default/resourceclaims"
SLICES = f"{API}/resourceslices"
MEMORY = [("Rss", "RSS"), ("Pss", "PSS"), ("Private_Dirty", "private dirty")]


class Kubelet:
    """One driver as a kubelet has it, in a folder of its own."""

    def __init__(self, folder, driver):
        self.folder, self.driver = folder, driver
        for name in ("device-plugins", "plugins_registry", "pod-resources", "cdi"):
            (folder / name).mkdir(parents=True)
        self.process = subprocess.Popen([f"{programs()}/kubelet"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def do(self, *words):
        """What a command answers; it must succeed."""
        answer = self.ask(*words)
        assert "error" not in answer, f"{words}: {answer}"
        return answer

    def register(self):
        return self.do("register", str(self.folder / "plugins_registry"), self.driver)

    def forget(self):
        self.do("forget", self.driver)

    def call(self, verb, claim):
        """How long it took, in ms."""
        return self.do(verb, self.driver, "default", claim["name"], claim["uid"])["took"] / 1e6

    def tries(self, verb, claim):
        """Does it succeed?"""
        return "error" not in self.ask(verb, self.driver, "default", claim["name"], claim["uid"])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Driver:
    """A driver that runs, its kubelet, and a claim for each of its devices. An agent that has just begun refuses claims for
    a while, because no kubelet lists its pods here."""

    def __init__(self, cluster, rest, kubelet, node, process):
        self.cluster, self.rest, self.kubelet, self.node, self.process = cluster, rest, kubelet, node, process
        kubelet.register()
        self.devices = wait_until(self.published, 60, f"the slices of {kubelet.driver} on {node}")
        self.claims = [self.claim(name) for name in sorted(self.devices)]

    def offered(self):
        """{name: address} of the devices in its slices."""
        query = {"fieldSelector": f"spec.driver={self.kubelet.driver},spec.nodeName={self.node}"}
        return {device["name"]: device["attributes"]["resource.kubernetes.io/pciBusID"]["string"]
                for one in self.rest.get(SLICES, **query)["items"] for device in one["spec"].get("devices") or []}

    def published(self):
        """The same; None as long as some are missing."""
        found = self.offered()
        return found if len(found) == DEVICES else None

    def claim(self, device):
        """One that is allocated, as a scheduler does it."""
        name = f"{self.node}-{device}"
        spec = {"devices": {"requests": [{"name": "card", "exactly": {"deviceClassName": "any"}}]}}
        status, made = self.rest.request("POST", CLAIMS, {"metadata": {"name": name}, "spec": spec})
        assert status == 201, made
        results = [{"request": "card", "driver": self.kubelet.driver, "pool": self.node, "device": device}]
        status, answer = self.rest.request("PATCH", f"{CLAIMS}/{name}/status",
                                           {"status": {"allocation": {"devices": {"results": results}}}}, MERGE)
        assert status == 200, answer
        return {"name": name, "uid": made["metadata"]["uid"]}

    def wait_ready(self):
        """Until it prepares a claim."""
        wait_until(lambda: self.kubelet.tries("prepare", self.claims[0]), 120, f"{self.kubelet.driver} prepares a claim")
        self.kubelet.call("unprepare", self.claims[0])

    def work(self, calls):
        """ms of that many Prepare calls; each claim is unprepared before the next."""
        took = []
        for claim in itertools.islice(itertools.cycle(self.claims), calls):
            took.append(self.kubelet.call("prepare", claim))
            self.kubelet.call("unprepare", claim)
        return took

    def restart_kubelet(self):
        """Seconds from the deletion of the slices, as a kubelet that begins deletes them, until all are there again."""
        self.kubelet.forget()
        status, answer = self.rest.request("DELETE", f"{SLICES}?fieldSelector=spec.nodeName%3D{self.node}")
        assert status == 200, answer
        began = time.monotonic()
        self.kubelet.register()
        while not self.published():
            assert time.monotonic() - began < 120, f"the slices of {self.kubelet.driver} do not come back"
            time.sleep(0.005)
        return time.monotonic() - began

    def memory(self):
        return smaps(self.process.pid)

    def processor_time(self):
        """Of the driver so far, in ms."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


# --- the machine and its agent -----------------------------------------------------------


def make_node(cluster, name):
    cluster.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    info = {"containerRuntimeVersion": RUNTIME}
    cluster.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p",
                    json.dumps({"status": {"nodeInfo": info}}))


def agent_command(cluster, tree):
    return [program("release"), "--kubeconfig", cluster.kubeconfig, "--node-name", NODE, "--listen", "off",
            "--sysfs-root", tree / "sys", "--proc-root", tree / "proc", "--dev-root", tree / "dev",
            "--state-dir", tree / "state", "--helper", program("release", "bench_helper")]


def folders(kubelet):
    """An agent's flags for the folders of a kubelet and its container runtime."""
    return ["--registration", "registry", "--kubelet-dir", kubelet.folder, "--cdi-dir", kubelet.folder / "cdi"]


@contextmanager
def running(command, log):
    with open(log, "a") as stderr:
        process = subprocess.Popen(list(map(str, command)), stderr=stderr)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def claim_devices(cluster, folder, tree):
    """Has an agent claim them, with the kernel's part played; the PCIDevices."""
    def claimable():
        found = [device for device in cluster.get("pcidevices") if any(
            c["type"] == "Claimable" and c["status"] == "True" for c in device.get("status", {}).get("conditions", []))]
        return found[:DEVICES] if len(found) >= DEVICES else None

    log = folder / "claiming.log"
    with running([*agent_command(cluster, tree), "--device-plugins=false"], log):
        devices = wait_until(claimable, 60, "claimable devices")
        Bench(cluster, NODE, log.read_text).claim([device["status"]["address"] for device in devices])
        return devices


def memory_without_dra(cluster, folder, tree):
    kubelet = Kubelet(folder / "without", OURS)
    try:
        with running([*agent_command(cluster, tree), *folders(kubelet)], folder / "without.log") as process:
            wait_until(lambda: list((kubelet.folder / "plugins_registry").iterdir()), 60, "an agent that offers devices")
            time.sleep(3)
            return smaps(process.pid)
    finally:
        kubelet.close()


def configure(cluster, devices, mode="Claimed"):
    """The models of these devices by DRA."""
    models = sorted({f"{d['status']['vendorId']}:{d['status']['deviceId']}" for d in devices})
    entries = [{"resourceName": f"bench.example.com/{model.replace(':', '-')}", "pciVendorSelector": model,
                "dra": {"mode": mode}} for model in models]
    cluster.kubectl("apply", "-f", "-", input={
        "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
        "spec": {"pciHostDevices": entries}})


def start_all(stack, cluster, folder, tree, devices):
    """The agent, the peer as it is and the peer with as many requests a second as the goal names."""
    rest = Rest(cluster.kubeconfig)
    addresses = [device["status"]["address"] for device in devices]

    def start(name, node, driver, command, flags):
        kubelet = Kubelet(folder / name, driver)
        stack.callback(kubelet.close)
        process = stack.enter_context(running([*command, *flags(kubelet)], folder / f"{name}.log"))
        return Driver(cluster, rest, kubelet, node, process)

    started = [start("ours", NODE, OURS, agent_command(cluster, tree), folders)]
    for name, qps in (("peer", 0), ("peer-50", 50)):
        make_node(cluster, name)
        command = [f"{programs()}/peer", "-kubeconfig", cluster.kubeconfig, "-node", name, "-qps", qps,
                   "-sysfs-root", tree / "sys", "-devices", ",".join(addresses)]
        started.append(start(name, name, PEER, command,
                             lambda kubelet: ["-kubelet-dir", kubelet.folder, "-cdi-dir", kubelet.folder / "cdi"]))
    return started


# --- figures -------------------------------------------------------------------------------


def writes(cluster, agent, since):
    """Requests of the user agent that write, in the audit log behind that place."""
    return sum(event["verb"] in WRITES and event.get("userAgent", "").startswith(agent) for event in cluster.audit()[since:])


def shown(took):
    return f"{quantile(took, 0.5):.1f}, {quantile(took, 0.99):.1f} ms"


def prepare(cluster, drivers):
    """One driver after the other: turns would let the peer save up what it may ask the API server."""
    heading(f"NodePrepareResources with {DEVICES} devices, {CALLS} claims in a row (load {os.getloadavg()[0]:.1f})")
    took, spent = [], []
    for driver in drivers:
        driver.wait_ready()
        since, before = len(cluster.audit()), driver.processor_time()
        took.append(driver.work(CALLS))
        spent.append((driver.processor_time() - before) / CALLS)
        if driver is drivers[0]:
            written = writes(cluster, "hostdev-agent/", since) / CALLS
    ours, peer, peer_50 = took
    figure("hostdev: p50, p99", shown(ours), "goal " + ", ".join(f"{k} {v} ms" for k, v in GOALS.items()))
    for what, theirs, goal in (("as it is", peer, 10), ("with 50 requests a second", peer_50, 5)):
        ratio = quantile(theirs, 0.5) / quantile(ours, 0.5)
        figure(f"peer, {what}: p50, p99", shown(theirs), f"{ratio:.0f} times ours at p50, goal {goal}")
    figure("processor time of the agent for each Prepare and Unprepare", f"{spent[0]:.1f} ms", f"peer {spent[1]:.1f} ms")
    figure("writes of the agent for each Prepare", f"{written:.2f}", "goal 0")


def restarts(drivers):
    heading("slices after a restart of the kubelet, which deletes them")
    for what, driver in zip(("hostdev", "peer"), drivers):
        goal = "goal 1 s" if what == "hostdev" else ""
        figure(f"{what}: until all are there again", f"{driver.restart_kubelet():.2f} s", goal)


def memory(drivers, without):
    heading(f"memory with {DEVICES} devices, {PREPARED} of them prepared")
    ours, peer = drivers[:2]
    for driver in (ours, peer):
        for claim in driver.claims[:PREPARED]:
            driver.kubelet.call("prepare", claim)
    time.sleep(3)
    mine, theirs = ours.memory(), peer.memory()
    for field, what in MEMORY:
        figure(what, f"{mine[field]:.1f} MiB",
               f"{mine[field] - without[field]:+.1f} MiB by DRA{', goal 1' if field == 'Private_Dirty' else ''}; "
               f"peer {theirs[field]:.1f} MiB")


def on_demand(cluster, ours, log):
    """Each free device once, because one that has just been given back is first watched for a while."""
    configure(cluster, cluster.get("pcidevices"), "OnDemand")

    def free():
        found = sorted(set(ours.offered()) - set(ours.devices))
        return found if len(found) >= FREE else None

    claims = [ours.claim(name) for name in wait_until(free, 60, f"{FREE} free devices in the slices")]
    heading(f"NodePrepareResources of {len(claims)} free devices, bound on demand, with the kernel's part played")
    mark = len(ENDED.findall(log.read_text()))
    took = []
    for claim in claims:
        took.append(ours.kubelet.call("prepare", claim))
        time.sleep(1)  # the scan after it
    binds = [int(helper) / 1000 for verb, _, helper, _ in ENDED.findall(log.read_text())[mark:] if verb == "bind"]
    assert len(binds) == len(took), f"{len(binds)} binds in the log, not {len(took)}"
    figure("bind alone, as the helper ran: p50, p99", shown(binds))
    figure("Prepare: p50, p99", shown(took))
    figure("Prepare beyond its bind: p50, p99", shown([all_of_it - bind for all_of_it, bind in zip(took, binds)]),
           f"goal {ON_DEMAND_GOAL} ms")
    for claim in claims:
        ours.kubelet.call("unprepare", claim)


def run():
    if os.geteuid() != 0:
        heading("Dynamic Resource Allocation")
        figure("skipped", "needs root")
        return
    with control_plane() as cluster, tempfile.TemporaryDirectory(dir="/dev/shm") as name, ExitStack() as stack:
        cluster.wait_kinds()
        folder = Path(name)
        tree = folder / "tree"
        subprocess.run([ROOT / "tests/fake/tree/make_tree", "--functions", str(FUNCTIONS), tree], check=True)
        make_vfio(tree)
        (tree / "dev/vfio/vfio").touch()
        devices = claim_devices(cluster, folder, tree)
        make_node(cluster, NODE)
        without = memory_without_dra(cluster, folder, tree)
        configure(cluster, devices)
        drivers = start_all(stack, cluster, folder, tree, devices)
        prepare(cluster, drivers)
        restarts(drivers[:2])
        memory(drivers, without)
        on_demand(cluster, drivers[0], folder / "ours.log")
