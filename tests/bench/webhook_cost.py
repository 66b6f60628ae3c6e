"""What an admission review costs: how long it is waited for, and the memory of the program that answers it.

A claim is asked about, of a device that exists, so that all rules are gone through; 500 times a second over eight
connections that are kept, as API servers do. An own client: a Python one costs more than what is measured.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from agent_cost import built, control_plane, program
from cluster import wait_until
from report import figure, heading, quantile

NODE, DEVICES = "node1", 600
RATE, SECONDS, CONNECTIONS = 500, 10, 8
GROUP = "devices.harvesterhci.io"
PORT = 19443


def address(i):
    return f"0000:{i // 8:02x}:{i % 8:02x}.0"


def name(i):
    return f"{NODE}-{address(i).replace(':', '').replace('.', '')}"


def add_devices(cluster):
    """Devices of one node, claimable and each in a group of its own."""
    items = []
    for i in range(DEVICES):
        items.append({"apiVersion": f"{GROUP}/v1beta1", "kind": "PCIDevice",
                      "metadata": {"name": name(i), "labels": {"nodename": NODE}}})
    cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": items}))


def review():
    """As an API server sends it for `kubectl create`."""
    claim = {"apiVersion": f"{GROUP}/v1beta1", "kind": "PCIDeviceClaim",
             "metadata": {"name": name(17), "uid": "5c1b6f0e-1111-2222-3333-444455556666", "generation": 1,
                          "creationTimestamp": "2026-01-02T03:04:05Z",
                          "managedFields": [{"manager": "kubectl-create", "operation": "Update",
                                             "apiVersion": f"{GROUP}/v1beta1", "fieldsType": "FieldsV1",
                                             "fieldsV1": {"f:spec": {"f:address": {}, "f:nodeName": {},
                                                                     "f:userName": {}}}}]},
             "spec": {"address": address(17), "nodeName": NODE, "userName": "ann"}}
    kind = {"group": GROUP, "version": "v1beta1", "kind": "PCIDeviceClaim"}
    resource = {"group": GROUP, "version": "v1beta1", "resource": "pcideviceclaims"}
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "0df28fbd-5f5f-11e8-bc74-36e6bb280816", "kind": kind, "resource": resource, "requestKind": kind,
        "requestResource": resource, "name": name(17), "operation": "CREATE",
        "userInfo": {"username": "ann", "groups": ["staff", "system:authenticated"]}, "object": claim,
        "oldObject": None, "dryRun": False, "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}}}


def memory_kib(pid, field):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    return 0


def cpu_us(pid):
    """What it has had of processors."""
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) * 1_000_000 // os.sysconf("SC_CLK_TCK")


def answers(port):
    """The webhook has a certificate, and answers."""
    return subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}"], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=20).returncode == 0


def load(preset, folder):
    """The waits of all reviews in us: since they were sent, and since they were due."""
    path = Path(folder) / "review.json"
    path.write_text(json.dumps(review(), separators=(",", ":")))
    command = [program(preset, "bench_webhook"), PORT, path, RATE, SECONDS, CONNECTIONS]
    run = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True)
    return list(zip(*(map(int, line.split()) for line in run.stdout.splitlines())))


def measure(cluster, preset):
    command = [program(preset, "hostdev-controller"), "--kubeconfig", cluster.kubeconfig, "--listen", "off",
               "--webhook-listen", f"127.0.0.1:{PORT}", "--namespace", "default"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: answers(PORT), 60, "the webhook")
        time.sleep(2)  # its lists
        with tempfile.TemporaryDirectory() as folder:
            began = cpu_us(process.pid)
            sent, due = load(preset, folder)
            cost = (cpu_us(process.pid) - began) / len(sent)
        figure(f"{preset}: p50 of {len(sent)} reviews, since sent", f"{quantile(sent, .5)} us")
        figure(f"{preset}: p99, since sent", f"{quantile(sent, .99)} us", "goal 1,000 us")
        figure(f"{preset}: p99, since due", f"{quantile(due, .99)} us", "the client's own delay within")
        figure(f"{preset}: processor time of one", f"{cost:.0f} us")
        figure(f"{preset}: memory, most of all", f"{memory_kib(process.pid, 'VmHWM') / 1024:.1f} MiB", "goal 12 MiB")
    finally:
        process.terminate()
        process.wait()


def run(presets=None):
    heading(f"webhook: {RATE} claims a second are asked about, {DEVICES} devices known")
    with control_plane() as cluster:
        add_devices(cluster)
        for preset in presets or built():
            measure(cluster, preset)
