"""The images that ship, of both architectures: small, whole, and on the other one the programs do the same."""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "api"))

from builds import build_elsewhere  # noqa: E402
from cluster import ROOT  # noqa: E402
from machine import Machine  # noqa: E402

SIZE_MAX = 10_000_000  # unpacked
PROGRAMS = {"agent": ["hostdev-agent", "hostdev-helper", "hostdev-names", "hostdev-nvml"], "controller": ["hostdev-controller"]}
ARCHES = ("amd64", "arm64")
EMULATOR = "qemu-aarch64"
each_image = pytest.mark.parametrize("name", PROGRAMS)
each_arch = pytest.mark.parametrize("arch", ARCHES)


class Layout:
    """A tar with an index of both architectures."""

    def __init__(self, file):
        with tarfile.open(file) as tar:
            self.parts = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
        [self.reference] = json.loads(self.parts["index.json"])["manifests"]
        index = json.loads(self.blob(self.reference))
        assert index["mediaType"] == "application/vnd.oci.image.index.v1+json"
        self.manifests = {m["platform"]["architecture"]: m for m in index["manifests"]}

    def blob(self, descriptor):
        data = self.parts["blobs/" + descriptor["digest"].replace(":", "/")]
        assert f"sha256:{hashlib.sha256(data).hexdigest()}" == descriptor["digest"]
        return data

    def image(self, arch):
        """(configuration, layer as a tar)"""
        manifest = json.loads(self.blob(self.manifests[arch]))
        layer = tarfile.open(fileobj=io.BytesIO(self.blob(manifest["layers"][0])))
        return json.loads(self.blob(manifest["config"])), layer


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    programs = ROOT / "build/release-minimal/bin"
    subprocess.run([ROOT / "hack/image", "--programs", programs, "--arch", "amd64", "--arch", "arm64", "--output", folder],
                   check=True)
    return {name: Layout(folder / f"hostdev-{name}.tar") for name in PROGRAMS}


@pytest.fixture(scope="session")
def roots(made, tmp_path_factory):
    """The agent's files, by architecture."""
    folders = {}
    for arch in ARCHES:
        folders[arch] = tmp_path_factory.mktemp(arch)
        made["agent"].image(arch)[1].extractall(folders[arch])
    return folders


@each_image
def test_both_architectures_are_behind_one_name(made, name):
    assert tuple(made[name].manifests) == ARCHES
    assert made[name].reference["annotations"]["io.containerd.image.name"] == f"localhost/hostdev/{name}:local"


@each_image
@each_arch
def test_an_image_is_small(made, name, arch):
    config, layer = made[name].image(arch)
    assert config["architecture"] == arch
    files = {m.name: m.size for m in layer.getmembers() if m.isfile()}
    assert sum(files.values()) <= SIZE_MAX, sorted(files.items(), key=lambda f: -f[1])
    assert {Path(file).name for file in files if "/bin/" in file} == set(PROGRAMS[name])


@each_image
@each_arch
def test_no_library_is_in_it_for_nothing(made, name, arch):
    """Debian's GnuTLS and libcurl load a dozen others."""
    files = [Path(m.name).name for m in made[name].image(arch)[1].getmembers() if m.isfile()]
    assert not [file for file in files if file.startswith(("libcurl", "libgnutls", "libp11", "libunistring", "libldap"))]


@each_image
@each_arch
def test_licences_of_linked_libraries_are_in_it(made, name, arch):
    """Also of those that are linked into the programs: the own builds, and what they are linked with."""
    _, layer = made[name].image(arch)
    texts = {m.name.split("/")[-2] for m in layer.getmembers() if m.name.endswith("/copyright")}
    assert texts >= {"hostdev", "libc6", "libuv1", "libcurl4-gnutls-dev", "libgnutls28-dev", "libmicrohttpd-dev",
                     "nettle-dev", "libgmp-dev"}
    assert not [text for text in texts if text.startswith(("libcurl3", "libgnutls30"))]


@pytest.mark.timeout(2700)
def test_builds_in_two_folders_are_the_same(tmp_path):
    """Nor is there a path of the libraries that hack/minimal-curl and hack/minimal-gnutls have made."""
    programs, _ = build_elsewhere(tmp_path, "release-minimal")
    for name in sum(PROGRAMS.values(), []):
        assert b"/.cache/" not in (programs / name).read_bytes()


def emulated(root, folder, program):
    """A program that runs the one of arm64; the agent's helper is one, too, and beside it the names."""
    script = folder / program
    script.write_text(f'#!/bin/sh\nexec {EMULATOR} -L {root} {root}/usr/bin/{program} "$@"\n')
    script.chmod(0o755)
    return script


def test_inspect_prints_the_same_on_both(roots, tmp_path):
    machine = Machine(tmp_path / "machine", bad=True)
    words = ["inspect", "-o", "json", "--node-name", "n1", *machine.flags]
    environment = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "NODE_NAME")}
    scripts = {each: emulated(roots["arm64"], tmp_path, each) for each in PROGRAMS["agent"]}
    native = subprocess.run([ROOT / "build/release-minimal/bin/hostdev-agent", *words], env=environment,
                            stdout=subprocess.PIPE, text=True, check=True)
    other = subprocess.run([scripts["hostdev-agent"], *words, "--helper", scripts["hostdev-helper"]],
                           env=environment, stdout=subprocess.PIPE, text=True, check=True)
    assert len(json.loads(native.stdout)["items"]) > 5
    assert other.stdout == native.stdout


@pytest.mark.parametrize("name, program", [(n, p) for n, programs in PROGRAMS.items() for p in programs])
def test_every_program_of_arm64_starts(made, tmp_path, name, program):
    made[name].image("arm64")[1].extractall(tmp_path)
    said = subprocess.run([EMULATOR, "-L", tmp_path, tmp_path / "usr/bin" / program, "--version"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    assert said.startswith(program)
