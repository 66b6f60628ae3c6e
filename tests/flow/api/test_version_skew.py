"""This version and the previous one together, as far as objects go: agents, controllers and definitions of either.

The previous one is real: hack/previous. With a pod that has a device: tests/flow/node/test_rolling_update.py.
"""

import uuid

import harvester
import pytest
import skew
import yaml

from cluster import ROOT, wait_until
from previous import VERSION, previous
from programs import program
from test_migration import taken  # noqa: F401

NICS = [f"0000:01:00.{number}" for number in (1, 2, 3)]
REJECTED = {400, 401, 403, 405, 406, 413, 415, 422, 500}


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """The previous version."""
    return previous(program("hostdev-agent").parent, tmp_path_factory.mktemp("previous"))


@pytest.fixture
def definitions(installed):
    """At the end they are those of crds/ again."""
    yield installed
    skew.install_new(installed)


class Pair:
    """An agent and a controller, each of either version; the agent's devices are of one resource."""

    def __init__(self, taken, controllers, before, cluster):  # noqa: F811
        self.taken, self.cluster, self.before = taken, cluster, before
        self.folders = {"this": program("hostdev-agent").parent, "previous": before.programs}
        self.agent = taken.agents(taken.machine, taken.node, flags=["--dev-root", taken.dev])
        self.controller = controllers("--agent-pods", "none")
        self.resource = f"example.com/{uuid.uuid4().hex[:8]}"
        self.devices = [self._device(address) for address in NICS]
        self.claims = []
        self.runs = {}
        self.seen = len(cluster.audit())

    def run(self, agent, controller):
        """Both, of these versions: "this" or "previous"; what is another one begins anew."""
        for which, version in (self.controller, controller), (self.agent, agent):
            if self.runs.get(which) == version:
                continue
            if which.process:
                which.stop()
            since = len(self.cluster.audit())
            which.use(self.folders[version]).start()
            self.runs[which] = version
            if which is self.agent:
                self.taken.agent = which
            said = f"{which.command[0].name}/{VERSION if version == 'this' else self.before.version}"
            wait_until(lambda said=said, since=since: self.events(said, since), 30, f"requests of {said}")
        wait_until(self.controller.leads, 30, "a controller that leads")

    def events(self, user_agent, since):
        """What it asked the API server for."""
        return [event for event in self.cluster.audit()[since:] if event.get("userAgent", "").startswith(user_agent)]

    def rejected(self):
        """Requests that were refused for what they are."""
        return [(event["userAgent"], event["verb"], event["requestURI"], event["responseStatus"])
                for event in self.events(("hostdev-agent/", "hostdev-controller/"), self.seen)
                if event["responseStatus"]["code"] in REJECTED]

    def _device(self, address):
        """As Harvester has left it: on vfio-pci."""
        self.taken.bind(address)
        device = self.taken.device(address, "e1000e", resourceName=self.resource)
        self.taken.crds.kubectl("annotate", f"pcidevices.{harvester.GROUP}", device["metadata"]["name"],
                                f"{harvester.RESOURCE}={self.resource}")
        return device

    def claim(self):
        """Of the next device: its name."""
        device = self.devices[len(self.claims)]
        self.taken.write(harvester.pci_claim(device, "e1000e"))
        self.claims.append(device["metadata"]["name"])
        return self.claims[-1]

    def essence(self, name):
        """Of a claim that is carried out: which it is, and since when its conditions are so that both versions know."""
        found = self.taken.wait_ready("PCIDeviceClaim", name)
        meta, conditions = found["metadata"], found["status"]["conditions"]
        return (meta["uid"], meta["finalizers"], meta["ownerReferences"], found["spec"],
                found["status"]["kernelDriverToUnbind"], found["status"]["passthroughEnabled"],
                sorted((c["type"], c["status"], c["reason"], c["lastTransitionTime"]) for c in conditions
                       if c["type"] != "Offered"))

    def wait_counted(self, world):
        """Until the controller has counted the devices and their claims."""
        wanted = len(self.devices), len(self.claims)
        wait_until(lambda: world.counts(self.resource)[:2] == wanted, 30, lambda: world.pool(self.resource))


@pytest.fixture
def pair(taken, controllers, before, cluster):  # noqa: F811
    return Pair(taken, controllers, before, cluster)


def schemas(tree):
    """What the definitions say to the API server, without what they say to people."""
    def plain(value):
        if isinstance(value, dict):
            return {key: plain(child) for key, child in value.items()
                    if key != "description" or not isinstance(child, str)}
        return [plain(child) for child in value] if isinstance(value, list) else value
    return [plain(yaml.safe_load(file.read_text())) for file in sorted((tree / "crds").glob("*.yaml"))]


def test_either_is_a_version_behind_the_other_on_the_way_there_and_back(pair, world, installed):
    """With the definitions of now: controller first, then the agent, and back the same way."""
    pair.run("previous", "previous")
    first = pair.claim()
    kept, record = pair.essence(first), pair.taken.record(NICS[0])
    pair.wait_counted(world)
    for agent, controller in ("previous", "this"), ("this", "this"), ("this", "previous"):
        pair.run(agent, controller)
        if agent != controller:
            pair.essence(pair.claim())
        pair.wait_counted(world)
        assert pair.essence(first) == kept
    pair.run("previous", "previous")
    pair.essence(pair.claims[-1])
    assert pair.essence(first) == kept and pair.taken.record(NICS[0]) == record
    assert pair.rejected() == []


def test_previous_definitions_take_nothing_from_programs_of_now(pair, before, world, definitions):
    """They are upgraded late: what they do not have the API server refuses, and all else works."""
    same = schemas(before.tree) == schemas(ROOT)
    skew.install(definitions, before.tree)
    name = pair.claim()
    pair.run("this", "this")
    if same:
        kept = pair.essence(name)
        pair.wait_counted(world)
        assert pair.rejected() == []
    skew.install_new(definitions)
    after = pair.essence(name)
    pair.wait_counted(world)
    assert not same or after == kept
