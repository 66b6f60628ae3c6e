"""The images that hack/image makes of the built programs: always the same, whole, and nothing in them but what runs."""

import gzip
import hashlib
import json
import os
import subprocess
import tarfile

import pytest

from builds import build_twice
from cluster import ROOT
from programs import program
from programs import run as run_program

PROGRAMS = {"agent": ["hostdev-agent", "hostdev-helper", "hostdev-names"], "controller": ["hostdev-controller"]}
TYPE = "application/vnd.oci.image"
LABEL = "org.opencontainers.image."
images = pytest.mark.parametrize("name", PROGRAMS)


def make(folder, *options, programs=None, **environment):
    """Makes the images; {name: digest} as hack/image says."""
    programs = programs or program("hostdev-agent").parent
    said = subprocess.run([ROOT / "hack/image", "--programs", programs, "--output", folder, *options],
                          stdout=subprocess.PIPE, text=True, check=True, env=os.environ | environment).stdout
    digests = {}
    for line in said.splitlines():
        tag, digest, file = line.split()
        name = tag.removeprefix("localhost/hostdev/").removesuffix(":local")
        assert file == str(folder / f"hostdev-{name}.tar")
        digests[name] = digest
    assert digests.keys() == PROGRAMS.keys()
    return digests


class Image:
    """An OCI image layout in a tar: its JSON, with every digest checked, and its files."""

    def __init__(self, file, compressed=False):
        with tarfile.open(file) as tar:
            self.parts = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
        assert json.loads(self.parts["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
        [self.reference] = json.loads(self.parts["index.json"])["manifests"]
        self.manifest = json.loads(self.blob(self.reference))
        self.config = json.loads(self.blob(self.manifest["config"]))
        [layer] = self.manifest["layers"]
        self.layer = gzip.decompress(self.blob(layer)) if compressed else self.blob(layer)
        diff = f"sha256:{hashlib.sha256(self.layer).hexdigest()}"
        assert self.config["rootfs"] == {"type": "layers", "diff_ids": [diff]}

    def blob(self, descriptor):
        data = self.parts["blobs/" + descriptor["digest"].replace(":", "/")]
        assert len(data) == descriptor["size"]
        assert f"sha256:{hashlib.sha256(data).hexdigest()}" == descriptor["digest"]
        return data

    def unpack(self, folder):
        file = folder / "layer.tar"
        file.write_bytes(self.layer)
        root = folder / "root"
        with tarfile.open(file) as tar:
            tar.extractall(root)
            self.members = tar.getmembers()
        return root


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    return folder, make(folder)


@pytest.fixture
def unpacked(made, name, tmp_path):
    image = Image(made[0] / f"hostdev-{name}.tar")
    return image, image.unpack(tmp_path)


def test_the_same_programs_give_the_same_bytes(made, tmp_path):
    folder, digests = made
    mask = os.umask(0o077)
    try:
        assert make(tmp_path, TZ="Asia/Tokyo", LC_ALL="C") == digests
    finally:
        os.umask(mask)
    for name in PROGRAMS:
        file = f"hostdev-{name}.tar"
        assert (tmp_path / file).read_bytes() == (folder / file).read_bytes()


@images
def test_what_the_image_says(made, unpacked, name):
    image, _ = unpacked
    assert image.reference["digest"] == made[1][name]
    assert image.reference["annotations"]["io.containerd.image.name"] == f"localhost/hostdev/{name}:local"
    assert [image.manifest[key]["mediaType"] for key in ("config",)] == [f"{TYPE}.config.v1+json"]
    assert image.manifest["layers"][0]["mediaType"] == f"{TYPE}.layer.v1.tar"
    assert image.config["config"]["Entrypoint"] == [f"/usr/bin/hostdev-{name}"]
    assert image.config["config"]["User"] == {"agent": "0:0", "controller": "65532:65532"}[name]
    labels = image.config["config"]["Labels"]
    assert labels.keys() == {LABEL + key for key in ("title", "description", "version", "licenses")}
    assert labels[LABEL + "title"] == f"hostdev-{name}" and name in labels[LABEL + "description"]
    said = run_program(f"hostdev-{name}", "--version").stdout.split()
    assert said == [f"hostdev-{name}", labels[LABEL + "version"]]


@images
def test_programs_libraries_and_names_are_in_it_and_no_more(unpacked, name):
    image, root = unpacked
    assert all(m.isfile() or m.isdir() for m in image.members)
    assert all((m.mtime, m.uid, m.gid, m.mode & 0o7022) == (0, 0, 0, 0) for m in image.members)
    files = {m.name.removeprefix("./") for m in image.members if m.isfile()}
    libraries = {file for file in files if ".so" in file.rpartition("/")[2]}
    wanted = {f"usr/bin/{program}" for program in PROGRAMS[name]}
    if name == "agent":
        wanted |= {"usr/share/misc/pci.ids", "usr/share/misc/usb.ids"}
    assert files - libraries == wanted
    assert all(file.split("/")[0] in ("lib", "lib64", "usr") for file in libraries)


@images
def test_every_program_starts_with_what_is_in_it(unpacked, name):
    """The dynamic linker finds every library, and of them (-z now) every function."""
    _, root = unpacked
    for each in PROGRAMS[name]:
        run = subprocess.run(["unshare", "--map-root-user", f"--root={root}", f"/usr/bin/{each}", "--version"],
                             capture_output=True, text=True)
        assert (run.returncode, run.stderr) == (0, ""), each
        assert run.stdout.startswith(each)


@pytest.mark.parametrize("name", ["agent"])
def test_names_of_devices_are_known_in_it(unpacked, name):
    _, root = unpacked
    run = subprocess.run(["unshare", "--map-root-user", f"--root={root}", "/usr/bin/hostdev-names", "pci:8086:10d3"],
                         capture_output=True, text=True)
    assert "82574L Gigabit Network Connection" in run.stdout, run.stderr


def test_more_labels_are_the_callers(made, tmp_path):
    """Which sources is not known to a tree without its history, so it is said."""
    digests = make(tmp_path, "--label", f"{LABEL}revision=0123abc", "--label", f"{LABEL}source=https://example.com/a=b")
    labels = Image(tmp_path / "hostdev-agent.tar").config["config"]["Labels"]
    assert (labels[LABEL + "revision"], labels[LABEL + "source"]) == ("0123abc", "https://example.com/a=b")
    assert digests["agent"] != made[1]["agent"]


@images
def test_engines_read_the_layout(made, name):
    layout = f"oci-archive:{made[0]}/hostdev-{name}.tar:local"
    said = json.loads(subprocess.run(["skopeo", "inspect", layout], capture_output=True, text=True, check=True).stdout)
    assert said["Digest"] == made[1][name]
    assert said["Labels"][LABEL + "title"] == f"hostdev-{name}"


@images
def test_an_archive_for_docker_is_the_same_image(made, tmp_path, name):
    """By skopeo into a layout: its files and its configuration are those of the other format."""
    said = make(tmp_path, "--format", "docker")
    copy = tmp_path / "copy.tar"
    archive = f"docker-archive:{tmp_path}/hostdev-{name}.tar:localhost/hostdev/{name}:local"
    subprocess.run(["skopeo", "copy", "--quiet", "--insecure-policy", archive, f"oci-archive:{copy}:local"], check=True)
    image, original = Image(copy, compressed=True), Image(made[0] / f"hostdev-{name}.tar")
    assert image.config == original.config
    assert said[name] == original.manifest["config"]["digest"]
    assert make(tmp_path / "again", "--format", "docker") == said


def test_an_archive_for_docker_has_one_architecture(tmp_path):
    made = subprocess.run([ROOT / "hack/image", "--output", tmp_path, "--format", "docker", "--arch", "amd64", "--arch",
                           "arm64"], capture_output=True, text=True)
    assert made.returncode == 1
    assert "an archive for docker has one architecture" in made.stderr


@pytest.mark.timeout(900)
def test_builds_in_two_folders_give_the_same_images(tmp_path):
    """No path, no time and no number of the build is in what ships, nor in the debugging information."""
    first, second = build_twice(tmp_path, "release")
    assert make(tmp_path / "a", programs=first) == make(tmp_path / "b", programs=second)


@pytest.mark.parametrize("tag", ["", "../../x", "a:b", "-x", "a" * 129])
def test_a_tag_that_no_engine_takes_is_refused(tmp_path, tag):
    run = subprocess.run([ROOT / "hack/image", "--output", tmp_path, "--tag", tag], capture_output=True, text=True)
    assert run.returncode == 1 and f"no tag of an image: {tag}" in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_is_not_built_is_named(tmp_path):
    run = subprocess.run([ROOT / "hack/image", "--programs", tmp_path, "--output", tmp_path], capture_output=True,
                         text=True)
    assert run.returncode == 1
    assert f"there is no program {tmp_path}/hostdev-agent; build it" in run.stderr
