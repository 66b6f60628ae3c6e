"""The images that hack/image makes of the built programs: always the same, whole, and nothing in them but what runs."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from builds import build_elsewhere
from cluster import ROOT
from programs import program
from programs import run as run_program

PROGRAMS = {"agent": ["hostdev-agent", "hostdev-helper", "hostdev-names", "hostdev-nvml"], "controller": ["hostdev-controller"]}
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
    texts = {file for file in files if file.startswith(("usr/share/doc/", "usr/share/common-licenses/"))}
    assert files - libraries - texts == wanted
    assert all(file.split("/")[0] in ("lib", "lib64", "usr") for file in libraries)


def owner(file):
    """The Debian package of a file of this machine."""
    real = os.path.realpath(f"/{file}")
    said = subprocess.run(["dpkg-query", "-S", f"/{file}", real, real.removeprefix("/usr")], capture_output=True, text=True)
    return re.match(r"[a-z0-9.+-]+", said.stdout).group()


def licences(root):
    """{package: its text, which is below @root}"""
    return {file.parent.name: file.read_bytes() for file in (root / "usr/share/doc").glob("*/copyright")}


@images
def test_the_licence_of_all_that_is_in_it_is_there(unpacked, name):
    image, root = unpacked
    files = {m.name.removeprefix("./") for m in image.members if m.isfile()}
    packages = {owner(file) for file in files if ".so" in file.rpartition("/")[2] or file.endswith(".ids")}
    assert {"libc6", "libcurl3-gnutls"} < packages
    texts = licences(root)
    assert texts.pop("hostdev") == (ROOT / "LICENSE").read_bytes()
    assert texts == {package: Path(f"/usr/share/doc/{package}/copyright").read_bytes() for package in packages}


@images
def test_the_common_licences_that_a_text_names_are_there(unpacked, name):
    _, root = unpacked
    texts = b"".join(licences(root).values()).decode()
    common = {file.name.removesuffix(".gz"): file for file in (root / "usr/share/common-licenses").iterdir()}
    assert {"GPL-2", "LGPL-2.1", "LGPL-3"} < common.keys()
    assert common.keys() == {each.name for each in Path("/usr/share/common-licenses").iterdir()
                             if re.search(rf"common-licenses/(?:\{{(?:\S*,)?)?{re.escape(each.name)}(?![\w-]|\.\d)", texts)}
    for each, file in common.items():
        assert gzip.decompress(file.read_bytes()) == Path("/usr/share/common-licenses", each).read_bytes()


# The archives of hack/cmake/minimal_curl.cmake and dependencies.cmake, and the packages that they, or their sources, are of.
STATIC = {"curl": "libcurl4-gnutls-dev", "gnutls": "libgnutls28-dev", "microhttpd": "libmicrohttpd-dev",
          "nettle": "nettle-dev", "hogweed": "nettle-dev", "gmp": "libgmp-dev", "jansson": "libjansson-dev",
          "yaml": "libyaml-dev", "uv": "libuv1-dev", "nghttp2": "libnghttp2-dev", "protobufc": "libprotobuf-c-dev"}


def compiled(folder, code, *options):
    """A folder with programs of the images' names, all of them this one."""
    folder.mkdir()
    subprocess.run(["gcc", "-x", "c", "-", "-o", folder / "hostdev-agent", *options], input=code.encode(), check=True)
    for each in sum(PROGRAMS.values(), []):
        if each != "hostdev-agent":
            (folder / each).hardlink_to(folder / "hostdev-agent")
    return folder


def texts_of(folder, programs):
    """Whose texts are in the controller's image of such programs."""
    make(folder / "made", programs=programs)
    return licences(Image(folder / "made/hostdev-controller.tar").unpack(folder)).keys() - {"hostdev"}


@pytest.mark.parametrize("symbol, library", [
    ("curl_easy_perform", "curl"), ("gnutls_init", "gnutls"), ("MHD_start_daemon", "microhttpd"),
    ("nettle_sha256_init", "nettle"), ("nettle_rsa_public_key_init", "hogweed"), ("__gmpn_mul_1", "gmp"),
    ("json_loads", "jansson"), ("yaml_parser_initialize", "yaml"), ("uv_loop_init", "uv"),
    ("nghttp2_session_client_new", "nghttp2"), ("protobuf_c_message_unpack", "protobufc")])
def test_the_licence_of_a_library_that_is_linked_into_a_program_is_there(tmp_path, symbol, library):
    """Of a program that is linked to the shared one, it is not; that is the library's own package's."""
    programs = compiled(tmp_path / "bin", f"void {symbol}(void) {{}}\nint main() {{ {symbol}(); }}")
    assert texts_of(tmp_path, programs) == {"libc6", STATIC[library]}


