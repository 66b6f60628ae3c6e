"""The programs that ship, built from nothing."""

import os
import subprocess

from cluster import ROOT

PROGRAMS = ["hostdev-agent", "hostdev-helper", "hostdev-names", "hostdev-controller"]


def build(folder, preset):
    """Of this tree's files, in that folder; what a compiler cache would keep is not asked."""
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           stdout=subprocess.PIPE, check=True).stdout
    folder.mkdir(parents=True)
    subprocess.run(["xargs", "-0", "cp", "--parents", "-t", folder], input=files, check=True, cwd=ROOT)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CMAKE_", "CCACHE_"))}
    for command in (["cmake", "--preset", preset], ["cmake", "--build", "--preset", preset, "--target", *PROGRAMS]):
        subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    return folder / "build" / preset / "bin"


def build_twice(parent, preset):
    """In two folders below it; the programs are the same, byte for byte, debugging information and all."""
    first = build(parent / "here", preset)
    second = build(parent / "in/a/folder/that is elsewhere", preset)
    assert {each.name for each in first.iterdir()} >= set(PROGRAMS)
    for each in first.iterdir():
        assert each.read_bytes() == (second / each.name).read_bytes(), each.name
        assert str(parent).encode() not in each.read_bytes()
    return first, second
