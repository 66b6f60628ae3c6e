"""A pytest plugin: for each test, what hostdev's programs wrote to its API servers, one JSON line a test.

The audit logs have the writes, with their bodies (tests/journal/run sees to that). HOSTDEV_JOURNAL names
the folder; each process of pytest-xdist writes a file of its own.
"""

import json
import os
import re
from pathlib import Path

import pytest

WRITES = {"create", "update", "patch", "delete"}
# What differs between two runs of the same program.
VARIES = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?"), "TIME"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\b(process|pid|port) \d+"), r"\1 N"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min)\b"), "DURATION"),
    (re.compile(r"/tmp/[\w./-]+"), "FILE"),
    (re.compile(r"\b([a-z]+)-[0-9a-f]{8}\b"), r"\1-RANDOM"),  # nodes of tests
]
DROPPED = {"resourceVersion", "uid", "generation", "managedFields", "creationTimestamp"}

logs = {}  # path of an audit log -> how much of it has been read


def normal(value):
    if isinstance(value, dict):
        return {key: normal(item) for key, item in sorted(value.items()) if key not in DROPPED}
    if isinstance(value, list):
        return [normal(item) for item in value]
    if isinstance(value, str):
        for pattern, word in VARIES:
            value = pattern.sub(word, value)
    return value


def body_of(event):
    """Of an Event its reason and message only: the name has a time in it."""
    body = event.get("requestObject") or {}
    if event["objectRef"]["resource"] == "events":
        involved = body.get("involvedObject") or body.get("regarding") or {}
        return normal({"of": [involved.get("kind"), involved.get("name")], "reason": body.get("reason"),
                       "message": body.get("message") or body.get("note")})
    return normal(body)


def write_of(event):
    """[object, verb, status, body] of an event of the audit log; None if hostdev did not write it."""
    ref = event.get("objectRef", {})
    if event["verb"] not in WRITES or not event.get("userAgent", "").startswith("hostdev-"):
        return None
    resource = "/".join(filter(None, (ref.get("resource"), ref.get("subresource"))))
    if resource == "leases" or (resource == "events" and event["verb"] != "create"):
        return None  # they follow the clock
    name = ref.get("name") or ((event.get("requestObject") or {}).get("metadata") or {}).get("name", "")
    key = resource if resource == "events" else f"{resource} {normal(name)}"
    return [key, event["verb"], event.get("responseStatus", {}).get("code"), body_of(event)]


def read_on(path):
    """The writes that were added to a log. A log that was removed has none; one that is shorter than before is read again."""
    try:
        with open(path, "rb") as log:
            log.seek(logs[path] if logs[path] <= os.fstat(log.fileno()).st_size else 0)
            lines = log.read().split(b"\n")
            logs[path] = log.tell() - len(lines[-1])
    except OSError:
        return []
    return list(filter(None, (write_of(json.loads(line)) for line in lines[:-1])))


def pytest_collection_finish():
    from cluster import Cluster

    begin = Cluster.__init__

    def begin_and_remember(self, *args):
        begin(self, *args)
        logs.setdefault(self.audit_log, 0)

    Cluster.__init__ = begin_and_remember


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    yield
    writes = [write for path in list(logs) for write in read_on(path)]
    file = Path(os.environ["HOSTDEV_JOURNAL"]) / f"{os.environ.get('PYTEST_XDIST_WORKER', 'all')}.jsonl"
    with open(file, "a") as journal:
        journal.write(json.dumps({"test": item.nodeid, "writes": writes}) + "\n")
