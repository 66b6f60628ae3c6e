"""Names that are attacks, from the API and from devices (row 45 of the fault matrix): none forges a line of the log,
leaves a folder, or stops the agent.
"""

import re
import shutil
import tempfile
from pathlib import Path

import pytest

from cluster import wait_until
from programs import run
from rest import GROUP

NIC = "0000:01:00.1"
POOL = "intel.com/82574L_GIGABIT_NETWORK_CONNECTION"
FORGED = 'level=error msg="forged"'
VALUE = r'(?:[^\s"=\\]+|"(?:[^"\\]|\\["\\]|\\x[0-9a-f]{2})*")'
LINE = re.compile(rf"time=\S+ level=(?:debug|info|warn|error) msg={VALUE}(?: [a-z_]+={VALUE})*")

HOSTILE = {
    "a line break and a line": f"example.com/a\ntime=2026-01-01T00:00:00.000Z {FORGED}",
    "a carriage return": f"example.com/a\r{FORGED}",
    "line breaks of Unicode": "example.com/a\u0085b\u2028c",
    "quotes": f'example.com/a" {FORGED} b="',
    "a backslash at the end": "example.com/a\\",
    "ANSI escapes": "example.com/\x1b[2J\x1b[31mred\x07\x9b1m",
    "letters that run backwards": "example.com/\u202eexe.gpj\u200b",
    "a way out of the folder": "example.com/../../../../tmp/x",
    "a way out without a domain": "../../../../../tmp/x",
    "a path": "/etc/passwd",
    "a format": "example.com/%s%n%n",
    "commands": "example.com/$(reboot);`reboot`",
    "253 characters": "x" * 253,
    "a name part of 253 characters": "example.com/" + "x" * 253,
    "200,000 characters": "example.com/" + "x\n" * 100000,
    "a NUL": "example.com/a\0b",
    "nothing": "",
}


NO_KUBELET_TAKES = ["kubernetes.io/gpu", "a.kubernetes.io/gpu", "requests.example.com/gpu"]


def log_is_sound(program):
    assert program.lines("list or watch interrupted") == []
    lines = program.log().split("\n")
    assert lines.pop() == ""
    assert lines and all(LINE.fullmatch(line) for line in lines), [x for x in lines if not LINE.fullmatch(x)]
    assert not any(line.startswith(FORGED) or f" {FORGED}" in re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
                   for line in lines)


@pytest.fixture
def kubelet_dir():
    """Not pytest's folder: the path of a socket in it has to be short."""
    folder = Path(tempfile.mkdtemp(prefix="kubelet-"))
    (folder / "device-plugins").mkdir()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)  # the agent may put a socket there yet


@pytest.fixture
def lender(agents, machine, node, rest, kubelet_dir):
    """An agent that lends one claimed device, to a kubelet that is not there."""
    machine.bind(NIC, "vfio-pci")
    (machine.folder / "sys/module/vfio_iommu_type1").mkdir(parents=True)
    agent = agents(machine, node, ["--kubelet-dir", kubelet_dir, "--log-level", "debug"]).start()
    agent.wait_converged()
    name = f"{node}-000001001"
    rest.create("pcideviceclaims", {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
                                    "metadata": {"name": name}, "spec": {"address": NIC, "nodeName": node,
                                                                         "userName": f"a\n{FORGED}\x1b[2J"}})
    wait_until(lambda: serves(kubelet_dir, POOL), 20)
    yield agent
    rest.remove(f"{GROUP}/pcideviceclaims/{name}")


def sockets(kubelet_dir):
    return sorted(path.name for path in (kubelet_dir / "device-plugins").iterdir())


def serves(kubelet_dir, resource):
    """Is this the one resource that is served? A long name ends in its hash."""
    names = sockets(kubelet_dir)
    shown = resource.replace("/", "_")[:12]
    return len(names) == 1 and re.fullmatch(rf"hostdev-\d+-[0-9a-f]{{8}}-\d+-{shown}[\w.-]*[.]sock", names[0])


def test_an_override_that_is_no_resource_name_changes_nothing(lender, node, rest, kubelet_dir):
    name = f"{node}-000001001"

    def override(plural, text):
        rest.patch(plural, name, {"metadata": {"annotations": {
            "pcidevice.harvesterhci.io/override-resource-name": text}}})

    for what, text in [*HOSTILE.items(), *((name, name) for name in NO_KUBELET_TAKES)]:
        override("pcidevices", text)
        # What is seen after it: a name that is one.
        override("pcideviceclaims", "example.com/good")
        wait_until(lambda: serves(kubelet_dir, "example.com/good"), 20, what)
        override("pcideviceclaims", text)
        wait_until(lambda: serves(kubelet_dir, POOL), 20, what)
    files = sorted(str(path.relative_to(kubelet_dir)) for path in kubelet_dir.rglob("*")
                   if path.parent.name != "device-plugins")
    assert files == ["device-plugins", "plugins", "plugins/hostdev", "plugins/hostdev/agent.lock"]
    told = lender.lines('msg="resource ', " resource=")
    assert {re.search(r" resource=(\S+)", line)[1] for line in told} == {POOL, "example.com/good"}
    override("pcidevices", None)
    lender.wait_converged()
    log_is_sound(lender)


