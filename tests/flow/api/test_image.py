"""The images that hack/image makes of the built programs: always the same, whole, and nothing in them but what runs."""

import hashlib
import json
import os
import subprocess
import tarfile

import pytest

from cluster import ROOT
from programs import program

PROGRAMS = {"agent": ["hostdev-agent", "hostdev-helper", "hostdev-names"], "controller": ["hostdev-controller"]}
TYPE = "application/vnd.oci.image"
images = pytest.mark.parametrize("name", PROGRAMS)


def make(folder, **environment):
    """Makes the images; {name: digest} as hack/image says."""
    said = subprocess.run([ROOT / "hack/image", "--programs", program("hostdev-agent").parent, "--output", folder],
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

    def __init__(self, file):
        with tarfile.open(file) as tar:
            self.parts = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
        assert json.loads(self.parts["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
        [self.reference] = json.loads(self.parts["index.json"])["manifests"]
        self.manifest = json.loads(self.blob(self.reference))
        self.config = json.loads(self.blob(self.manifest["config"]))
        [layer] = self.manifest["layers"]
        self.layer = self.blob(layer)
        assert self.config["rootfs"] == {"type": "layers", "diff_ids": [layer["digest"]]}

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


def test_a_program_that_is_not_built_is_named(tmp_path):
    run = subprocess.run([ROOT / "hack/image", "--programs", tmp_path, "--output", tmp_path], capture_output=True,
                         text=True)
    assert run.returncode == 1
    assert f"there is no program {tmp_path}/hostdev-agent; build it" in run.stderr
