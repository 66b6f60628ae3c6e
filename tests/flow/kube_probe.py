"""kube-probe (tests/flow/probe), the client by hand: commands in, events out."""

import json
import os
import selectors
import subprocess
import time

from cluster import ROOT, SLOWNESS

RETRY, CONFLICT, INVALID = 1, 2, 3
EACCES, EAGAIN, EBADMSG, EEXIST, EINVAL, EIO, EREMOTEIO = -13, -11, -74, -17, -22, -5, -121
EMSGSIZE, ENOENT, ESTALE, ETIMEDOUT = -90, -2, -116, -110


def built(name):
    """A program of the build folder HOSTDEV_TEST_BUILD (default build/dev)."""
    program = ROOT / os.environ.get("HOSTDEV_TEST_BUILD", "build/dev") / "bin" / name
    assert program.exists(), f"{program} is not built: cmake --preset dev && cmake --build --preset dev"
    return program


def probe_program():
    return built("kube-probe")


class Probe:
    """A running kube-probe: commands in, events out."""

    def __init__(self, program, kubeconfig):
        self.process = subprocess.Popen(
            [program, kubeconfig], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.buffer = b""
        self.calls = 0

    def write(self, *words):
        self.process.stdin.write((" ".join(str(w) for w in words) + "\n").encode())
        self.process.stdin.flush()

    def event(self, timeout=20.0):
        """The next event, or a failed test."""
        end = time.monotonic() + SLOWNESS * timeout
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            assert left > 0 and self.selector.select(left), f"no event within {timeout} s"
            chunk = os.read(self.process.stdout.fileno(), 65536)
            assert chunk, f"probe ended: {self.process.stderr.read().decode()}"
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def start(self, *words):
        self.write(*words)
        self.calls += 1
        return self.calls - 1

    def send(self, path, verb="get", method="GET", timeout_ms=30000, body=None, content_type="application/json"):
        words = ["send", verb, method, path, timeout_ms]
        return self.start(*words, *([content_type, body] if body else []))

    def get(self, path, **options):
        """One request, waited for."""
        call = self.send(path, **options)
        event = self.event(60)
        assert (event["event"], event["call"]) == ("done", call)
        return event

    def watch(self, path, action="note", timeout_ms=30000):
        return self.start("watch", path, timeout_ms, action)

    def counts(self):
        return json.loads(self.get("/counts")["body"])

    def metrics(self):
        self.write("metrics")
        return self.event()["text"]

    def close(self):
        """The rest of the events; the probe must leave nothing open on its loop."""
        out, log = self.process.communicate(timeout=60)
        events = [json.loads(line) for line in (self.buffer + out).splitlines()]
        assert events and events[-1] == {"event": "closed", "loop": 0}, (events, log.decode())
        assert self.process.returncode == 0, log.decode()
        return events[:-1], log.decode()
