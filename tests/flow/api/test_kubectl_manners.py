"""`kubectl hostdev` beside kubectl: the same flags, and the same ways to log in, against a real API server."""

import base64
import json
import os
import pty
import re
import socket
import socketserver
import subprocess
import termios
import textwrap
import threading

import pytest
import yaml

from cluster import wait_until
from programs import program, run
from test_kubectl_hostdev import Plugin
from test_map import Map

V1, V1BETA1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"
GROUP = "devices.harvesterhci.io"
PATH = f"/apis/{GROUP}/v1beta1"


class Login:
    """A kubeconfig whose user is a program of ours, which is run with what the test puts beside it."""

    def __init__(self, identities, folder, token):
        self.identities, self.folder, self.token = identities, folder, token
        self.count = folder / "count"

    def credential(self, version=V1, **status):
        return json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})

    def plugin(self, installed, script, version=V1, **exec_fields):
        """kubectl as who gets credentials from a shell script; it finds `token` in $TOKEN."""
        path = self.folder / "get-credentials"
        path.write_text(f"#!/bin/sh\necho run >>{self.count}\n{script}\n")
        path.chmod(0o755)
        body = {"apiVersion": version, "command": "./get-credentials", "interactiveMode": "Never",
                "env": [{"name": "TOKEN", "value": self.token}]} | exec_fields
        return Plugin(installed, self.identities.kubeconfig("exec", {"exec": body}))

    def runs(self):
        return len(self.count.read_text().splitlines()) if self.count.exists() else 0


@pytest.fixture
def login(identities, installed, tmp_path):
    """With the token of a ServiceAccount that may read all devices."""
    return Login(identities, tmp_path, identities.token("hostdev-controller"))


@pytest.fixture
def devices(world, node, rest):
    """Two, of which a pod of team-a has one, and one of team-b the other."""
    for kind in ("usbdevices", "pcideviceclaims", "usbdeviceclaims"):  # just after their definitions they are not
        wait_until(lambda: rest.request("GET", f"{PATH}/{kind}?limit=1")[0] == 200, 20, kind)
    for kind in ("mediateddevices", "devicepools"):
        wait_until(lambda: rest.request("GET", f"/apis/hostdev.io/v1alpha1/{kind}?limit=1")[0] == 200, 20, kind)
    made = [world.device(node, number, "example.com/x") for number in range(2)]
    for device, namespace in zip(made, ("team-a", "team-b")):
        world.status(device, {"allocations": [{"namespace": namespace, "pod": "p", "container": "c"}]})
    return made


PRINT_TOKEN = ('echo \'{"kind":"ExecCredential","apiVersion":"' + V1 + '","status":{"token":"\'"$TOKEN"\'"}}\'')


def test_a_token_from_a_program(login, installed, devices, node):
    """As kubectl itself gets it: both are asked with the same kubeconfig."""
    mine = login.plugin(installed, PRINT_TOKEN)
    assert f"{node}-000000000" in mine("tree", node, "-o", "name")
    assert login.runs() == 1  # for five lists at once
    ask = subprocess.run([mine.kubectl, "get", "pcidevices", "-o", "name"], env=mine.env, text=True, capture_output=True,
                         timeout=200)
    assert f"{node}-000000000" in ask.stdout, ask


def test_what_the_program_is_told(login, installed, devices, node):
    told = login.folder / "told"
    script = f'printf "%s\\n" "$KUBERNETES_EXEC_INFO" "$1" "$HOME" >{told}\n{PRINT_TOKEN}'
    mine = login.plugin(installed, script, args=["$(echo no shell)"], provideClusterInfo=True)
    mine("tree", node)
    info, word, home = told.read_text().splitlines()
    cluster = yaml.safe_load(installed.kubeconfig.read_text())["clusters"][0]["cluster"]
    info = json.loads(info)
    assert info["kind"] == "ExecCredential" and info["apiVersion"] == V1 and info["spec"]["interactive"] is False
    assert info["spec"]["cluster"]["server"].rstrip("/") == cluster["server"].rstrip("/")
    assert b"BEGIN CERTIFICATE" in base64.b64decode(info["spec"]["cluster"]["certificate-authority-data"])
    assert word == "$(echo no shell)" and home == os.environ["HOME"]


