"""The previous version of hostdev, as hack/previous builds it from the history.

A clone without the history has none: its previous version is this one under another number, and every run says so.
"""

import re
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path

from cluster import ROOT

PROGRAMS = ("hostdev-agent", "hostdev-helper", "hostdev-names", "hostdev-controller")
VERSION = re.search(r"^project\(hostdev VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
NO_HISTORY = 3  # exit status of hack/previous


@dataclass
class Previous:
    """Another version of hostdev."""

    programs: Path  # folder
    tree: Path  # has its crds/ and manifests/
    version: str
    real: bool  # other code


def previous(programs, scratch):
    """It, whole; of these programs in that folder where the clone has no history."""
    made = subprocess.run([ROOT / "hack/previous"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if made.returncode == NO_HISTORY:
        warnings.warn(made.stderr.strip())
        return renamed(Path(programs), scratch)
    assert made.returncode == 0, made.stderr
    folder = Path(made.stdout.strip())
    found = Previous(folder / "bin", folder, (folder / "version").read_text().strip(), True)
    check_version(found)
    return found


def renamed(programs, scratch):
    """This version, with a number of the same length in its programs."""
    version = VERSION[:-1] + ("9" if VERSION[-1] != "9" else "8")
    for name in PROGRAMS:
        text = (programs / name).read_bytes()
        (scratch / name).write_bytes(text.replace(f"{VERSION}\0".encode(), f"{version}\0".encode()))
        (scratch / name).chmod(0o755)
    made = Previous(scratch, ROOT, version, False)
    check_version(made)
    return made


def check_version(which):
    """By it rollouts, user agents and metrics tell it from this one."""
    for name in ("hostdev-agent", "hostdev-controller"):
        said = subprocess.run([which.programs / name, "--version"], check=True, capture_output=True, text=True).stdout
        assert said.split()[-1] == which.version != VERSION, said
