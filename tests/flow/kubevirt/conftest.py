"""The local cluster with stock KubeVirt, as hack/kubevirt has brought it up, for all tests of this folder.

Every test finds no claims and no virtual machines but those of its file, and leaves none.
"""

import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).resolve().parents[1] / folder) for folder in ("node", "api")]

from bench import Bench  # noqa: E402


@pytest.fixture(scope="session")
def bench():
    made = Bench()
    made.clear()
    yield made


@pytest.fixture(scope="module")
def clean(bench):
    """At the end of a file there is nothing left of it."""
    yield bench
    bench.clear()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """What the programs said last is part of a failure's report."""
    report = (yield).get_result()
    bench = getattr(item, "funcargs", {}).get("bench")
    if report.failed and bench:
        report.sections += bench.words()