def test_a_certificate_from_a_program(login, identities, installed, devices, world, node):
    user = f"carol-{node}"
    config = yaml.safe_load(identities.user(user).read_text())["users"][0]["user"]
    read = {key: base64.b64decode(config[f"{key}-data"]).decode() if f"{key}-data" in config
            else open(config[key]).read() for key in ("client-certificate", "client-key")}
    (login.folder / "out").write_text(login.credential(V1BETA1, clientCertificateData=read["client-certificate"],
                                                       clientKeyData=read["client-key"]))
    mine = login.plugin(installed, f"cat {login.folder}/out", version=V1BETA1, interactiveMode=None)
    installed.kubectl("create", "clusterrole", user, "--verb=list", f"--resource=pcidevices.{GROUP}")
    installed.kubectl("create", "clusterrolebinding", user, f"--clusterrole={user}", f"--user={user}")
    try:
        wait_until(lambda: f"{node}-000000000" in login_try(mine, "tree", node, "-o", "name"), 20, "her role")
        mine("who", f"{node}-000000001")
        (line,) = mine.said.splitlines()
        assert line == (f"Not shown: user '{user}' may not list pcideviceclaims, nodes, resourceslices (403 "
                        "forbidden); whether nodes are ready is not known")
        world.status(devices[0], {"address": "0000:00:00.0", "allocations": [], "conditions": [
            {"type": "Claimable", "status": "True", "reason": "Available", "message": "",
             "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
        tree = mine("tree", node)
        assert "? unknown: NotRead" in tree and "claimable" not in tree, tree
    finally:
        installed.kubectl("delete", "clusterrolebinding,clusterrole", user)


def test_a_device_that_she_may_get_is_the_same_by_its_address(identities, installed, devices, world, rest, node):
    """She may list claims, and so finds the device by its address; its pod is in the device's own object."""
    user, device = f"mia-{node}", f"{node}-000000001"
    world.status(devices[1], {"address": "0000:00:00.1",
                              "allocations": [{"namespace": "default", "pod": "p", "container": "c"}]})
    claim = world.create(f"{PATH}/pcideviceclaims", {
        "apiVersion": f"{GROUP}/v1beta1", "kind": "PCIDeviceClaim", "metadata": {"name": device},
        "spec": {"nodeName": node, "address": "0000:00:00.1"}}, {"conditions": [
            {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    installed.kubectl("apply", "-f", "-", input={
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": user}, "rules": [
            {"apiGroups": [GROUP], "resources": ["pcidevices"], "resourceNames": [device], "verbs": ["get"]},
            {"apiGroups": [GROUP], "resources": ["pcideviceclaims"], "verbs": ["get", "list"]}]})
    installed.kubectl("create", "clusterrolebinding", user, f"--clusterrole={user}", f"--user={user}")
    mia = Plugin(installed, identities.user(user))
    try:
        wait_until(lambda: "in use" in login_try(mia, "why", device), 20, "her role")
        for word in (device, f"{node}/00:00.1", "0000:00:00.1"):
            assert "State:       # in use" in mia("why", word) and "Pod:         default/p" in mia("why", word)
        installed.kubectl("patch", "clusterrole", user, "--type=json", "-p", '[{"op": "remove", "path": "/rules/0"}]')
        wait_until(lambda: "? unknown, NotRead" in login_try(mia, "why", "0000:00:00.1"), 20, "her role")
    finally:
        installed.kubectl("delete", "clusterrolebinding,clusterrole", user)
        world.delete(claim)


def told_on_terminal(plugin, *words, columns):
    """What it prints on standard error, which is a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    text = b""
    with subprocess.Popen([plugin.kubectl, "hostdev", *words], env=plugin.env, stdout=subprocess.DEVNULL, stderr=theirs):
        os.close(theirs)
        try:
            while chunk := os.read(ours, 65536):
                text += chunk
        except OSError:  # the other end is closed
            pass
        os.close(ours)
    return text.decode()


def login_try(plugin, *words):
    run_ = subprocess.run([plugin.kubectl, "hostdev", *words], env=plugin.env, text=True, capture_output=True, timeout=200)
    return run_.stdout


def test_a_refused_token_is_asked_for_once_more(login, installed, devices, node):
    """The first one is of somebody that the API server does not know."""
    script = f'[ "$(wc -l <{login.count})" -eq 1 ] && TOKEN=old\n{PRINT_TOKEN}'
    mine = login.plugin(installed, script)
    assert f"{node}-000000000" in mine("tree", node, "-o", "name")
    assert login.runs() == 2
    login.count.unlink()
    mine = login.plugin(installed, f"TOKEN=never\n{PRINT_TOKEN}")
    mine("tree", node, status=1)
    assert "401 unauthorized" in mine.said and mine.said.count("\n") == 1
    assert login.runs() == 2


def test_a_token_that_is_over_is_made_anew(login, installed, devices, node):
    """The tree is one round of requests, a single device several, one after the other."""
    over = login.credential(token=login.token, expirationTimestamp="2026-01-01T00:00:00Z")
    (login.folder / "out").write_text(over)
    mine = login.plugin(installed, f"cat {login.folder}/out")
    mine("why", f"{node}-000000000")
    assert login.runs() > 2
    login.count.unlink()
    (login.folder / "out").write_text(login.credential(token=login.token, expirationTimestamp="2199-01-01T00:00:00Z"))
    mine("why", f"{node}-000000000")
    assert login.runs() == 1


WRONG = [
    ("exit 3", "it failed with exit status 3"),
    ("echo not JSON", "it printed what is not JSON"),
    (f'echo \'{{"kind":"ExecCredential","apiVersion":"{V1BETA1}","status":{{"token":"t"}}}}\'',
     f"it printed an ExecCredential of '{V1BETA1}', not of '{V1}'"),
    (f'echo \'{{"kind":"ExecCredential","apiVersion":"{V1}"}}\'', "it printed an ExecCredential without a status"),
]


@pytest.mark.parametrize("script, said", WRONG, ids=[said for _, said in WRONG])
def test_what_a_program_does_wrong_is_said(login, installed, script, said):
    mine = login.plugin(installed, f"echo its own words >&2\n{script}")
    mine("tree", status=1)
    lines = mine.said.splitlines()
    assert lines[0] == "its own words" and said in lines[1] and "credentials of user" in lines[1] and len(lines) == 2


def test_a_program_that_is_not_installed(login, installed):
    mine = login.plugin(installed, "", command="no-such-helper", installHint="Get it at example.com.")
    mine("tree", status=1)
    assert mine.said.startswith("Get it at example.com.\n") and "there is no such program on PATH" in mine.said


def test_a_program_that_asks_needs_a_terminal(login, installed, devices, node):
    script = f'read -r answer; [ "$answer" = yes ] || exit 4\n{PRINT_TOKEN}'
    mine = login.plugin(installed, script, interactiveMode="Always")
    mine("tree", node, status=1)
    assert "standard input is not a terminal" in mine.said
    ours, theirs = pty.openpty()
    with subprocess.Popen([mine.kubectl, "hostdev", "tree", node, "-o", "name"], env=mine.env, stdin=theirs,
                          stdout=subprocess.PIPE, text=True) as process:
        os.write(ours, b"yes\n")
        out = process.communicate(timeout=200)[0]
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0 and f"{node}-000000000" in out


def test_the_services_run_no_program(login, installed, node, tmp_path):
    mine = login.plugin(installed, PRINT_TOKEN)
    for name in ("hostdev-agent", "hostdev-controller"):
        ended = run(name, "--kubeconfig", mine.env["KUBECONFIG"], "--listen", "off")
        assert ended.returncode == 2 and "exec is for people" in ended.stderr, ended
    assert login.runs() == 0


def test_shells_are_not_kept_waiting_by_a_login(login, installed):
    """kubectl_complete-hostdev asks for names; a program that waits for a person is not waited for."""
    mine = login.plugin(installed, "exec sleep 600")
    ended = subprocess.run([program("kubectl-hostdev"), "__complete", "why", ""], env=mine.env, text=True,
                           capture_output=True, timeout=200)
    assert ended.returncode == 0 and ended.stdout == ":4\n"


def test_old_ways_to_log_in_are_refused(installed, identities):
    for user, said in (({"auth-provider": {"name": "gcp"}}, "auth-provider is not supported"),
                       ({"username": "a", "password": "b"}, "username is not supported")):
        mine = Plugin(installed, identities.kubeconfig("old", user))
        mine("tree", status=1)
        assert said in mine.said and mine.said.count("\n") == 1


@pytest.fixture
def plugin(installed):
    return Plugin(installed)


def test_acting_as_somebody(plugin, installed, identities, devices, node):
    """Jane may list PCI devices as herself, and USB devices as one of a group."""
    jane, group = f"jane-{node}", f"team,{node}"
    installed.kubectl("create", "clusterrole", jane, "--verb=list", f"--resource=pcidevices.{GROUP}")
    installed.kubectl("create", "clusterrole", f"{jane}-g", "--verb=list", f"--resource=usbdevices.{GROUP}")
    installed.kubectl("create", "clusterrolebinding", jane, f"--clusterrole={jane}", f"--user={jane}")
    installed.kubectl("create", "clusterrolebinding", f"{jane}-g", f"--clusterrole={jane}-g", f"--group={group}")
    try:
        wait_until(lambda: f"{node}-000000000" in login_try(plugin, "tree", node, "-o", "name", "--as", jane), 20)
        plugin("tree", node, f"--as={jane}")
        assert re.search(f"user '{jane}' may not list .*usbdevices", plugin.said)
        wait_until(lambda: plugin("tree", node, "--as", jane, "--as-group", group) and "usbdevices" not in plugin.said, 20)
        for words in (["tree"], ["why", "x"], ["claim", "x"], ["top"], ["version"]):
            herself = Plugin(installed, identities.user(jane))
            herself(*words, "--as", "bob", status=1)
            assert re.search(f"you may not act as that user: users \"bob\" is forbidden: User \"{jane}\" cannot impersonate",
                             herself.said), herself.said
        plugin("tree", "--as-group", group, status=1)
        assert "needs a user, too (--as NAME)" in plugin.said
        as_in_file = yaml.safe_load(installed.kubeconfig.read_text())
        as_in_file["users"][0]["user"] |= {"as": jane, "as-groups": ["others"]}
        path = f"{plugin.env['KUBECONFIG']}.jane"
        with open(path, "w") as file:
            yaml.safe_dump(as_in_file, file)
        plugin("tree", node, "--kubeconfig", path)
        assert re.search(f"user '{jane}' may not list .*usbdevices", plugin.said)
        os.unlink(path)
    finally:
        installed.kubectl("delete", "clusterrolebinding,clusterrole", jane, f"{jane}-g")


def test_who_may_read_some_kinds_sees_what_is_missing(identities, installed, devices, node):
    """Of claims and USB devices alone: PCI devices are not there for her, and that is said."""
    user = f"ann-{node}"
    installed.kubectl("create", "clusterrole", user, "--verb=list", f"--resource=usbdevices.{GROUP}")
    installed.kubectl("create", "clusterrolebinding", user, f"--clusterrole={user}", f"--user={user}")
    ann = Plugin(installed, identities.user(user))
    try:
        wait_until(lambda: subprocess.run([ann.kubectl, "auth", "can-i", "list", f"usbdevices.{GROUP}"], env=ann.env,
                                          capture_output=True).returncode == 0, 20, "her role")
        ann("tree")
        (line,) = [line for line in ann.said.splitlines() if "403" in line]
        assert re.fullmatch(rf"Not shown: user '{user}' may not list pcidevices, .*mediateddevices, .*nodes, resourceslices "
                            r"\(403 forbidden\); whether nodes are ready is not known", line)
        *said, _ = told_on_terminal(ann, "tree", columns=80).splitlines()
        assert len(said) > 1 and max(map(len, said)) <= 80 and " ".join(part.strip() for part in said) == line
        *said, _ = told_on_terminal(ann, "claim", f"{node}-000000000", columns=60).splitlines()
        assert len(said) > 1 and max(map(len, said)) <= 60
        ann("why", f"{node}-000000000", status=1)
        assert (f"no device '{node}-000000000' is among those that you may read: ask an administrator for the verb get on "
                f"pcidevices/{node}-000000000\n") in ann.said
        assert "403" not in ann.said
        ann("top", status=1)
        assert "may not list devicepools (403 forbidden): ask an administrator for the role hostdev-view" in ann.said
    finally:
        installed.kubectl("delete", "clusterrolebinding,clusterrole", user)


def test_another_server_user_and_token(plugin, installed, identities, tmp_path, devices, node):
    config = yaml.safe_load(installed.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    server, name = cluster["server"], config["clusters"][0]["name"]
    ca = tmp_path / "ca.crt"
    ca.write_bytes(base64.b64decode(cluster["certificate-authority-data"]) if "certificate-authority-data" in cluster
                   else open(cluster["certificate-authority"], "rb").read())
    token = identities.token("hostdev-controller")
    nothing = tmp_path / "nothing"
    nothing.write_text("")
    alone = ["--kubeconfig", str(nothing), "--server", server, "--token", token]
    wanted = f"{node}-000000000"
    assert wanted in plugin("tree", node, "-oname", *alone, "--certificate-authority", str(ca))
    assert wanted in plugin("tree", node, "-o=name", *alone, "--insecure-skip-tls-verify")
    plugin("tree", node, *alone, status=1)
    assert "certificate" in plugin.said
    plugin("tree", node, "--token", "wrong", status=1)
    assert "401 unauthorized" in plugin.said
    plugin("tree", "-s", "https://127.0.0.1:1", status=1)
    assert "https://127.0.0.1:1" in plugin.said
    broken = config | {"current-context": ""}
    nothing.write_text(yaml.safe_dump(broken))
    plugin("tree", "--kubeconfig", str(nothing), status=1)
    assert "has no current-context: choose one with --context NAME of" in plugin.said
    assert wanted in plugin("tree", node, "-oname", "--kubeconfig", str(nothing), "--cluster", name, "--user",
                            config["users"][0]["name"])
    plugin("tree", "--user", "nobody", status=1)
    assert "there is no user 'nobody'" in plugin.said


def test_several_kubeconfigs_are_one(plugin, installed, tmp_path, devices, node):
    config = yaml.safe_load(installed.kubeconfig.read_text())
    files = []
    for part in ("clusters", "users", "contexts"):
        files.append(tmp_path / part)
        files[-1].write_text(yaml.safe_dump({part: config[part]} | ({"current-context": config["current-context"]}
                                                                    if part == "contexts" else {})))
    plugin.env["KUBECONFIG"] = ":".join(map(str, [tmp_path / "none", *files]))
    assert f"{node}-000000000" in plugin("tree", node, "-o", "name")
    complete = subprocess.run([program("kubectl-hostdev"), "__complete", "why", "--context="], env=plugin.env, text=True,
                              capture_output=True, timeout=200)
    assert complete.stdout == f"--context={config['current-context']}\n:4\n"


class Proxy(socketserver.ThreadingTCPServer):
    """An HTTP proxy that connects (CONNECT), and keeps to where."""

    daemon_threads = True

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            method, target, _ = self.rfile.readline().decode().split()
            while self.rfile.readline().strip():
                pass
            self.server.asked.append(f"{method} {target}")
            host, _, port = target.rpartition(":")
            with socket.create_connection((host, int(port))) as there:
                self.connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=self.copy, args=(there, self.connection), daemon=True)
                back.start()
                self.copy(self.connection, there)
                back.join(60)

        @staticmethod
        def copy(source, target):
            try:
                while chunk := source.recv(65536):
                    target.sendall(chunk)
                target.shutdown(socket.SHUT_WR)
            except OSError:  # one of them has closed
                pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.asked = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


def test_the_proxy_of_the_kubeconfig(plugin, installed, tmp_path, devices, node):
    """That of the environment is heeded, too, but not for this machine: as Go's programs do."""
    config = yaml.safe_load(installed.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    with Proxy() as proxy:
        url = f"http://127.0.0.1:{proxy.server_address[1]}"
        plugin.env |= {"HTTPS_PROXY": url, "https_proxy": url}
        assert f"{node}-000000000" in plugin("tree", node, "-o", "name") and proxy.asked == []
        path = tmp_path / "proxied"
        path.write_text(yaml.safe_dump(config | {"clusters": [config["clusters"][0] | {
            "cluster": cluster | {"proxy-url": url}}]}))
        plugin.env["KUBECONFIG"] = str(path)
        assert f"{node}-000000000" in plugin("tree", node, "-o", "name")
        assert proxy.asked == [f"CONNECT {cluster['server'].removeprefix('https://')}"]
        proxy.asked.clear()
        plugin("tree", "--kubeconfig", str(installed.kubeconfig), "--server", "https://nowhere.invalid:6443", status=1)
        assert set(proxy.asked) == {"CONNECT nowhere.invalid:6443"}
        proxy.shutdown()


def test_a_map_goes_on_behind_a_login(login, installed, devices, node):
    """Its lists and watches begin together, and are refused together: that is one token more, not one for each."""
    mine = login.plugin(installed, f'[ "$(wc -l <{login.count})" -eq 1 ] && TOKEN=old\n{PRINT_TOKEN}')
    served = Map(mine.env["KUBECONFIG"])
    try:
        connection, stream = served.listen()
        text = b""
        while f"{node}-000000001".encode() not in text:
            chunk = stream.read1(65536)
            assert chunk, text
            text += chunk
        connection.close()
        assert login.runs() == 2
    finally:
        served.stop()


def test_namespaces_are_those_of_pods(plugin, devices, node, rest):
    assert plugin("tree", "-n", "team-a", "-o", "name").split() == [f"pcidevice.{GROUP}/{node}-000000000"]
    assert [line.split()[0] for line in plugin("who", "-n=team-b").splitlines()] == ["DEVICE", f"{node}-000000001"]
    assert f"{node}-000000000" in plugin("who", "--namespace", "team-a", f"{node}-000000000", f"{node}-000000001")
    assert f"{node}-000000001: no pod of namespace 'team-a' has it" in plugin.said
    for everywhere in (["-A"], ["-n", "team-a", "--all-namespaces"]):
        assert len(plugin("tree", node, *everywhere, "-o", "name").split()) == 2
        assert {f"{node}-000000000", f"{node}-000000001"} <= set(plugin("who", *everywhere).split())
    plugin("top", "-A")
    assert "has no effect" not in plugin.said
    assert plugin("who", "-n", "team-c") == "" and "No pod of this namespace has a device." in plugin.said
    plugin("why", "-n", "team-a", f"{node}-000000000")
    assert "kubectl hostdev why: devices and claims are cluster-scoped: --namespace has no effect" in plugin.said
    complete = subprocess.run([program("kubectl-hostdev"), "__complete", "who", "-n", "kube-s"], env=plugin.env,
                              text=True, capture_output=True, timeout=200)
    assert complete.stdout == "kube-system\n:4\n"


def test_labels_are_the_api_servers_to_judge(plugin, devices, node, rest):
    first, second = f"{node}-000000000", f"{node}-000000001"
    rest.patch("pcidevices", first, {"metadata": {"labels": {"colour": node}}})
    assert plugin("tree", "-l", f"colour={node}", "-o", "name").split() == [f"pcidevice.{GROUP}/{first}"]
    assert plugin("tree", node, f"--selector=colour!={node}", "-o", "name").split() == [f"pcidevice.{GROUP}/{second}"]
    assert [line.split()[0] for line in plugin("who", "--no-headers", "-l", f"colour={node}").splitlines()] == [first]
    assert plugin("tree", "-l", "colour=none") == "" and "No device has these labels." in plugin.said
    plugin("tree", "-l", "a b", status=1)
    assert "400" in plugin.said
    plugin("who", first, "-l", "a=b", status=2)
    assert "--selector and DEVICE cannot be combined" in plugin.said
    assert plugin("top", "-l", "colour=none") == "" and "No DevicePool has these labels." in plugin.said


def test_lists_without_their_first_line(plugin, devices, node):
    whole, rest_ = plugin("tree", node).splitlines(), plugin("tree", node, "--no-headers").splitlines()
    assert whole[0].startswith("DEVICE") and len(rest_) == 4 and rest_[0].split()[0] == node
    assert [line.split() for line in rest_] == [line.split() for line in whole[1:]]


def test_dry_runs(plugin, devices, node, rest):
    device, claim = f"{node}-000000000", f"pcideviceclaim.{GROUP}"
    assert plugin("claim", device, "--dry-run=client") == f"{claim}/{device} created (dry run)\n"
    assert plugin("claim", "--dry-run", device) == f"{claim}/{device} created (server dry run)\n"
    told = yaml.safe_load(plugin("claim", device, "--dry-run=client", "-oyaml", "--for", "alice"))
    assert told["kind"] == "PCIDeviceClaim" and told["spec"]["userName"] == "alice"
    assert rest.request("GET", f"{PATH}/pcideviceclaims/{device}")[0] == 404
    plugin("release", device, "--dry-run=client", status=1)
    assert "it is not claimed" in plugin.said
    plugin("claim", device, "--no-wait")
    assert plugin("release", device, "--dry-run=client") == f"{claim}/{device} deleted (dry run)\n"
    assert "deletionTimestamp" not in rest.get(f"{PATH}/pcideviceclaims/{device}")["metadata"]
    plugin("release", device, "--no-wait")
    plugin("claim", device, "--dry-run=often", status=2)
    assert "'often' is not none, client or server" in plugin.said


def test_versions(plugin, installed, identities, node):
    ours = run("kubectl-hostdev", "--version").stdout.split()[1]
    assert plugin("version", "--client") == f"Client Version: {ours}\n"
    assert plugin("version", "--client", "--server", "https://127.0.0.1:1").count("\n") == 1
    body = textwrap.dedent(f"""
        apiVersion: apps/v1
        kind: Deployment
        metadata: {{name: {node}, namespace: default, labels: {{app.kubernetes.io/part-of: hostdev}}}}
        spec:
          replicas: 0
          selector: {{matchLabels: {{a: {node}}}}}
          template:
            metadata: {{labels: {{a: {node}}}}}
            spec: {{containers: [{{name: c, image: "example.com/hostdev/controller:9.8"}}]}}
        """)
    installed.kubectl("apply", "-f", "-", input=yaml.safe_load(body))
    try:
        text = plugin("version")
        assert re.search(r"^Kubernetes Version: v1\.\d+\.\d+", text, re.MULTILINE)
        assert f"Installed: default/{node} example.com/hostdev/controller:9.8\n" in text
        told = json.loads(plugin("version", "-o", "json"))
        assert told["clientVersion"] == ours and node in [one["name"] for one in told["installed"]]
        zoe = Plugin(installed, identities.user(f"zoe-{node}"))
        assert "Kubernetes Version: v1." in zoe("version")
        assert f"Not shown: user 'zoe-{node}' may not list daemonsets, deployments (403 forbidden)\n" in zoe.said
    finally:
        installed.kubectl("-n", "default", "delete", "deployment", node)
