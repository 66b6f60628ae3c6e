"""hostdev-agent and hostdev-controller as processes of a test.

HOSTDEV_PROGRAMS is the folder with the programs; build/dev/bin if it is not set.
"""

import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from cluster import ROOT, WRITES, wait_until
from rest import Refused

SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
END_S = 60  # that a program may take to end, on any machine
PORT = re.compile(r"^.*using API server.* port=(\d+)$", re.MULTILINE)


def program(name):
    folder = Path(os.environ.get("HOSTDEV_PROGRAMS", "build/dev/bin"))
    path = ROOT / folder / name
    assert path.exists(), f"{path} is not built: cmake --preset dev && cmake --build --preset dev"
    return path


def clean_environment(**extra):
    """Nothing of the caller's cluster."""
    ours = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "NODE_NAME", "POD_NAME", "POD_NAMESPACE")}
    return ours | extra


def run(name, *args, env=None, **options):
    """A program that ends by itself."""
    return subprocess.run([program(name), *map(str, args)], env=clean_environment(**(env or {})), timeout=300,
                          capture_output=True, text=True, **options)


class Program:
    """One process after the other with the same flags and one log."""

    prepare = None  # run in the child before the program; see subprocess' preexec_fn

    def __init__(self, name, flags, folder, env=None):
        self.command = [program(name), *map(str, flags), "--listen", "127.0.0.1:0"]
        self.env = clean_environment(**(env or {}))
        self.log_file = folder / f"{name}-{time.monotonic_ns()}.log"
        self.process = None
        self.log_file.touch()

    def use(self, folder):
        """The next start is of the program of that folder."""
        self.command[0] = folder / self.command[0].name
        return self

    def start(self):
        self.started = self.log_file.stat().st_size
        with open(self.log_file, "a") as log:
            self.process = subprocess.Popen(self.command, env=self.env, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, preexec_fn=self.prepare)
        return self

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """SIGTERM; the exit status must be 0."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"SIGTERM did not end it in {END_S} s") from None
        assert self.process.returncode == 0, f"it ended with {self.process.returncode}:\n{self.log()[-4000:]}"

    def assert_alive(self):
        assert self.process.poll() is None, f"it ended with {self.process.returncode}:\n{self.log()[-4000:]}"

    def log(self):
        return self.log_file.read_text(errors="backslashreplace")

    def own_log(self):
        """What the current process wrote."""
        with open(self.log_file, errors="backslashreplace") as log:
            log.seek(self.started)
            return log.read()

    def lines(self, *parts):
        """Lines of the log with all of these texts in them."""
        return [line for line in self.log().splitlines() if all(part in line for part in parts)]

    def wait_line(self, *parts, timeout=30):
        return wait_until(lambda: self.lines(*parts), timeout, f"a line with {parts} in:\n{self.log()[-4000:]}")[0]

    def port(self):
        def find():
            self.assert_alive()
            return PORT.search(self.own_log())
        return int(wait_until(find, 20, "the line with the port")[1])

    def get(self, path):
        """(status, text) of /healthz, /readyz or /metrics."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port()}{path}", timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def ready(self):
        return self.get("/readyz")[0] == 200

    def metrics(self):
        """Values by name and labels, as they are written there."""
        return {(m[1], m[2] or ""): float(m[3]) for m in map(SAMPLE.match, self.get("/metrics")[1].splitlines()) if m}

    def metric(self, name, *labels):
        """The sum of the samples that have these labels."""
        return sum(value for (n, text), value in self.metrics().items()
                   if n == name and all(label in text for label in labels))

    def peak_rss_kib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


class Agent(Program):
    """An agent of a made-up machine; what it should publish is what `inspect` prints."""

    def __init__(self, rest, machine, node, kubeconfig, folder, flags=()):
        kubelet = ["--kubelet-dir", machine.folder / "kubelet"]  # which most machines do not have
        super().__init__("hostdev-agent", ["--kubeconfig", kubeconfig, "--node-name", node, *machine.flags, *kubelet,
                                           *flags], folder)
        self.rest = rest
        self.machine = machine
        self.node = node
        self.flags = flags
        self.user_agent_end = f" ({node})"

    def inspect(self):
        """The objects by kind and name."""
        answer = run("hostdev-agent", "inspect", "-o", "json", "--node-name", self.node, *self.machine.flags)
        assert answer.returncode == 0, answer.stderr
        return {(o["kind"], o["metadata"]["name"]): o for o in json.loads(answer.stdout)["items"]}

    def objects(self):
        """What is in the API with this node's label, by kind and name."""
        return self.rest.devices(next(iter(self.inspect().values()))["metadata"]["labels"]["nodename"])

    def difference(self):
        """Names of objects that are missing, different or too many; empty when all is published."""
        wanted = {key: essence(obj) for key, obj in self.inspect().items()}
        label = next(iter(wanted.values()))["labels"]["nodename"]
        have = {key: essence(obj) for key, obj in self.rest.devices(label).items()}
        return sorted(key for key in wanted.keys() | have.keys() if wanted.get(key) != have.get(key))

    def wait_converged(self, timeout=45):
        left = ["nothing looked at"]

        def check():
            nonlocal left
            self.assert_alive()
            try:
                # Looked at anew each time: a claim may still have been on its way at the first look.
                left = self.difference()
            except (Refused, OSError) as error:  # a server that is only just coming back
                left = [error]
            return not left
        try:
            wait_until(check, timeout)
        except AssertionError:
            raise AssertionError(f"not within {timeout} s: {left}\n{self.log()[-6000:]}") from None

    def scans(self):
        return self.metric("hostdev_scans_total")

    def idle(self):
        """Is nothing under way or waiting?"""
        return not self.metric("hostdev_queue_waiting")

    def audit(self, cluster):
        """Its requests that write, of all its processes, as the audit log has them."""
        return [event for event in cluster.audit() if event["verb"] in WRITES
                and event.get("userAgent", "").startswith("hostdev-agent/")
                and event["userAgent"].endswith(self.user_agent_end)]


    def written(self, cluster):
        """Of these, those that the API server says it has done."""
        return [event for event in self.audit(cluster) if event["responseStatus"]["code"] in (200, 201)]


def essence(obj):
    """Of an object what both sides know: no times, uids and versions, and nothing of its claim."""
    status = dict(obj.get("status", {}))
    if obj["kind"] == "USBDevice":
        for key in ("enabled", "status", "message"):
            status.pop(key, None)
    status["conditions"] = [{key: condition[key] for key in ("type", "status", "reason", "message")}
                            for condition in status.get("conditions", []) if condition["type"] != "Claimed"]
    meta = obj["metadata"]
    return {"labels": meta.get("labels", {}), "annotations": meta.get("annotations", {}), "status": status}


def claimable(obj):
    """(status, reason) of the condition."""
    for condition in obj.get("status", {}).get("conditions", []):
        if condition["type"] == "Claimable":
            return condition["status"], condition["reason"]
    return None, None
