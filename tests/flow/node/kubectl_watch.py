"""kubectl's watch of one kind's objects, in the background: what it has shown, and when."""

import json
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlencode

from cluster import SLOWNESS

# `kubectl get -w` cannot say how long, and ends when the server likes, after half an hour or later.
HOURS = urlencode({"watch": 1, "timeoutSeconds": 6 * 3600})
WATCH = "/apis/devices.harvesterhci.io/v1beta1/{}?" + HOURS


@dataclass
class Event:
    type: str
    object: dict
    seen: float  # time.monotonic()

    @property
    def name(self):
        return self.object["metadata"]["name"]


class KubectlWatch:
    """Owns the kubectl process; a thread collects its events until close()."""

    def __init__(self, cluster, kind, selector, path=WATCH):
        self.kind = kind
        self.events = []
        self._objects = {}  # after all of these
        self.changed = threading.Condition()
        self.cluster = cluster
        self.path = path.format(kind) + "&" + urlencode({"labelSelector": selector})
        self._start()

    def _start(self):
        self.process = self.cluster.start_kubectl("get", "--raw", self.path)
        self.thread = threading.Thread(target=self._collect, daemon=True)
        self.thread.start()

    def _collect(self):
        for line in self.process.stdout:
            value = json.loads(line)
            event = Event(value["type"], value["object"], time.monotonic())
            with self.changed:
                self.events.append(event)
                if event.type == "DELETED":
                    self._objects.pop(event.name, None)
                else:
                    self._objects[event.name] = event.object
                self.changed.notify_all()

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.thread.join()

    def ended(self):
        """By the API server: a definition that changes ends the watches of its kind."""
        return self.process.poll() is not None

    def again(self):
        """A new kubectl, which shows all objects once more."""
        self.close()
        self._start()

    def mark(self):
        """Where the events after now begin."""
        with self.changed:
            return len(self.events)

    def wait(self, mark, check, timeout=30, what="an event"):
        """The first event behind the mark for which check(event) is true."""
        end = time.monotonic() + SLOWNESS * timeout
        at = mark
        with self.changed:
            while True:
                for event in self.events[at:]:
                    if check(event):
                        return event
                at = len(self.events)
                left = end - time.monotonic()
                seen = [(e.type, e.name) for e in self.events[mark:]]
                assert left > 0, f"kubectl's watch of {self.kind} has not shown {what} in {timeout} s, only {seen}"
                assert not self.ended(), "kubectl ended"
                self.changed.wait(left)

    def objects(self):
        """The objects as they are after all events seen so far, by name."""
        with self.changed:
            return dict(self._objects)
