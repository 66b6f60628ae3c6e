"""The scripts of `kubectl hostdev completion` in real shells, on a terminal on which somebody types."""

import os
import pty
import select
import subprocess
import time

import pytest

from programs import program
from test_kubectl_hostdev import NIC, TWIN, lender, name, plugin  # noqa: F401, fixtures

SHELLS = {  # command, what makes it plain and lists at the first Tab
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             "bind 'set show-all-if-ambiguous on'; bind 'set bell-style none'; bind 'set enable-bracketed-paste off'"),
    "zsh": (["zsh", "-f", "-i"], "unset zle_bracketed_paste; bindkey -e; autoload -Uz compinit; compinit -u -D")}


class Terminal:
    """A shell that has read a completion script."""

    def __init__(self, shell, env, script):
        command, setup = SHELLS[shell]
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                                        env={**env, "TERM": "dumb", "COLUMNS": "200"})
        os.close(theirs)
        self.seen = ""
        self.type(f"{setup}; source <({script}); PS1='REA''DY> '\r")
        self.wait("READY> ")

    def type(self, text):
        os.write(self.ours, text.encode())

    def wait(self, text, seconds=120):
        """All up to that, which is taken."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert select.select([self.ours], [], [], max(0, end - time.monotonic()))[0], f"no {text!r} in {self.seen!r}"
            self.seen += os.read(self.ours, 65536).decode()
        before, _, self.seen = self.seen.partition(text)
        return before

    def complete(self, line):
        """(what Tab has made of the line, what it has shown meanwhile)."""
        self.type(line + "\t")
        # Behind it an end, before it a command that says it again, in parts that the echo does not have.
        self.type("\x05 E''ND\x01echo BEG''IN \r")
        shown = self.wait("BEGIN ")
        made = self.wait("END")
        self.wait("READY> ")
        return made.split(), shown

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


@pytest.fixture(params=SHELLS)
def terminal(request, plugin):  # noqa: F811
    made = Terminal(request.param, plugin.env, f"kubectl-hostdev completion {request.param}")
    yield made
    made.close()


@pytest.mark.parametrize("line, made", [
    ("rel", "release"), ("claim --inc", "claim --include-group"), ("tree -o js", "tree -o json"),
    ("claim --dry-run=ser", "claim --dry-run=server"), ("tree --output js", "tree --output json"),
    ("completion z", "completion zsh"), ("tree --kubeconfig /etc/hostn", "tree --kubeconfig /etc/hostname"),
    ("tree /etc/hostn", "tree /etc/hostn")])
def test_words_and_flags(terminal, line, made):
    assert terminal.complete(f"kubectl-hostdev {line}")[0] == ["kubectl-hostdev", *made.split()]


def test_what_is_there_to_choose_from(terminal):
    _, shown = terminal.complete("kubectl-hostdev ")
    assert all(word in shown for word in ("tree", "release", "completion")) and "__complete" not in shown
    _, shown = terminal.complete("kubectl-hostdev claim --")
    assert "--dry-run" in shown and "--timeout" in shown


def test_devices_of_the_cluster(terminal, plugin, lender, node):  # noqa: F811
    _, shown = terminal.complete(f"kubectl-hostdev claim {name(node, TWIN)[:-1]}")
    assert name(node, TWIN) in shown and name(node, NIC) not in shown
    plugin("claim", name(node, TWIN), "--no-wait")
    assert terminal.complete(f"kubectl-hostdev release {node}-0")[0][2:] == [name(node, TWIN)]


def test_zsh_completes_the_plugin_by_kubectls_own_script(plugin, lender, node, tmp_path):  # noqa: F811
    """As the plugin is installed. That for bash wants the package bash-completion."""
    subprocess.run(["cmake", "--install", program("kubectl-hostdev").parent.parent, "--component", "kubectl-hostdev",
                    "--prefix", tmp_path], check=True, capture_output=True)
    assert sorted(os.listdir(tmp_path / "bin")) == ["kubectl-hostdev", "kubectl_complete-hostdev"]
    kept = [part for part in plugin.env["PATH"].split(":") if part != str(program("kubectl-hostdev").parent)]
    env = {**plugin.env, "PATH": ":".join([str(tmp_path / "bin"), *kept])}
    terminal = Terminal("zsh", env, f"{plugin.kubectl} completion zsh")
    try:
        assert terminal.complete("kubectl hostdev rel")[0] == ["kubectl", "hostdev", "release"]
        plugin("claim", name(node, TWIN), "--no-wait")
        assert terminal.complete(f"kubectl hostdev release {node}-0")[0][3:] == [name(node, TWIN)]
    finally:
        terminal.close()
