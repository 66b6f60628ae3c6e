"""docs/audit.md: what users, the webhook and an agent do is in their logs, on the device and in `kubectl hostdev log`,
and names of users are seen by those alone who may see them."""

import http.client
import json
import re
import ssl
import subprocess
import time

import pytest

from cluster import ROOT, wait_until
from test_kubectl_hostdev import CLAIMS, NIC, THIRD, TWIN, Plugin, lender, name, webhook  # noqa: F401, fixtures
from rest import GROUP
from webhook import LISTENS

PAGE = (ROOT / "docs/audit.md").read_text()
PASSING = ("LeftAlone", "NodeMissing", "OverrideOwned")  # of a made-up machine, whose files nobody but the test changes
FIELD = re.compile(r' (\w+)=("(?:[^"\\]|\\.)*"|\S+)')


def lines(program, **fields):
    """The fields of each line of the audit trail in a program's log that has these."""
    found = [{key: value.strip('"') for key, value in FIELD.findall(line)} for line in program.lines("msg=audit")]
    return [line for line in found if fields.items() <= line.items()]


def only(program, **fields):
    """The one line that has these: it is told once what it tells of is written."""
    wait_until(lambda: lines(program, **fields), 10, f"a line with {fields}")
    [line] = lines(program, **fields)
    return line


def claim(device):
    return {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim", "metadata": {"name": device}}


class Person:
    """kubectl and the plugin as somebody with these roles."""

    def __init__(self, installed, identities, user, *roles):
        self.installed, self.user = installed, user
        self.config = identities.user(user)
        self.plugin = Plugin(installed, self.config)
        self.bindings = [f"{user}-{role}" for role in roles]
        for role, binding in zip(roles, self.bindings):
            installed.kubectl("create", "clusterrolebinding", binding, f"--clusterrole={role}", f"--user={user}")

    def kubectl(self, *words, input=None, check=True):
        return self.installed.kubectl("--kubeconfig", self.config, *words, input=input, check=check)

    def can(self, *words):
        return self.kubectl("auth", "can-i", *words, check=False).stdout.strip() == "yes"

    def close(self):
        self.installed.kubectl("delete", "clusterrolebinding", *self.bindings, "--ignore-not-found")


@pytest.fixture
def people(installed, identities):
    made = []

    def make(user, *roles):
        made.append(Person(installed, identities, user, *roles))
        return made[-1]

    yield make
    for person in made:
        person.close()


@pytest.fixture
def alice(people, node):
    made = people(f"alice-{node}", "hostdev-claim", "hostdev-user", "hostdev-view")
    wait_until(lambda: made.can("claim", f"pcidevices.devices.harvesterhci.io/{name(node, TWIN)}"), 20, "her roles")
    return made


@pytest.fixture
def reader(people, installed, node):
    """Sees devices and the events of the namespace default, and no claims."""
    user = f"reader-{node}"
    installed.kubectl("create", "clusterrole", user, "--verb=get,list", "--resource=pcidevices.devices.harvesterhci.io")
    installed.kubectl("-n", "default", "create", "role", user, "--verb=get,list,watch", "--resource=events")
    installed.kubectl("-n", "default", "create", "rolebinding", user, f"--role={user}", f"--user={user}")
    made = people(user, user)
    wait_until(lambda: made.can("list", "events", "-n", "default") and made.can("list", "pcidevices"), 20, "the roles")
    yield made
    installed.kubectl("-n", "default", "delete", "rolebinding,role", user)
    installed.kubectl("delete", "clusterrole", user)


def described(installed, device):
    """Reasons of the events in a description."""
    text = installed.kubectl("describe", "pcidevice", device).stdout
    return re.findall(r"^  (?:Normal|Warning) +(\w+)", text.partition("\nEvents:")[2], re.MULTILINE)


def history(text):
    """Reasons that `kubectl hostdev log` has printed."""
    return [reason for reason in (line.split()[1] for line in text.splitlines()[1:]) if reason not in PASSING]


def test_a_devices_life_is_told(lender, webhook, installed, alice, reader, node, rest):  # noqa: F811
    device, needed, other = name(node, TWIN), name(node, NIC), name(node, THIRD)
    admin = Plugin(installed)

    alice.kubectl("create", "-f", "-", input=claim(device))
    alice.kubectl("wait", f"pcideviceclaim/{device}", "--for=condition=Ready", "--timeout=180s")
    refused = alice.kubectl("create", "-f", "-", input=claim(needed), check=False).stderr
    assert "HostNetwork" in refused
    # Refused by a policy, before the webhook is asked; not carried out.
    assert "may not claim" in reader.kubectl("create", "-f", "-", input=claim(other), check=False).stderr or \
        not reader.can("create", "pcideviceclaims")
    alice.kubectl("create", "--dry-run=server", "-f", "-", input=claim(other))

    about = {"user": alice.user, "kind": "PCIDevice", "node": node}
    made = only(webhook, action="claim", device=device)
    about |= {"verified": "false"}  # this API server shows no certificate
    assert made.items() >= {**about, "result": "Done", "owner": alice.user, "reason": "Claimed"}.items()
    no = only(webhook, action="claim", device=needed)
    assert no.items() >= {**about, "result": "Refused", "reason": "ClaimRefused"}.items()
    assert "HostNetwork: eth0 has the default route" in no["message"]
    assert lines(webhook, device=other) == []
    about.pop("verified")
    bound = only(lender.agent, action="bind", device=device, result="Done")
    assert bound.items() >= {**about, "reason": "Bound"}.items()

    wait_until(lambda: {"Claimed", "Bound"} <= set(described(installed, device)), 20, "the events")
    wait_until(lambda: described(installed, needed) == ["ClaimRefused"], 20, "the event of the refusal")

    # Whose it is, is seen by who may read the claim.
    rows = [line.split() for line in admin("log", device).splitlines()]
    assert rows[0] == ["TIME", "REASON", "COUNT", "USER", "MESSAGE"]
    assert [(row[1], row[3]) for row in rows[1:] if row[1] not in PASSING] == [("Claimed", alice.user), ("Bound", alice.user)]
    told = reader.plugin("log", device)
    assert history(told) == ["Claimed", "Bound"]
    assert history(reader.plugin("log", needed)) == ["ClaimRefused"]
    assert alice.user not in told + reader.plugin("log", needed)
    events = rest.get("/api/v1/namespaces/default/events")["items"]
    mine = [event for event in events if event["involvedObject"]["name"] in (device, needed)]
    assert mine and not [event for event in mine if alice.user in json.dumps(event["message"])]
    alice.plugin("log", device, status=1)  # she may not read events
    assert "events" in alice.plugin.said

    # Nothing has changed: nothing is told again.
    before = lines(lender.agent)
    lender.agent.stop()
    lender.agent.start()
    lender.agent.wait_converged()
    wait_until(lender.agent.idle, 20, "the new agent has looked at all")
    assert lines(lender.agent) == before

    lender.was_on("e1000e")
    alice.kubectl("delete", "pcideviceclaim", device, "--wait=false")
    lender.give_back_after_a_try()
    wait_until(lambda: rest.request("GET", f"{CLAIMS}/{device}")[0] == 404, 60, "the claim's end")
    asked = only(webhook, action="unclaim")
    assert asked.items() >= {**about, "result": "Done", "device": device}.items()
    back = only(lender.agent, action="release", result="Done")
    assert back.items() >= {**about, "device": device, "reason": "Released"}.items()
    wait_until(lambda: {"Claimed", "Bound", "Unclaimed", "Released"} <= set(described(installed, device)), 20, "all of it")
    rows = json.loads(admin("log", device, "-o", "json"))["events"]
    assert [row["reason"] for row in rows if row["reason"] not in PASSING] == ["Claimed", "Bound", "Unclaimed",
                                                                                        "Released"]
    assert not [row for row in rows if "user" in row]  # the claim is gone, and with it whose it was


def review(operation, resource, body, **request):
    group, version = ("", "v1") if resource == "pods" else ("devices.harvesterhci.io", "v1beta1")
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "made-up", "operation": operation, "name": body["metadata"]["name"], "object": body,
        "resource": {"group": group, "version": version, "resource": resource},
        "userInfo": {"username": "boss", "groups": ["system:masters"]}, **request}})


