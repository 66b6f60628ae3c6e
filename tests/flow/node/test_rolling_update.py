"""hostdev is brought to another version and back, as docs/upgrade.md says, while a pod has a claimed device.

The other version is the same programs with another version in them, which is what rollouts, user agents and metrics
show of it.
"""

import os
import re
import shutil
import subprocess
import threading
import time
from datetime import datetime, timezone

import pytest

from bindings import Bindings
from claims import IGB, NIC, TWIN
from cluster import ROOT, wait_until
from kubectl_watch import HOURS, KubectlWatch
from kubelet import Pod
from node import NODE, pci_name
from node_agent import PROGRAMS
from test_pods import as_pods, claim_of, wait_returned

VERSION = re.search(r"^project\(hostdev VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
NEXT = VERSION[:-1] + ("9" if VERSION[-1] != "9" else "8")
pytestmark = pytest.mark.timeout(600)  # the first test waits for the node and its four roll-outs
REGISTRATION = 30  # seconds from the start of an agent's container until the Node, told every 10, has its resources


def with_version(programs, folder, version):
    """Copies of the programs in which their version is another one of the same length."""
    for name in ("hostdev-agent", "hostdev-helper", "hostdev-names", "hostdev-controller"):
        text = (programs / name).read_bytes()
        (folder / name).write_bytes(text.replace(f"{VERSION}\0".encode(), f"{version}\0".encode()))
        (folder / name).chmod(0o755)
    for name in ("hostdev-agent", "hostdev-controller"):
        said = subprocess.run([folder / name, "--version"], check=True, capture_output=True, text=True).stdout
        assert version in said and VERSION not in said
    return folder


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Of both versions: local and next."""
    programs = ROOT / os.fspath(PROGRAMS)
    found = []
    for tag, folder in ("local", programs), ("next", with_version(programs, tmp_path_factory.mktemp("next"), NEXT)):
        output = tmp_path_factory.mktemp(f"images-{tag}")
        subprocess.run([ROOT / "hack/image", "--programs", folder, "--output", output, "--tag", tag], check=True)
        for image in sorted(output.glob("*.tar")):
            found.append(shutil.move(image, output / f"{image.stem}-{tag}.tar"))
    return found


@pytest.fixture(scope="module")
def hostdev(booted, images):
    with as_pods(booted, images) as made:
        yield made


@pytest.fixture
def node(hostdev):
    """As for other tests, with the agent in its pod."""
    return hostdev.node


@pytest.fixture
def allocatable(hostdev):
    """The Node, as a watch shows it."""
    watch = KubectlWatch(hostdev.cluster, "nodes", "", "/api/v1/{}?" + HOURS)
    yield watch
    watch.close()


@pytest.fixture
def bindings(node):
    made = Bindings(node.guest)
    made.start()
    yield made
    made.stop()


class Asked:
    """Claims that are tried and not made, one after the other: each needs an answer of the webhook."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.times = 0
        self.failures = []
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._ask, daemon=True)
        self.thread.start()

    def _ask(self):
        while not self.ends.wait(0.2):
            tried = self.cluster.kubectl("create", "--dry-run=server", "-f", "-", input=claim_of(TWIN), check=False)
            self.times += 1
            if tried.returncode or f"bind {TWIN} to vfio-pci" not in tried.stderr:
                self.failures.append((time.strftime("%X"), tried.stderr))

    def end(self):
        self.ends.set()
        self.thread.join()


@pytest.fixture
def asked(hostdev):
    made = Asked(hostdev.cluster)
    yield made
    made.end()


class Versions:
    """What runs, and what it calls itself towards the API server."""

    def __init__(self, hostdev):
        self.hostdev = hostdev

    def set(self, workload, tag):
        kind, name = workload.split("/")
        component = name.removeprefix("hostdev-")
        self.hostdev.kubectl("set", "image", workload, f"{component}=localhost/hostdev/{component}:{tag}")
        self.wait(workload, component, tag)

    def wait(self, workload, component, tag):
        self.hostdev.kubectl("rollout", "status", workload, "--timeout=240s")
        image = f"localhost/hostdev/{component}:{tag}"
        wait_until(lambda: {pod["spec"]["containers"][0]["image"] for pod in self.hostdev.of(component)} == {image},
                   60, f"pods of {image} and no others")

    def said(self, program):
        """Versions by which it has called itself since the last call of forget()."""
        with open(self.hostdev.cluster.audit_log) as log:
            log.seek(self.at)
            return set(re.findall(rf'"userAgent":"{program}/([0-9.]+)', log.read()))

    def forget(self):
        self.at = self.hostdev.cluster.audit_log.stat().st_size


