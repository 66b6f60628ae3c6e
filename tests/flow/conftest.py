"""Fixtures that all flow tests share.

HOSTDEV_TEST_KUBECONFIG names a running cluster to use instead of one of our own.
"""

import os
import shutil
import tempfile

import pytest

from cluster import ROOT, Cluster, wait_until


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
    cluster.kubectl("apply", "-f", ROOT / "crds")
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", ROOT / "crds")
    for crd in cluster.get("-f", ROOT / "crds"):
        wait_until(lambda: serves_from_cache(cluster, crd["spec"]), 30, f"{crd['metadata']['name']} served")
    return cluster


def serves_from_cache(cluster, spec):
    """An API server refuses watches of a new kind (429) until its watch cache has been filled."""
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}?resourceVersion=0&limit=1"
    return cluster.kubectl("get", "--raw", path, check=False).returncode == 0


@pytest.fixture
def kubectl(crds):
    """kubectl(*args, input=None, check=True) for the cluster with our kinds."""
    return crds.kubectl
