"""Fixtures that all flow tests share.

HOSTDEV_TEST_KUBECONFIG names a running cluster to use instead of one of our own.
"""

import os
import shutil
import tempfile

import pytest

from cluster import Cluster


@pytest.fixture(scope="session")
def cluster_options():
    """What else hack/cluster.d/cluster is told."""
    return []


@pytest.fixture(scope="session")
def cluster(cluster_options):
    """One API server for the whole run; tests clean up what they make in it."""
    if given := os.environ.get("HOSTDEV_TEST_KUBECONFIG"):
        yield Cluster(given)
        return
    folder = tempfile.mkdtemp(prefix="hostdev-flow-")
    try:
        yield Cluster.start(folder, *cluster_options)
    finally:
        Cluster.stop(folder)
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def crds(cluster):
    """The cluster with crds/ installed and served."""
    cluster.install_kinds()
    return cluster


@pytest.fixture
def kubectl(crds):
    """kubectl(*args, input=None, check=True) for the cluster with our kinds."""
    return crds.kubectl
