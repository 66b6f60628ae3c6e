"""GPUs of a made-up node for containers (--nvidia): the agent and hostdev-nvml as they are, beside the stand-in for
NVIDIA's library (tests/fake/nvml), and a kubelet's folder that the test reads.
"""

import os
import re
import signal
import socket
import time
from pathlib import Path

import pytest
import yaml

from cluster import ROOT, wait_until
from fake_kubelet import FakeKubelet
from machine import make_tree
from policies import claim
from rest import GROUP

LIBRARY = ROOT / os.environ.get("HOSTDEV_TEST_BUILD", "build/dev") / "fake/libnvidia-ml.so.1"
RESOURCE = "nvidia.com/gpu"
CONFIGS = "/apis/hostdev.io/v1alpha1/hostdeviceconfigs"
A100 = (0x030200, 0x10DE, 0x20B0, (0x10DE, 0x134F), "nvidia", "flr")
ADDRESSES = [f"0000:6{n}:00.0" for n in range(4)]
UUIDS = [f"GPU-00000000-0000-0000-0000-00000000000{n}" for n in range(4)]
ALL = dict.fromkeys(UUIDS, True)
SCENE = "".join(f"gpu {address} {uuid}\n" for address, uuid in zip(ADDRESSES, UUIDS)) + "link 1 3 4\nlink 0 2 2\n"
PROBE_S = 5
WARM_S, COLD_S = 5, 20  # that a call on a GPU may take, and the first one


class Gpus:
    """The cards in the machine's tree, and the library's scene."""

    def __init__(self, machine, kubelet):
        self.folder = kubelet.folder / "nvml"  # a short path: each process that has the library has a socket in it
        (self.folder / "lib64").mkdir(parents=True)
        (self.folder / "lib64" / LIBRARY.name).symlink_to(LIBRARY)
        self.scene()
        for address in ADDRESSES:
            make_tree.add_function(machine.tree, address, f"sys/devices/pci0000:60/{address}", A100, 0)
        self.flags = ["--nvidia", "--nvidia-driver-root", self.folder]

    def scene(self, more=""):
        """What processes find that begin from now on."""
        (self.folder / "scene").write_text(SCENE + more)

    def describe(self, *uuids):
        """A CDI file with these GPUs, as nvidia-ctk writes it."""
        path = self.folder / "var/run/cdi/nvidia.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(["---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n",
                                 *(f"- name: {uuid}\n  containerEdits: {{}}\n" for uuid in uuids)]))

    def configure(self, name, resources, **more):
        """A file of NVIDIA's device plugin in the folder, as a ConfigMap's volume has it."""
        folder = self.folder / "config"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(yaml.dump(
            {"version": "v1", "sharing": {"timeSlicing": {"resources": resources, **more}}}))
        return ["--nvidia-config-dir", folder]

    def watches(self):
        """The processes that watch."""
        pids = [int(path.stem) for path in self.folder.glob("*.socket")]
        return [pid for pid in pids if b"\0watch\0" in read(f"/proc/{pid}/cmdline")]

    def tell(self, *commands):
        """Commands for the library in the process that watches."""
        (pid,) = self.watches()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.sendto("\n".join(commands).encode(), str(self.folder / f"{pid}.socket"))

    def wait_watch(self, besides=()):
        wait_until(lambda: set(self.watches()) - set(besides), 30, "a watch")


def read(path):
    try:
        return Path(path).read_bytes()
    except OSError:  # it has ended
        return b""


def without(*uuids):
    return ALL | dict.fromkeys(uuids, False)


@pytest.fixture
def kubelet():
    made = FakeKubelet()
    yield made
    made.remove()


@pytest.fixture
def gpus(machine, kubelet):
    return Gpus(machine, kubelet)


@pytest.fixture
def start(agents, machine, node, kubelet, gpus):
    """start(*flags) -> a running agent."""
    def begin(*flags):
        agent = agents(machine, node, [*kubelet.flags, *flags])
        agent.env["HOSTDEV_FAKE_NVML"] = str(gpus.folder)
        return agent.start()
    return begin


