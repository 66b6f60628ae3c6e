"""What the container images cost: their size on a node's disk, and as pods of the local cluster, the memory of their
processes and the time from their start until they are ready: with --vm on the emulated vm1, with --kubelet on this
machine.
"""

import io
import json
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path

from agent_cost import PRESETS, built
from cluster import ROOT
from report import figure, heading

SIZE_GOAL = 10  # MB
READY_GOAL_MS = 200
# Port of the probes; goal of RSS in MiB.
PROGRAMS = {"hostdev-agent": (9807, 8), "hostdev-controller": (9808, 12)}
LARGEST = 4
PROBE = ROOT / "tests/bench/container_probe.py"
MINIMAL = "release-minimal"


def make(preset, folder):
    """{name: (digest, tar)} of the images of the preset's programs."""
    said = subprocess.run([ROOT / "hack/image", "--programs", ROOT / "build" / preset / "bin", "--output", folder],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    words = (line.split() for line in said.splitlines())
    return {name.removeprefix("localhost/").rpartition(":")[0]: (digest, Path(file)) for name, digest, file in words}


def files(image):
    """{path: bytes} of an image's only layer."""
    with tarfile.open(image) as tar:
        parts = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}

    def blob(descriptor):
        return parts["blobs/" + descriptor["digest"].replace(":", "/")]

    manifest = json.loads(blob(json.loads(parts["index.json"])["manifests"][0]))
    layer = tarfile.open(fileobj=io.BytesIO(blob(manifest["layers"][0])))
    return {m.name: m.size for m in layer.getmembers() if m.isfile()}


def sizes():
    heading("container images, unpacked")
    for preset in built():
        with tempfile.TemporaryDirectory() as folder:
            for name, (digest, file) in make(preset, folder).items():
                found = files(file)
                figure(f"{name}, {PRESETS[preset]}", f"{sum(found.values()) / 1e6:.2f} MB",
                       f"goal {SIZE_GOAL} MB" if preset == MINIMAL else "")
                figure("  its digest", digest[7:19])
                for path, size in sorted(found.items(), key=lambda item: -item[1])[:LARGEST]:
                    figure(f"  {Path(path).name}", f"{size / 1e6:.2f} MB")


def in_containers(where, up, node):
    """Pods of hack/up, which goes on running; node is how a command is run on theirs."""
    heading(f"pods {where}, programs of {MINIMAL}")
    subprocess.run([ROOT / "hack/up", *up], env=os.environ | {"HOSTDEV_PRESET": MINIMAL}, stdout=subprocess.DEVNULL, check=True)
    for program, (port, goal) in PROGRAMS.items():
        said = subprocess.run([*node, "python3", PROBE, program, str(port)], stdout=subprocess.PIPE, text=True, check=True).stdout
        measured = json.loads(said)
        figure(f"{program}, RSS", f"{max(measured['rss']):.1f} MiB", f"goal {goal} MiB")
        figure(f"{program}, start to ready, the slowest", f"{max(measured['ready_ms']):.0f} ms",
               f"goal {READY_GOAL_MS} ms")


def run(vm=False, kubelet=False):
    sizes()
    if vm:
        in_containers("on vm1 (an emulated machine)", [], [ROOT / "hack/vm", "exec", "--"])
    if kubelet:
        in_containers("on this machine", ["--kubelet", *([] if vm else ["--no-vm"])], [])
