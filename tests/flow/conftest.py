"""Fixtures that all flow tests share.

HOSTDEV_TEST_KUBECONFIG names a running cluster to use instead of one of our own.
"""

import os
import shutil
import tempfile

import pytest

from cluster import Cluster

# The files that take longest, in this order: of several processes none is left with a long one at the end.
LONGEST = (
    "node/test_usb.py", "node/test_kubelet.py", "node/test_dra.py", "node/test_kubelet_restarts.py",
    "node/test_rolling_update.py",
    "node/test_claim_crash.py",
    "node/test_pods.py", "node/test_first_claim.py", "node/test_sriov.py", "node/test_claim_faults.py",
    "node/test_mdev.py", "node/test_hostdeviceconfig.py", "node/test_claim_plug.py", "node/test_claim_agents.py",
    "node/test_shipped.py", "node/test_migration.py", "node/test_claim.py", "node/test_iommufd.py",
    "node/test_storm.py", "node/test_claimable.py",
    "api/test_image.py", "api/test_kubevirt.py", "api/test_cleanup.py", "api/test_manifests.py",
    "api/test_docs_installed.py", "api/test_nvidia.py", "api/test_hami.py", "api/test_gpu.py", "api/test_pools.py",
    "api/test_webhook.py", "api/test_kubectl_hostdev.py", "api/test_agent_outage.py", "api/test_agent.py", "api/test_self_service.py",
    "api/test_agent_faults.py", "api/test_alerts.py", "api/test_crds.py", "api/test_migration.py", "api/test_map.py",
    "api/test_map_cluster.py",
    "api/test_client_faults.py", "api/test_release.py", "api/test_audit.py", "api/test_controller.py",
    "api/test_crd_skew.py", "api/test_webhook_clients.py", "api/test_admission.py", "api/test_agent_writes.py",
    "api/test_reasons.py", "api/test_prometheus.py",
)


def pytest_collection_modifyitems(items):
    """pytest-xdist hands files out in the order of their tests."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: place_of(item.path))


def place_of(path):
    name = f"{path.parent.name}/{path.name}"
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


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