def test_the_longest_resource_name_has_a_socket_with_its_hash(lender, node, rest, kubelet_dir):
    domain = ("a." * 120) + "com"
    name = f"{domain[:244]}/{'N' * 63}"
    rest.patch("pcidevices", f"{node}-000001001", {
        "metadata": {"annotations": {"pcidevice.harvesterhci.io/override-resource-name": name}}})
    made = wait_until(lambda: [s for s in sockets(kubelet_dir) if "a.a.a" in s], 20)
    assert re.fullmatch(r"hostdev-\d+-[0-9a-f]{8}-\d+-[a.]+-[0-9a-f]{16}[.]sock", made[0])
    assert len(str(kubelet_dir / "device-plugins" / made[0])) <= 107
    log_is_sound(lender)


def claim(**spec):
    return {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim", "spec": spec}


@pytest.mark.parametrize("name", ["a\nb", "a/../b", "..", 'a"b', "a\x1b[2J", "A", "a b", "x" * 254, "ä"])
def test_a_claim_of_such_a_name_is_refused(rest, name):
    status, answer = rest.request("POST", f"{GROUP}/pcideviceclaims", claim(address=NIC) | {"metadata": {"name": name}})
    assert status in (400, 422), answer


@pytest.mark.parametrize("field", ["address", "driver"])
@pytest.mark.parametrize("value", ["0000:01:00.1\n", "../../x", "vfio-pci\nx", "\x1b[2J", "x" * 253])
def test_a_claim_of_such_a_device_is_refused(rest, node, field, value):
    body = claim(**{field: value}) | {"metadata": {"name": f"{node}-000001001"}}
    status, answer = rest.request("POST", f"{GROUP}/pcideviceclaims", body)
    assert status == 422, answer


def test_names_of_nodes_and_users_in_claims_are_no_lines(agents, machine, node, rest):
    """They may be anything; a claim's own name may have 253 characters."""
    agent = agents(machine, node, ["--log-level", "debug"]).start()
    agent.wait_converged()
    names = [f"{node}-{'x' * (252 - len(node))}", f"{node}-000001001", f"{node}-000001001.x"]
    assert len(names[0]) == 253
    for what, text in HOSTILE.items():
        for name in names:
            rest.create("pcideviceclaims", claim(nodeName=text[:253], userName=text[:1024]) | {
                "metadata": {"name": name, "labels": {"nodename": node}, "annotations": {"a": text}}})
        wait_until(agent.idle, 20, what)
        for name in names:
            rest.remove(f"{GROUP}/pcideviceclaims/{name}")
    agent.wait_converged()
    log_is_sound(agent)


SERIALS = [
    pytest.param(f"SN\n{FORGED}\n".encode(), rf"SN\x0a{FORGED}", id="a line break"),
    pytest.param(b"\x1b[2J\x1b]0;title\x07\n", r"\x1b[2J\x1b]0;title\x07", id="ANSI escapes"),
    pytest.param(b"\xff\xfe\xc3\x28\n", r"\xff\xfe\xc3(", id="what is not UTF-8"),
    pytest.param("SN\u0085\u009b1m\n".encode(), r"SN\xc2\x85\xc2\x9b1m", id="controls of Unicode"),
    pytest.param(b"../../../../etc/passwd\n", "../../../../etc/passwd", id="a path"),
    pytest.param(f'" {FORGED} a="\n'.encode(), f'" {FORGED} a="', id="quotes"),
    pytest.param(b"{\"a\": \"b\"}\\u0000\n", "{\"a\": \"b\"}\\u0000", id="JSON"),
    pytest.param(b"x" * 126 + b"\n", "x" * 126, id="as long as a descriptor can be"),
    pytest.param("ü".encode() * 2000 + b"\n", None, id="longer than can be"),
    pytest.param(b"", None, id="nothing"),
]


@pytest.mark.parametrize("serial, shown", SERIALS)
def test_a_serial_number_is_shown_and_nothing_else(agents, machine, node, kubectl, serial, shown):
    folder = (machine.folder / "sys/bus/usb/devices/1-1.1").resolve()
    (folder / "serial").write_bytes(serial)
    (folder / "product").write_bytes(serial)
    agent = agents(machine, node, ["--log-level", "debug"]).start()
    agent.wait_converged()
    (device,) = (obj for (kind, _), obj in agent.objects().items() if kind == "USBDevice")
    have = device["status"].get("serialNumber")
    if shown is not None:
        assert have == shown
    assert have is None or (len(have.encode()) <= 384 and have.isprintable())
    log_is_sound(agent)
    # On a terminal: no line too many, no control character.
    for text in (kubectl("get", "usbdevices", "-o", "wide", "-l", f"nodename={node}").stdout,
                 run("hostdev-agent", "inspect", "-o", "wide", "--node-name", node, *machine.flags).stdout):
        assert all(line.isprintable() for line in text.split("\n")), text
    assert len(kubectl("get", "usbdevices", "-o", "wide", "-l", f"nodename={node}").stdout.splitlines()) == 2
