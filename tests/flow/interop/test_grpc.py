"""Our gRPC (grpc-probe) and device plugins (plugin-probe) with grpc-go, h2spec and frames by hand on the other end.

Each Go test of this folder is a test here. TestRow26... is about row 26 of the fault matrix.
"""

import fcntl
import os
import re
import subprocess

import pytest

from cluster import ROOT

HERE = ROOT / "tests/flow/interop"
NAMES = [name for source in sorted(HERE.glob("*_test.go"))
         for name in re.findall(r"^func (Test\w+)\(", source.read_text(), re.MULTILINE)]


@pytest.fixture(scope="session")
def tests(tmp_path_factory):
    """The program of all Go tests; whichever process of a run comes first builds it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    program = folder / "interop-tests"
    with open(folder / "interop-lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            subprocess.run([os.environ.get("GO", "go"), "test", "-c", "-o", program, "."], cwd=HERE, check=True)
    return program


@pytest.mark.parametrize("name", NAMES)
def test_grpc(name, tests):
    programs = ROOT / os.environ.get("HOSTDEV_TEST_BUILD", "build/dev") / "bin"
    probes = {"GRPC_PROBE": str(programs / "grpc-probe"), "PLUGIN_PROBE": str(programs / "plugin-probe")}
    run = subprocess.run([tests, "-test.run", f"^{name}$", "-test.v", "-test.timeout", "280s"], cwd=HERE,
                         env=os.environ | probes, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(run.stdout)
    assert run.returncode == 0 and "\nPASS" in "\n" + run.stdout, run.stdout
