"""The agent behind a proxy that misbehaves: it keeps running, ends with the right objects, and says what happened.

All faults of this file happen at the same time, to one agent each: most of what they cost is waiting.
"""

import os
import signal
import uuid
from dataclasses import dataclass
from datetime import datetime, timezone

import pytest

from cluster import wait_until
from faultproxy import FaultProxy
from identities import Identities
from machine import Machine
from programs import Agent
from rest import DEVICES

RSS_MAX_KIB = 64 * 1024
SILENCE_MAX_S = 45
WATCH_ENDS_S = 300  # or later, by the watch's own limit


@dataclass
class Fault:
    name: str
    rules: list
    log: tuple = ()  # texts of one line
    metric: tuple = ()  # its name, and texts of its labels
    timeout: int = 60
    old: bool = False  # there are objects from an earlier life to list


def trouble(reason, resource="pcidevices"):
    return "hostdev_watch_troubles_total", f'resource="{resource}"', f'reason="{reason}"'


def request(verb, code):
    return "hostdev_api_requests_total", f'verb="{verb}"', f'code="{code}"'


def on(verb, fault, times=2, path="/pcidevices", **more):
    return {"verb": verb, "path": path, "fault": fault, "times": times, **more}


def status(verb, code, times=2, **more):
    return on(verb, "status", times, code=code, message=f"test {code}", **more)


FAILED = ("list or watch interrupted", "resource=pcidevices", "reason=failed")
BROKE = ("level=warn", "error=", "https://127.0.0.1")
ERRORS = ("hostdev_api_requests_total", 'code="error"')
BROKEN = ("list or watch interrupted", "resource=pcidevices", 'reason="broken answer"')
DENIED = ("list or watch interrupted", "resource=pcidevices", "reason=denied")
GONE = ("list or watch interrupted", "resource=pcidevices", "reason=gone")
WRITE = ("reconcile failed", "queue=inventory")

