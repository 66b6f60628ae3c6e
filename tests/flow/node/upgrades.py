"""What is looked at while hostdev is brought to another version."""

import json
import re
import threading
import time
from collections import Counter

from claims import TWIN, condition
from cluster import ROOT, wait_until
from node import NODE
from test_pods import claim_of

REJECTED = {400, 401, 403, 405, 406, 413, 415, 422, 500}


class Definitions:
    """Those of the cluster, changed while objects of them are watched."""

    def __init__(self, cluster, watches):
        self.cluster, self.watches = cluster, watches
        self.kubectl = cluster.kubectl

    def _generations(self):
        """By plural name."""
        return {crd["spec"]["names"]["plural"]: crd["metadata"]["generation"]
                for crd in self.cluster.get("-f", ROOT / "crds")}

    def change(self, *command):
        """kubectl COMMAND -f the files of one version; the API server serves them so when this returns."""
        old = self._generations()
        self.kubectl(*command)
        new = self._generations()
        for watch in self.watches:
            if new[watch.kind] != old[watch.kind]:
                wait_until(watch.ended, 60, f"the end of a watch of {watch.kind}")
                watch.again()
        kinds = ",".join(f"customresourcedefinitions/{name}" for name in new)
        wait_until(lambda: all(self.kubectl("get", name, "-A", check=False).returncode == 0 for name in new), 60, kinds)


class Asked:
    """Claims that are tried and not made, one after the other: each needs an answer of the webhook."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.times = 0
        self.failures = []
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._ask, daemon=True)
        self.thread.start()

    def _ask(self):
        while not self.ends.wait(0.2):
            tried = self.cluster.kubectl("create", "--dry-run=server", "-f", "-", input=claim_of(TWIN), check=False)
            self.times += 1
            if tried.returncode or f"bind {TWIN} to vfio-pci" not in tried.stderr:
                self.failures.append((time.strftime("%X"), tried.stderr))

    def forget(self):
        """The failures up to now."""
        found, self.failures = self.failures, []
        return found

    def end(self):
        self.ends.set()
        self.thread.join()


class Audit:
    """What agents and controllers asked the API server for, after forget()."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.forget()

    def forget(self):
        self.at = self.now()

    def now(self):
        return self.cluster.audit_log.stat().st_size

    def events(self, program, since=None):
        with open(self.cluster.audit_log) as log:
            log.seek(self.at if since is None else since)
            events = [json.loads(line) for line in log if line.endswith("\n") and f'"userAgent":"{program}/' in line]
        return [event for event in events if event["stage"] == "ResponseComplete"]

    def versions(self, program, since):
        """By which it has called itself."""
        return {re.match(r"[^/]*/([0-9.]+)", event["userAgent"])[1] for event in self.events(program, since)}

    def rejected(self):
        """Requests that were refused for what they are: how many of (program, verb, path, code, message)."""
        found = Counter()
        for program in "hostdev-agent", "hostdev-controller":
            for event in self.events(program):
                status = event["responseStatus"]
                if status["code"] in REJECTED:
                    found[program, event["verb"], event["requestURI"], status["code"], status.get("message")] += 1
        return found


def without(watch, resource, mark):
    """[(begin, end)] of the times in which the Node has told of no unit of it, in seconds since the epoch; end None:
    still so.
    """
    found, ahead = [], time.time() - time.monotonic()
    for event in watch.events[mark:]:
        if event.name != NODE:
            continue
        count = int(event.object["status"].get("allocatable", {}).get(resource, 0))
        if count == 0 and not (found and found[-1][1] is None):
            found.append((event.seen + ahead, None))
        elif count > 0 and found and found[-1][1] is None:
            found[-1] = (found[-1][0], event.seen + ahead)
    return found


def essence(claim):
    """Of a claim what no version writes anew: which it is, and since when its agent's conditions are so."""
    meta, status = claim["metadata"], claim["status"]
    conditions = sorted((c["type"], c["status"], c["reason"], c["lastTransitionTime"]) for c in status["conditions"]
                        if c["type"] not in ("NodeReachable", "Offered"))  # the previous version has no Offered
    return (meta["uid"], meta["finalizers"], claim["spec"], status["kernelDriverToUnbind"],
            status["passthroughEnabled"], conditions)


def reachable(claim):
    """(status, reason) of the controller's condition; None: without."""
    return condition(claim, "NodeReachable")[:2] if condition(claim, "NodeReachable")[0] else None
