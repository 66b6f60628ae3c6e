"""What hack/release makes, part by part: manifests, the Helm chart, the plugin's archive with its krew manifest, the SBOM.
The programs are those of build/: what is built for a release is tested by test_image.py and tests/flow/images.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile

import pytest
import yaml

from cluster import ROOT
from programs import program
from test_image import LABEL, PROGRAMS, Image, make
from test_manifests import try_out

BIN = ROOT / "build/local/bin"
PARTS = ROOT / "hack/release.d"
VERSION, REGISTRY, URL = "1.2.3-rc.1", "registry.example.com/team", "https://example.com/download"
KUBECTL = {"KUBECTL": shutil.which("kubectl", path=f"{BIN}:{os.environ['PATH']}") or "kubectl"}
COMPONENTS = sorted(folder.name for folder in (ROOT / "manifests/components").iterdir())
OVERLAYS = ["kubevirt", "harvester"]


def commit(folder):
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "one"]):
        subprocess.run(["git", "-C", folder, *words], check=True)


def part(name, *args):
    return subprocess.run([PARTS / name, *map(str, args)], check=True, stdout=subprocess.PIPE, text=True, env=os.environ | KUBECTL).stdout


def release(folder, version, registry):
    """What test_docs_installed.py needs of a release."""
    part("manifests", version, registry, folder)
    part("chart", version, registry, folder / "chart/hostdev")
    subprocess.run(["tar", "-C", folder / "chart", "-czf", folder / f"hostdev-{version}.tgz", "hostdev"], check=True)


def helm(*args, check=True):
    path = BIN / "helm"
    assert path.exists(), f"{path} is not there: hack/test api builds it"
    # One that is built from its module does not know which Kubernetes it is of.
    words = [*args, *(["--kube-version", "1.34.0"] if args[0] in ("lint", "template") else [])]
    ended = subprocess.run([path, *map(str, words)], capture_output=True, text=True)
    assert not check or ended.returncode == 0, ended.stderr
    return ended


def kustomized(folder, resource="base", components=()):
    """The objects, with the release's images, by kind and name."""
    tree = os.path.relpath(ROOT / "manifests", folder.resolve())
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": [f"{tree}/{resource}"],
        "components": [f"{tree}/components/{component}" for component in components],
        "images": [{"name": f"hostdev-{name}", "newName": f"{REGISTRY}/{name}", "newTag": VERSION} for name in ("agent", "controller")]}))
    said = subprocess.run([KUBECTL["KUBECTL"], "kustomize", folder], check=True, stdout=subprocess.PIPE, text=True).stdout
    return by_key(yaml.safe_load_all(said))


def by_key(objects):
    objects = [obj for obj in objects if obj]
    found = {(obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]): in_order(obj) for obj in objects}
    assert len(found) == len(objects)
    return found


def in_order(obj):
    """Volumes, their mounts and flags have names, so their order says nothing."""
    if obj["kind"] in ("DaemonSet", "Deployment"):
        pod = obj["spec"]["template"]["spec"]
        pod["containers"][0]["args"].sort()
        for owner, key, name in ((pod, "volumes", "name"), (pod["containers"][0], "volumeMounts", "mountPath")):
            if key in owner:
                owner[key].sort(key=lambda each: each[name])
    return obj


# --- manifests ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def manifests(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manifests")
    part("manifests", VERSION, REGISTRY, folder)
    return folder


@pytest.mark.parametrize("file, resource", [("install.yaml", "base"), *((f"install-{o}.yaml", f"overlays/{o}") for o in (*OVERLAYS, "processes"))])
def test_a_manifest_is_the_definitions_and_what_kustomize_makes(manifests, tmp_path, file, resource):
    definitions = by_key(yaml.safe_load((ROOT / "crds" / each).read_text()) for each in os.listdir(ROOT / "crds"))
    assert by_key(yaml.safe_load_all((manifests / "crds.yaml").read_text())) == definitions
    assert by_key(yaml.safe_load_all((manifests / file).read_text())) == definitions | kustomized(tmp_path, resource)