def shares(uuids, n):
    return {f"{uuid}::{i}": True for uuid in uuids for i in range(n)}


def offering(agent, kubelet):
    """Without a look at the list: the agent serves it on another socket when such a stream ends, as it does for a
    kubelet that restarts.
    """
    wait_until(lambda: RESOURCE in kubelet.endpoints(), 30, "the GPUs are offered")
    return agent


@pytest.fixture
def agent(start, kubelet, gpus):
    """One that offers all GPUs and watches them."""
    agent = offering(start(*gpus.flags), kubelet)
    gpus.wait_watch()
    return agent


def test_nothing_is_offered_without_the_flag(start, kubelet, gpus):
    agent = start()
    agent.wait_converged()
    assert kubelet.devices(RESOURCE) is None
    assert list(gpus.folder.glob("*.socket")) == []


ANSWERS = {
    "envvar": {"envs": {"NVIDIA_VISIBLE_DEVICES": f"{UUIDS[2]},{UUIDS[0]}"}},
    "volume-mounts": {"envs": {"NVIDIA_VISIBLE_DEVICES": "/var/run/nvidia-container-devices"},
                      "mounts": [(f"/var/run/nvidia-container-devices/{UUIDS[i]}", "/dev/null", False) for i in (2, 0)]},
    "cdi-annotations,cdi-cri": {"annotations": [f"nvidia.com/gpu={UUIDS[2]},nvidia.com/gpu={UUIDS[0]}"],
                                "cdi": [f"nvidia.com/gpu={UUIDS[2]}", f"nvidia.com/gpu={UUIDS[0]}"]},
}


@pytest.mark.parametrize("way", ANSWERS)
def test_a_container_gets_what_nvidia_s_plugin_answers(start, kubelet, gpus, way):
    gpus.describe(*UUIDS)
    offering(start(*gpus.flags, "--nvidia-device-list", way, "--host-root", gpus.folder), kubelet)
    (got,) = kubelet.allocate(RESOURCE, [UUIDS[2], UUIDS[0]])
    keys = got.get("annotations", {}).keys()
    assert all(re.fullmatch(r"cdi\.k8s\.io/nvidia-device-plugin_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", key)
               for key in keys)
    if keys:
        got["annotations"] = list(got["annotations"].values())
    assert got == {"envs": {}, "mounts": [], "devices": []} | ANSWERS[way]


def test_device_nodes_and_extras_are_given_where_the_file_asks_for_them(start, kubelet, gpus):
    file = gpus.folder / "plugin.yaml"
    file.write_text(yaml.dump({"version": "v1", "flags": {"gdsEnabled": True, "plugin": {
        "passDeviceSpecs": True, "deviceIDStrategy": "index"}}}))
    offering(start(*gpus.flags, "--nvidia-config-file", file), kubelet)
    (got,) = kubelet.allocate(RESOURCE, [UUIDS[2]])
    assert got["envs"] == {"NVIDIA_VISIBLE_DEVICES": "2", "NVIDIA_GDS": "enabled"}
    assert ("/dev/nvidia2", "/dev/nvidia2", "rw") in got["devices"]


def test_a_gpu_without_a_cdi_file_is_not_lent(start, kubelet, gpus):
    gpus.describe(UUIDS[0])
    offering(start(*gpus.flags, "--nvidia-device-list", "cdi-cri", "--host-root", gpus.folder), kubelet)
    with kubelet.messages(RESOURCE) as messages:
        wait_until(lambda: messages == [without(*UUIDS[1:])], 10)
        with pytest.raises(AssertionError, match="run nvidia-ctk cdi generate"):
            kubelet.allocate(RESOURCE, [UUIDS[1]])
        gpus.describe(*UUIDS)
        wait_until(lambda: messages[1:] == [ALL], 20, "all are described")
        (gpus.folder / "var/run/cdi/nvidia.yaml").unlink()
        wait_until(lambda: messages[2:] == [without(*UUIDS)], 20, "the file has gone")


