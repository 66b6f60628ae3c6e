"""The agent in place of HAMi's device plugin (--hami): filter, bind, Allocate, success. A real kube-scheduler asks an extender
that has HAMi's rules (hami_extender.py). The stand-in for NVIDIA's library has the GPUs, and a kubelet's folder that the test
reads is the kubelet.

One node for all tests; its agent reaches the API server through a proxy that misbehaves on demand.
"""

import json
import os
import signal
import time
from collections import Counter
from contextlib import ExitStack

import pytest

from cluster import ROOT, wait_until
from fake_kubelet import FakeKubelet
from faultproxy import FaultProxy
from hami import ACCOUNT, HOOK, NAMESPACE, PODS, Node, Schedulers, container, install_core
from hami_extender import (
    GIVEN, LEFT, LOCK, PHASE, REGISTER, RESOURCE, VERSIONS, Unreadable, now, read_json, read_text)
from identities import Identities
from machine import Machine
from programs import Agent
from rest import DEVICES
from test_nvidia import UUIDS, Gpus

NODE = "hami-node"
SPLIT = 10  # units of each GPU
MEMORY = 40960  # MiB, of each
MANIFESTS = ROOT / "manifests/components/hami"
FENCE = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/hostdev-hami-pods"
UNITS = {f"{uuid}-{i}": True for uuid in UUIDS for i in range(SPLIT)}


class World:
    """The node, its agent and the schedulers."""

    def __init__(self, installed, rest, folder, proxy_program):
        self.closing = ExitStack()
        self.cluster, self.rest = installed, rest
        self.kubelet = FakeKubelet()
        self.closing.callback(self.kubelet.remove)
        machine = Machine(folder / "machine")
        self.gpus = Gpus(machine, self.kubelet)
        self.root = self.gpus.folder / "root"
        install_core(self.root)
        self.identities = Identities(installed, rest, folder)
        self.closing.callback(self.identities.close)
        fences = [f"-f{MANIFESTS}/{name}.yaml" for name in ("rbac", "policy-agents", "policy-pods")]
        installed.kubectl("apply", *fences)
        self.closing.callback(lambda: installed.kubectl("delete", "--ignore-not-found", *fences))
        self.proxy = FaultProxy(proxy_program, installed)
        self.closing.callback(self.proxy.stop)
        self.agent = Agent(rest, machine, NODE, self.identities.agent(NODE, self.proxy.server), folder,
                           [*self.kubelet.flags, *self.gpus.flags, "--hami", "--host-root", self.root])
        self.agent.env["HOSTDEV_FAKE_NVML"] = str(self.gpus.folder)
        self.folder = folder

    def start(self):
        self.agent.start()
        self.closing.callback(self.discharge)
        wait_until(lambda: RESOURCE in self.kubelet.endpoints(), 30, lambda: self.agent.log()[-4000:])
        self.gpus.wait_watch()
        messages = self.closing.enter_context(self.kubelet.messages(RESOURCE))
        wait_until(lambda: messages, 10, "a list")
        self.node = Node(self.rest, self.kubelet, NODE, lambda: messages[-1])
        self.closing.callback(self.node.close)
        self.node.ready(len(messages[-1]))
        wait_until(self.node.registered, 10, "the register annotation")
        self.schedulers = self.closing.enter_context(Schedulers(self.cluster, self.identities, self.folder))
        return self

    def discharge(self):
        self.agent.kill()
        for kind, name in self.agent.objects():
            self.rest.delete(DEVICES[kind], name)

    def written(self):
        """What the agent has written of Nodes and pods."""
        return Counter((event["objectRef"]["resource"], event["objectRef"].get("subresource"))
                       for event in self.agent.written(self.cluster) if event["objectRef"]["resource"] in ("nodes", "pods"))

    def entries(self, name):
        """The devices that the scheduler has given to the pod, by container that gets any: [[UUID, type, memory, cores]]."""
        slots = self.node.pod_annotation(name, GIVEN).split(";")
        found = [[entry.split(",") for entry in one.split(":") if entry.strip(",0")] for one in slots]
        return [one for one in found if one]

    def use(self, version):
        """That version of HAMi's scheduler; the agent goes on in the form that the annotation has."""
        read = VERSIONS[version].read
        if read != self.schedulers.extender.version.read:
            self.node.annotate(REGISTER, f"{UUIDS[0]},1,1,1,NVIDIA,0,true:" if read == read_text else None)
        self.schedulers.extender.version = VERSIONS[version]

        def is_read():
            try:
                return [one["id"] for one in read(self.node.annotation(REGISTER) or "")] == UUIDS
            except Unreadable:
                return False
        wait_until(is_read, 10, lambda: self.node.annotation(REGISTER))

    def wait_phase(self, name, phase, seconds=20):
        wait_until(lambda: self.node.pod_annotation(name, PHASE) == phase, seconds,
                   lambda: (self.node.pod(name)["metadata"], self.agent.log()[-2000:]))

    def wait_unlocked(self, seconds=20):
        wait_until(lambda: not self.node.annotation(LOCK), seconds, lambda: self.node.annotation(LOCK))


