"""Metrics of a real agent and a real controller: as the docs list them, scraped by a real Prometheus."""

import json
import re
import time

import pytest

from cluster import ROOT, wait_until
from fake_kubelet import FakeKubelet
from monitored import RESOURCE, Monitored
from prometheus import COMPONENT, Prometheus, alerts, promtool
from test_nvidia import ADDRESSES, Gpus
from webhook import Webhook

CONFIG = "/apis/hostdev.io/v1alpha1/hostdeviceconfigs"
DOCS = ROOT / "docs/metrics.md"
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \|([^|]*)\| (.+) \|$", re.MULTILINE)
PARTS = {"Both programs": ("agent", "controller"), "The agent": ("agent",), "The controller": ("controller",)}
NAME = re.compile(r"\b(?:hostdev|process)_\w+")


@pytest.fixture
def kubelet():
    made = FakeKubelet()
    yield made
    made.remove()


@pytest.fixture
def controller(installed, identities, tmp_path):
    made = Webhook(installed, identities, tmp_path)
    try:
        yield made.start()
    finally:
        made.close()


@pytest.fixture
def monitored(agents, machine, node, controller, kubelet, rest, tmp_path):
    (tmp_path / "host/dev").mkdir(parents=True)
    (tmp_path / "host/dev/kvm").symlink_to("/dev/null")
    body = {"apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
            "spec": {"genericDevices": [{"resourceName": RESOURCE, "path": "/dev/kvm", "count": 2}],
                     "pciHostDevices": [{"resourceName": "example.com/by-dra", "pciVendorSelector": "8086:ffff",
                                         "dra": {"mode": "Claimed"}}]}}
    status, answer = rest.request("POST", CONFIG, body)
    assert status == 201, answer
    try:
        gpus = Gpus(machine, kubelet)
        agent = agents(machine, node, flags=[*kubelet.flags, "--host-root", tmp_path / "host", "--dev-root",
                                             tmp_path / "host/dev", "--cdi", "on", "--cdi-dir", tmp_path / "cdi",
                                             *gpus.flags])
        agent.env["HOSTDEV_FAKE_NVML"] = str(gpus.folder)
        monitored = Monitored(agent.start(), controller, kubelet)
        gpus.wait_watch()
        gpus.tell("xid 1 31")
        wait_until(lambda: monitored.scrape("agent").value("hostdev_gpu_xids_total", xid="31") == 1, 10, "an Xid")
        yield monitored
    finally:
        rest.request("DELETE", f"{CONFIG}/default")


def documented():
    """{program: {metric: (type, labels)}} of docs/metrics.md."""
    found = {"agent": {}, "controller": {}}
    for part in re.split(r"^## ", DOCS.read_text(), flags=re.MULTILINE)[1:]:
        rows = ROW.findall(part)
        assert len(rows) == part.count("\n| `"), f"a row is not read in: {part.splitlines()[0]}"
        for name, kind, labels, _ in rows:
            for program in PARTS[part.splitlines()[0]]:
                assert name not in found[program], f"{name} is there twice"
                found[program][name] = (kind, set(re.findall(r"`(\w+)`", labels)))
    return found


def test_the_docs_list_what_programs_export(monitored):
    for program, wanted in documented().items():
        scrape = monitored.scrape(program)
        have = {name: (kind, scrape.labels.get(name)) for name, kind in scrape.type.items()}
        assert have == wanted, program
        assert scrape.help.keys() == scrape.type.keys()


def test_promtool_finds_nothing_to_say(monitored):
    for program in monitored.programs():
        checked = promtool("check", "metrics", input=monitored.scrape(program).text)
        assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_figures_are_those_of_the_program(monitored):
    scrape = monitored.scrape("agent")
    kinds = {}
    for kind, _ in monitored.agent.inspect():
        kinds[kind] = kinds.get(kind, 0) + 1
    for kind, number in kinds.items():
        assert scrape.value("hostdev_devices", kind=kind) == number
    assert scrape.value("hostdev_plugin_devices", resource=RESOURCE, health="healthy") == 2
    assert scrape.value("hostdev_kubelet_registrations_total", way="registry") == 0
    assert scrape.value("hostdev_helper_seconds_count", verb="scan") >= scrape.value("hostdev_scans_total") > 0
    assert scrape.value("hostdev_helper_seconds_count", verb="bind") == scrape.value("hostdev_helpers_stuck") == 0
    pid = monitored.agent.process.pid
    pages = int(open(f"/proc/{pid}/statm").read().split()[1])
    assert abs(scrape.value("process_resident_memory_bytes") - pages * 4096) < 2 << 20
    assert abs(scrape.value("process_start_time_seconds") - time.time()) < 3600
    assert scrape.value("hostdev_gpu_healthy") == len(ADDRESSES)
    monitored.allocate()
    assert monitored.scrape("agent").value("hostdev_plugin_allocations_total", result="done") == 1


def test_scrapes_are_cheap(monitored):
    """Not much text, and little of the processor; how long they take says more of the machine."""
    for program in monitored.programs():
        scrape = monitored.scrape(program)
        assert len(scrape.text) < 80 * 1024
        series = {}
        for name, samples in scrape.samples.items():
            series[name] = len({tuple(sorted(labels.items())) for labels, _ in samples})
            assert series[name] == len(samples), f"{name}: a series comes twice"
        for _ in range(20):
            monitored.scrape(program)
        after = monitored.scrape(program)
        assert after.value("process_cpu_seconds_total") - scrape.value("process_cpu_seconds_total") < 1


