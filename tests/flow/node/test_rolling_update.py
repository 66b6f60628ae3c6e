"""hostdev is brought from its previous version to this one and back, as docs/upgrade.md says, while a pod has a claimed
device: definitions, controller, agents; on the way back controller and agents. In between, one of these two is a
version behind the other.
"""

import os
import shutil
import subprocess
from functools import partial

import pytest

from bindings import Bindings
from claims import IGB, NIC
from cluster import ROOT, wait_until
from kubectl_watch import HOURS, KubectlWatch
from kubelet import Pod
from node import NODE, pci_name
from node_agent import PROGRAMS
from previous import VERSION, previous
from registrations import FLAGS, Registrations
from test_pods import GROUP, LOCAL, as_pods, claim_of, wait_returned
from upgrades import Asked, Audit, Definitions, essence, reachable, without

pytestmark = pytest.mark.timeout(3600)  # it waits for the node, a restart and four roll-outs
STATUS_PERIOD = 10  # seconds after which the kubelet says what changed of its Node
SLACK = 60  # seconds: an emulated machine is slow, and so is the way to read its clock
APPLY = ("apply", "--server-side", "--force-conflicts")
ALL_BUT_AGENTS = "--selector=app.kubernetes.io/component!=agent"


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """The previous version."""
    return previous(ROOT / os.fspath(PROGRAMS), tmp_path_factory.mktemp("previous"))


@pytest.fixture(scope="module")
def images(before, tmp_path_factory):
    """Of both versions: local and previous."""
    found = []
    older = tmp_path_factory.mktemp("programs")
    for program in before.programs.iterdir():
        (older / program.name).symlink_to(program)
    if not (older / "hostdev-nvml").exists():  # the previous version has none, and does not miss it
        (older / "hostdev-nvml").symlink_to(ROOT / os.fspath(PROGRAMS) / "hostdev-nvml")
    for tag, programs in ("local", ROOT / os.fspath(PROGRAMS)), ("previous", older):
        output = tmp_path_factory.mktemp(f"images-{tag}")
        subprocess.run([ROOT / "hack/image", "--programs", programs, "--output", output, "--tag", tag], check=True)
        for image in sorted(output.glob("*.tar")):
            found.append(shutil.move(image, output / f"{image.stem}-{tag}.tar"))
    return found


@pytest.fixture(scope="module")
def overlay(before, tmp_path_factory):
    """The previous version's own, with its images."""
    folder = tmp_path_factory.mktemp("overlay")
    base = os.path.relpath(before.tree / "manifests/overlays/local", folder)
    tagged = [f"{{name: localhost/hostdev/{name}, newTag: previous}}" for name in ("agent", "controller")]
    (folder / "kustomization.yaml").write_text(f"resources: [{base}]\nimages: [{', '.join(tagged)}]\n")
    return folder


@pytest.fixture(scope="module")
def definitions(booted, claim_watch):
    return Definitions(booted.cluster, [booted.pci, booted.usb, claim_watch])


@pytest.fixture(scope="module")
def hostdev(booted, before, images, overlay, definitions):
    """The previous version is installed, and nothing of this one is there."""
    flags = ROOT / "build/local/vm" / NODE / "node/kubelet.flags"

    def prepare():
        definitions.kubectl("delete", f"pcidevices.{GROUP},usbdevices.{GROUP}", "--all")
        definitions.change("replace", "-f", before.tree / "crds")
        flags.parent.mkdir(exist_ok=True)
        flags.write_text(FLAGS)
    try:
        with as_pods(booted, images, overlay, prepare) as made:
            yield made
    finally:
        flags.unlink(missing_ok=True)
        definitions.change("replace", "-f", ROOT / "crds")
        definitions.kubectl(*APPLY, "-k", ROOT / "manifests/overlays/processes")


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


@pytest.fixture
def asked(hostdev):
    made = Asked(hostdev.cluster)
    yield made
    made.end()


@pytest.fixture
def audit(hostdev):
    return Audit(hostdev.cluster)


