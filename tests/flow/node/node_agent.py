"""hostdev-agent as a process of the guest."""

import json
import os
import re
from urllib.parse import urlsplit

import yaml

from cluster import ROOT, wait_until

PROGRAMS = os.environ.get("HOSTDEV_PROGRAMS", ROOT / "build/release/bin")
HOME = "/run/hostdev"  # the guest's own copy: the tree may be built while tests run
STATE = "/run/hostdev-state"
LISTEN = "127.0.0.1:9807"
SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? ([\d.e+-]+)$')


def end_agents(guest):
    """The agents that an earlier run left in this guest, and their helpers."""
    guest.sh(f"for f in {HOME}*/pid; do ! [ -e $f ] || kill -9 -$(cat $f) 2>/dev/null || true; rm -f $f; done")


class NodeAgent:
    """Starts, kills and asks the agent; the objects are the cluster's."""

    def __init__(self, guest, cluster, home=HOME, listen=LISTEN):
        self.guest = guest
        self.cluster = cluster
        self.node = guest.name
        self.home = home
        self.listen = listen
        self.pid = None

    def install(self):
        """Copies the programs and a kubeconfig into the guest."""
        port = urlsplit(yaml.safe_load(self.cluster.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]).port
        config = self.cluster.control("sa-kubeconfig", "hostdev-system", "hostdev-agent", "--node", self.node,
                                      "--server", f"https://10.0.2.2:{port}")
        self.guest.sh(f"mkdir -p {self.home}; cd {self.home}; rm -f *; "
                      f"cp {PROGRAMS}/hostdev-agent {PROGRAMS}/hostdev-helper {PROGRAMS}/hostdev-names .")
        self.guest.write(f"{self.home}/kubeconfig", config)

    def command(self, *options):
        return (f"{self.home}/hostdev-agent --kubeconfig {self.home}/kubeconfig --node-name {self.node} "
                f"--listen {self.listen} --state-dir {STATE} {' '.join(options)}")

    def start(self, *options):
        self.launch(self.command(*options))

    def launch(self, command):
        """Starts it in a session of its own, which its children share."""
        self.pid = int(self.guest.sh(
            f"setsid {command} </dev/null >>{self.home}/agent.log 2>&1 & echo $! | tee {self.home}/pid"))

    def signal(self, name):
        self.guest.run("kill", f"-{name}", self.pid)

    def alive(self):
        return self.guest.try_sh(f"grep -q hostdev-agent /proc/{self.pid}/cmdline")

    def kill(self):
        """kill -9, and away."""
        self.signal("KILL")
        wait_until(lambda: not self.guest.try_sh(f"test -e /proc/{self.pid}"), what="the agent's end")

    def restart(self, *options, signal="TERM"):
        self.signal(signal)
        wait_until(lambda: not self.alive(), 10, "the agent's end")
        self.start(*options)
        wait_until(self.ready, 30, "the agent's readiness")

    def log(self):
        return self.guest.run("cat", f"{self.home}/agent.log")

    def ready(self):
        return self.guest.try_bash(self._is_ready())

    def alive_and_ready(self):
        """Both in one question, which starts one program in the guest; False also of a guest that does not answer."""
        is_alive = f"read -rd '' name </proc/{self.pid}/cmdline; [[ $name == */hostdev-agent ]]; "
        try:
            return self.guest.try_bash(is_alive + self._is_ready())
        except AssertionError:
            return False

    def _is_ready(self):
        return self._ask("/readyz") + "read -rt 30 line <&3; [[ $line == 'HTTP/1.1 200'* ]]"

    def _ask(self, path):
        """bash, which starts faster than curl, has the answer at its descriptor 3."""
        host, port = self.listen.split(":")
        return (f"exec 3<>/dev/tcp/{host}/{port}; "
                f"printf 'GET {path} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&3; ")

    def metrics(self):
        """Samples by (name, labels as text)."""
        head, _, text = self.guest.run("bash", "-euc", self._ask("/metrics") + "cat <&3").partition("\n\n")
        assert " 200 " in head.splitlines()[0] and "chunked" not in head, head
        samples = {}
        for line in text.splitlines():
            if match := SAMPLE.match(line):
                samples[match[1], match[2] or ""] = float(match[3])
        return samples

    def scans(self):
        """How many scans have ended."""
        return sum(n for (name, _), n in self.metrics().items() if name == "hostdev_scans_total")

    def inspect(self, *options):
        """The objects that `hostdev-agent inspect` prints, by kind and name."""
        text = self.guest.run(f"{self.home}/hostdev-agent", "inspect", "-o", "json", "--node-name", self.node, *options)
        return {(o["kind"], o["metadata"]["name"]): o for o in json.loads(text)["items"]}

    def written(self):
        """How many requests of this node's agent, whichever process, have written."""
        verbs = {"create", "update", "patch", "delete", "deletecollection"}
        return [(e["verb"], e["objectRef"]["resource"], e["objectRef"].get("subresource", ""),
                 e["objectRef"].get("name", ""), e["requestReceivedTimestamp"])
                for e in self.cluster.audit()
                if e["verb"] in verbs and e.get("userAgent", "").startswith("hostdev-agent/")
                and e["userAgent"].endswith(f"({self.node})")]