def test_every_overlay_has_a_manifest(manifests):
    overlays = {folder.name for folder in (ROOT / "manifests/overlays").iterdir()} - {"local"}
    assert {file.name for file in manifests.iterdir()} == {"crds.yaml", "install.yaml", *(f"install-{o}.yaml" for o in overlays)}


# --- the chart ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chart(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chart") / "hostdev"
    part("chart", VERSION, REGISTRY, folder)
    return folder


def templated(chart, *settings):
    said = helm("template", "hostdev", chart, *(word for each in settings for word in ("--set-json", each)))
    return by_key(yaml.safe_load_all(said.stdout))


def camel(name):
    return re.sub(r"-(\w)", lambda match: match[1].upper(), name)


def test_helm_finds_nothing_wrong(chart):
    said = helm("lint", "--strict", chart).stdout
    assert "0 chart(s) failed" in said and "WARNING" not in said and "ERROR" not in said


def test_by_default_it_is_the_base(chart, tmp_path):
    assert templated(chart) == kustomized(tmp_path)


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_is_that_of_kustomize(chart, tmp_path, component):
    objects = templated(chart, f"components.{camel(component)}=true")
    assert objects == kustomized(tmp_path, components=[component]) != templated(chart)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_that_of_kustomize(chart, tmp_path, overlay):
    objects = templated(chart, f"overlays.{overlay}=true")
    assert objects == kustomized(tmp_path, f"overlays/{overlay}") != templated(chart)


def test_all_of_them_together_too(chart, tmp_path):
    """The last of two components that change the same field is the one whose field it is."""
    components = sorted(COMPONENTS, key=lambda name: name == "privileged")
    settings = [*(f"components.{camel(name)}=true" for name in components), *(f"overlays.{name}=true" for name in OVERLAYS)]
    assert templated(chart, *settings) == kustomized(tmp_path, "overlays/harvester", components)


def test_its_definitions_are_those_of_the_tree(chart):
    files = {file.name: file.read_bytes() for file in (chart / "crds").iterdir()}
    assert files == {file.name: file.read_bytes() for file in (ROOT / "crds").iterdir()}


def test_its_values_are_in_the_objects(chart):
    digest = "sha256:" + "0" * 64
    objects = templated(
        chart, f'images.agent.digest="{digest}"', 'images.controller={"repository":"r/c","tag":"x"}', 'images.pullPolicy="Always"',
        'images.pullSecrets=[{"name":"one"}]', 'agent.nodeSelector={"a":"b"}', "agent.tolerations=[]", 'agent.extraArgs=["--one","--two"]',
        'agent.kubeletDir="/var/lib/k0s/kubelet"', 'agent.resources={"limits":{"memory":"1Gi"}}', "controller.replicas=3",
        'controller.extraArgs=["--three"]', "controller.tolerations=[]", 'controller.nodeSelector={"c":"d"}')
    agent, controller = (objects[kind, "hostdev-system", name]["spec"] for kind, name in (("DaemonSet", "hostdev-agent"), ("Deployment", "hostdev-controller")))
    assert controller["replicas"] == 3
    agent, controller = agent["template"]["spec"], controller["template"]["spec"]
    assert agent["containers"][0]["image"] == f"{REGISTRY}/agent@{digest}"
    assert controller["containers"][0]["image"] == "r/c:x"
    assert {"--kubelet-dir=/var/lib/k0s/kubelet", "--one", "--two"} < set(agent["containers"][0]["args"])
    assert "--three" in controller["containers"][0]["args"]
    assert "/var/lib/kubelet" not in json.dumps(agent) and "/var/lib/k0s/kubelet/device-plugins" in json.dumps(agent)
    assert agent["containers"][0]["resources"] == {"limits": {"memory": "1Gi"}, "requests": {"cpu": "5m", "memory": "16Mi"}}
    for pod, selector in ((agent, ("a", "b")), (controller, ("c", "d"))):
        assert pod["imagePullSecrets"] == [{"name": "one"}] and pod["tolerations"] == []
        assert pod["nodeSelector"] == {"kubernetes.io/os": "linux", selector[0]: selector[1]}
        assert pod["containers"][0]["imagePullPolicy"] == "Always"