def gaps(watch, resource, mark):
    """[(begin, end)] of the times in which the Node has told of none; end None: still so."""
    found = []
    for event in watch.events[mark:]:
        if event.name != NODE:
            continue
        count = int(event.object["status"].get("allocatable", {}).get(resource, 0))
        if count == 0 and not (found and found[-1][1] is None):
            found.append((event.seen, None))
        elif count > 0 and found and found[-1][1] is None:
            found[-1] = (found[-1][0], event.seen)
    return found


def seconds_ago(stamp):
    then = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    return (datetime.now(timezone.utc) - then).total_seconds()


def wait_offered(hostdev, resource):
    """Until the Node has it again; no longer after the new agent's start than a registration takes."""
    [agent] = hostdev.of("agent")
    started = agent["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    hostdev.kubelet.wait_allocatable(resource, 1, timeout=max(1, REGISTRATION - seconds_ago(started)))


def test_versions_change_under_a_pod_that_has_a_device(hostdev, node, claims, allocatable, bindings, asked):
    """Controller first, then agents, and back the same way; in between, one is a version behind the other."""
    resource = node.pci_object(NIC)["status"]["resourceName"]
    claims.bind(NIC)
    hostdev.kubelet.wait_allocatable(resource, 1)
    pod = Pod(hostdev.kubelet, "guest-of-hostdev", {resource: 1})
    pod.create()
    versions = Versions(hostdev)
    try:
        pod.wait_running()
        wait_until(lambda: node.pci_object(NIC)["status"].get("allocations"), 30, "the pod told")
        identity, link = pod.identity(), bindings.link(NIC)
        bindings.forget()
        mark, claim_mark = allocatable.mark(), claims.watch.mark()

        for tag, version in ("next", NEXT), ("local", VERSION):
            versions.forget()
            versions.set("deployment/hostdev-controller", tag)
            wait_until(lambda version=version: version in versions.said("hostdev-controller"), 60, "its user agent")
            if tag == "next":
                assert gaps(allocatable, resource, mark) == [], "the controller has nothing to do with that"
            claims.bind(IGB)  # by an agent of the version that the controller was
            claims.release(IGB, timeout=90)
            claims.wait_drivers(IGB, "igb")
            versions.set("daemonset/hostdev-agent", tag)
            wait_until(lambda version=version: version in versions.said("hostdev-agent"), 60, "its user agent")
            wait_offered(hostdev, resource)
            assert pod.identity() == identity
            refused = hostdev.cluster.kubectl("delete", "--dry-run=server", "-f", "-", input=claim_of(NIC), check=False)
            assert "pod default/guest-of-hostdev has it" in refused.stderr

        asked.end()
        # HTTP/1.1 has no way to close a kept connection that cannot meet a request half-way (RFC 9112, 9.6), and the way
        # into an emulated machine is long: a review of each controller that ended may be lost so, in no other way.
        assert all(said.rstrip().endswith(": EOF") for _, said in asked.failures), asked.failures
        assert len(asked.failures) <= 4 and asked.times > 10, asked.failures
        assert [one for one in bindings.seen() if NIC in one] == [] and bindings.link(NIC) == link
        without = gaps(allocatable, resource, mark)
        assert len(without) <= 2 and all(end for _, end in without), "once for each agent, and it came back"
        for event in claims.watch.events[claim_mark:]:
            if event.name == pci_name(NIC):
                assert event.type == "MODIFIED" and event.object["status"]["passthroughEnabled"] is True
        pods = [pod["metadata"]["uid"] for pod in hostdev.of("agent") + hostdev.of("controller")]
        hostdev.install()
        assert pods == [pod["metadata"]["uid"] for pod in hostdev.of("agent") + hostdev.of("controller")], (
            "kubectl apply -k of what runs already rolls nothing out")
    finally:
        asked.end()
        pod.delete()
        wait_returned(node)  # before the claim may go
    claims.release(NIC, timeout=90)
    claims.wait_drivers(NIC, "e1000e")
