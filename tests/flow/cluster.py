"""A control plane for tests: hack/cluster.d/cluster in a folder of its own."""

import json
import os
import shutil
import subprocess
import threading
import time
from collections import Counter
from http.client import HTTPException
from pathlib import Path

from kinds import Kinds

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "hack/cluster.d/cluster"
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


SLOWNESS = 3  # a machine that takes three times as long as usual passes too


def wait_until(check, timeout=10.0, what=None):
    """The first true value of check(), tried twenty times a second, or a third of the time where it takes longer, because
    what it waits for needs the processor, too. @timeout is what a usual machine needs."""
    timeout *= SLOWNESS
    end = time.monotonic() + timeout
    began = time.monotonic()
    while not (value := check()):
        now = time.monotonic()
        assert now < end, f"not within {timeout} s: {what() if callable(what) else what or check}"
        time.sleep(max(0.05, 2 * (now - began)))
        began = time.monotonic()
    return value


class Cluster:
    """An API server: its kubeconfig, kubectl for it, and what its audit log says."""

    def __init__(self, kubeconfig):
        self.kubeconfig = Path(kubeconfig)
        self.folder = self.kubeconfig.parent
        self.audit_log = Path(os.environ.get("HOSTDEV_TEST_AUDIT_LOG", self.folder / "audit.log"))
        own = self.folder / "bin/kubectl"
        self._kubectl = str(own) if own.exists() else shutil.which("kubectl")
        self._kinds = threading.local()  # a connection is one thread's

    @classmethod
    def start(cls, folder, *options):
        run = subprocess.run([SCRIPT, "start", "--dir", folder, *options], capture_output=True, text=True)
        assert run.returncode == 0, f"no control plane:\n{run.stderr}"
        return cls(run.stdout.strip())

    @staticmethod
    def stop(folder):
        subprocess.run([SCRIPT, "stop", "--purge", "--dir", folder], check=True)

    def control(self, *words):
        """hack/cluster.d/cluster with these words: kill NAME, pause NAME, sa-kubeconfig NS NAME, ..."""
        run = subprocess.run([SCRIPT, *words, "--dir", self.folder], check=True, stdout=subprocess.PIPE, text=True)
        return run.stdout

    def kubectl(self, *args, input=None, check=True):
        """kubectl as administrator; input may be text or objects. A CompletedProcess with text."""
        if input is not None and not isinstance(input, str):
            input = json.dumps(input)
        command = [self._kubectl, "--kubeconfig", self.kubeconfig, *args]
        env = os.environ | {"GOGC": "off"}  # it ends before that much is garbage
        run = subprocess.run(command, input=input, capture_output=True, text=True, env=env)
        assert not check or run.returncode == 0, f"kubectl {' '.join(map(str, args))}: {run.stderr}"
        return run

    def start_kubectl(self, *args):
        """A kubectl that goes on running, for `get --watch`; its output is text in a pipe."""
        command = [self._kubectl, "--kubeconfig", self.kubeconfig, *args]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def install_kinds(self, *flags):
        """Our kinds, served. While an API server fills the watch cache of a kind that is new, it answers 429."""
        self.kubectl("apply", *flags, "-f", ROOT / "crds")
        self.wait_kinds()

    def wait_kinds(self):
        """Until our kinds are served. A definition that is deleted before that may stay for minutes: the API server that
        cannot list its objects then ("storage is (re)initializing") tries again ever more seldom."""
        self.kubectl("wait", "--for=condition=Established", "--timeout=180s", "-f", ROOT / "crds")
        for crd in self.get("-f", ROOT / "crds"):
            wait_until(lambda: self.serves(crd["spec"]), 30, f"{crd['metadata']['name']} served")

    def serves(self, spec):
        """Does it answer from the watch cache of the kind that a CustomResourceDefinition's spec says?"""
        path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}?resourceVersion=0&limit=1"
        return self.kubectl("get", "--raw", path, check=False).returncode == 0

    def get(self, *args):
        """What `kubectl get ARGS -o json` prints, decoded; of a list its items."""
        if (found := self._get_here(args)) is not None:
            return found
        answer = json.loads(self.kubectl("get", *args, "-o", "json").stdout)
        return answer["items"] if answer["kind"].endswith("List") else answer

    def _get_here(self, args):
        """The same over a connection that stays open; None for what only kubectl can answer."""
        if not hasattr(self._kinds, "here"):
            self._kinds.here = Kinds(self.kubeconfig)
        try:
            return self._kinds.here.get(args)
        except (HTTPException, OSError) as error:
            raise AssertionError(f"get {' '.join(map(str, args))}: {error}") from None

    def audit(self):
        """The audit log's events that are written whole."""
        with open(self.audit_log) as log:
            return [json.loads(line) for line in log if line.endswith("\n")]

    def writes(self, user_agent="", resource=None):
        """Counts requests that write, by (verb, resource or resource/subresource), of user agents that begin so."""
        counts = Counter()
        for event in self.audit():
            ref = event.get("objectRef", {})
            if event["verb"] not in WRITES or not event.get("userAgent", "").startswith(user_agent):
                continue
            if resource in (None, ref.get("resource")):
                counts[event["verb"], "/".join(filter(None, (ref.get("resource"), ref.get("subresource"))))] += 1
        return counts
