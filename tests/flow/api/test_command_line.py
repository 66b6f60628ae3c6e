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
                    "output: json\nnode-name: n1\n")
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
    assert "--listen" not in run("hostdev-agent", "inspect", "--help").stdout