NO_POD_WEBHOOK = ("patch", "validatingwebhookconfiguration", "hostdev-webhook",
                  "-p", '{"webhooks":[{"name":"pods.hostdev.io","$patch":"delete"}]}')


class Versions:
    """Brings one component after the other to another version, as docs/upgrade.md says."""

    def __init__(self, hostdev, audit):
        self.hostdev, self.audit = hostdev, audit

    def controller(self, overlay, tag, version):
        """And all else that is not the agents'."""
        self.hostdev.overlay = overlay
        self._apply("deployment/hostdev-controller", tag, version, ALL_BUT_AGENTS)

    def agent(self, tag, version):
        self._apply("daemonset/hostdev-agent", tag, version)

    def _apply(self, workload, tag, version, *words):
        since = self.audit.now()
        self.hostdev.apply(*words)
        program = workload.split("/")[1]
        component = program.removeprefix("hostdev-")
        self.hostdev.kubectl("rollout", "status", workload, "--timeout=240s")
        image = f"localhost/hostdev/{component}:{tag}"
        wait_until(lambda: {pod["spec"]["containers"][0]["image"] for pod in self.hostdev.of(component)} == {image},
                   60, f"pods of {image} and no others")
        wait_until(lambda: version in self.audit.versions(program, since), 60, f"{program}/{version} as a user agent")


class Gaps:
    """The times in which a resource is not there because its agent begins anew: by the kubelet, and by the Node."""

    def __init__(self, hostdev, allocatable, resource):
        self.kubelet, self.allocatable, self.resource = hostdev.kubelet, allocatable, resource
        self.registrations = Registrations(hostdev, resource)
        self.found = {}

    def measure(self, what, act):
        """act() has one agent begin anew; the Node has the resource once the kubelet tells of the registered one.

        The first is a plain restart; at the others the next process stands by before the one before it ends, and nothing is
        lost until it runs. How long each took is a figure of the test, and no reason to fail.
        """
        mark, seen = self.registrations.mark(), self.allocatable.mark()
        act()
        restart = self.registrations.wait(mark)
        self.kubelet.wait_allocatable(self.resource, 1)
        ahead = self.registrations.ahead()
        none = [(begin + ahead, end + ahead) for begin, end in self._without(seen)]
        self.found[what] = f"{restart}; the Node had none for {sum(end - begin for begin, end in none):.1f} s"
        assert restart.stood_by == (len(self.found) > 1), self.found
        assert len(none) <= 1, self.found
        for begin, end in none:
            assert restart.lost - SLACK < begin, self.found
            assert end < restart.offered + STATUS_PERIOD + SLACK, self.found
        return restart

    def _without(self, seen):
        def ended():
            gaps = without(self.allocatable, self.resource, seen)
            return None if any(end is None for _, end in gaps) else [gaps]
        return wait_until(ended, 10, "the watch to show what kubectl shows")[0]

    def assert_none(self, act):
        """act() has nothing to do with the resource."""
        seen = self.allocatable.mark()
        act()
        assert without(self.allocatable, self.resource, seen) == []


@pytest.fixture
def gaps(hostdev, node, allocatable, record_property):
    made = Gaps(hostdev, allocatable, node.pci_object(NIC)["status"]["resourceName"])
    yield made
    for what, found in made.found.items():
        print(f"{what}: {found}")
        record_property(what, found)


