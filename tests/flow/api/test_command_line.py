"""What is wrong with a command line or a file of settings is one line and status 2."""

import json
import socket

import pytest

from programs import run


@pytest.fixture
def kubeconfig(tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps({
        "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}))
    return path


@pytest.mark.parametrize("program", ["hostdev-agent", "hostdev-controller"])
@pytest.mark.parametrize("flags,text", [
    (["--listen", "nonsense"], "--listen: 'nonsense' is not ADDRESS:PORT"),
    (["--listen", "nonsense", "--kubeconfig", "/nowhere"], "--listen: 'nonsense' is not ADDRESS:PORT"),
    (["--listen", "127.0.0.1:99999"], "--listen: '127.0.0.1:99999' is not ADDRESS:PORT"),
    (["--listen", "localhost:0"], "--listen: 'localhost' is not an IP address"),
    (["--listen", "off", "--kubeconfig", "/nowhere"], "/nowhere"),
    (["--listen", "off", "--context", "y"], "'y'"),
])
def test_a_wrong_setting_is_one_plain_line(program, flags, text, kubeconfig):
    ended = run(program, *flags, env={"KUBECONFIG": str(kubeconfig)})
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr.startswith(f"{program}: ") and ended.stderr.count("\n") == 1
    assert text in ended.stderr


@pytest.mark.parametrize("flags,text", [
    (["--vfio-driver", "../x"], "--vfio-driver: not a driver's name"),
    (["--vfio-driver", "mlx5_vfio_pci,a b"], "at most: 'a b'"),
    (["--vfio-driver", "d" * 64], "63 at most"),
    (["--release-without-driver", "1"], "--release-without-driver: not the beginning of a PCI class"),
    (["--release-without-driver", "01,0X"], "such as 01 or 0108: '0X'"),
    (["--transition-deadline", "99ms"], "--transition-deadline"),
    (["--transition-deadline", "soon"], "--transition-deadline"),
    (["--vfio-driver", "mlx5_vfio_pci,qat-vfio", "--vfio-driver", "d" * 63, "--transition-deadline", "100ms",
      "--state-dir", "/nowhere/state", "--kubeconfig", "/nowhere"], "kubeconfig '/nowhere' does not exist"),
])
def test_a_wrong_setting_of_claims_is_one_plain_line(flags, text):
    """The last is not wrong: the agent gets as far as its cluster, which is not there."""
    ended = run("hostdev-agent", "--listen", "off", *flags)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr.startswith("hostdev-agent: ") and ended.stderr.count("\n") == 1
    assert text in ended.stderr


def test_the_helper_is_told_where_the_records_are(machine, tmp_path):
    helper = tmp_path / "helper"
    helper.write_text(f"#!/bin/sh\necho \"$@\" >>{tmp_path}/calls\necho '{{\"kind\":\"end\"}}'\n")
    helper.chmod(0o755)
    for flags in [], ["--state-dir", tmp_path]:
        assert run("hostdev-agent", "inspect", "--helper", helper, *flags).returncode == 0
    assert (tmp_path / "calls").read_text() == (
        f"scan --state-dir /var/lib/hostdev\nscan --state-dir {tmp_path}\n")


@pytest.mark.parametrize("given", ["words", "lines"])
def test_names_are_asked_for_by_words_or_lines(given, tmp_path):
    (tmp_path / "pci.ids").write_text("8086  Intel\n\t10d3  82574L\n")
    (tmp_path / "usb.ids").write_text("0627  Adomax\n\t0001  Tablet\n")
    ids = ["pci:8086:10d3", "usb:0627:0001", "usb:ffff:0001"]
    ended = run("hostdev-names", "--pci-ids", tmp_path / "pci.ids", "--usb-ids", tmp_path / "usb.ids",
                *(ids if given == "words" else []), input="\r\n".join(ids) + "\n")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [json.loads(line) for line in ended.stdout.splitlines()] == [
        {"kind": "name", "id": ids[0], "vendor": "Intel", "product": "82574L"},
        {"kind": "name", "id": ids[1], "vendor": "Adomax", "product": "Tablet"},
        {"kind": "name", "id": ids[2]}]


@pytest.mark.parametrize("words,text", [(["pci:8086"], "'pci:8086' is not an identifier"), (["--names"], "--names")])
def test_a_wrong_question_for_names_is_one_plain_line(words, text):
    ended = run("hostdev-names", *words)
    assert (ended.returncode, ended.stdout) == (2, "") and ended.stderr.count("\n") == 1
    assert text in ended.stderr


def test_a_port_in_use_may_pass(kubeconfig):
    with socket.create_server(("127.0.0.1", 0)) as other:
        listen = "127.0.0.1:%d" % other.getsockname()[1]
        ended = run("hostdev-controller", "--kubeconfig", kubeconfig, "--listen", listen)
    assert ended.returncode == 1 and "cannot start" in ended.stderr and "in use" in ended.stderr


@pytest.mark.parametrize("command,status", [((), 2), (("inspect",), 0)])
def test_one_file_serves_both_commands_of_the_agent(command, status, machine, tmp_path):
    """The agent, too, gets as far as its cluster, which is not there."""
    file = tmp_path / "agent.yaml"
    file.write_text("listen: 127.0.0.1:0\nkubeconfig: /nowhere\ncontext: x\nrescan-interval: 5m\n"
                    "vfio-driver: [mlx5_vfio_pci]\nrelease-without-driver: ['01']\ntransition-deadline: 3s\nstate-dir: %s\n"
                    "output: json\nnode-name: n1\n" % (tmp_path / "state"))
    ended = run("hostdev-agent", *command, "--config", file, *machine.flags)
    assert ended.returncode == status, ended.stderr
    if command:
        assert json.loads(ended.stdout)["kind"] == "List"
    else:
        assert "/nowhere" in ended.stderr


def test_the_help_names_each_form_on_its_own_line():
    text = run("hostdev-agent", "--help").stdout
    assert "SYNOPSIS\n       hostdev-agent [FLAG]...\n       hostdev-agent inspect [FLAG]...\n" in text
    assert "--output" not in text
    for flag, default in ("state-dir DIR", "/var/lib/hostdev"), ("transition-deadline TIME", "4s"):
        assert f"--{flag}" in text and default in text
    assert "--vfio-driver NAME" in text
    inspect = run("hostdev-agent", "inspect", "--help").stdout
    assert "--state-dir" in inspect
    for flag in "--listen", "--vfio-driver", "--transition-deadline":
        assert flag not in inspect