def test_gpus_with_nvlinks_are_preferred(agent, kubelet):
    wait_until(lambda: kubelet.prefer(RESOURCE, 2, UUIDS) == [UUIDS[1], UUIDS[3]], 30, "the topology is known")
    assert sorted(kubelet.prefer(RESOURCE, 2, UUIDS, [UUIDS[0]])) == [UUIDS[0], UUIDS[2]]


def health_events(crds, node, address):
    name = f"{node}-{re.sub('[:.]', '', address)}"
    return [(e["type"], e["reason"], e["message"]) for e in crds.get("events", "-n", "default")
            if e["involvedObject"]["name"] == name and e["reason"].startswith("GPU")]


def test_an_xid_is_one_message_and_two_probes_are_the_way_back(agent, kubelet, gpus, crds, node):
    wait_until(lambda: len(crds.get("pcidevices", "-l", f"nodename={node}")) > len(ADDRESSES), 20, "the PCIDevices")
    with kubelet.messages(RESOURCE) as messages:
        wait_until(lambda: messages == [ALL], 10)
        fell_ill = time.monotonic()
        gpus.tell("xid 2 31", "xid 1 79", "xid 1 48", "burst 1 100 1000")
        wait_until(lambda: len(messages) > 1, 10, "a message")
        assert messages == [ALL, without(UUIDS[1])]
        with pytest.raises(AssertionError, match="Xid 79"):
            kubelet.allocate(RESOURCE, [UUIDS[1]])
        assert kubelet.allocate(RESOURCE, [UUIDS[2]])[0]["envs"] == {"NVIDIA_VISIBLE_DEVICES": UUIDS[2]}
        wait_until(lambda: len(messages) > 2, 4 * PROBE_S, "a message")
        assert time.monotonic() - fell_ill > 2 * PROBE_S - 1
        assert messages == [ALL, without(UUIDS[1]), ALL]
    assert kubelet.allocate(RESOURCE, [UUIDS[1]])[0]["envs"] == {"NVIDIA_VISIBLE_DEVICES": UUIDS[1]}
    assert len(agent.lines("GPU is not healthy")) == 1
    assert len(agent.lines("GPU is healthy again", UUIDS[1])) == 1
    wait_until(lambda: len(health_events(crds, node, ADDRESSES[1])) > 1, 10, "the events")
    assert sorted(health_events(crds, node, ADDRESSES[1])) == [
        ("Normal", "GPUHealthy", f"GPU '{UUIDS[1]}' is healthy again"),
        ("Warning", "GPUUnhealthy", f"GPU '{UUIDS[1]}' is not given to containers: Xid 79")]
    assert not health_events(crds, node, ADDRESSES[2])


def test_a_gpu_whose_driver_wants_a_reset_stays_unhealthy(agent, kubelet, gpus):
    gpus.scene("field 3 1\n")
    with kubelet.messages(RESOURCE) as messages:
        wait_until(lambda: messages == [ALL], 10)
        gpus.tell("xid 3 95")
        agent.wait_line("GPU is not healthy", UUIDS[3], "Xid 95")
        time.sleep(3 * PROBE_S)
        assert messages == [ALL, without(UUIDS[3])]
        with pytest.raises(AssertionError, match="the driver asks for a reset of the GPU"):
            kubelet.allocate(RESOURCE, [UUIDS[3]])
        gpus.scene()
        wait_until(lambda: messages[2:] == [ALL], 4 * PROBE_S, "it is healthy again")


def test_a_lost_gpu_concerns_no_other_one(agent, kubelet, gpus):
    gpus.scene("lost 0\n")
    with kubelet.messages(RESOURCE) as messages:
        wait_until(lambda: messages == [ALL], 10)
        gpus.tell("lost 0")
        wait_until(lambda: len(messages) > 1, 10, "a message")
        gpus.tell("xid 1 79")  # the others are still watched
        wait_until(lambda: len(messages) > 2, 10, "a message")
        assert messages == [ALL, without(UUIDS[0]), without(UUIDS[0], UUIDS[1])]
        wait_until(lambda: len(messages) > 3, 4 * PROBE_S, "a message")
        assert messages[3] == without(UUIDS[0])
        before = gpus.watches()
        gpus.scene()
        wait_until(lambda: len(messages) > 4, 4 * PROBE_S, "a message")
        assert messages[4:] == [ALL]
    gpus.wait_watch(besides=before)  # one that watches it, too