class Held:
    """A pod with the claimed NIC: the same container, claim and driver from the first look to the last."""

    def __init__(self, hostdev, claims, bindings, resource):
        self.hostdev, self.claims, self.bindings, self.node = hostdev, claims, bindings, hostdev.node
        self.pod = Pod(hostdev.kubelet, "guest-of-hostdev", {resource: 1})

    def begin(self):
        self.pod.create()
        self.pod.wait_running()
        wait_until(lambda: self.node.pci_object(NIC)["status"].get("allocations"), 30, "the pod told")
        self.identity, self.link, self.claim = self.pod.identity(), self.bindings.link(NIC), self.claims.now(NIC)
        self.bindings.forget()
        self.mark = self.claims.watch.mark()

    def check(self):
        assert self.pod.identity() == self.identity
        refused = self._refused()
        if refused.endswith(": EOF"):  # lost with a controller that ended just now, see check_ended
            refused = self._refused()
        assert "pod default/guest-of-hostdev has it" in refused

    def _refused(self):
        """What the webhook says of a deletion of the claim."""
        kubectl = self.hostdev.cluster.kubectl
        return kubectl("delete", "--dry-run=server", "-f", "-", input=claim_of(NIC), check=False).stderr.rstrip()

    def check_history(self, restarts):
        """The driver was never unbound; of the claim's conditions only that of a node without an agent changed."""
        assert [one for one in self.bindings.seen() if NIC in one] == [] and self.bindings.link(NIC) == self.link
        events = [event for event in self.claims.watch.events[self.mark:] if event.name == pci_name(NIC)]
        assert {event.type for event in events} <= {"ADDED", "MODIFIED"}  # ADDED: to a watch that began anew
        for event in events:
            assert essence(event.object) == essence(self.claim)
        away = {reachable(event.object) for event in events} - {None}
        assert away <= {("False", "AgentNotRunning"), ("True", "Reachable")}
        assert not away or max(restart.offered - restart.lost for restart in restarts) > 20, away

    def end(self):
        self.pod.delete()
        wait_returned(self.node)  # before the claim may go


@pytest.fixture
def held(hostdev, claims, bindings, gaps):
    claims.bind(NIC)
    hostdev.kubelet.wait_allocatable(gaps.resource, 1)
    made = Held(hostdev, claims, bindings, gaps.resource)
    yield made
    made.end()


def check_ended(lost, version):
    """Which reviews may be lost while controllers make room for those of a version.

    HTTP/1.1 has no way to close a kept connection that cannot meet a request half-way (RFC 9112, 9.6), and the way into
    an emulated machine is long: one of each that ended may be lost so. The previous version lost others, too.
    """
    assert all("failed calling webhook" in said for _, said in lost), lost
    if version != VERSION:
        assert len(lost) <= 2 and all(said.rstrip().endswith(": EOF") for _, said in lost), lost


def test_versions_change_under_a_pod_that_has_a_device(hostdev, node, before, overlay, definitions, claims, held, gaps,
                                                       asked, audit):
    held.begin()
    audit.forget()
    versions = Versions(hostdev, audit)
    restarts = [gaps.measure("restart", lambda: node.guest.run("kill", hostdev.agent_process()))]
    definitions.change(*APPLY, "-f", ROOT / "crds")
    for tag, version, which in ("local", VERSION, LOCAL), ("previous", before.version, overlay):
        if which == overlay:
            hostdev.cluster.kubectl(*NO_POD_WEBHOOK)
        gaps.assert_none(partial(versions.controller, which, tag, version))
        claims.bind(IGB)  # by an agent of the version that the controller was
        claims.release(IGB, timeout=90)
        claims.wait_drivers(IGB, "igb")
        held.check()
        restarts.append(gaps.measure(f"agent {tag}", partial(versions.agent, tag, version)))
        held.check()
        check_ended(asked.forget(), version)
    held.check_history(restarts)
    # On the way back the older roles come before the older controllers, which record no events.
    assert [one for one in audit.rejected()
            if one[3] != 403 or not one[2].startswith("/api/v1/namespaces/default/events")] == []
    asked.end()
    check_ended(asked.forget(), before.version)
    assert asked.times > 10
    pods = [pod["metadata"]["uid"] for pod in hostdev.of("agent") + hostdev.of("controller")]
    hostdev.install()
    assert pods == [pod["metadata"]["uid"] for pod in hostdev.of("agent") + hostdev.of("controller")], (
        "kubectl apply -k of what runs already rolls nothing out")
    held.end()
    claims.release(NIC, timeout=90)
    claims.wait_drivers(NIC, "e1000e")
