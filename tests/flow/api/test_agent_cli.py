"""hostdev-agent and hostdev-controller on the command line: help, wrong calls, settings, and inspect."""

import csv
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest
import yaml

from machine import Machine
from programs import clean_environment, program, run

PROGRAMS = ["hostdev-agent", "hostdev-controller"]
KINDS = {"PCIDevice", "USBDevice"}


def table(*rows):
    """Rows that begin with a sentence, which becomes the test's name."""
    return [pytest.param(*row[1:], id=row[0]) for row in rows]


@pytest.mark.parametrize("words", [["hostdev-agent"], ["hostdev-agent", "inspect"], ["hostdev-controller"]])
def test_help_is_a_page_for_people(words):
    name, *command = words
    answer = run(name, *command, "--help")
    assert (answer.returncode, answer.stderr) == (0, "")
    sections = re.findall(r"^[A-Z][A-Z ]+$", answer.stdout, re.MULTILINE)
    assert sections[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"] and sections[-1] == "EXIT STATUS"
    assert max(map(len, answer.stdout.splitlines())) <= 100
    flags = set(re.findall(r"--([a-z-]+)", run(name, *command, "-h").stdout))
    assert {"config", "log-level", "help", "version"} <= flags
    assert answer.stdout.count(" ".join(words) + " [FLAG]...") >= 1


@pytest.mark.parametrize("words", [["hostdev-agent"], ["hostdev-agent", "inspect"], ["hostdev-controller"]])
def test_version_is_one_line(words):
    answer = run(*words, "--version")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert re.fullmatch(words[0] + r" \d+\.\d+\.\d+\S*\n", answer.stdout)


WRONG = table(
    ("an unknown flag", ["--frobnicate"], "unknown flag '--frobnicate'"),
    ("a flag that is almost right", ["--log-levle", "info"], "--log-level"),
    ("an unknown letter", ["-x"], "'-x'"),
    ("a flag without its value", ["--kubeconfig"], "--kubeconfig needs a value"),
    ("a word too many", ["now"], "unexpected word 'now'"),
    ("an unknown level", ["--log-level", "loud"], "'loud' is not debug, info, warn or error"),
    ("an address without port", ["--listen", "localhost"], "--listen: 'localhost'"),
    ("a port that is none", ["--listen", ":70000"], "--listen: ':70000'"),
    ("a settings file that is not there", ["--config", "/nonexistent"], "open '/nonexistent': No such file"),
)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("words, message", WRONG)
def test_a_wrong_call_is_one_line_and_status_2(name, words, message):
    answer = run(name, *words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert message in answer.stderr and answer.stderr.startswith(f"{name}: ") and answer.stderr.count("\n") == 1


AGENT_WRONG = table(
    ("a node name in capitals", ["--node-name", "N1"], "253 at most: 'N1'"),
    ("a node name of 254 characters", ["--node-name", "n" * 254], "--node-name: not a node's name"),
    ("a duration of another form", ["--rescan-interval", "10 minutes"],
     "'10 minutes' is not a duration like 250ms, 30s or 5m"),
    ("a duration that is too short", ["--scan-deadline", "1ms"], "'1ms' is less than 100ms"),
    ("a truth value that is none", ["--show-bridges=perhaps"], "'perhaps' is not true or false"),
    ("an unknown format of inspect", ["inspect", "-o", "xml"], "'xml' is not table, wide, json or yaml"),
    ("a flag that inspect has not", ["inspect", "--frobnicate"], "unknown flag '--frobnicate'"),
)


@pytest.mark.parametrize("words, message", AGENT_WRONG)
def test_a_wrong_call_of_the_agent_is_one_line_and_status_2(words, message):
    answer = run("hostdev-agent", *words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert message in answer.stderr and answer.stderr.count("\n") == 1


SETTINGS = table(
    ("an unknown key", "node-nmae: n1\n", "node-nmae"),
    ("a value of a wrong form", "rescan-interval: soon\n", "rescan-interval: 'soon' is not a duration"),
    ("a value that is a mapping", "node-name: {a: b}\n", "node-name"),
    ("not a mapping", "- a\n- b\n", "not a mapping of settings"),
    ("not YAML", "a: [\n", "settings.yaml:2: "),
    ("not UTF-8", "node-name: \udcff\n", ""),
)


@pytest.mark.parametrize("text, message", SETTINGS)
def test_a_wrong_settings_file_is_one_line_and_status_2(tmp_path, text, message):
    path = tmp_path / "settings.yaml"
    path.write_text(text, errors="surrogateescape")
    answer = run("hostdev-agent", "--config", path)
    assert answer.returncode == 2
    assert str(path) in answer.stderr and message in answer.stderr and answer.stderr.count("\n") == 1


CONFIGS = table(
    ("no such file", None, "does not exist"),
    ("no contexts", "{}", "context"),
    ("not YAML", "a: [", "kubeconfig"),
    ("garbage", "\0\1\2", "kubeconfig"),
    ("a context that is missing", json.dumps({"current-context": "x", "contexts": []}), "'x'"),
    ("a server that is no URL", json.dumps({
        "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "nowhere"}}], "users": [{"name": "u", "user": {}}]}),
     "nowhere"),
)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("text, message", CONFIGS)
def test_a_wrong_kubeconfig_is_one_line_and_status_2(tmp_path, name, text, message):
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    for words, env in ((["--kubeconfig", str(path)], {}), ([], {"KUBECONFIG": str(path)})):
        answer = run(name, *words, "--listen", "off", env=env)
        assert answer.returncode == 2, answer.stderr
        assert str(path) in answer.stderr and message in answer.stderr and answer.stderr.count("\n") == 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_any_cluster_the_line_says_what_to_do(tmp_path, name):
    answer = run(name, "--listen", "off", env={"HOME": str(tmp_path)})
    assert answer.returncode == 2
    assert "give --kubeconfig FILE" in answer.stderr and answer.stderr.count("\n") == 1


def test_an_address_that_is_taken_is_named(cluster):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = run("hostdev-agent", "--kubeconfig", cluster.kubeconfig, "--listen", f"127.0.0.1:{port}")
    assert answer.returncode == 1
    assert f"port {port}" in answer.stderr and "in use by another program" in answer.stderr


def names(answer):
    assert answer.returncode == 0, answer.stderr
    return [item["metadata"]["name"] for item in json.loads(answer.stdout)["items"]]


def test_flags_win_over_environment_and_that_over_the_file(machine, tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text(yaml.safe_dump({
        "node-name": "from-file", "sysfs-root": str(machine.folder / "sys"), "proc-root": str(machine.folder / "proc"),
        "output": "json", "show-bridges": True}))
    inspect = ["inspect", "--config", file]
    assert {name[:9] for name in names(run("hostdev-agent", *inspect))} == {"from-file"}
    assert len(names(run("hostdev-agent", *inspect))) == 7
    assert {name[:8] for name in names(run("hostdev-agent", *inspect, env={"NODE_NAME": "from-env"}))} == {"from-env"}
    flags = ["--node-name", "from-flag", "--show-bridges=false"]
    flagged = names(run("hostdev-agent", *inspect, *flags, env={"NODE_NAME": "from-env"}))
    assert {name[:9] for name in flagged} == {"from-flag"} and len(flagged) == 6


@pytest.fixture
def rich(tmp_path):
    return Machine(tmp_path / "rich", functions=14, usb=2)


def inspect(machine, *flags):
    answer = run("hostdev-agent", "inspect", "--node-name", "n1", *machine.flags, *flags)
    assert answer.returncode == 0, answer.stderr
    return answer


def test_inspect_prints_one_list_in_json_and_yaml(rich):
    text = inspect(rich, "-o", "json").stdout
    objects = json.loads(text)
    assert (objects["apiVersion"], objects["kind"]) == ("v1", "List")
    assert {item["kind"] for item in objects["items"]} == KINDS and len(objects["items"]) == 14
    same = yaml.safe_load(inspect(rich, "--output=yaml").stdout)
    for item in same["items"] + objects["items"]:
        for condition in item["status"]["conditions"]:
            condition.pop("lastTransitionTime")
    assert same == objects


def test_kubectl_takes_what_inspect_prints(kubectl, rich):
    text = inspect(rich, "-o", "yaml").stdout
    kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=text)


@pytest.mark.parametrize("output, columns", [
    ("table", ["NAME", "ADDRESS", "ID", "DRIVER", "CLAIMABLE", "REASON", "DESCRIPTION"]),
    ("wide", ["NAME", "ADDRESS", "ID", "DRIVER", "CLAIMABLE", "REASON", "IOMMU", "NUMA", "ROLE", "RESOURCE NAME",
              "DESCRIPTION", "MESSAGE"]),
])
def test_inspect_prints_tables(rich, output, columns):
    pci, usb = inspect(rich, "-o", output).stdout.split("\n\n")
    lines = pci.splitlines()
    assert re.split(r"  +", lines[0].strip()) == columns
    assert len(lines) == 1 + 12 and len(usb.splitlines()) == 1 + 2
    starts = [lines[0].index(column) for column in columns]
    for line in lines[1:]:
        assert all(line[at - 1] == " " and line[at] != " " for at in starts[1:6]), line
    assert not any(line.endswith(" ") for line in lines)


INCOMPLETE = table(
    ("a list of names that is garbage", lambda folder: (folder / "bad.ids").write_bytes(os.urandom(5000)),
     ["--pci-ids", "bad.ids"], "bad.ids"),
    ("a list of names that is missing", None, ["--pci-ids", "bad.ids"], "bad.ids"),
    ("a list of names that is a folder", lambda folder: (folder / "bad.ids").mkdir(), ["--pci-ids", "bad.ids"],
     "bad.ids"),
    ("a list of names that is empty", lambda folder: (folder / "bad.ids").touch(), ["--pci-ids", "bad.ids"], None),
    ("USB names that are missing", None, ["--usb-ids", "none.ids"], "none.ids"),
)


@pytest.mark.parametrize("prepare, flags, message", INCOMPLETE)
def test_inspect_without_names_still_lists_all(rich, tmp_path, prepare, flags, message):
    if prepare:
        prepare(tmp_path)
    answer = inspect(rich, "-o", "json", flags[0], tmp_path / flags[1])
    objects = json.loads(answer.stdout)["items"]
    assert len(objects) == 14
    assert all(obj["status"]["resourceName"] and obj["status"]["description"] for obj in objects)
    if message:
        assert "names of devices" in answer.stderr and message in answer.stderr and answer.stderr.count("\n") == 1


def test_inspect_without_iommu_says_so_of_each_device(rich):
    for link in rich.folder.glob("sys/devices/**/iommu_group"):
        link.unlink()
    objects = json.loads(inspect(rich, "-o", "json").stdout)["items"]
    pci = [obj for obj in objects if obj["kind"] == "PCIDevice"]
    assert len(pci) == 12
    for obj in pci:
        (condition,) = obj["status"]["conditions"]
        assert condition["status"] == "False" and not obj["status"].get("iommuGroup")
    assert {obj["status"]["conditions"][0]["reason"] for obj in pci} >= {"NoIOMMU"}


def test_inspect_without_usb_or_pci_lists_the_rest(rich):
    shutil.rmtree(rich.folder / "sys/bus/usb")
    objects = json.loads(inspect(rich, "-o", "json").stdout)["items"]
    assert {obj["kind"] for obj in objects} == {"PCIDevice"} and len(objects) == 12
    shutil.rmtree(rich.folder / "sys/bus/pci")
    assert json.loads(inspect(rich, "-o", "json").stdout)["items"] == []
    assert inspect(rich).stdout


def test_inspect_of_a_tree_that_is_not_there_is_an_error():
    answer = run("hostdev-agent", "inspect", "--sysfs-root", "/nonexistent")
    assert answer.returncode == 1 and answer.stdout == ""
    assert "/nonexistent" in answer.stderr


def test_inspect_without_its_helper_names_it(tmp_path):
    answer = run("hostdev-agent", "inspect", "--helper", tmp_path / "gone")
    assert answer.returncode == 1 and answer.stdout == ""
    assert str(tmp_path / "gone") in answer.stderr and answer.stderr.count("\n") == 1


def test_inspect_of_this_very_machine_equals_lspci():
    listed = subprocess.run(["lspci", "-Dn", "-mm"], capture_output=True, text=True, check=True).stdout
    rows = list(csv.reader(io.StringIO(listed), delimiter=" "))
    wanted = {row[0]: (row[1], row[2], row[3]) for row in rows if row[1] != "0604"}
    objects = json.loads(run("hostdev-agent", "inspect", "-o", "json").stdout)["items"]
    pci = [obj["status"] for obj in objects if obj["kind"] == "PCIDevice"]
    assert {s["address"]: (s["classId"], s["vendorId"], s["deviceId"]) for s in pci} == wanted


def test_inspect_ends_when_nobody_reads_on(rich):
    """As in `hostdev-agent inspect | head -1`."""
    process = subprocess.Popen([program("hostdev-agent"), "inspect", *rich.flags], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=clean_environment())
    process.stdout.close()
    error = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) in (0, 1, -signal.SIGPIPE), error
    assert "Sanitizer" not in error