FAULTS = [
    Fault("a list meets 500", [status("list", 500)], (*FAILED, "test 500"), request("list", 500)),
    Fault("a list meets 503 with Retry-After", [status("list", 503, 1, retry_after="2")], (*FAILED, "test 503"),
          request("list", 503)),
    Fault("a list meets 429 with Retry-After", [status("list", 429, 1, retry_after="3")],
          (*FAILED, "too many requests", "test 429"), request("list", 429)),
    Fault("a list meets the page of a gateway", [on("list", "status-html", code=502, message="gateway")],
          (*FAILED, "502"), request("list", 502)),
    Fault("a list is forbidden at first", [status("list", 403, 1)], (*DENIED, "forbidden: test 403"),
          trouble("denied")),
    Fault("credentials are refused once", [status("list", 401, 1)], (),
          ("hostdev_api_retries_total", 'reason="unauthorized"')),
    Fault("credentials are refused for a while", [status("list", 401, 2)], (*DENIED, "unauthorized"),
          trouble("denied")),
    Fault("a list is gone", [status("list", 410, 1)], GONE, trouble("gone")),
    Fault("the second page of a list is gone",
          [status("list", 410, 1, path="pcidevices.*continue="), on("list", "pages", 1, count=2)], GONE,
          trouble("gone"), old=True),
    Fault("a list comes in pages", [on("list", "pages", 1, count=1)], (), request("list", 200), old=True),
    Fault("a list is garbage", [on("list", "garbage")], (*BROKEN, "is not JSON"), trouble("broken answer")),
    Fault("a list is cut", [on("list", "cut")], (*BROKEN, "is not JSON"), trouble("broken answer"), old=True),
    Fault("a list ends too early", [on("list", "truncate")], FAILED, trouble("failed"), old=True),
    Fault("a list is 64 MiB large", [on("list", "big")], (*BROKEN, "larger than"), trouble("broken answer")),
    Fault("a list has an object that is nested 100,000 levels deep", [on("list", "deep", 1)],
          (*BROKEN, "nested more than 128 deep"), trouble("broken answer")),
    # libcurl sends again by itself what nothing of the answer had come of; what else was on the connection is told.
    Fault("a list breaks its connection", [on("list", "reset")], BROKE, ERRORS),
    Fault("a list breaks its stream", [on("list", "reset-stream")], FAILED, request("list", "error")),
    Fault("a list comes byte by byte", [on("list", "drip", 1)], (), request("list", 200)),
    Fault("the lists of everything fail", [status("list", 500, 24, path="")],
          ("list or watch interrupted", "resource=usbdeviceclaims"), request("list", 500)),

    Fault("a watch is gone", [status("watch", 410, 1)], GONE, trouble("gone")),
    Fault("a watch says that it is gone",
          [on("watch", "watch-error", 1, code=410, reason="Expired", message="too old")],
          (*GONE, "too old"), trouble("gone")),
    Fault("a watch says that the server has a trouble",
          [on("watch", "watch-error", code=500, reason="InternalError", message="etcd")], (*FAILED, "etcd"),
          trouble("failed")),
    Fault("a watch meets 429 with Retry-After", [status("watch", 429, 1, retry_after="2")], (*FAILED, "test 429"),
          request("watch", 429)),
    Fault("a watch meets 500", [status("watch", 500)], FAILED, request("watch", 500)),
    Fault("a watch is forbidden at first", [status("watch", 403, 1)], DENIED, trouble("denied")),
    Fault("a watch ends at once, again and again", [on("watch", "watch-end", 3)],
          ("list or watch interrupted", "ended at once"), trouble("ended")),
    Fault("a watch is garbage", [on("watch", "garbage")], BROKEN, trouble("broken answer")),
    Fault("a watch brings an event of 64 MiB", [on("watch", "big")], BROKEN, trouble("broken answer")),
    Fault("a watch brings an object that is nested 100,000 levels deep", [on("watch", "deep", 1)],
          (*BROKEN, "nested more than 128 deep"), trouble("broken answer")),
    Fault("a watch breaks its connection", [on("watch", "reset")], BROKE, ERRORS),
    Fault("a watch breaks its stream", [on("watch", "reset-stream")], FAILED, trouble("failed")),
    Fault("a watch comes byte by byte", [on("watch", "drip", 1)], (), request("apply", 200)),
    Fault("a watch loses events", [on("watch", "drop", 1, count=3)], (), request("apply", 200)),
    Fault("a watch brings events twice", [on("watch", "duplicate", 0)], (), request("apply", 200)),
    Fault("the watches of claims fail", [status("watch", 500, 2, path="/pcideviceclaims")],
          ("list or watch interrupted", "resource=pcideviceclaims"), trouble("failed", "pcideviceclaims")),

    Fault("a write meets 409", [status("write", 409, 3, reason="Conflict")], (), request("apply", 409)),
    Fault("a write meets 429 with Retry-After", [status("write", 429, 3, retry_after="2")], (*WRITE, "429 too many"),
          request("apply", 429)),
    Fault("a write meets 500", [status("write", 500, 5)], (*WRITE, "test 500"), request("apply", 500)),
    Fault("a write is forbidden at first", [status("write", 403, 3)], (*WRITE, "forbidden: test 403"),
          request("apply", 403)),
    Fault("a write's credentials are refused", [status("write", 401, 6)], (*WRITE, "unauthorized"),
          request("apply", 401)),
    Fault("a write finds nothing", [status("write", 404, 2)], (), request("apply", 404)),
    Fault("a write's answer is garbage", [on("write", "garbage", 3)], (*WRITE, "is not the object"),
          ("hostdev_reconciles_total", 'result="retry"')),
    Fault("a write's answer is 64 MiB large", [on("write", "big", 3)], (*WRITE, "larger than"),
          ("hostdev_reconciles_total", 'result="retry"')),
    Fault("a write's answer is nested 100,000 levels deep", [on("write", "deep", 3)], (*WRITE, "is not the object"),
          ("hostdev_reconciles_total", 'result="retry"')),
    Fault("a write's answer is cut", [on("write", "cut", 3)], (*WRITE, "is not the object"),
          ("hostdev_reconciles_total", 'result="retry"')),
    Fault("a write's answer ends too early", [on("write", "truncate", 3)], WRITE, request("apply", "error")),
    # Six: libcurl tries a request five times again, and there may be no watch on the connection to tell of it.
    Fault("a write breaks its connection", [on("write", "reset", 6)], BROKE, ERRORS),
    Fault("a write breaks its stream", [on("write", "reset-stream", 3)], WRITE, request("apply", "error")),
    Fault("everything breaks its connection now and then",
          [on("", "reset", 1, path="", after=after) for after in (1, 4, 9, 15)],
          BROKE, ERRORS),

    Fault("a write is never answered", [on("write", "hang", 2)], (*WRITE, "did not answer within"),
          request("apply", "timeout")),
    Fault("a watch never begins", [on("watch", "hang", 1)], (*FAILED, "did not answer within"),
          request("watch", "timeout")),
    Fault("a list is never answered", [on("list", "hang", 1)], (*FAILED, "did not answer within"),
          request("list", "timeout"), timeout=100),
    Fault("a list stops in its middle", [on("list", "hang-body", 1)], (*FAILED, "did not answer within"),
          request("list", "timeout"), timeout=100),
]


