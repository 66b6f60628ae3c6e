"""hostdev-controller uninstall on a real API server: everything lent is given back, nothing is left behind."""

import subprocess

import pytest

from cluster import wait_until
from programs import clean_environment, program, run
from replicas import FINALIZER, MERGE, OWN


@pytest.fixture
def uninstall(crds, world, tmp_path):
    """uninstall(*flags) -> the running process, its words in tmp_path/said."""
    made = []

    def start(*flags):
        with open(tmp_path / "said", "w") as said:
            made.append(subprocess.Popen(
                [program("hostdev-controller"), "uninstall", "--kubeconfig", crds.kubeconfig, *flags],
                env=clean_environment(), stdout=said, stderr=subprocess.STDOUT))
        return made[-1]

    yield start
    for process in made:
        process.kill()
        process.wait()


def test_it_waits_until_the_agents_have_given_all_back(uninstall, world, node, tmp_path):
    world.node(node)
    claim = world.claim(world.device(node, 0, "example.com/a"), node)
    orphan = world.claim(world.device(f"{node}-gone", 0, "example.com/a"), f"{node}-gone")
    unseen = world.claim(world.device(node, 1, "example.com/a"), node, marked=False, ready=None)
    config = {"apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"}}
    config = world.create(f"{OWN}/hostdeviceconfigs", config)

    process = uninstall()
    name = claim.rsplit("/", 1)[1]
    wait_until(lambda: f"waiting for 1 claims:\n  pcideviceclaims {name} on node {node}: its agent releases the device"
               in (tmp_path / "said").read_text(), 30, (tmp_path / "said").read_text)
    assert [world.get(path) for path in (orphan, unseen, config)] == [None] * 3
    assert world.get(claim)["metadata"]["deletionTimestamp"]
    assert process.poll() is None

    world.rest.request("PATCH", claim, {"metadata": {"finalizers": None}}, MERGE)  # as its agent does
    assert process.wait(120) == 0
    assert "every device that was is back on its driver" in (tmp_path / "said").read_text()


def test_it_names_what_others_keep_a_claim_by(uninstall, world, node, tmp_path):
    world.node(node)
    claim = world.claim(world.device(node, 0, "example.com/a"), node)
    orphan = world.claim(world.device(f"{node}-gone", 0, "example.com/a"), f"{node}-gone")
    for path in (claim, orphan):
        world.rest.request("PATCH", path, {"metadata": {"finalizers": [FINALIZER, "example.com/keep"]}}, MERGE)

    process = uninstall()
    try:
        def says(path, where):
            return f"pcideviceclaims {path.rsplit('/', 1)[1]} on node {where}: " \
                "has the finalizer example.com/keep of another controller, which must remove it"
        said = (tmp_path / "said").read_text
        wait_until(lambda: says(orphan, f"{node}-gone") in said(), 30, said)
        assert says(claim, node) not in said()  # its agent has yet to give the device back
        world.rest.request("PATCH", claim, {"metadata": {"finalizers": ["example.com/keep"]}}, MERGE)  # which it does
        wait_until(lambda: says(claim, node) in said(), 30, said)
        assert process.poll() is None
    finally:
        for path in (claim, orphan):
            world.rest.request("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
    assert process.wait(120) == 0


def test_it_ends_when_its_time_is_over(uninstall, world, node, tmp_path):
    world.node(node)
    world.claim(world.device(node, 0, "example.com/a"), node)
    process = uninstall("--timeout", "10s")
    assert process.wait(120) == 1
    assert "timed out; the status of the claims above" in (tmp_path / "said").read_text()


def test_with_nothing_lent_it_ends_at_once_and_again(crds):
    for _ in range(2):
        ended = run("hostdev-controller", "uninstall", "--kubeconfig", crds.kubeconfig)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.startswith("nothing is claimed any more")


def test_a_word_too_many_is_one_plain_line():
    ended = run("hostdev-controller", "uninstall", "everything")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "hostdev-controller uninstall: unexpected word 'everything'; see --help\n"