@pytest.fixture(scope="module")
def world(installed, rest, faultproxy_program, tmp_path_factory):
    made = World(installed, rest, tmp_path_factory.mktemp("hami"), faultproxy_program)
    try:
        yield made.start()
    finally:
        made.closing.close()


@pytest.fixture
def node(world):
    """The node, without pods and locks of the test before."""
    yield world.node
    world.proxy.rules([])
    world.node.clear()
    world.node.annotate(LOCK, None)
    world.use("2.10")


def limits(answer):
    """(memory limits in MiB, limit of the cores) of a container."""
    env = answer["envs"]
    memory = [int(env[f"CUDA_DEVICE_MEMORY_LIMIT_{i}"].removesuffix("m"))
              for i in range(sum(key.startswith("CUDA_DEVICE_MEMORY_LIMIT_") for key in env))]
    return memory, env.get("CUDA_DEVICE_SM_LIMIT")


def visible(answer):
    return answer["envs"]["NVIDIA_VISIBLE_DEVICES"].split(",")


def mounts(answer):
    return {inside: (outside, read_only) for inside, outside, read_only in answer["mounts"]}


JSON = '[{"id":"GPU-0","index":1,"count":10,"devmem":40960,"devcore":100,"type":"NVIDIA A100","health":true}]'
TEXT = "GPU-0,10,40960,100,NVIDIA-NVIDIA A100,0,true,1,hami-core:"


def test_what_the_stand_in_reads():
    for found in (read_json(JSON), read_text(TEXT)):
        assert [(one["id"], one["index"], one["count"], one["devmem"], one["devcore"], one["health"]) for one in found] == [
            ("GPU-0", 1, 10, 40960, 100, True)]


@pytest.mark.parametrize("read, text", [
    (read_json, TEXT), (read_json, "[]"), (read_json, "{}"), (read_json, JSON.replace("10", '"10"')),
    (read_json, JSON.replace("40960", "40960.5")), (read_json, JSON.replace("true", "1")),
    (read_text, JSON), (read_text, ""), (read_text, TEXT.replace(",1,", ",")), (read_text, TEXT.replace("40960", "40960.5")),
    (read_text, TEXT.replace("true", "yes"))])
def test_what_the_stand_in_does_not_read(read, text):
    with pytest.raises(Unreadable):
        read(text)


def test_the_scheduler_reads_the_gpus_of_the_node(world, node):
    assert world.node.devices() == UNITS
    found = json.loads(node.annotation(REGISTER))
    assert [(one["id"], one["count"], one["devmem"], one["devcore"], one["health"]) for one in found] == [
        (uuid, SPLIT, MEMORY, 100, True) for uuid in UUIDS]
    assert [(one["id"], one["index"]) for one in VERSIONS["2.10"].read(node.annotation(REGISTER))] == [
        (uuid, i) for i, uuid in enumerate(UUIDS)]