def test_a_killed_child_is_replaced_and_no_health_changes(agent, kubelet, gpus):
    with kubelet.messages(RESOURCE) as messages:
        wait_until(lambda: messages == [ALL], 10)
        (pid,) = gpus.watches()
        os.kill(pid, signal.SIGKILL)
        agent.wait_line("hostdev-nvml has no answer", "run=watch")
        gpus.wait_watch(besides=[pid])
        (replaced,) = gpus.watches()
        assert replaced != pid and messages == [ALL]
        time.sleep(WARM_S + 3)  # it has nothing to say for five seconds
        assert gpus.watches() == [replaced]
        gpus.tell("xid 0 79")
        wait_until(lambda: messages == [ALL, without(UUIDS[0])], 10, "it watches")


def test_a_call_that_hangs_takes_one_gpu_and_no_allocate(agent, kubelet, gpus):
    gpus.scene("hang 1 DeviceGetMemoryInfo\n")
    with kubelet.messages(RESOURCE) as messages:
        wait_until(lambda: messages == [ALL], 10)
        gpus.tell("event 1 0x8000 0")  # the recovery action changed: the agent asks about it
        began, meanwhile = time.monotonic(), 0
        time.sleep(1)  # it has been asked
        while len(messages) == 1:
            assert kubelet.allocate(RESOURCE, [UUIDS[2]])[0]["envs"] == {"NVIDIA_VISIBLE_DEVICES": UUIDS[2]}
            time.sleep(0.3)
            meanwhile += len(messages) == 1
            assert time.monotonic() - began < COLD_S - 2, "the call has more time than that of a GPU that has answered before"
        assert meanwhile, "each Allocate waited for the call that hangs"
        assert messages == [ALL, without(UUIDS[1])]
        with pytest.raises(AssertionError, match="does not return"):
            kubelet.allocate(RESOURCE, [UUIDS[1]])
        gpus.tell("xid 3 79")  # neither the watch nor a probe of another one waits for it
        wait_until(lambda: len(messages) > 2, 10, "a message")
        wait_until(lambda: len(messages) > 3, 4 * PROBE_S, "a message")
        assert messages[2:] == [without(UUIDS[1], UUIDS[3]), without(UUIDS[1])]


def test_a_gpu_of_another_driver_is_withdrawn(agent, kubelet, machine):
    machine.bind(ADDRESSES[2], "vfio-pci")
    machine.tell()
    left = {uuid: True for uuid in UUIDS if uuid != UUIDS[2]}
    with kubelet.messages(RESOURCE) as messages:
        wait_until(lambda: messages[-1:] == [left], 30, "it is withdrawn")
        machine.bind(ADDRESSES[2], "nvidia")
        machine.tell()
        wait_until(lambda: messages[-1:] == [ALL], 30, "it is offered again")


def test_the_pcidevice_tells_what_containers_get(agent, kubelet, gpus, rest, node):
    path = f"{GROUP}/pcidevices/{node}-{re.sub('[:.]', '', ADDRESSES[1])}"

    def offered():
        code, answer = rest.request("GET", path)
        status = answer.get("status", {}) if code == 200 else {}
        found = [(c["status"], c["reason"], c["message"]) for c in status.get("conditions", []) if c["type"] == "Offered"]
        return found and (status["resourceName"], *found[0])

    text = f"the agent (--nvidia) offers it as {RESOURCE}"
    wait_until(lambda: offered() == (RESOURCE, "True", "Offered", text), 20, lambda: rest.get(path))
    gpus.wait_watch()
    gpus.tell("xid 1 79")
    wait_until(lambda: offered()[1:3] == ("False", "Unhealthy"), 10, lambda: rest.get(path))
    assert offered()[3] == f"{text}, but the kubelet is told not to give it to a pod: Xid 79"
    wait_until(lambda: offered() == (RESOURCE, "True", "Offered", text), 4 * PROBE_S, lambda: rest.get(path))


