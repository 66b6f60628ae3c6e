"""The alerts of manifests/components/monitoring: promtool takes and tests them, and there is a runbook for each."""

import re

import pytest
import yaml

from cluster import ROOT
from prometheus import alerts, plain_rules, promtool
from test_docs import anchors

TESTS = ROOT / "tests/flow/api/alerts.yaml"
RUNBOOKS = ROOT / "docs/runbooks.md"
PARTS = ("Means", "Look at", "Do")


def judge(folder, change=None):
    """promtool runs the tests on the rules, each of which @change may have made another."""
    rules = plain_rules(folder / "rules.yaml")
    written = yaml.safe_load(rules.read_text())
    for rule in (rule for group in written["groups"] for rule in group["rules"]):
        if change:
            change(rule)
    rules.write_text(yaml.safe_dump(written))
    (folder / "tests.yaml").write_text(TESTS.read_text())
    run = promtool("test", "rules", "tests.yaml", cwd=folder)
    return run.returncode, run.stdout + run.stderr


def test_promtool_takes_the_rules(tmp_path):
    checked = promtool("check", "rules", plain_rules(tmp_path / "rules.yaml"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{len(alerts())} rules found" in checked.stdout


def test_alerts_fire_and_keep_silent(tmp_path):
    status, said = judge(tmp_path)
    assert status == 0, said


def test_each_alert_is_seen_firing_and_silent():
    firing, silent = set(), set()
    for test in yaml.safe_load(TESTS.read_text())["tests"]:
        for case in test["alert_rule_test"]:
            (firing if case["exp_alerts"] else silent).add(case["alertname"])
    assert firing == silent == alerts().keys()


@pytest.mark.parametrize("where", ["severity", "summary", "description", "runbook_url"])
def test_the_tests_compare_all_that_an_alert_says(tmp_path, where):
    """Otherwise promtool's word would say nothing of it."""
    def change(rule):
        texts = rule["labels" if where == "severity" else "annotations"]
        texts[where] += "s"
    status, said = judge(tmp_path, change)
    assert status != 0
    assert set(re.findall(r"alertname: (\w+)", said)) == alerts().keys()


def test_the_tests_notice_another_expression(tmp_path):
    def change(rule):
        rule["expr"] = rule["expr"].replace("hostdev_transitions_stuck > 0", "hostdev_transitions_stuck > 1")
    status, said = judge(tmp_path, change)
    assert status != 0 and set(re.findall(r"alertname: (\w+)", said)) == {"HostdevTransitionStuck"}


def test_each_alert_says_how_bad_it_is_and_where_its_runbook_lies():
    there = anchors(RUNBOOKS)
    for name, rule in alerts().items():
        assert rule["labels"].keys() == {"severity"}, name
        assert rule["labels"]["severity"] in ("info", "warning", "critical"), name
        assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}, name
        file, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert ROOT / file == RUNBOOKS, name
        assert anchor == name.lower() and there.count(anchor) == 1, name


def books():
    """{alert: its part of docs/runbooks.md}"""
    parts = re.split(r"^## ", RUNBOOKS.read_text(), flags=re.MULTILINE)[1:]
    names = [part.splitlines()[0] for part in parts]
    assert len(set(names)) == len(names)
    return dict(zip(names, parts))


def test_each_alert_has_a_runbook_and_each_runbook_an_alert():
    assert books().keys() == alerts().keys()


@pytest.mark.parametrize("name", alerts())
def test_a_runbook_says_what_it_means_how_to_see_it_and_what_to_do(name):
    parts = re.findall(r"^\*\*([^*]+)\.\*\* (.*?)(?=\n\n|\Z)", books()[name].strip(), re.MULTILINE | re.DOTALL)
    assert tuple(part for part, _ in parts) == PARTS
    for part, text in parts:
        assert len(text.split()) >= 6, f"{part}: {text}"
