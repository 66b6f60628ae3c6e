"""The alerts of manifests/components/monitoring: promtool takes and tests them, and there is a runbook for each."""

import concurrent.futures
import copy
import re

import pytest
import yaml

from alert_edges import edges
from cluster import ROOT
from mutants import mutants
from prometheus import alerts, plain_rules, promtool
from test_docs import anchors

TESTS = ROOT / "tests/flow/api/alerts.yaml"
RUNBOOKS = ROOT / "docs/runbooks.md"
# Mutants that no test can tell from the rule, and why.
EQUIVALENT = {
    ("HostdevScanFailing", 'without result="failed"'): "scans are failed or ok, and `unless` takes out what is ok",
}
PARTS = ("Meaning", "Diagnosis", "Mitigation")


def judge(folder, change=lambda rule: rule):
    """promtool runs the tests on the rules, each of which @change may have made another; {alert that failed}, output."""
    written = yaml.safe_load(TESTS.read_text())
    return run_each(folder, {name: change(copy.deepcopy(rule)) for name, rule in alerts().items()},
                    lambda name: {**written, "tests": list(concerning(written["tests"], name))})


def concerning(tests, name):
    """Those of the alert, of each what is about it."""
    for test in tests:
        if cases := [case for case in test["alert_rule_test"] if case["alertname"] == name]:
            yield {**test, "alert_rule_test": cases}


def judge_edges(folder, rules):
    """The same of alert_edges.py on @rules."""
    return run_each(folder, rules, edges)


def run_each(folder, rules, tests):
    """One by one: promtool works out all rules of a file for each of its tests."""
    folder.mkdir(exist_ok=True)
    for name, rule in rules.items():
        (folder / f"{name}.rules").write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": [rule]}]}))
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({**tests(name), "rule_files": [f"{name}.rules"]}))
    return judged(promtool("test", "rules", *(f"{name}.yaml" for name in rules), cwd=folder))


def judged(run):
    said = run.stdout + run.stderr
    failed = set(re.findall(r'alertname(?:: |=\\?")(\w+)', said))
    assert bool(failed) == (run.returncode != 0), said
    return failed, said


def test_promtool_takes_the_rules(tmp_path):
    checked = promtool("check", "rules", plain_rules(tmp_path / "rules.yaml"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{len(alerts())} rules found" in checked.stdout


def test_alerts_fire_and_keep_silent(tmp_path):
    for failed, said in (judge(tmp_path), judge_edges(tmp_path / "edges", alerts())):
        assert not failed, said


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
        rule["labels" if where == "severity" else "annotations"][where] += "s"
        return rule
    failed, said = judge(tmp_path, change)
    assert failed == alerts().keys(), said


def test_the_tests_notice_every_rule_that_is_wrong_in_one_place(tmp_path):
    """promtool gets one mutant of each rule at once, since a rule decides of its own alert alone."""
    wrong = {name: mutants(rule) for name, rule in alerts().items()}
    assert all(len(those) > 3 for those in wrong.values())

    def survivors(n):
        chosen = {name: those[n] for name, those in wrong.items() if n < len(those)}
        failed, _ = judge_edges(tmp_path / str(n), {name: rule for name, (_, rule) in chosen.items()})
        return {(name, what) for name, (what, _) in chosen.items() if name not in failed}

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        survived = set().union(*pool.map(survivors, range(max(map(len, wrong.values())))))
    assert survived == EQUIVALENT.keys()


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
