"""Watches that come back after all connections were lost, as the API server's audit log has them."""

import json
from collections import Counter
from datetime import datetime


def seconds(stamp):
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


class Reconnects:
    """What clients whose user agents begin so ask for from now on."""

    def __init__(self, audit_log, user_agent):
        self.path, self.user_agent = audit_log, user_agent
        self.offset = audit_log.stat().st_size if audit_log.exists() else 0
        self.requests = {}  # audit id -> when it was received
        self.statuses = Counter()
        self.open = {}  # (user agent, resource) -> audit ids of its watches

    def read(self):
        """Takes in what has been written since."""
        with open(self.path, "rb") as log:
            log.seek(self.offset)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self.offset += len(line)
                self.hear(json.loads(line))

    def hear(self, event):
        if not event.get("userAgent", "").startswith(self.user_agent):
            return
        ident, began = event["auditID"], event["stage"] == "ResponseStarted"
        if event["verb"] == "watch" and not began and ident not in self.requests:
            return  # a watch from before ends
        self.requests.setdefault(ident, seconds(event["requestReceivedTimestamp"]))
        status = event["responseStatus"]["code"]
        if event["verb"] != "watch" or began:
            self.statuses[event["verb"], status] += 1
        if event["verb"] != "watch":
            return
        watches = self.open.setdefault((event["userAgent"], event["objectRef"]["resource"]), {})
        if began and status == 200:
            watches[ident] = seconds(event["stageTimestamp"])
        elif not began:
            watches.pop(ident, None)

    def watching(self):
        """How many have a watch."""
        return sum(1 for watches in self.open.values() if watches)

    def last_open(self):
        """When the last of them got one."""
        return max(min(watches.values()) for watches in self.open.values() if watches)

    def busiest_second(self):
        return max(Counter(int(at) for at in self.requests.values()).values())