@pytest.mark.parametrize("given", [False, True], ids=["no container has it", "a container has it"])
def test_a_claim_withdraws_one_gpu_and_waits_for_its_container(agent, kubelet, gpus, rest, node, given):
    name = f"{node}-{re.sub('[:.]', '', ADDRESSES[1])}"
    path = f"{GROUP}/pcideviceclaims/{name}"

    def accepted():
        found = rest.get(path).get("status", {}).get("conditions", [])
        return next(((c["status"], c["reason"], c["message"]) for c in found if c["type"] == "Accepted"), (None,) * 3)

    with kubelet.messages(RESOURCE) as messages:
        wait_until(lambda: messages == [ALL], 10)
        before = gpus.watches()
        if given:
            kubelet.allocate(RESOURCE, [UUIDS[1]])
        rest.create("pcideviceclaims", claim(name))
        try:
            wait_until(lambda: messages == [ALL, without(UUIDS[1])], 10, "it is withdrawn")
            with pytest.raises(AssertionError, match=f"the PCIDeviceClaim '{name}' takes it"):
                kubelet.allocate(RESOURCE, [UUIDS[1]])
            gpus.wait_watch(besides=before)
            gpus.tell("xid 1 79", "xid 2 79")  # the other GPUs are watched
            wait_until(lambda: len(messages) > 2, 10, "a message")
            assert messages[2:] == [without(UUIDS[1], UUIDS[2])]
            wait_until(lambda: accepted()[0] == ("False" if given else "True"), 20, lambda: rest.get(path))
            if given:
                status, reason, message = accepted()
                assert reason == "Held"
                assert f"has the GPU as '{UUIDS[1]}': the card is bound when no container has it" in message
        finally:
            rest.delete("pcideviceclaims", name)
        wait_until(lambda: messages[-1] == ALL, 60, "all are offered again")
        wait_until(lambda: rest.request("GET", path)[0] == 404, 60, lambda: rest.get(path))
    assert agent.lines("GPU is withdrawn for a claim", name) and agent.lines("GPU is offered again")


def test_shares_follow_the_node_s_label_and_the_file(start, kubelet, gpus, crds, node):
    shared = RESOURCE + ".shared"
    flags = gpus.configure("default", [{"name": RESOURCE, "replicas": 2, "devices": [1]}])
    gpus.configure("all", [{"name": RESOURCE, "replicas": 3}], renameByDefault=True)
    agent = offering(start(*gpus.flags, *flags), kubelet)
    some = {uuid: True for uuid in UUIDS if uuid != UUIDS[1]} | shares(UUIDS[1:2], 2)
    with kubelet.messages(RESOURCE) as messages:
        wait_until(lambda: messages == [some], 10)
        crds.kubectl("label", "node", node, "nvidia.com/device-plugin.config=missing")
        agent.wait_line("configuration of the GPUs cannot be used", "missing", "the last good one stays")
        wait_until(lambda: [e for e in crds.get("events", "-n", "default") if e["reason"] == "GPUConfigNotUsed" and
                            e["involvedObject"]["name"] == node and "missing" in e["message"]], 10, "the event")
        assert messages == [some]
        crds.kubectl("label", "--overwrite", "node", node, "nvidia.com/device-plugin.config=all")
        wait_until(lambda: shared in kubelet.endpoints(), 10, "the label's file")
    wait_until(lambda: RESOURCE not in kubelet.endpoints(), 10, "it is withdrawn")
    with kubelet.messages(shared) as messages:
        wait_until(lambda: messages == [shares(UUIDS, 3)], 10)
        gpus.tell("xid 2 79")  # every share of a GPU in one message
        wait_until(lambda: len(messages) > 1, 10, "a message")
        assert messages[1:] == [shares(UUIDS, 3) | dict.fromkeys(shares([UUIDS[2]], 3), False)]
        gpus.configure("all", [{"name": RESOURCE, "replicas": 1}])
        agent.wait_line("configuration of the GPUs cannot be used", "replicas: expected 2 to 512, got 1")
        assert set(messages[-1]) == set(shares(UUIDS, 3))


