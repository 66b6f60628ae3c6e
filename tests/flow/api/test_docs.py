"""README.md and docs/ against what they tell of: links, examples, folders, flags. Blocks that begin with ```console api
are run on a real API server with a real agent of a made-up machine, or with objects made by hand. What commands name:
test_doc_commands.py.
"""

import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
import yaml

from cluster import ROOT
from crds import ALL, fields
from machine import Machine
from programs import run
from transcript import Shell, blocks, commands

PAGES = [ROOT / "README.md", *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY")), *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$")

by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def prose(page):
    """A page's lines without its fenced blocks."""
    lines, fenced = [], False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            lines.append(line)
    return lines


def anchors(page):
    """As GitHub makes them of headings; one that comes again gets a number."""
    found = []
    for line in prose(page):
        if heading := HEADING.match(line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            again = sum(1 for other in found if re.fullmatch(re.escape(slug) + r"(-\d+)?", other))
            found.append(f"{slug}-{again}" if again else slug)
    return found


def wrong_links(page):
    for target in LINK.findall("\n".join(prose(page))):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"{target}: there is no such file"
        elif anchor and anchor not in anchors(file):
            yield f"{target}: there is no such heading"


@by_page
def test_links_and_anchors_lead_somewhere(page):
    assert list(wrong_links(page)) == []


def test_every_page_is_reached_from_the_readme():
    linked = {(ROOT / target.partition("#")[0]).resolve() for target in LINK.findall((ROOT / "README.md").read_text())}
    assert [page.name for page in (ROOT / "docs").glob("*.md") if page not in linked] == []


def test_the_readme_is_for_newcomers():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 250


def test_folders_that_are_described_are_there_and_all_of_them():
    text = (ROOT / "README.md").read_text() + (ROOT / "docs/architecture.md").read_text()
    told = {name for row in re.findall(r"^\| (`[^|]*`) \|", text, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)
            if re.fullmatch(r"[a-z]+(/[a-z]+)*", name)}
    files = subprocess.run(["git", "-C", ROOT, "ls-files"], check=True, capture_output=True, text=True).stdout.split()
    sources = {str(Path(name).parent) for name in files if name.startswith(("lib/", "agent/", "controller/", "cli/"))}
    assert [name for name in sorted(told) if not (ROOT / name).is_dir()] == []
    assert sorted(sources - told) == []


@by_page
def test_scripts_that_are_named_are_there(page):
    named = re.findall(r"(?<![\w/.-])((?:hack|tests|manifests)/[\w./-]*\w)", page.read_text())
    assert sorted({name for name in named if not (ROOT / name).exists()}) == []


DIFFS = [block for page in PAGES for block in blocks(page) if block.words == ["diff"]]


@pytest.mark.parametrize("block", DIFFS, ids=str)
def test_what_a_diff_keeps_or_removes_is_in_the_file(block):
    """In this order."""
    name, *lines = block.lines
    file = iter((ROOT / name.removeprefix("--- ")).read_text().splitlines())
    assert [line for line in lines if line[:1] in (" ", "-") and line[1:] not in file] == []


API_VERSIONS = {"HostDeviceConfig": "hostdev.io/v1alpha1", "MigConfiguration": "devices.harvesterhci.io/v1beta1",
                "ResourceQuota": "v1"}
YAML = [(page, block) for page in PAGES for block in blocks(page) if block.words[:1] == ["yaml"]]
OBJECTS = [(block, obj) for _, block in YAML for obj in yaml.safe_load_all(block.text)
           if obj.get("kind") not in (None, "Kustomization", "AdmissionConfiguration") or block.words[1:] and block.words[1] in API_VERSIONS]


@pytest.mark.parametrize("block, obj", OBJECTS, ids=[str(block) for block, _ in OBJECTS])
def test_examples_are_what_the_api_server_takes(block, obj, installed):
    """Strictly: no field that it does not know."""
    if "kind" not in obj:
        kind = block.words[1]
        obj = {"apiVersion": API_VERSIONS[kind], "kind": kind, "metadata": {"name": "default"}, **obj}
    installed.kubectl("create", "serviceaccount", "default", check=False)
    installed.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", input=obj)


def test_settings_of_the_page_are_taken(tmp_path, machine):
    [block] = [block for _, block in YAML if block.words == ["yaml", "settings"]]
    file = tmp_path / "agent.yaml"
    file.write_text(block.text)
    ended = run("hostdev-agent", "inspect", "--config", file, *machine.flags)
    assert ended.returncode == 0, ended.stderr


def test_every_flag_is_on_the_page_of_settings():
    text = (ROOT / "docs/settings.md").read_text()
    there = set(re.findall(r"--[a-z][\w-]*", text)) - {"--help"}
    known = set()
    listed = run("kubectl-hostdev", "--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
    commands = [["kubectl-hostdev", word] for word in ["options", *(line.split()[0] for line in listed.splitlines())]]
    for words in (["hostdev-agent"], ["hostdev-agent", "inspect"], ["hostdev-agent", "plan"], ["hostdev-controller"],
                  ["hostdev-controller", "uninstall"], *commands):
        known |= set(re.findall(r"^ {7}(?:-\w, )?(--[\w-]+)", run(*words, "--help").stdout, re.MULTILINE))
    assert there == known - {"--help", "--version"}


def test_the_reference_has_every_field():
    ended = subprocess.run([ROOT / "hack/docs", "api", "-"], check=True, capture_output=True, text=True)
    for kind in ALL:
        section = ended.stdout.split(f"\n## {kind.kind}\n")[1].split("\n## ")[0]
        rows = dict(re.findall(r"^\| `([^`]+)` \| [^|]+ \| (.+?) \|", section, re.MULTILINE))
        wanted = {path for path in fields(kind) if not path.endswith(("[]", "{}"))}
        assert rows.keys() == wanted
        assert all(rows.values())
    page = (ROOT / "docs/api.md").read_text()
    assert re.findall(r"^\| (\w+) \| `(\w+)` \|", page, re.MULTILINE) == [(kind.kind, kind.short) for kind in
                                                                        sorted(ALL, key=lambda k: page.index(f"| {k.kind} |"))]


def test_names_of_labels_and_annotations_are_on_the_page_of_the_api():
    names = re.findall(r'^#define NAMES_(?:LABEL|ANNOTATION|FINALIZER)_\w+ +"([^"]+)"',
                       (ROOT / "lib/api/names.h").read_text(), re.MULTILINE)
    page = (ROOT / "docs/api.md").read_text()
    assert len(names) > 10 and [name for name in names if f"`{name}`" not in page] == []


# --- commands -----------------------------------------------------------------------------------------------------


class Kernel(threading.Thread):
    """Of the made-up machine, on which a claim that is deleted must lead back to the native driver."""

    def __init__(self, cluster, machine, address):
        super().__init__(daemon=True)
        self.cluster, self.machine, self.address = cluster, machine, address
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(0.2):
            if any("deletionTimestamp" in claim["metadata"] for claim in self.cluster.get("pcideviceclaims")):
                (self.machine.device(self.address) / "driver_override").write_text("\n")
                self.machine.bind(self.address, "e1000e")
                self.machine.tell()
                return


@pytest.fixture
def vm1(agents, installed, tmp_path):
    """The agent of a node of that name, with a NIC on vfio-pci, because a made-up tree cannot bind one."""
    machine = Machine(tmp_path / "vm1")
    machine.bind("0000:01:00.1", "vfio-pci")
    (machine.folder / "sys/module/vfio_iommu_type1").mkdir(parents=True)
    kubelet = Path(tempfile.mkdtemp(prefix="kubelet-"))
    (kubelet / "device-plugins").mkdir()
    agent = agents(machine, "vm1", ["--kubelet-dir", kubelet]).start()
    agent.wait_converged()
    kernel = Kernel(installed, machine, "0000:01:00.1")
    kernel.start()
    yield {"vm1-000001000": "vm1-000001001"}  # the other one has the default route
    kernel.ended.set()
    kernel.join()
    shutil.rmtree(kubelet, ignore_errors=True)


READY = {"type": "Ready", "status": "True", "reason": "Ready", "message": "made by hand",
         "lastTransitionTime": "2026-01-01T00:00:00Z"}


def by_hand(kind, name, spec, labels=None, **status):
    return {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": kind, "spec": spec,
            "metadata": {"name": name, "labels": {"nodename": name.partition("-")[0]} | (labels or {})},
            "status": {"conditions": [READY], **status}}


HAND_MADE = {
    "self-service.md": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node1"}}],
    "sriov.md": [
        by_hand("SRIOVNetworkDevice", "vm1-eth4", {"address": "0000:03:00.0", "nodeName": "vm1", "numVFs": 0}),
        by_hand("PCIDevice", "vm1-000003100", {}, {"harvesterhci.io/parent-sriov-network-device": "vm1-eth4"}, address="0000:03:10.0", vendorId="8086", deviceId="10ca",
                nodeName="vm1", shortDescription="Ethernet controller: Intel Corporation 82576 Virtual Function",
                conditions=[READY | {"type": "Claimable", "reason": "Available"}])],
    "nvidia.md": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node1"}},
        by_hand("SRIOVGPUDevice", "node1-000008000", {"address": "0000:08:00.0", "nodeName": "node1", "enabled": False}),
        by_hand("VGPUDevice", "node1-000008004", {"address": "0000:08:00.4", "nodeName": "node1", "enabled": False},
                availableTypes={"NVIDIA A2-2B": "1145", "NVIDIA A2-4C": "1146"})],
}


@pytest.fixture
def hand_made(request, installed):
    objects = HAND_MADE.get(request.getfixturevalue("page").name, [])
    for obj in objects:
        installed.kubectl("create", "-f", "-", input=obj)
        if "status" in obj:
            installed.kubectl("replace", "--subresource=status", "-f", "-", input=obj)
    yield
    for obj in objects:
        installed.kubectl("delete", "-f", "-", "--ignore-not-found", input=obj)


OF_THEIR_OWN = {  # pages that want another cluster, or more on it
    "install.md": "test_docs_installed.py", "upgrade.md": "test_docs_installed.py",
    "releases.md": "test_docs_installed.py", "migration.md": "test_docs_installed.py",
    "kubectl-hostdev.md": "test_docs_plugin.py"}
TRANSCRIPTS = [page for page in PAGES if commands(page, "api") and page.name not in OF_THEIR_OWN]


@pytest.mark.parametrize("page", TRANSCRIPTS, ids=lambda page: page.name)
def test_commands_print_what_is_written(page, request, installed, hand_made):
    replace = request.getfixturevalue("vm1") if page.name == "claims.md" else {}
    shell = Shell(ROOT, Path(installed._kubectl).parent, installed.kubeconfig, replace)
    try:
        for command in commands(page, "api"):
            shell.run(command)
    finally:
        installed.kubectl("delete", "hostdeviceconfigs", "--all")


@pytest.mark.parametrize("page, file", OF_THEIR_OWN.items(), ids=OF_THEIR_OWN)
def test_nothing_that_is_marked_is_passed_over(page, file):
    assert commands(ROOT / "docs" / page, "api")
    assert f'"docs/{page}"' in (Path(__file__).parent / file).read_text()