def test_a_review_that_a_pod_makes_up_is_told_as_such_and_nothing_comes_of_it(lender, webhook, installed, node, rest):  # noqa: F811
    """Without client certificates anybody may send one: docs/webhook.md."""
    device, needed = name(node, TWIN), name(node, NIC)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", int(LISTENS.findall(webhook.log())[-1]), context=context)
    resource = rest.get(f"{GROUP}/pcidevices/{device}")["status"]["resourceName"]
    pod = {"metadata": {"name": "p", "namespace": "kube-system", "uid": "u"}, "spec": {"nodeName": node, "containers": [
        {"name": "m", "resources": {"limits": {resource: "1"}}}]}}

    def ask(*about, **request):
        connection.request("POST", "/validate", review(*about, **request))
        return json.loads(connection.getresponse().read())["response"]

    wait_until(lambda: ask("CREATE", "pcideviceclaims", claim(device))["allowed"], 20, "it is known")
    seen, told = len(installed.audit()), len(lines(webhook))
    assert ask("CREATE", "pcideviceclaims", claim(device))["allowed"]
    assert not ask("CREATE", "pcideviceclaims", claim(needed))["allowed"]
    assert "does not offer" in ask("CREATE", "pods", pod)["warnings"][0]
    made = lines(webhook)[told:]
    assert [(line["user"], line["result"], line["verified"]) for line in made] == [
        ("boss", "Done", "false"), ("boss", "Refused", "false")]
    wait_until(lambda: described(installed, needed) == ["ClaimRefused"], 20, "the event of the refusal")
    assert "it is not verified that an API server sent the request" in installed.kubectl(
        "describe", "pcidevice", needed).stdout.replace("\n", " ")
    # Of all this the controller has written that event and nothing else, however often it is told.
    for _ in range(150):
        ask("CREATE", "pcideviceclaims", claim(needed))
    time.sleep(2)
    writes = [event for event in installed.audit()[seen:] if event["user"]["username"].endswith(":hostdev-controller")
              and event["verb"] in ("create", "update", "patch", "delete")
              and event["objectRef"]["resource"] not in ("leases", "devicepools")]
    assert {event["objectRef"]["resource"] for event in writes} == {"events"}, writes
    assert {event["objectRef"]["namespace"] for event in writes} == {"default"} and len(writes) <= 26, len(writes)
    assert "Claimed" not in described(installed, device)


def test_every_field_and_action_of_the_page_is_in_the_code():
    fields = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", PAGE.split("| action |")[0],
                                                            re.MULTILINE))))
    code = (ROOT / "lib/kube/audit.c").read_text()
    assert fields - {"time", "level"} == set(re.findall(r'\{ "(\w+)", ', code))
    table = PAGE.split("| action |")[1].split("\n\n")[0]
    actions = set(re.findall(r"`([a-z]\w*)`", " ".join(re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE))))
    source = subprocess.run(["git", "-C", ROOT, "grep", "-hE", "-A3", r"\.action =|ADMISSION_\w+\] = \{"], check=True,
                            capture_output=True, text=True).stdout
    for action in actions:
        assert f'"{action}"' in source, action