@pytest.mark.parametrize("setting", [
    "usb=true", "components.privilegd=true", "agent.replicas=2", 'controller.replicas="two"', 'components.usb="yes"', "agent=null",
    "controller.replicas=-1", 'images.agent.repository=""', 'images.agent.repository="https://r/a"', 'images.agent.tag="a b"',
    'images.controller.digest="0123"', 'images.pullPolicy="always"', 'agent.kubeletDir=""', 'agent.kubeletDir="var/lib/kubelet"',
    'agent.kubeletDir="/var/lib/kubelet/"', "agent.extraArgs=[1]"])
def test_a_value_that_it_does_not_know_is_refused(chart, setting):
    said = helm("template", "hostdev", chart, "--set-json", setting, check=False)
    assert said.returncode != 0 and "values don't meet the specifications of the schema" in said.stderr


def test_the_api_server_takes_what_its_values_change(installed, chart):
    said = helm("template", "hostdev", chart, "--set-json", 'images.pullSecrets=[{"name":"one"}]', "--set", "components.privileged=true",
                "--set", "agent.kubeletDir=/var/lib/k0s/kubelet")
    try_out(installed, "-f", "-", input=said.stdout)


# --- the plugin ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """An archive of a program that is linked as the plugin is, but quickly, and its manifest."""
    folder = tmp_path_factory.mktemp("plugin")
    code = '#include <stdio.h>\nint main() { return puts("kubectl-hostdev 1.2.3-rc.1") < 0; }'
    subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", folder / "built"], input=code.encode(), check=True)
    archive = folder / "kubectl-hostdev-linux-amd64.tar.gz"
    arch = subprocess.run(["dpkg", "--print-architecture"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    part("plugin", folder / "built", arch, archive)
    manifest = folder / "hostdev.krew.yaml"
    manifest.write_text(part("krew", VERSION, URL, f"{arch}={archive}"))
    return archive, manifest


def test_the_archive_has_the_program_and_its_licences(plugin, tmp_path):
    with tarfile.open(plugin[0]) as tar:
        assert all((m.mtime, m.uid, m.gid) == (0, 0, 0) for m in tar.getmembers())
        tar.extractall(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"kubectl-hostdev", "kubectl_complete-hostdev", "kubectl-hostdev.1", "LICENSE", "licenses"}
    assert {path.name for path in (tmp_path / "licenses").iterdir()} == {"libc6", "common"}
    assert subprocess.run([tmp_path / "kubectl-hostdev"], check=True, capture_output=True, text=True).stdout.startswith("kubectl-hostdev ")


def test_the_manifest_is_of_the_archive(plugin):
    """The fields that https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/ asks for."""
    manifest = yaml.safe_load(plugin[1].read_text())
    assert (manifest["apiVersion"], manifest["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert manifest["metadata"] == {"name": "hostdev"}
    assert manifest["spec"].keys() == {"version", "homepage", "shortDescription", "description", "platforms"}
    assert manifest["spec"]["version"] == f"v{VERSION}" and len(manifest["spec"]["shortDescription"]) <= 50
    [platform] = manifest["spec"]["platforms"]
    assert platform == {"selector": {"matchLabels": {"os": "linux", "arch": "amd64"}}, "bin": "kubectl-hostdev",
                        "uri": f"{URL}/{plugin[0].name}", "sha256": hashlib.sha256(plugin[0].read_bytes()).hexdigest()}


def krew(folder, plugin, manifest):
    """As docs/install.md says; (exit status, what it says, what kubectl then runs)"""
    environment = os.environ | {"KREW_ROOT": str(folder / "krew"), "HOME": str(folder), "PATH": f"{folder}/krew/bin:{BIN}:{os.environ['PATH']}"}
    made = subprocess.run(["kubectl", "krew", "install", f"--manifest={manifest}", f"--archive={plugin[0]}"], env=environment,
                          capture_output=True, text=True)
    return made.returncode, made.stderr, environment


def test_krew_installs_it(plugin, tmp_path):
    status, said, environment = krew(tmp_path, plugin, plugin[1])
    assert status == 0, said
    assert subprocess.run(["kubectl", "hostdev"], env=environment, capture_output=True, text=True).stdout == f"kubectl-hostdev {VERSION}\n"


def test_krew_refuses_another_archive(plugin, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(re.sub('sha256: .*', f'sha256: "{"0" * 64}"', plugin[1].read_text()))
    status, said, _ = krew(tmp_path, plugin, wrong)
    assert status != 0 and "checksum" in said


# --- the SBOM -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bom(plugin, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bom")
    make(folder)
    for name in ("agent", "controller"):
        (folder / f"hostdev-{name}.tar").rename(folder / f"hostdev-{name}.oci.tar")
    (folder / plugin[0].name).write_bytes(plugin[0].read_bytes())
    return folder, json.loads(part("sbom", VERSION, URL, "0123abc", "2026-01-02T03:04:05Z", folder, "amd64=/var/lib/dpkg"))


def test_the_sbom_says_what_spdx_asks_for(bom):
    """The mandatory fields of SPDX 2.3, sections 6 and 7, and that all that is named is there."""
    document = bom[1]
    assert (document["spdxVersion"], document["dataLicense"], document["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
    assert document["documentNamespace"].startswith("https://") and "#" not in document["documentNamespace"]
    assert document["creationInfo"] == {"created": "2026-01-02T03:04:05Z", "creators": [f"Tool: hostdev-release-{VERSION}"]}
    ids = [package["SPDXID"] for package in document["packages"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each) for each in ids)
    assert all({"name", "versionInfo", "downloadLocation"} <= package.keys() and not package["filesAnalyzed"] for package in document["packages"])
    named = {end for relation in document["relationships"] for end in (relation["spdxElementId"], relation["relatedSpdxElement"])}
    assert named == {"SPDXRef-DOCUMENT", *ids}


def test_the_sbom_lists_what_is_in_images_and_plugins(bom):
    folder, document = bom
    packages = {package["SPDXID"]: package for package in document["packages"]}
    described = {r["relatedSpdxElement"] for r in document["relationships"] if r["relationshipType"] == "DESCRIBES"}
    assert {packages[each]["name"] for each in described} == {"hostdev-agent", "hostdev-controller", "kubectl-hostdev"}
    inside = {name: {packages[r["relatedSpdxElement"]]["name"] for r in document["relationships"] if r["spdxElementId"] == f"SPDXRef-{name}-amd64"}
              for name in ("hostdev-agent", "hostdev-controller", "kubectl-hostdev")}
    assert inside["kubectl-hostdev"] == {"libc6"}
    assert {"libc6", "libcurl3-gnutls", "pci.ids"} <= inside["hostdev-agent"] and "pci.ids" not in inside["hostdev-controller"]
    libc = packages["SPDXRef-deb-libc6-amd64"]
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libc6:amd64"], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert libc["versionInfo"] == version and libc["sourceInfo"].startswith("Debian's source package glibc ")
    archive = folder / "kubectl-hostdev-linux-amd64.tar.gz"
    assert packages["SPDXRef-kubectl-hostdev-amd64"]["checksums"] == [
        {"algorithm": "SHA256", "checksumValue": hashlib.sha256(archive.read_bytes()).hexdigest()}]


def test_the_sbom_has_the_version_that_was_built(bom):
    """Of a library that is built from Debian's source, which can be newer than the installed package."""
    said = json.loads(part("sbom", VERSION, URL, "0123abc", "2026-01-02T03:04:05Z", bom[0], "amd64=/var/lib/dpkg", "libc6:amd64=9.9-1",
                           "libc6:arm64=8.8-1"))
    [libc] = [package for package in said["packages"] if package["name"] == "libc6"]
    assert libc["versionInfo"] == "9.9-1" and libc["sourceInfo"] == "Debian's source package glibc 9.9-1"
    assert "libc6@9.9-1?" in libc["externalRefs"][0]["referenceLocator"]


# --- all of it ----------------------------------------------------------------------------------------------------


CMAKE = """#!/bin/bash
# In place of builds that take minutes: programs that are built already.
echo "$*" >>"$TOLD"
[[ $1 == --build ]] || exit 0
mkdir -p "build/$3/bin"
for name in "${@:5}"; do cp "$BUILT/$name" "build/$3/bin/"; done
"""


@pytest.fixture(scope="module")
def released(plugin, tmp_path_factory):
    """A folder with the commit's tree, what two runs of hack/release have made of it, and what they have built."""
    folder = tmp_path_factory.mktemp("released")
    tree, built = folder / "tree", folder / "built"
    tree.mkdir()
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["xargs", "-0", "cp", "--parents", "-t", tree], input=files, check=True, cwd=ROOT)
    commit(tree)
    subprocess.run(["git", "-C", tree, "tag", "v1.2.3"], check=True)
    built.mkdir()
    for name in sum(PROGRAMS.values(), []):
        shutil.copy(program(name), built)
    shutil.copy(plugin[0].parent / "built", built / "kubectl-hostdev")
    (folder / "bin").mkdir()
    (folder / "bin/cmake").write_text(CMAKE)
    (folder / "bin/cmake").chmod(0o755)
    for run, umask in (("one", 0o022), ("two", 0o077)):
        (folder / run).mkdir()
        environment = os.environ | {"TMPDIR": str(folder / run), "TOLD": str(folder / "told"), "BUILT": str(built),
                                    "PATH": f"{folder}/bin:{os.environ['PATH']}"}
        subprocess.run([tree / "hack/release", "--arch", "amd64", "--registry", REGISTRY, "--output", folder / run / "out"],
                       env=environment, umask=umask, check=True, stdout=subprocess.DEVNULL)
    return folder


def test_two_releases_of_a_commit_are_the_same(released):
    one, two = ({file.name: (file.read_bytes(), file.stat().st_mode) for file in (released / run / "out").iterdir()} for run in ("one", "two"))
    assert one == two
    assert one.keys() == {
        "hostdev-agent.oci.tar", "hostdev-controller.oci.tar", "crds.yaml", "install.yaml", "install-kubevirt.yaml", "install-harvester.yaml",
        "install-processes.yaml", "hostdev-1.2.3.tgz", "kubectl-hostdev-linux-amd64.tar.gz", "hostdev.krew.yaml", "hostdev.spdx.json",
        "SHA256SUMS"}
    assert [path.name for path in (released / "one").iterdir()] == ["out"]


def test_the_checksums_are_of_all_files(released):
    folder = released / "one/out"
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
    named = {line.split()[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert named == {file.name for file in folder.iterdir()} - {"SHA256SUMS"}


def test_the_tag_is_the_version_of_all_that_is_built(released):
    told = (released / "told").read_text().splitlines()
    assert [line for line in told if "1.2.3" in line] == [f"--preset {preset} -DHOSTDEV_VERSION=1.2.3" for preset in
                                                          ("release-minimal", "release-static")] * 2
    folder = released / "one/out"
    head = subprocess.run(["git", "-C", released / "tree", "rev-parse", "HEAD"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    for name in ("agent", "controller"):
        image = Image(folder / f"hostdev-{name}.oci.tar")
        assert image.reference["annotations"]["io.containerd.image.name"] == f"localhost/hostdev/{name}:1.2.3"
        labels = image.config["config"]["Labels"]
        assert (labels[f"{LABEL}version"], labels[f"{LABEL}revision"]) == ("1.2.3", head)
        assert f"image: {REGISTRY}/{name}:1.2.3" in (folder / "install.yaml").read_text()
    assert "version: 1.2.3" in helm("show", "chart", folder / "hostdev-1.2.3.tgz").stdout.splitlines()
    assert yaml.safe_load((folder / "hostdev.krew.yaml").read_text())["spec"]["version"] == "v1.2.3"
    assert head in (folder / "hostdev.spdx.json").read_text()


# --- which version ------------------------------------------------------------------------------------------------


@pytest.fixture
def clone(tmp_path):
    """The scripts in a repository of their own, with one commit."""
    folder = tmp_path / "clone"
    folder.mkdir()
    shutil.copytree(ROOT / "hack", folder / "hack")
    commit(folder)
    return folder


def refused(clone, *words, path=""):
    ended = subprocess.run([clone / "hack/release", "--output", clone.parent / "out", *words], capture_output=True, text=True,
                           env=os.environ | {"PATH": f"{path}:{os.environ['PATH']}"} if path else None)
    assert ended.returncode == 1 and not (clone.parent / "out").exists()
    return ended.stderr


def test_a_tree_with_changes_is_not_released(clone):
    (clone / "new").write_text("")
    assert "the tree has changes that are not committed" in refused(clone, "0.2.0")


def test_the_version_is_that_of_the_tag(clone):
    assert "the commit has 0 tags of a version" in refused(clone)
    subprocess.run(["git", "-C", clone, "tag", "v0.2.0"], check=True)
    assert "the commit's tag is v0.2.0, and not v0.3.0" in refused(clone, "0.3.0")
    subprocess.run(["git", "-C", clone, "tag", "v0.3.0"], check=True)
    assert "the commit has 2 tags of a version" in refused(clone)


@pytest.mark.parametrize("version", ["1", "1.2", "01.2.3", "1.2.3+b", "1.2.3_4", "latest", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3-rc.1."])
def test_what_is_no_version_is_refused(clone, version):
    assert f"{version} is no version" in refused(clone, version)


def test_versions_of_semver_are_taken(clone):
    """Up to what is asked next: whether the folder is there."""
    (clone.parent / "out").mkdir()
    for version in ("0.0.0", "10.20.30", "v1.2.3", "1.2.3-rc.1", "1.2.3-0", "1.2.3-01a", "1.2.3--.a-b"):
        ended = subprocess.run([clone / "hack/release", "--output", clone.parent / "out", version], capture_output=True, text=True)
        assert ended.returncode == 1 and "is there already" in ended.stderr


@pytest.mark.parametrize("registry", ["https://registry.example.com/hostdev", "registry.example.com/Team", "registry.example.com/a b", "", "/"])
def test_what_is_no_registry_is_refused(clone, registry):
    assert "is no registry such as" in refused(clone, "--registry", registry, "0.2.0")


@pytest.mark.parametrize("url", ["http://example.com/x", "https://", "https://a b", 'https://a"b', "example.com"])
def test_what_krew_cannot_download_from_is_refused(clone, url):
    assert "is no address that krew can download from" in refused(clone, "--url", url, "0.2.0")


@pytest.mark.parametrize("words, said", [(["--nonsense"], "there is no option --nonsense"), (["0.1.0", "0.2.0"], "not 0.1.0 and 0.2.0")])
def test_what_it_does_not_know_is_named(clone, words, said):
    ended = subprocess.run([clone / "hack/release", *words], capture_output=True, text=True)
    assert ended.returncode == 2 and said in ended.stderr and len(ended.stderr.splitlines()) == 1


def test_an_architecture_that_cannot_be_built_is_refused_first(clone, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/dpkg").write_text("#!/bin/sh\necho arm64\n")
    (tmp_path / "bin/dpkg").chmod(0o755)
    assert "programs of amd64 cannot be built on arm64" in refused(clone, "0.2.0", path=tmp_path / "bin")


def test_tools_are_installed_before_anything_is_built(clone):
    (clone / "hack/packages").write_text('#!/bin/sh\necho "hack/packages $*" >&2\nexit 1\n')
    subprocess.run(["git", "-C", clone, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qam", "two"], check=True)
    assert refused(clone, "--arch", "amd64", "0.2.0").splitlines()[-1] == "hack/packages install build"


@pytest.mark.parametrize("folder", ["file", "/proc", "/proc/1"])
def test_a_folder_that_cannot_be_written_is_refused_first(clone, folder):
    (clone.parent / "file").write_text("")
    (clone / "hack/packages").unlink()  # nothing is looked at after it
    subprocess.run(["git", "-C", clone, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qam", "two"], check=True)
    assert "cannot be written into; give another folder" in refused(clone, "--output", clone.parent / folder / "out", "0.2.0")


def test_a_release_that_is_there_is_kept(clone):
    (clone.parent / "there").mkdir()
    ended = subprocess.run([clone / "hack/release", "--output", clone.parent / "there", "0.2.0"], capture_output=True, text=True)
    assert ended.returncode == 1 and "is there already" in ended.stderr