def test_every_library_that_may_be_linked_into_a_program_is_looked_for():
    minimal, other = ((ROOT / "hack/cmake" / f"{name}.cmake").read_text() for name in ("minimal_curl", "dependencies"))
    archives = re.findall(r"^archive\((\w+)", minimal, re.MULTILINE)
    assert {*archives, *re.findall(r"^dependency\((\w+) \S+ lib\S+\.a\)", other, re.MULTILINE)} == STATIC.keys()


def test_the_licence_of_a_static_program_is_that_of_the_c_library(tmp_path):
    assert texts_of(tmp_path, compiled(tmp_path / "bin", "int main() {}", "-static")) == {"libc6"}


def refused(folder, programs):
    run = subprocess.run([ROOT / "hack/image", "--programs", programs, "--output", folder], capture_output=True, text=True)
    assert run.returncode == 1
    return run.stderr


def test_a_program_that_does_not_say_what_is_linked_into_it_is_refused(tmp_path):
    programs = compiled(tmp_path / "bin", "int main() {}", "-s")
    assert f"{programs}/hostdev-agent is stripped" in refused(tmp_path, programs)


def test_a_library_of_no_package_is_refused(tmp_path):
    own = tmp_path / "libown.so"
    subprocess.run(["gcc", "-shared", "-x", "c", "-", "-o", own], input=b"void own(void) {}", check=True)
    programs = compiled(tmp_path / "bin", "void own(void);\nint main() { own(); }", "-x", "none", own)
    assert f"{own} is of no Debian package" in refused(tmp_path, programs)


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


@pytest.mark.parametrize("name", ["agent"])
def test_nvidia_s_library_of_the_host_can_be_opened_in_it(unpacked, name):
    """By what the real one needs (535.261.03); a program of the image needs no such file."""
    _, root = unpacked
    folder = root / "driver/usr/lib64"
    folder.mkdir(parents=True)
    needed = [f"-l:{each}" for each in ("libpthread.so.0", "libm.so.6", "libdl.so.2", "librt.so.1")]
    subprocess.run(["gcc", "-shared", "-x", "c", "-", "-o", folder / "libnvidia-ml.so.1", "-Wl,--no-as-needed", *needed],
                   input=b"int none;", check=True)
    run = subprocess.run(["unshare", "--map-root-user", f"--root={root}", "/usr/bin/hostdev-nvml", "watch", "--driver-root",
                          "/driver", "0000:01:00.0"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert "it has no nvmlInit" in run.stdout, run


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


@pytest.mark.timeout(1800)  # a build, beside other tests
def test_builds_in_two_folders_are_the_same(tmp_path):
    """No path, no time and no number of the build is in what ships, nor in the debugging information. Two programs with a
    fifth of the sources; tests/flow/images builds all of them."""
    build_elsewhere(tmp_path, "release", ["hostdev-helper", "hostdev-names"])


@pytest.mark.parametrize("tag", ["", "../../x", "a:b", "-x", "a" * 129])
def test_a_tag_that_no_engine_takes_is_refused(tmp_path, tag):
    run = subprocess.run([ROOT / "hack/image", "--output", tmp_path, "--tag", tag], capture_output=True, text=True)
    assert run.returncode == 1 and f"no tag of an image: {tag}" in run.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", sum(PROGRAMS.values(), []))
def test_a_program_that_is_not_built_is_named_before_anything_is_made(tmp_path, missing):
    """Else a new image of one would be beside an old one of the other."""
    programs = compiled(tmp_path / "bin", "int main() {}")
    (programs / missing).unlink()
    assert f"there is no program {programs}/{missing}; --programs takes" in refused(tmp_path / "made", programs)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("preset", ["release", "release-minimal", "dev"])
def test_a_folder_of_a_preset_that_is_not_built_names_that_preset(tmp_path, preset):
    """Run in a tree where nothing is built."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "hack", tree / "hack")
    for name in ("CMakeLists.txt", "CMakePresets.json"):
        shutil.copy(ROOT / name, tree)
    run = subprocess.run([tree / "hack/image", "--programs", f"build/{preset}/bin", "--output", tmp_path / "made"], cwd=tree,
                         capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr == (
        f"error: there is no program {tree}/build/{preset}/bin/hostdev-agent; "
        f"build it: cmake --preset {preset} && cmake --build --preset {preset}\n"), run
