"""The programs that ship, built from nothing."""

import os
import subprocess

from cluster import ROOT

PROGRAMS = ["hostdev-agent", "hostdev-helper", "hostdev-names", "hostdev-nvml", "hostdev-controller"]


def build(folder, preset, programs=PROGRAMS):
    """Of this tree's files, in that folder; what a compiler cache would keep is not asked."""
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           stdout=subprocess.PIPE, check=True).stdout
    folder.mkdir(parents=True)
    subprocess.run(["xargs", "-0", "cp", "--parents", "-t", folder], input=files, check=True, cwd=ROOT)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CMAKE_", "CCACHE_"))}
    for command in (["cmake", "--preset", preset], ["cmake", "--build", "--preset", preset, "--target", *programs]):
        subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    return folder / "build" / preset / "bin"


def build_elsewhere(parent, preset, programs=PROGRAMS):
    """In another folder: the programs are those of build/, byte for byte, debugging information and all."""
    first = ROOT / "build" / preset / "bin"
    second = build(parent / "in/a/folder/that is elsewhere", preset, programs)
    for name in programs:
        program = (first / name).read_bytes()
        assert program == (second / name).read_bytes(), name
        assert str(ROOT).encode() not in program
    return first, second
