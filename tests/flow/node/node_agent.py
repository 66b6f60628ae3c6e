"""hostdev-agent as a process of the guest."""

import json
import re
from urllib.parse import urlsplit

import yaml

from cluster import ROOT, wait_until

PROGRAMS = ROOT / "build/release/bin"
HOME = "/run/hostdev"  # the guest's own copy: the tree may be built while tests run
LISTEN = "127.0.0.1:9807"
SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? ([\d.e+-]+)$')


class NodeAgent:
    """Starts, kills and asks the agent; the objects are the cluster's."""

    def __init__(self, guest, cluster):
        self.guest = guest
        self.cluster = cluster
        self.node = guest.name
        self.pid = None

    def install(self):
        """Copies the programs and a kubeconfig into the guest."""
        port = urlsplit(yaml.safe_load(self.cluster.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]).port
        config = self.cluster.control("sa-kubeconfig", "hostdev-system", "hostdev-agent", "--node", self.node,
                                      "--server", f"https://10.0.2.2:{port}")
        self.guest.sh(f"mkdir -p {HOME}; cd {HOME}; ! [ -e pid ] || kill -9 $(cat pid) 2>/dev/null || true; rm -f *; "
                      f"cp {PROGRAMS}/hostdev-agent {PROGRAMS}/hostdev-helper .")
        self.guest.write(f"{HOME}/kubeconfig", config)

    def start(self, *options):
        command = f"setsid {HOME}/hostdev-agent --kubeconfig {HOME}/kubeconfig --node-name {self.node}"
        self.pid = int(self.guest.sh(
            f"{command} --listen {LISTEN} {' '.join(options)} </dev/null >>{HOME}/agent.log 2>&1 & "
            f"echo $! | tee {HOME}/pid"))

    def signal(self, name):
        self.guest.run("kill", f"-{name}", self.pid)

    def alive(self):
        return self.guest.try_sh(f"grep -q hostdev-agent /proc/{self.pid}/cmdline")

    def kill(self):
        """kill -9, and away."""
        self.signal("KILL")
        wait_until(lambda: not self.guest.try_sh(f"test -e /proc/{self.pid}"), what="the agent's end")

    def log(self):
        return self.guest.run("cat", f"{HOME}/agent.log")

    def ready(self):
        return self.guest.try_sh(f"curl -fsS http://{LISTEN}/readyz")

    def metrics(self):
        """Samples by (name, labels as text)."""
        text = self.guest.run("curl", "-fsS", f"http://{LISTEN}/metrics")
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
        text = self.guest.run(f"{HOME}/hostdev-agent", "inspect", "-o", "json", "--node-name", self.node, *options)
        return {(o["kind"], o["metadata"]["name"]): o for o in json.loads(text)["items"]}

    def written(self):
        """How many requests of this node's agent, whichever process, have written."""
        verbs = {"create", "update", "patch", "delete", "deletecollection"}
        return [(e["verb"], e["objectRef"]["resource"], e["objectRef"].get("subresource", ""),
                 e["objectRef"].get("name", ""), e["requestReceivedTimestamp"])
                for e in self.cluster.audit()
                if e["verb"] in verbs and e.get("userAgent", "").startswith("hostdev-agent/")
                and e["userAgent"].endswith(f"({self.node})")]