def test_the_annotation_is_written_again_where_it_is_not_what_it_should_be(world, node):
    text, before = node.annotation(REGISTER), world.written()
    for wrong in (None, "[]", text.replace("40960", "81920")):
        node.annotate(REGISTER, wrong)
        wait_until(lambda: node.annotation(REGISTER) == text, 10, lambda: node.annotation(REGISTER))
    time.sleep(2)
    assert world.written() - before == Counter({("nodes", None): 3})


def test_a_container_gets_its_share_and_two_writes_are_all(world, node):
    before = world.written()
    answer = node.run("share", container("a", gpus=1, memory=3000, cores=30))["a"]
    [[[uuid, _, memory, cores]]] = world.entries("share")
    assert (visible(answer), memory, cores) == ([uuid], "3000", "30")
    assert limits(answer) == ([3000], "30")
    assert answer["envs"]["CUDA_DEVICE_MEMORY_SHARED_CACHE"].startswith(f"{HOOK}/")
    uid = node.pod("share")["metadata"]["uid"]
    folder = f"{HOOK}/containers/{uid}_a"
    assert mounts(answer)[f"{HOOK}/libvgpu.so"] == (f"{HOOK}/libvgpu.so", True)
    assert mounts(answer)[HOOK] == (folder, False)
    assert mounts(answer)["/etc/ld.so.preload"] == (f"{HOOK}/ld.so.preload", True)
    assert (world.root / folder[1:]).stat().st_mode & 0o777 == 0o777
    world.wait_phase("share", "success")
    world.wait_unlocked()
    assert world.node.pod_annotation("share", LEFT).strip(";") == ""
    assert world.written() - before == Counter({("pods", None): 1, ("nodes", None): 1})


@pytest.mark.parametrize("version", VERSIONS)
def test_each_container_gets_its_own_entry(world, node, version):
    """Init containers and side-cars have entries as well; who wants no GPU has none, or an empty one."""
    world.use(version)
    answers = node.run(
        "mixed", container("a", gpus=2, memory=3000, cores=30), container("plain"),
        container("b", gpus=1, memory=1000, env={"CUDA_DISABLE_CONTROL": "true"}), container("c", gpus=1, memory=4000),
        init=[container("before"), container("fetch", gpus=1, memory=5000),
              container("beside", gpus=1, memory=2000, cores=10, side_car=True)])
    assert {name: limits(answer)[0] for name, answer in answers.items()} == {
        "fetch": [5000], "beside": [2000], "a": [3000, 3000], "b": [1000], "c": [4000]}
    given = [[uuid for uuid, *_ in one] for one in world.entries("mixed")]
    assert [visible(answers[name]) for name in ("fetch", "beside", "a", "b", "c")] == given
    assert [name for name, answer in answers.items() if "/etc/ld.so.preload" not in mounts(answer)] == ["b"]
    uid = node.pod("mixed")["metadata"]["uid"]
    assert {name: mounts(answer)[HOOK][0] for name, answer in answers.items()} == {
        name: f"{HOOK}/containers/{uid}_{name}" for name in answers}
    world.wait_phase("mixed", "success")
    world.wait_unlocked()


def test_a_pod_that_hami_takes_no_lock_for_is_refused(world, node):
    """Its scheduler takes none where init containers alone want GPUs, and anybody could say to be such a pod."""
    with pytest.raises(AssertionError, match="no annotation hami.io/mutex.lock"):
        node.run("early", container("plain"), init=[container("fetch", gpus=1, memory=2000)])