def test_a_share_is_its_gpu_and_a_container_gets_one(start, kubelet, gpus):
    flags = gpus.configure("only", [{"name": "gpu", "replicas": 4}], failRequestsGreaterThanOne=True)
    offering(start(*gpus.flags, *flags), kubelet)
    assert kubelet.allocate(RESOURCE, [f"{UUIDS[2]}::3"])[0]["envs"] == {"NVIDIA_VISIBLE_DEVICES": UUIDS[2]}
    with pytest.raises(AssertionError, match="maximum request size for shared resources is 1; found 2"):
        kubelet.allocate(RESOURCE, [f"{UUIDS[2]}::0", f"{UUIDS[2]}::1"])
    # The shares that are not available have other containers: the least used GPUs come first.
    free = [unit for unit in shares(UUIDS, 4) if unit != f"{UUIDS[0]}::0"]
    assert [unit.split("::")[0] for unit in kubelet.prefer(RESOURCE, 3, free)] == UUIDS[1:]


def test_an_entry_of_the_hostdeviceconfig_is_followed(start, kubelet, gpus, rest, node):
    def entry(text):
        return {"apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
                "spec": {"nvidia": [{"nodeSelector": {"example.com/other": "node"}, "config": "version: v2"},
                                    {"config": text}]}}

    def reported():
        nodes = rest.get(f"{CONFIGS}/default").get("status", {}).get("nodes", [])
        return {n["node"]: [(e["list"], e["index"], e["reason"]) for e in n["entries"]] for n in nodes}

    def patch(body):
        status, answer = rest.request("PATCH", path, body, "application/merge-patch+json")
        assert status == 200, answer

    path = f"{CONFIGS}/default"
    replicas = "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}"
    status, answer = rest.request("POST", CONFIGS, entry(replicas))
    assert status == 201, answer
    try:
        agent = offering(start(*gpus.flags), kubelet)
        with kubelet.messages(RESOURCE) as messages:
            wait_until(lambda: messages == [shares(UUIDS, 2)], 10, lambda: messages)
            patch({"spec": entry("version: v3")["spec"]})
            agent.wait_line("configuration of the GPUs cannot be used", "nvidia[1]", "v3")
            wait_until(lambda: reported() == {node: [("nvidia", 1, "Invalid")]}, 10, reported)
            assert messages == [shares(UUIDS, 2)]
            patch({"spec": {"nvidia": None}})
            wait_until(lambda: messages[-1] == ALL, 10, lambda: messages)
            wait_until(lambda: reported() == {}, 10, reported)
    finally:
        rest.request("DELETE", path)


def test_a_client_of_mps_waits_for_its_daemon(start, kubelet, gpus):
    file = gpus.folder / "plugin.yaml"
    file.write_text(yaml.dump({"version": "v1", "sharing": {"mps": {"resources": [{"name": "gpu", "replicas": 4}]}}}))
    agent = offering(start(*gpus.flags, "--nvidia-config-file", file, "--host-root", gpus.folder), kubelet)
    with kubelet.messages(RESOURCE) as messages:
        wait_until(lambda: messages == [dict.fromkeys(shares(UUIDS, 4), False)], 10, lambda: messages)
        agent.wait_line("no MPS daemon serves a shared resource", RESOURCE, "/run/nvidia/mps")
        pipes = gpus.folder / "run/nvidia/mps" / RESOURCE / "pipe"
        pipes.mkdir(parents=True)
        os.mkfifo(pipes / "control")
        wait_until(lambda: messages[1:] == [shares(UUIDS, 4)], 10, lambda: messages)
        (got,) = kubelet.allocate(RESOURCE, [f"{UUIDS[2]}::3"])
    assert got["envs"] == {"NVIDIA_VISIBLE_DEVICES": UUIDS[2], "CUDA_MPS_PIPE_DIRECTORY": f"/mps/{RESOURCE}/pipe"}
    assert got["mounts"] == [(f"/mps/{RESOURCE}/pipe", f"/run/nvidia/mps/{RESOURCE}/pipe", False),
                             ("/dev/shm", "/run/nvidia/mps/shm", False)]
    with pytest.raises(AssertionError, match="maximum request size for shared resources is 1; found 2"):
        kubelet.allocate(RESOURCE, [f"{UUIDS[2]}::0", f"{UUIDS[2]}::1"])


