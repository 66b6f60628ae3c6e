"""What a large cluster costs: the controller's memory and pace, the API server's and etcd's memory, agents that all
come back at once.

The API server and etcd are real. Nodes and PCIDevices are made by bench_load, most of them cheaper than agents make
them: one POST each to an API server without watch caches, while the kind has no status subresource; what is stored
differs by one entry of managedFields. Everything is measured on an API server that was started anew after that, with
the schema as it ships. The agents are hollow (bench_agents): real clients and informers of lib/kube, with the watches
of real agents, in one process and with one token.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from agent_cost import program, smaps
from cluster import ROOT, Cluster, wait_until
from reconnects import Reconnects
from report import figure, heading, quantile
from rest import GROUP, Rest

NAMESPACE = "hostdev-system"
POOLS = "/apis/hostdev.io/v1alpha1/devicepools"
LISTED = "devices, claims, nodes and agents have been listed"
ETCD_QUOTA = 8 << 30
CONNECTIONS = 8
APPLIED_NODES = 10  # whose devices are published as agents do
WATCHES = 12        # of one agent: bench_agents.c
LAGS = 50
MIB = 1 << 20


class Bench:
    def __init__(self, cluster, options, folder):
        self.cluster, self.options, self.folder = cluster, options, folder
        self.rest = Rest(cluster.kubeconfig)

    def pid(self, name):
        return int((self.cluster.folder / "pids" / name).read_text())

    def kubeconfig(self, account):
        """With a token of this ServiceAccount of ours."""
        path = self.folder / f"{account}.kubeconfig"
        path.write_text(self.cluster.control("sa-kubeconfig", NAMESPACE, account))
        return path

    def restart_api_server(self, *options):
        self.cluster.control("kill", "kube-apiserver")
        # The last thread of a killed process gives its files back, which may be long after the first has ended.
        wait_until(lambda: not taken(self.rest.connection.port), 60, "the API server's end")
        Cluster.start(self.cluster.folder, *options)


def taken(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def status_mib(pid, field):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return 0


def forget_peak(pid):
    """VmHWM begins anew: proc(5), clear_refs."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def cpu_s(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def mib(value):
    return f"{value:,.0f} MiB"


# --- the load ------------------------------------------------------------------------------------------------------


def load(bench, how, nodes, limit):
    """(devices, seconds) that it took."""
    command = [program("release", "bench_load"), bench.cluster.kubeconfig, how, nodes, bench.options.devices,
               CONNECTIONS, limit]
    run = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True)
    devices, took_ms = map(int, run.stdout.split("\n")[-2].split())
    return devices, took_ms / 1000


def load_as_agents(bench):
    nodes = min(APPLIED_NODES, bench.options.nodes)
    before = cpu_s(bench.pid("kube-apiserver"))
    devices, took = load(bench, "apply", nodes, 120)
    cpu = cpu_s(bench.pid("kube-apiserver")) - before
    figure(f"{devices:,} devices published as agents do", f"{devices / took:.0f} per s")
    figure("API server's processor time of one (two applies)", f"{cpu * 1000 / devices:.1f} ms")


def load_rest(bench):
    """The number of devices that there are then."""
    restart_for_load(bench)
    crd = "pcidevices.devices.harvesterhci.io"
    bench.cluster.kubectl("patch", "crd", crd, "--type=json", "-p",
                          '[{"op":"remove","path":"/spec/versions/0/subresources"}]')
    time.sleep(3)  # until it is served so
    _, took = load(bench, "create", bench.options.nodes, bench.options.load_limit)
    bench.cluster.kubectl("apply", "-f", ROOT / "crds")
    time.sleep(3)
    bench.restart_api_server()
    devices = count(bench)
    wanted = bench.options.nodes * bench.options.devices
    figure("devices in the API server", f"{devices:,}", f"wanted {wanted:,}; {took:.0f} s")
    return devices


def restart_for_load(bench):
    os.environ["GOGC"] = "400"
    try:
        bench.restart_api_server("--apiserver", "--watch-cache=false", "--apiserver", "--audit-log-path=")
    finally:
        del os.environ["GOGC"]


def wait_cached(bench):
    """The API server answers from its watch cache, that is, it has all devices in memory."""
    query = urlencode({"labelSelector": "nodename=worker-00000", "resourceVersion": "0"})

    def ask():
        try:
            return bench.rest.request("GET", f"{GROUP}/pcidevices?{query}")[0] == 200
        except OSError:
            return False
    wait_until(ask, 900, "the API server's watch cache")


