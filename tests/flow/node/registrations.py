"""When the kubelet has the agent's plugin for a resource and when not: its own log, by the guest's clock."""

import re
import time
from dataclasses import dataclass
from datetime import datetime, timezone

from cluster import wait_until

FLAGS = "--v=2\n"  # with this it says so
LINE = re.compile(r"^[IWE](\d{4} \d\d:\d\d:\d\d\.\d{6}) [^\]]*\] (.*)$", re.M)
ENDS = "Mark all resources Unhealthy for resource"
BEGINS = "State pushed for device plugin"
EMPTY = "resourceCapacity=0"
LISTENS = "Starting device plugin registration server"


def stamp_of(text):
    """Of one of LINE's, by the guest's clock."""
    year = datetime.now(timezone.utc).year
    return datetime.strptime(f"{year}{text} +0000", "%Y%m%d %H:%M:%S.%f %z").timestamp()


def after_the_kubelet_began(log, resource):
    """Seconds from when the last kubelet in the log took registrations until it had the resource; None: it has not."""
    began = pushed = None
    for stamp, text in LINE.findall(log):
        if text.startswith(f'"{LISTENS}"'):
            began, pushed = stamp_of(stamp), None
        elif (text.startswith(f'"{BEGINS}"') and f'"{resource}"' in text and EMPTY not in text
              and began is not None and pushed is None):
            pushed = stamp_of(stamp)
    return None if began is None or pushed is None else pushed - began


@dataclass
class Restart:
    """Of an agent's process; seconds since the epoch."""

    lost: float  # the plugin's stream ended
    began: float  # the next process was executed
    offered: float  # the kubelet has the devices of its first ListAndWatch answer

    def __str__(self):
        if self.stood_by:
            return f"it stood by for {self.lost - self.began:.1f} s, {self.took:.2f} s until it was registered"
        return f"{self.began - self.lost:.2f} s until the next process, {self.took:.2f} s until it was registered"

    @property
    def stood_by(self):
        """It was there before the other one ended."""
        return self.began < self.lost

    @property
    def took(self):
        """From when it could begin."""
        return self.offered - max(self.began, self.lost)


class Registrations:
    """Of one resource, on a kubelet with FLAGS."""

    def __init__(self, hostdev, resource):
        self.hostdev, self.guest, self.resource = hostdev, hostdev.guest, resource

    def _times(self, words):
        """When the log says so of the resource."""
        return [stamp_of(stamp) for stamp, text in LINE.findall(self.hostdev.kubelet.log())
                if text.startswith(f'"{words}"') and f'"{self.resource}"' in text and EMPTY not in text]

    def _began(self):
        """When the agent's process was executed."""
        pid = self.hostdev.agent_process()
        ago = self.guest.sh(f"read up _ </proc/uptime; set -- $(cat /proc/{pid}/stat); "
                            "echo $(date +%s.%N) $up ${22} $(getconf CLK_TCK)")
        now, uptime, ticks, per_second = map(float, ago.split())
        return now - uptime + ticks / per_second

    def mark(self):
        """Where restarts after now begin."""
        return len(self._times(ENDS))

    def wait(self, mark):
        """The one Restart since then, once the resource is registered."""
        def done():
            lost, offered = self._times(ENDS)[mark:], self._times(BEGINS)
            return lost and max(offered) > max(lost) and (lost, offered)
        lost, offered = wait_until(done, 120, f"{self.resource} registered again")
        return Restart(lost[0], self._began(), next(when for when in offered if when > lost[-1]))

    def ahead(self):
        """By how many seconds the guest's clock is, to a round trip or half of one."""
        before = time.time()
        there = float(self.guest.sh("date +%s.%N"))
        return there - (before + time.time()) / 2