def mig(n):
    """A MIG device of the second GPU in a scene: GPU instance n, of the profile 1g.5gb."""
    return f"mig 1 {n} 0 MIG-{n} 0 1 1 4864\n"


def test_mig_devices_come_go_and_fall_ill_alone(start, kubelet, gpus):
    small, devices = "nvidia.com/mig-1g.5gb", {"MIG-7": True, "MIG-8": True}
    gpus.scene(mig(7) + mig(8))
    agent = offering(start(*gpus.flags, "--nvidia-mig-strategy", "mixed"), kubelet)
    gpus.wait_watch()
    assert kubelet.allocate(small, ["MIG-8"])[0]["envs"] == {"NVIDIA_VISIBLE_DEVICES": "MIG-8"}
    with kubelet.messages(RESOURCE) as whole, kubelet.messages(small) as messages:
        wait_until(lambda: messages == [devices] and len(whole) == 1, 10)
        assert set(whole[0]) == set(UUIDS) - {UUIDS[1]}
        gpus.tell("xid 1 79 8 0")
        wait_until(lambda: len(messages) > 1, 10, "a message")
        assert messages[1:] == [{"MIG-7": True, "MIG-8": False}]
        agent.wait_line("GPU is not healthy", "MIG-8", "Xid 79")
        gpus.scene(mig(7) + mig(9))
        gpus.tell("unmig 1 8 0", mig(9))
        wait_until(lambda: messages[-1] == {"MIG-7": True, "MIG-9": True}, 10, "another one has come")
        assert len(whole) == 1


def test_one_gpu_in_mig_mode_leaves_the_others_with_the_strategy_single(start, kubelet, gpus):
    gpus.scene(mig(7))
    agent = offering(start(*gpus.flags, "--nvidia-mig-strategy", "single"), kubelet)
    agent.wait_line("a device is not offered", UUIDS[1], "all GPUs must have MIG devices of one profile, or none")
    assert set(kubelet.devices(RESOURCE)) == set(UUIDS) - {UUIDS[1]}


def offered(rest, node, address):
    """Status, reason and message of the condition Offered."""
    code, answer = rest.request("GET", f"{GROUP}/pcidevices/{node}-{re.sub('[:.]', '', address)}")
    found = [(c["status"], c["reason"], c["message"]) for c in answer.get("status", {}).get("conditions", [])
             if code == 200 and c["type"] == "Offered"]
    return found[0] if found else (None, None, None)


def test_nothing_is_offered_while_nvidia_s_plugin_is_there(agent, kubelet, rest, node):
    path = kubelet.folder / "device-plugins/nvidia-gpu.shared.sock"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
        sock.listen(16)
        agent.wait_line("GPUs are not offered while another device plugin offers them", "nvidia-gpu.shared.sock")
        wait_until(lambda: RESOURCE not in kubelet.endpoints(), 20, "it is withdrawn")
        wait_until(lambda: offered(rest, node, ADDRESSES[0])[:2] == ("False", "OtherPlugin"), 20,
                   lambda: offered(rest, node, ADDRESSES[0]))
        assert "nvidia-gpu.shared.sock" in offered(rest, node, ADDRESSES[0])[2]
    wait_until(lambda: RESOURCE in kubelet.endpoints(), 20, "it is offered again")
    wait_until(lambda: offered(rest, node, ADDRESSES[0])[:2] == ("True", "Offered"), 20,
               lambda: offered(rest, node, ADDRESSES[0]))


def labels(rest, node):
    found = rest.get(f"/api/v1/nodes/{node}")["metadata"].get("labels", {})
    return {key.removeprefix("nvidia.com/"): value for key, value in found.items() if key.startswith("nvidia.com/")}