def count(bench):
    """Devices, without reading them all; an API server that has just been started may not answer yet."""
    def ask():
        try:
            code, answer = bench.rest.request("GET", f"{GROUP}/pcidevices?limit=1")
        except OSError:
            return None
        return answer["metadata"] if code == 200 else None
    return 1 + wait_until(ask, 300, "a list of one device").get("remainingItemCount", 0)


# --- the API server and etcd ---------------------------------------------------------------------------------------


def servers(bench, when):
    db = (bench.cluster.folder / "etcd/member/snap/db").stat().st_size
    figure(f"API server, {when}", mib(smaps(bench.pid("kube-apiserver"))["Rss"]))
    figure(f"etcd, {when}", mib(smaps(bench.pid("etcd"))["Rss"]), f"database {mib(db / MIB)}")


# --- the controller ------------------------------------------------------------------------------------------------


class Replica:
    """A running hostdev-controller; `synced` is how long it took to list everything."""

    def __init__(self, bench, name):
        self.log = bench.folder / f"{name}.log"
        command = [program("release", "hostdev-controller"), "--kubeconfig", bench.kubeconfig("hostdev-controller"),
                   "--listen", "off", "--namespace", NAMESPACE, "--agent-pods", "none", "--pod-name", name]
        began = time.monotonic()
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stderr=log)
        try:
            wait_until(lambda: self.process.poll() is not None or LISTED in self.log.read_text(), 900, name)
        except BaseException:
            self.stop()
            raise
        assert self.process.poll() is None, f"{name} ended:\n{self.log.read_text()[-2000:]}"
        self.synced = time.monotonic() - began

    def rss(self):
        return smaps(self.process.pid)["Rss"]

    def peak(self):
        return status_mib(self.process.pid, "VmHWM")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


@contextmanager
def replica(bench, name):
    started = Replica(bench, name)
    try:
        yield started
    finally:
        started.stop()


def empty_replicas(bench):
    with replica(bench, "leader") as leader, replica(bench, "standby") as standby:
        time.sleep(3)
        return [leader.rss(), standby.rss()]


