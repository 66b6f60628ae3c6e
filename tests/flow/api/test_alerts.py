"""The alerts of manifests/components/monitoring: promtool takes and tests them, and there is a runbook for each."""

import re

import yaml

from cluster import ROOT
from prometheus import alerts, plain_rules, promtool

TESTS = ROOT / "tests/flow/api/alerts.yaml"
RUNBOOKS = ROOT / "docs/runbooks.md"


def test_promtool_takes_the_rules(tmp_path):
    checked = promtool("check", "rules", plain_rules(tmp_path / "rules.yaml"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{len(alerts())} rules found" in checked.stdout


def test_alerts_fire_and_keep_silent(tmp_path):
    plain_rules(tmp_path / "rules.yaml", annotations=False)
    (tmp_path / "tests.yaml").write_text(TESTS.read_text())
    run = promtool("test", "rules", "tests.yaml", cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


def test_each_alert_is_seen_firing_and_silent():
    firing, silent = set(), set()
    for test in yaml.safe_load(TESTS.read_text())["tests"]:
        for case in test["alert_rule_test"]:
            (firing if case["exp_alerts"] else silent).add(case["alertname"])
    assert firing == silent == alerts().keys()


def test_a_test_fails_when_its_rule_is_another(tmp_path):
    """Otherwise the tests above would say nothing."""
    rules = plain_rules(tmp_path / "rules.yaml", annotations=False)
    rules.write_text(rules.read_text().replace("hostdev_transitions_stuck > 0", "hostdev_transitions_stuck > 1"))
    (tmp_path / "tests.yaml").write_text(TESTS.read_text())
    run = promtool("test", "rules", "tests.yaml", cwd=tmp_path)
    assert run.returncode != 0 and "HostdevTransitionStuck" in run.stdout + run.stderr


def test_each_alert_says_what_to_do():
    for name, rule in alerts().items():
        assert rule["labels"]["severity"] in ("info", "warning", "critical"), name
        assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}, name
        assert rule["annotations"]["runbook_url"].endswith(f"/docs/runbooks.md#{name.lower()}")


def test_each_alert_has_a_runbook_and_each_runbook_an_alert():
    parts = re.split(r"^## ", RUNBOOKS.read_text(), flags=re.MULTILINE)[1:]
    books = {part.splitlines()[0]: part for part in parts}
    assert books.keys() == alerts().keys()
    for name, text in books.items():
        for word in ("**Means.**", "**Look at.**", "**Do.**"):
            assert word in text, f"{name} has no {word}"