def expressions():
    """Of the dashboard, by the title of the panel, with Grafana's variables filled in."""
    dashboard = json.loads((COMPONENT / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$__rate_interval", "1m").replace("$node", ".*")


def test_the_dashboard_is_whole():
    dashboard = json.loads((COMPONENT / "dashboard.json").read_text())
    assert dashboard["uid"] == "hostdev"
    assert [one["name"] for one in dashboard["templating"]["list"]] == ["datasource", "node"]
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in panels:
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}"
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
    taken = [(x, y) for place in (panel["gridPos"] for panel in dashboard["panels"])
             for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])]
    assert len(set(taken)) == len(taken), "panels overlap"


def test_the_dashboard_shows_all_of_dynamic_resource_allocation():
    families = {name for name in documented()["agent"] if name.startswith("hostdev_dra_")}
    shown = " ".join(expression for _, expression in expressions())
    assert len(families) >= 6
    assert {name for name in families if name not in shown} == set()


def exported(name, families):
    """Is it a series of one of these families?"""
    return name in families or re.sub(r"_(bucket|sum|count)$", "", name) in families


def test_rules_and_dashboard_use_what_is_exported():
    families = {name for metrics in documented().values() for name in metrics}
    for where, expression in [*expressions(), *((name, rule["expr"]) for name, rule in alerts().items())]:
        used = [name for name in NAME.findall(re.sub(r'"[^"]*"', '""', expression))]
        assert used or where == "HostdevAgentDown" or "up{" in expression, where
        assert all(exported(name, families) for name in used), (where, used)


SCRAPED = {"job", "node", "instance", "le"}  # what Prometheus and histograms add
SELECTOR = re.compile(r"\b((?:hostdev|process)_\w+|up)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
GROUPED = re.compile(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)")


def labels_of(name):
    """Those that docs/metrics.md has for a series, which a test holds against what the programs export."""
    known = {metric: labels for metrics in documented().values() for metric, (_, labels) in metrics.items()}
    return set(known.get(name) or known.get(re.sub(r"_(bucket|sum|count)$", "", name)) or ())


def wrong_labels(expression):
    """Names that the metric has not, and values that nothing has: neither exported nor said in docs/metrics.md."""
    text = (ROOT / "docs/metrics.md").read_text() + (ROOT / "docs/reasons.md").read_text()
    for name, matchers in SELECTOR.findall(expression):
        for label, sign, value in MATCHER.findall(matchers):
            if label not in labels_of(name) | SCRAPED:
                yield f"{name} has no label {label}"
            elif label == "job":
                if not any(re.fullmatch(value, f"hostdev-{job}") for job in documented()):
                    yield f"no job {value}"
            elif label == "node" or value.isdigit():  # whatever nodes there are; HTTP's codes
                continue
            elif sign in ("=", "!=") and f"`{value}`" not in text:
                yield f"{label} is never {value}"
            elif sign in ("=~", "!~"):
                yield from (f"{label} is never {one}" for one in value.split("|")
                            if re.fullmatch(r"[\w-]+", one) and not one.isdigit() and f"`{one}`" not in text)
    used = {label for name in NAME.findall(re.sub(r'"[^"]*"', '""', expression)) for label in labels_of(name)}
    for names in GROUPED.findall(expression):
        yield from (f"nothing has the label {name}" for name in re.findall(r"\w+", names) if name not in used | SCRAPED)


def test_rules_and_dashboard_use_labels_that_there_are():
    for where, expression in [*expressions(), *((name, rule["expr"]) for name, rule in alerts().items())]:
        assert list(wrong_labels(expression)) == [], where


@pytest.mark.parametrize("expression", [
    'hostdev_devices{nodde=~".*"}', 'hostdev_devices{state!="raedy"}', "sum by (kind, raison) (hostdev_claims)",
    'hostdev_transitions_total{verb=~"bindd|release"}', 'process_open_fds{job=~"hostdef-.*"}', 'hostdev_devices{verb="bind"}'])
def test_labels_that_are_misspelt_are_noticed(expression):
    assert list(wrong_labels(expression))


def test_prometheus_scrapes_and_judges_both(monitored, node, tmp_path):
    targets = {f"hostdev-{name}": f"127.0.0.1:{one.port()}" for name, one in monitored.programs().items()}
    with Prometheus(tmp_path / "prometheus", targets, node) as prometheus:
        wait_until(lambda: len(prometheus.query("up == 1")) == 2, 30, "both are up")
        wait_until(lambda: prometheus.query('process_start_time_seconds{job="hostdev-agent"}'), 10)
        for job in targets:
            metadata = prometheus.ask("targets/metadata", match_target=f'{{job="{job}"}}', limit=1000)
            have = {one["metric"]: one["type"] for one in metadata}
            wanted = documented()[job.removeprefix("hostdev-")]
            assert have == {name: kind for name, (kind, _) in wanted.items()}
            for name, (kind, _) in wanted.items():
                series = f"{name}_bucket" if kind == "histogram" else name
                assert prometheus.query(f'{series}{{job="{job}", node="{node}"}}'), series

        for title, expression in expressions():
            prometheus.query(expression)  # parses, and can be worked out
        assert prometheus.query(dict(expressions())["Devices"]), "a panel of what there is shows something"

        def judged():
            rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
            return rules if all(rule["health"] != "unknown" for rule in rules) else None
        rules = wait_until(judged, 60, "all rules have been worked out")
        assert {rule["name"]: rule["health"] for rule in rules} == dict.fromkeys(alerts(), "ok")
        assert [alert["labels"]["alertname"] for alert in prometheus.ask("alerts")["alerts"]
                if alert["state"] == "firing"] == []