def controllers(bench, devices, empty):
    began = time.monotonic()
    with replica(bench, "leader") as leader:
        wait_until(lambda: pooled(bench) == devices, 300, lambda: f"{pooled(bench)} of {devices} are in DevicePools")
        figure("DevicePools count all, since the leader's start", f"{time.monotonic() - began:.1f} s")
        with replica(bench, "standby") as standby:
            time.sleep(5)
            sizes(("leader", "standby"), (leader, standby), empty, devices)
            lags(bench, "leader", LAGS)
            handover(bench, leader)
            lags(bench, "former standby", LAGS // 5)


def sizes(names, running, empty, devices):
    for name, one, without in zip(names, running, empty):
        figure(f"{name}: cold sync, from its start", f"{one.synced:.1f} s")
        figure(f"{name}: memory without and with devices", f"{without:.1f}, {one.rss():.1f} MiB",
               f"at most {one.peak():.1f} MiB")
        figure(f"{name}: memory of a device", f"{(one.rss() - without) * MIB / devices:.0f} B", "goal 600 B")


def pools(bench):
    return bench.rest.get(POOLS)["items"]


def pooled(bench):
    return sum(pool.get("status", {}).get("devices", 0) for pool in pools(bench))


def a_device_of_each(bench):
    """(device, its pool) of different pools."""
    by_resource = {pool["spec"]["resourceName"]: pool["metadata"]["name"] for pool in pools(bench)}
    found = {}
    for device in bench.rest.get(f"{GROUP}/pcidevices", limit=bench.options.devices)["items"]:
        found[device["status"]["resourceName"]] = device["metadata"]["name"]
    return [(name, by_resource[resource]) for resource, name in found.items()]


def allocated(bench, pool):
    return bench.rest.get(f"{POOLS}/{pool}").get("status", {}).get("allocated", 0)


def lag(bench, device, pool, timeout=60):
    """Seconds from the answer to a change of the device until its DevicePool says so."""
    path = f"{GROUP}/pcidevices/{device}/status"
    had = allocated(bench, pool)
    pods = None if had else [{"namespace": "default", "pod": "vm", "container": "compute"}]
    code, answer = bench.rest.request("PATCH", path, {"status": {"allocations": pods}}, "application/merge-patch+json")
    assert code == 200, answer
    began = time.monotonic()
    while allocated(bench, pool) == had:
        assert time.monotonic() - began < timeout, f"{pool} does not follow {device}"
        time.sleep(0.02)
    return time.monotonic() - began


def lags(bench, who, changes):
    pairs = a_device_of_each(bench)
    waits = [lag(bench, *pairs[i % len(pairs)]) for i in range(changes)]
    figure(f"{who}: DevicePool lag, p50 of {changes}", f"{quantile(waits, .5):.2f} s", "1 s of it on purpose")
    figure(f"{who}: DevicePool lag, p99", f"{quantile(waits, .99):.2f} s", "goal 2 s")


def handover(bench, leader):
    pair = a_device_of_each(bench)[0]
    began = time.monotonic()
    leader.stop()
    lag(bench, *pair)
    figure("SIGTERM to the leader until the other has counted a change", f"{time.monotonic() - began:.1f} s",
           "goal 3 s and the lag")


# --- agents --------------------------------------------------------------------------------------------------------


@contextmanager
def hollow_agents(bench, log):
    """All of them, with everything listed."""
    agents = bench.options.agents
    command = [program("release", "bench_agents"), bench.kubeconfig("hostdev-agent"), agents]
    began = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "synced\n", "bench_agents ended"
        figure(f"{agents:,} agents started at once: all listed", f"{time.monotonic() - began:.1f} s")
        log.read()
        wait_until(lambda: log.read() or log.watching() == agents * WATCHES, 120, "watches")
        yield process
    finally:
        process.terminate()
        process.wait()


def wait_back(bench, log, began, what):
    wanted = bench.options.agents * WATCHES
    pid = bench.pid("kube-apiserver")

    def back():
        log.read()
        return log.watching() == wanted
    wait_until(back, 1800, lambda: f"{what}: {log.watching()} of {wanted} watches are back")
    took = log.last_open() - began
    lists = sum(n for (verb, _), n in log.statuses.items() if verb == "list")
    refused = sum(n for (_, status), n in log.statuses.items() if status >= 400)
    figure(f"{what}: all {wanted:,} watches are back", f"{took:.1f} s")
    figure(f"{what}: requests meanwhile", f"{len(log.requests):,}", f"{lists:,} lists; {refused:,} refused for now")
    figure(f"{what}: requests per second", f"{len(log.requests) / took:.0f}",
           f"in the busiest second {log.busiest_second():,}")
    figure(f"{what}: API server's memory, most of all", mib(status_mib(pid, "VmHWM")))


def storm(bench):
    audit = bench.cluster.folder / "audit.log"
    with hollow_agents(bench, Reconnects(audit, "bench_agents/")) as process:
        figure("API server with them", mib(smaps(bench.pid("kube-apiserver"))["Rss"]))
        forget_peak(bench.pid("kube-apiserver"))
        log, began = Reconnects(audit, "bench_agents/"), time.time()
        process.send_signal(signal.SIGUSR1)
        cut = int(process.stdout.readline().split()[1])
        assert cut == bench.options.agents, f"{cut} connections were cut"
        wait_back(bench, log, began, "connections cut")

        log, began = Reconnects(audit, "bench_agents/"), time.time()
        bench.restart_api_server()
        figure("API server killed: ready again", f"{time.time() - began:.1f} s")
        wait_back(bench, log, began, "API server killed")


# --- all of it -----------------------------------------------------------------------------------------------------


def start(folder):
    os.environ["ETCD_QUOTA_BACKEND_BYTES"] = str(ETCD_QUOTA)
    return Cluster.start(folder)


def install(bench):
    bench.cluster.kubectl("apply", "-f", ROOT / "crds")
    bench.cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", ROOT / "crds")
    bench.cluster.kubectl("apply", "--server-side", "-k", ROOT / "manifests/overlays/local")


def part(measure, *args):
    """What cannot be measured hinders nothing else."""
    try:
        measure(*args)
    except (AssertionError, OSError) as error:
        figure(measure.__name__, "not measured", str(error))


def measure(bench):
    servers(bench, "bare")
    install(bench)
    time.sleep(5)
    servers(bench, "with our schema, no objects")
    empty = empty_replicas(bench)
    load_as_agents(bench)
    devices = load_rest(bench)
    began = time.monotonic()
    wait_cached(bench)
    figure("API server, started anew: has them in its watch cache", f"{time.monotonic() - began:.1f} s")
    servers(bench, "with all of it")
    part(controllers, bench, devices, empty)
    servers(bench, "after that")
    part(storm, bench)


def run(options):
    heading(f"a cluster of {options.nodes:,} nodes with {options.devices} devices each, {options.agents:,} agents")
    folder = Path(tempfile.mkdtemp(prefix="hostdev-bench-"))
    try:
        measure(Bench(start(folder / "cluster"), options, folder))
    finally:
        Cluster.stop(folder / "cluster")
        shutil.rmtree(folder)