def test_twenty_pods_at_once(world, node):
    wanted = {f"pod-{i}": 1000 + i for i in range(20)}
    for name, memory in wanted.items():
        node.create(name, container("main", gpus=1, memory=memory))
    answers = {}

    def admit():
        for name in node.all_bound():
            if name not in answers:
                answers[name] = node.admit(name)["main"]
        return len(answers) == len(wanted)
    wait_until(admit, 120, lambda: [(name, node.events(name)[-2:]) for name in wanted.keys() - answers.keys()])
    assert {name: limits(answer)[0] for name, answer in answers.items()} == {
        name: [memory] for name, memory in wanted.items()}
    assert {name: [visible(answer)] for name, answer in answers.items()} == {
        name: [[uuid for uuid, *_ in one] for one in world.entries(name)] for name in wanted}
    for name in wanted:
        world.wait_phase(name, "success")
    world.wait_unlocked()


def test_the_lock_of_a_pod_that_is_gone_holds_nobody_up(world, node):
    """The scheduler takes it over for the next pod."""
    node.annotate(LOCK, f"{now()},{NAMESPACE},gone")
    node.run("next", container("a", gpus=1, memory=1000))
    world.wait_phase("next", "success")
    world.wait_unlocked()


def test_a_lock_whose_pod_is_gone_is_left_to_the_scheduler(world, node):
    """The lock of the pod that the kubelet asks for has run out, and another pod has taken it."""
    node.create("late", container("a", gpus=1, memory=1000))
    wait_until(lambda: node.bound("late"), 30, lambda: node.events("late"))
    other = f"{now()},{NAMESPACE},other"
    node.annotate(LOCK, other)
    with pytest.raises(AssertionError, match="other"):
        node.admit("late")
    assert node.annotation(LOCK) == other


@pytest.mark.parametrize("way", ["silent", "reset"])
def test_the_api_server_is_away_between_bind_and_allocate(world, node, way):
    node.create("unlucky", container("a", gpus=1, memory=1000))
    wait_until(lambda: node.bound("unlucky"), 30, lambda: node.events("unlucky"))
    if way == "silent":
        os.kill(world.proxy.process.pid, signal.SIGSTOP)
    else:
        world.proxy.rules([{"fault": "reset"}])
    try:
        # It says so by itself: without that it would be said, after twice the time, that nothing was prepared.
        with pytest.raises(AssertionError, match="the API server has not told within"):
            node.admit("unlucky")
        assert node.annotation(LOCK), "nothing was written"
    finally:
        os.kill(world.proxy.process.pid, signal.SIGCONT)
    world.proxy.rules([])
    world.wait_phase("unlucky", "failed", 40)
    world.wait_unlocked()
    node.run("lucky", container("a", gpus=1, memory=1000))
    world.wait_phase("lucky", "success")


@pytest.mark.parametrize("what", ["pods", "nodes"])
def test_a_conflict_at_the_first_patch(world, node, what):
    path = f"{PODS}/conflict" if what == "pods" else f"/api/v1/nodes/{NODE}"
    world.proxy.rules([{"verb": "write", "path": f"^{path}", "times": 1, "fault": "status", "code": 409,
                        "reason": "Conflict", "message": "the object has been modified"}])
    answer = node.run("conflict", container("a", gpus=1, memory=1000))["a"]
    assert limits(answer)[0] == [1000]
    world.wait_phase("conflict", "success")
    world.wait_unlocked()
    assert [rule["met"] for rule in world.proxy.rules()] == [1]


def test_a_lost_gpu_is_told_by_who_watches_and_no_other_is_touched(world, node):
    before, told = node.registered(), len(world.agent.lines("GPU is not healthy", UUIDS[2]))
    try:
        world.gpus.tell("lost 2")  # who asks the GPU itself hears nothing of that yet
        wait_until(lambda: len(world.agent.lines("GPU is not healthy", UUIDS[2])) > told, 10, "the agent has heard")
        world.gpus.scene("lost 2\n")
        wait_until(lambda: not node.registered()[UUIDS[2]].get("health"), 10, node.registered)
        assert {uuid: one for uuid, one in node.registered().items() if uuid != UUIDS[2]} == {
            uuid: one for uuid, one in before.items() if uuid != UUIDS[2]}
        assert list(node.registered()) == UUIDS
        answer = node.run("others", container("a", gpus=3, memory=1000))["a"]
        assert UUIDS[2] not in visible(answer)
    finally:
        world.gpus.scene()
    wait_until(lambda: node.registered() == before, 30, node.registered)


