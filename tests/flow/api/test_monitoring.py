"""manifests/components/monitoring on a real API server that has the Prometheus operator's kinds."""

import json
import os
import subprocess
import zipfile

import pytest
import yaml

from cluster import ROOT, wait_until
from identities import NAMESPACE
from prometheus import alerts
from transcript import blocks

MODULE, VERSION = "github.com/prometheus-operator/prometheus-operator", "v0.85.0"
SUM = "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s="
KINDS = ("podmonitors", "prometheusrules")
FULL = "example/prometheus-operator-crd-full/monitoring.coreos.com_{}.yaml"


def definitions(folder):
    """The operator's CustomResourceDefinitions, out of its Go module."""
    env = os.environ | {"GOFLAGS": "-mod=mod", "GOWORK": "off"}
    (folder / "go.mod").write_text("module hostdev/tests/flow/api\n")
    # Go that is older than the module wants fetches it, but does not unpack it and ends with an error.
    fetched = subprocess.run([os.environ.get("GO", "go"), "mod", "download", "-json", f"{MODULE}@{VERSION}"],
                             cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
    module = json.loads(fetched.stdout)
    assert module.get("Sum") == SUM, module
    with zipfile.ZipFile(module["Zip"]) as archive:
        return [yaml.safe_load(archive.read(f"{MODULE}@{VERSION}/{FULL.format(kind)}")) for kind in KINDS]


@pytest.fixture
def operator(installed, tmp_path):
    """The cluster with these kinds."""
    made = definitions(tmp_path)
    names = [f"crd/{one['metadata']['name']}" for one in made]
    try:
        installed.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(made))
        installed.kubectl("wait", "--for=condition=Established", "--timeout=180s", *names)
        yield installed
    finally:
        installed.kubectl("delete", "--ignore-not-found", *names, check=False)


def render(cluster, folder, **more):
    """An overlay of the base with the component, as text and as objects by kind and name."""
    folder.mkdir()
    manifests = os.path.relpath(ROOT / "manifests", folder)
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({
        "resources": [f"{manifests}/base"], **more, "components": [f"{manifests}/components/monitoring"]}))
    text = cluster.kubectl("kustomize", folder).stdout
    return text, {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text)}


@pytest.fixture
def rendered(installed, tmp_path):
    return render(installed, tmp_path / "overlay")


def test_the_api_server_knows_every_field(operator, rendered):
    apply = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-")
    # Discovery of new kinds lags a little behind their condition.
    done = wait_until(lambda: (run := operator.kubectl(*apply, input=rendered[0], check=False)).returncode == 0 and run
                      or None, 20, lambda: operator.kubectl(*apply, input=rendered[0], check=False).stderr)
    for name in ("podmonitor.monitoring.coreos.com/hostdev-agent", "podmonitor.monitoring.coreos.com/hostdev-controller",
                 "prometheusrule.monitoring.coreos.com/hostdev", "configmap/hostdev-dashboard"):
        assert f"{name} serverside-applied (server dry run)" in done.stdout


@pytest.mark.parametrize("workload", [("DaemonSet", "hostdev-agent"), ("Deployment", "hostdev-controller")])
def test_monitors_find_the_pods_and_their_port(rendered, workload):
    objects = rendered[1]
    pod = objects[workload]["spec"]["template"]
    spec = objects["PodMonitor", workload[1]]["spec"]
    assert spec["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    [endpoint] = spec["podMetricsEndpoints"]
    assert endpoint["port"] in {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
    # The names that rules and dashboard have for it.
    assert {one["targetLabel"]: one.get("replacement") for one in endpoint["relabelings"]} == {
        "job": workload[1], "node": None}


def test_links_of_runbooks_lead_where_the_installer_says(installed, rendered, tmp_path):
    """As docs/metrics.md has it."""
    [said] = [block for block in blocks(ROOT / "docs/metrics.md") if "replacements:" in block.text]
    text, objects = render(installed, tmp_path / "linked", **yaml.safe_load(said.text))
    assert objects.keys() == rendered[1].keys()
    before = rendered[1]["PrometheusRule", "hostdev"]["spec"]
    links = {rule["alert"]: rule["annotations"].pop("runbook_url")
             for group in objects["PrometheusRule", "hostdev"]["spec"]["groups"] for rule in group["rules"]}
    assert links == {name: f"https://wiki.example.com/hostdev/runbooks.md#{name.lower()}" for name in alerts()}
    for rule in (rule for group in before["groups"] for rule in group["rules"]):
        del rule["annotations"]["runbook_url"]
    assert objects["PrometheusRule", "hostdev"]["spec"] == before


def test_the_dashboard_comes_as_it_is(rendered):
    config_map = rendered[1]["ConfigMap", "hostdev-dashboard"]
    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert config_map["metadata"]["namespace"] == NAMESPACE
    dashboard = (ROOT / "manifests/components/monitoring/dashboard.json").read_text()
    assert json.loads(config_map["data"]["dashboard.json"]) == json.loads(dashboard)
