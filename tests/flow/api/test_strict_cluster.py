"""manifests/ on a cluster as hosters set them up: pods are `restricted` unless their namespace says otherwise, and
critical pods need a quota in their namespace. Its own control plane; its controllers make the pods.
"""

import shutil
import tempfile
from pathlib import Path

import pytest
import yaml

from cluster import ROOT, Cluster, wait_until
from identities import NAMESPACE

CRITICAL = ["system-node-critical", "system-cluster-critical"]
ADMISSION = {
    "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [
        {"name": "PodSecurity", "configuration": {
            "apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
            "defaults": {f"{mode}{more}": value for mode in ("enforce", "audit", "warn")
                         for more, value in (("", "restricted"), ("-version", "latest"))}}},
        {"name": "ResourceQuota", "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "ResourceQuotaConfiguration", "limitedResources": [
                {"resource": "pods", "matchScopes": [
                    {"scopeName": "PriorityClass", "operator": "In", "values": CRITICAL}]}]}}]}
LABELS = {"agent": "app.kubernetes.io/component=agent", "controller": "app.kubernetes.io/component=controller"}


@pytest.fixture(scope="module")
def strict():
    folder = Path(tempfile.mkdtemp(prefix="hostdev-strict-"))
    config = folder / "admission.yaml"
    config.write_text(yaml.safe_dump(ADMISSION))
    try:
        yield Cluster.start(folder / "cluster", "--full", "--apiserver", f"--admission-control-config-file={config}")
    finally:
        Cluster.stop(folder / "cluster")
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def installed(strict):
    """As docs/install.md says; {what: standard error}."""
    said = {"crds": strict.kubectl("apply", "--server-side", "-f", ROOT / "crds").stderr}
    strict.kubectl("wait", "--for=condition=Established", "--timeout=180s", "-f", ROOT / "crds")
    strict.kubectl("create", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {
        "name": "node1", "labels": {"kubernetes.io/os": "linux"}}})
    for overlay in ("base", "overlays/kubevirt", "overlays/harvester", "overlays/local"):
        said[overlay] = strict.kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", "-k",
                                       ROOT / "manifests" / overlay).stderr
    return said


def test_nothing_warns(installed):
    assert {what: text for what, text in installed.items() if text} == {}


@pytest.mark.parametrize("component, number", [("agent", 1), ("controller", 2)])
def test_pods_are_made(strict, installed, component, number):
    def made():
        return strict.get("pods", "-n", NAMESPACE, "--selector", LABELS[component])
    pods = wait_until(lambda: len(made()) >= number and made(), 30, f"{number} pods of the {component}")
    assert {pod["spec"]["priorityClassName"] for pod in pods} <= set(CRITICAL)


@pytest.mark.parametrize("missing, refusal", [
    ("quota", "insufficient quota to match these scopes"),
    ("level", 'violates PodSecurity "restricted:latest"'),
])
def test_without_what_the_base_brings_it_would_not_be(strict, installed, missing, refusal):
    """That the cluster is as strict as it should be: an agent's pod in a namespace of somebody else's."""
    name = f"without-{missing}"
    labels = {"pod-security.kubernetes.io/enforce": "privileged"} if missing == "quota" else {}
    strict.kubectl("create", "-f", "-", input={"apiVersion": "v1", "kind": "Namespace",
                                               "metadata": {"name": name, "labels": labels}})
    strict.kubectl("create", "serviceaccount", "hostdev-agent", "-n", name)
    template = strict.get("daemonset", "hostdev-agent", "-n", NAMESPACE)["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "judged"}, "spec": template["spec"]}
    answer = strict.kubectl("create", "--dry-run=server", "-n", name, "-f", "-", input=pod, check=False)
    assert answer.returncode != 0 and refusal in answer.stderr