@dataclass
class Patient:
    agent: Agent
    machine: Machine
    rules: list  # of the proxy, as they stand in its list


class Ward:
    """All patients, and the one proxy that is ill for each in another way."""

    def __init__(self, cluster, rest, program, folder, faults):
        self.rest = rest
        self.program, self.cluster, self.folder = program, cluster, folder
        self.identities = Identities(cluster, rest, folder)
        self.proxy = FaultProxy(program, cluster)
        self.closing = [self.proxy.stop]
        self.patients = {}
        rules = []
        for fault in faults:
            agent, machine = self.admit(self.proxy)
            own = [{**rule, "agent": agent.user_agent_end} for rule in fault.rules]
            self.patients[fault.name] = Patient(agent, machine, range(len(rules), len(rules) + len(own)))
            rules += own
            if fault.old:
                self.make_old(agent)
        self.proxy.rules(rules)
        for patient in self.patients.values():
            patient.agent.start()

    def admit(self, proxy):
        node = f"f-{uuid.uuid4().hex[:8]}"
        home = self.folder / node
        home.mkdir()
        machine = Machine(home / "machine")
        agent = Agent(self.rest, machine, node, self.identities.agent(node, proxy.server), home)
        self.closing.append(lambda: self.discharge(agent))
        return agent, machine

    def discharge(self, agent):
        if agent.process:
            agent.kill()
        for kind, name in agent.objects():
            self.rest.delete(DEVICES[kind], name)

    def make_old(self, agent):
        """Objects from an earlier life, so that there is something to list."""
        for key, obj in agent.inspect().items():
            self.rest.create(DEVICES[key[0]], {**obj, "status": {}})

    def met(self, patient):
        rules = self.proxy.rules()
        return [rules[i]["met"] for i in patient.rules]

    def close(self):
        for close in self.closing:
            close()
        self.identities.close()


class Frozen:
    """An agent whose connection is open and says nothing, from now on."""

    def __init__(self, ward):
        self.proxy = FaultProxy(ward.program, ward.cluster)
        ward.closing.append(self.proxy.stop)
        self.agent, self.machine = ward.admit(self.proxy)
        self.agent.start()
        self.agent.wait_converged()
        wait_until(self.agent.idle, 30)
        self.since = datetime.now(timezone.utc)
        os.kill(self.proxy.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.proxy.process.pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def ward(installed, rest, faultproxy_program, tmp_path_factory, request):
    """With a patient for each test of this run, so that one alone is quick."""
    faults = [item.callspec.params["fault"] for item in request.session.items
              if item.module is request.module and hasattr(item, "callspec")]
    ward = Ward(installed, rest, faultproxy_program, tmp_path_factory.mktemp("ward"), faults)
    yield ward
    ward.close()


@pytest.fixture(scope="module", autouse=True)
def frozen(ward):
    """Before the first test, because its silence lasts."""
    return Frozen(ward)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_the_agent_gets_over_it(ward, fault):
    patient = ward.patients[fault.name]
    agent = patient.agent
    wait_until(lambda: all(ward.met(patient)), fault.timeout, lambda: "the fault has not happened")
    agent.wait_converged(fault.timeout)
    if fault.log:
        agent.wait_line(*fault.log)
    if fault.metric:
        assert agent.metric(fault.metric[0], *fault.metric[1:]) > 0, agent.get("/metrics")[1]
    assert agent.peak_rss_kib() < RSS_MAX_KIB
    assert agent.ready()

    # It follows its machine as ever.
    patient.machine.add("0000:00:1d.0")
    patient.machine.tell()
    agent.wait_converged(fault.timeout)
    agent.stop()


def test_a_connection_that_goes_silent_is_given_up(frozen):
    """The server's kernel acknowledges everything; the server itself neither reads nor answers."""
    agent = frozen.agent
    line = agent.wait_line("connection does not respond, closing it", timeout=SILENCE_MAX_S + 10)
    agent.wait_line("list or watch interrupted", "reason=failed", "went silent")
    at = datetime.fromisoformat(line.split()[0].removeprefix("time="))
    assert (at - frozen.since).total_seconds() < WATCH_ENDS_S / 2
    frozen.machine.add("0000:00:1d.0")
    frozen.machine.tell()
    frozen.thaw()
    agent.wait_converged(60)
    agent.stop()