# --- without the fence of pods, which keeps all of this out (test_policies_hami.py) -----------------------


@pytest.fixture(scope="module")
def unfenced(world):
    """A cluster without the policy of pods."""
    assert world.rest.request("DELETE", FENCE)[0] == 200
    body = {"metadata": {"name": "try", "annotations": {LEFT: ";"}}, "spec": {
        "containers": [{"name": "a", "image": "a"}], "serviceAccountName": ACCOUNT, "automountServiceAccountToken": False}}
    wait_until(lambda: world.rest.request("POST", f"{PODS}?dryRun=All", body)[0] == 201, 30, "the policy has gone")
    return world


def test_a_request_that_is_not_the_lock_s_pod_s_costs_it_nothing(unfenced, node):
    """The kubelet does not say for which pod it asks: by the number of GPUs it is another one's."""
    node.create("holder", container("a", gpus=2, memory=1000))
    wait_until(lambda: node.bound("holder"), 30, lambda: node.events("holder"))
    node.create("stranger", container("a", gpus=1), nodeName=NODE)
    with pytest.raises(AssertionError, match="holder"):
        node.admit("stranger")
    assert limits(node.admit("holder")["a"])[0] == [1000, 1000]
    unfenced.wait_phase("holder", "success")
    unfenced.wait_unlocked()


GOOD = f"{UUIDS[0]},NVIDIA,1000,0:;"
FORGED = {
    "a GPU that the node has not": GOOD.replace(UUIDS[0], "GPU-ffffffff-0000-0000-0000-000000000000"),
    "negative memory": GOOD.replace("1000", "-1000"),
    "more memory than the GPU has": GOOD.replace("1000", "99999999"),
    "more cores than there are": GOOD.replace(",0:", ",1000:"),
    "no entry": ";;;;",
    "a path": GOOD.replace(UUIDS[0], "../../../etc"),
    "200 kB": GOOD * (200000 // len(GOOD)),
    "two for one": GOOD.replace(";", GOOD),
    "no text that HAMi writes": "\u202e\\x00{{}}",
}


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
def test_a_forged_annotation_is_refused_and_the_node_free_again(unfenced, node, text):
    """Who may write a pod can change what the scheduler has written there."""
    node.create("forged", container("a", gpus=1, memory=1000))
    wait_until(lambda: node.bound("forged"), 30, lambda: node.events("forged"))
    assert node.patch_pod("forged", {"metadata": {"annotations": {LEFT: text}}})[0] == 200
    with pytest.raises(AssertionError, match="forged"):
        node.admit("forged")
    unfenced.wait_phase("forged", "failed")
    unfenced.wait_unlocked()
    unfenced.agent.assert_alive()


def test_a_pod_that_says_of_itself_that_it_was_placed_gets_nothing(unfenced, node):
    """It names the node itself, and has the annotations of HAMi's scheduler, but not the Node's lock."""
    seconds = str(int(time.time()))
    node.create("forged", container("a", gpus=1, memory=1000), nodeName=NODE, annotations={
        "hami.io/vgpu-node": NODE, "hami.io/vgpu-time": seconds, "hami.io/bind-time": seconds, PHASE: "allocating",
        LEFT: GOOD, GIVEN: GOOD})
    before = unfenced.written()
    with pytest.raises(AssertionError, match="only HAMi's scheduler may bind pods that ask for this resource"):
        node.admit("forged")
    assert unfenced.written() == before
    assert limits(node.run("true", container("a", gpus=1, memory=2000))["a"])[0] == [2000]
    unfenced.wait_phase("true", "success")
    unfenced.wait_unlocked()