def version(rest, node):
    return rest.get(f"/api/v1/nodes/{node}")["metadata"]["resourceVersion"]


@pytest.fixture
def may_label(installed):
    """The right and the fence of components/nvidia."""
    files = [f"-f{ROOT}/manifests/components/nvidia/{name}.yaml" for name in ("rbac", "policy-agents")]
    installed.kubectl("apply", *files)
    yield
    installed.kubectl("delete", "--ignore-not-found", *files)


def test_the_node_has_the_labels_of_gpu_feature_discovery(may_label, start, kubelet, gpus, rest, node, crds):
    flags = gpus.configure("default", [{"name": RESOURCE, "replicas": 2}])
    agent = offering(start(*gpus.flags, *flags), kubelet)
    wait_until(lambda: labels(rest, node).get("gpu.count") == "4", 30, lambda: labels(rest, node))
    found = labels(rest, node)
    assert found["gpu.replicas"] == "2" and found["gpu.sharing-strategy"] == "time-slicing"
    assert found["gpu.product"].endswith("-SHARED") and found["gpu.mode"] == "compute"
    assert found["cuda.driver-version.major"].isdigit() and found["gpu.machine"]
    managers = {m["manager"] for m in rest.get(f"/api/v1/nodes/{node}")["metadata"]["managedFields"]
                if m["operation"] == "Apply"}
    assert "hostdev-agent-nvidia" in managers
    before = version(rest, node)
    time.sleep(12)  # two looks
    assert version(rest, node) == before
    gpus.configure("default", [{"name": RESOURCE, "replicas": 3}])
    wait_until(lambda: labels(rest, node).get("gpu.replicas") == "3", 30, lambda: labels(rest, node))
    # One that somebody changes is theirs.
    crds.kubectl("label", "--overwrite", "node", node, "nvidia.com/gpu.count=9")
    agent.wait_line("labels of the Node that describe its GPUs are somebody else's", "nvidia.com/gpu.count")
    assert labels(rest, node)["gpu.count"] == "9"
    # GPU Feature Discovery begins, and ends.
    crds.kubectl("label", "node", node, "nvidia.com/gfd.timestamp=1")
    wait_until(lambda: set(labels(rest, node)) == {"gfd.timestamp", "gpu.count"}, 30, lambda: labels(rest, node))
    crds.kubectl("label", "node", node, "nvidia.com/gfd.timestamp-", "nvidia.com/gpu.count-")
    wait_until(lambda: labels(rest, node).get("gpu.count") == "4", 30, lambda: labels(rest, node))
    agent.stop()
    agent = offering(start(*gpus.flags, *flags, "--nvidia-labels", "off"), kubelet)
    wait_until(lambda: labels(rest, node) == {}, 30, lambda: labels(rest, node))
    assert "hostdev.io/gpu-labels" not in rest.get(f"/api/v1/nodes/{node}")["metadata"].get("annotations", {})
    agent.stop()
    agent = offering(start(*gpus.flags, *flags), kubelet)
    wait_until(lambda: labels(rest, node).get("gpu.count") == "4", 30, lambda: labels(rest, node))
    agent.stop()
    assert labels(rest, node)["gpu.count"] == "4"
    # As docs/nvidia.md has it, after an uninstall.
    nothing = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}
    status, answer = rest.request("PATCH", f"/api/v1/nodes/{node}?fieldManager=hostdev-agent-nvidia", nothing,
                                  "application/apply-patch+yaml")
    assert status == 200, answer
    assert labels(rest, node) == {}


def test_labels_that_it_may_not_write_leave_the_gpus(agent, kubelet, rest, node):
    agent.wait_line("forbidden", "nodes")
    assert kubelet.allocate(RESOURCE, [UUIDS[0]])[0]["envs"] == {"NVIDIA_VISIBLE_DEVICES": UUIDS[0]}
    assert labels(rest, node) == {}


def test_no_child_outlives_the_agent(agent, gpus):
    agent.stop()
    wait_until(lambda: gpus.watches() == [], 10, "the watch has ended")
