"""The map in the cluster: the controller's page through the API server, in a real Chromium, as users with different rights."""

import json
import re
import socket
import subprocess
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
import yaml

from chromium import Chromium
from cluster import ROOT, wait_until
from identities import NAMESPACE, Identities
from map_program import Map
from map_scene import NIC, Scene, claimable
from policies import binding, role
from programs import clean_environment
from replicas import LEASE, Replica

MAP = f"/api/v1/namespaces/{NAMESPACE}/services/hostdev-map/proxy/"
CLAIMS = "/apis/devices.harvesterhci.io/v1beta1/pcideviceclaims"
LISTENS = re.compile(r'msg="map listening".* port=(\d+)')
LINK = "document.getElementById('link').dataset.link"
LIVE = f"{LINK} === 'live'"
DEVICES = 21  # of the rack
RIGHTS = "/apis/rbac.authorization.k8s.io/v1"


def address_of_this_machine():
    """One that is not loopback, which the API server does not connect to for a Service."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.connect(("192.0.2.1", 9))
        return udp.getsockname()[0]


@pytest.fixture(scope="module")
def scene(installed, rest):
    made = Scene(rest)
    yield made
    made.close()


@pytest.fixture(scope="module")
def rack(scene):
    return scene.every_state("rack3")


@pytest.fixture(scope="module")
def people(installed, rest, tmp_path_factory):
    made = Identities(installed, rest, tmp_path_factory.mktemp("people"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def controller(installed, people, rest, tmp_path_factory):
    kubeconfig = people.kubeconfig("controller", {"token": people.token("hostdev-controller")})
    made = Replica(kubeconfig, tmp_path_factory.mktemp("controller"), "--agent-pods", "none", "--map-listen",
                   f"{address_of_this_machine()}:0")
    made.start()
    yield made
    made.stop()
    rest.request("DELETE", LEASE)


@pytest.fixture(scope="module")
def service(installed, controller, scene):
    """manifests/components/map, with this machine in place of the controller's pods."""
    port = int(wait_until(lambda: LISTENS.search(controller.log()), 10, "the map listens")[1])
    objects = list(yaml.safe_load_all((ROOT / "manifests/components/map/map.yaml").read_text()))
    for each in objects:
        each.get("spec", {}).pop("selector", None)
    component = {"apiVersion": "v1", "kind": "List", "items": objects}
    installed.kubectl("apply", "-f", "-", input=component)
    at = address_of_this_machine()
    pod = scene.create(f"/api/v1/namespaces/{NAMESPACE}/pods", {"metadata": {"name": "map"}, "spec": {
        "serviceAccountName": "hostdev-controller", "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "controller", "image": "hostdev-controller"}]}})
    scene.status(pod, {"phase": "Running", "podIP": at, "podIPs": [{"ip": at}]})
    target = {"kind": "Pod", "namespace": NAMESPACE, "name": "map"}  # the API server connects to addresses of pods only
    scene.create(f"/api/v1/namespaces/{NAMESPACE}/endpoints", {"metadata": {"name": "hostdev-map"}, "subsets": [
        {"addresses": [{"ip": at, "targetRef": target}], "ports": [{"port": port}]}]})
    yield at, port
    installed.kubectl("delete", "--ignore-not-found", "-f", "-", input=component)


@pytest.fixture(scope="module")
def users(rack, scene):
    """ana may claim one device, ben may look; both see nodes and events."""
    free = rack["claimable"].rsplit("/", 1)[1]
    rules = {"map-look": {"rules": [{"apiGroups": [""], "resources": ["nodes", "events"], "verbs": ["list", "watch"]}]},
             "map-ana": role("map-ana", (["pcidevices"], ["claim"], [free]))}
    for name, body in rules.items():
        scene.create(f"{RIGHTS}/clusterroles", {**body, "metadata": {"name": name}})
    for user, name in (("ana", "map-look"), ("ana", "hostdev-view"), ("ana", "hostdev-user"), ("ana", "map-ana"),
                       ("ben", "map-look"), ("ben", "hostdev-view"), ("ben", "hostdev-user")):
        scene.create(f"{RIGHTS}/clusterrolebindings", binding(user, name))


@contextmanager
def proxied(cluster, kubeconfig, *flags):
    """The page's address at a `kubectl proxy` of that user."""
    process = subprocess.Popen([cluster._kubectl, "--kubeconfig", kubeconfig, "proxy", "--port=0", *flags],
                               env=clean_environment(), stdout=subprocess.PIPE, text=True)
    try:
        yield "http://" + process.stdout.readline().strip().rsplit(" ", 1)[1]
    finally:
        process.terminate()
        process.communicate(timeout=60)


def documented_flags(secret):
    """Of the command on docs/map.md."""
    text = (ROOT / "docs/map.md").read_text()
    command = re.search(r"^kubectl proxy (--port.*)$", text, re.MULTILINE)[1]
    command = command.replace("$secret", secret)
    return [flag for flag in re.findall(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""", command) if not flag.startswith("--port")]


@pytest.fixture(scope="module")
def addresses(installed, service, users, people):
    """Of the page, by user; each has the documented kubectl proxy."""
    secret = "0123456789abcdef0123456789abcdef"
    flags = [flag.replace('"', "").replace("'", "") for flag in documented_flags(secret)]
    assert any(secret in flag for flag in flags) and any(flag.startswith("--accept-paths=") for flag in flags)
    with proxied(installed, people.user("ana"), *flags) as ana, proxied(installed, people.user("ben"), *flags) as ben:
        yield {"ana": f"{ana}/{secret}{MAP}", "ben": f"{ben}/{secret}{MAP}"}


@pytest.fixture(scope="module")
def browser():
    made = Chromium()
    yield made
    made.close()


def opened(browser, address, rack):
    browser.open("about:blank")
    browser.run("new Promise((done) => setTimeout(done, 100))")
    browser.console.clear()
    browser.open(address)
    return shows(browser, f"cards.size >= {DEVICES} && {LIVE}")


def shows(browser, script):
    """Waits for it; an error has what the page shows."""
    try:
        browser.wait(script)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{browser.console}\n{browser.run('document.body.innerText')}") from None
    return browser


@pytest.fixture
def page(browser, addresses, rack):
    """As ana."""
    return opened(browser, addresses["ana"], rack)


def card(path):
    return f"cards.get('{'usb' if '/usb' in path else 'pci'}/{path.rsplit('/', 1)[1]}')"


def press(page, act):
    page.wait(f"Boolean(document.querySelector('#acts [data-act={act}]'))")
    page.run(f"document.querySelector('#acts [data-act={act}]').click()")


# --- who serves what ---


def test_the_page_is_all_that_the_controller_serves(service, addresses):
    """Not its metrics, and no data: with its headers, and only for reading."""
    def ask(method, path):
        connection = HTTPConnection(*service, timeout=60)
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    status, headers, text = ask("GET", "/")
    assert status == 200 and "<title>hostdev map" in text
    assert "default-src 'none'" in headers["Content-Security-Policy"] and "unsafe" not in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store" and "Set-Cookie" not in headers
    assert [ask("GET", path)[0] for path in ("/healthz", "/metrics", "/changes", "/../etc/passwd", "/?x")] == [404] * 4 + [200]
    assert [ask(method, "/")[0] for method in ("POST", "PUT", "DELETE", "PATCH")] == [405] * 4


def test_the_page_runs_as_its_user(installed, browser, rack, addresses):
    """Nothing complains, nothing comes from elsewhere, and what is read is read by the user, not by the controller."""
    before = len(installed.audit())
    page = opened(browser, addresses["ana"], rack)
    assert page.run("document.getElementById('cluster').textContent") == "as ana"
    states = {state: page.run(f"{card(path)}.data.state") for state, path in rack.items() if state not in ("usb", "nodes", "lost")}
    assert states == {state: state for state in states}
    hosts = page.run("performance.getEntriesByType('resource').map(e => new URL(e.name).host)")
    assert set(hosts) == {urlsplit(addresses["ana"]).netloc}
    assert page.console == []

    def asked():
        """(verb, kind, user), which the API server logs a moment after its answer."""
        return {(event["verb"], event["objectRef"]["resource"], event["user"]["username"])
                for event in installed.audit()[before:] if "Mozilla/" in event.get("userAgent", "")}
    wanted = {(verb, kind, "ana") for verb in ("list", "watch") for kind in ("pcidevices", "pcideviceclaims", "nodes")}
    wait_until(lambda: asked() >= wanted, 20, lambda: f"{wanted} among {asked()}")
    assert {user for _, _, user in asked()} == {"ana"}


def test_the_cards_are_those_of_the_local_map(installed, page, rack, scene):
    """Both make the same of the same objects: devices, parts of them, nodes and events."""
    before = len(scene.made)
    scene.divided("rack4")
    scene.allocated("rack5")
    local = Chromium()
    served = Map(installed.kubeconfig)
    told = """JSON.stringify([[...cards.values()].map(c => c.data), [...nodeFacts.values()].map(n => ({ ...n, epoch: 0 })),
        [...events.values()].flatMap(list => [...list.values()].map(e => ({ ...e, epoch: 0 })))])"""
    try:
        local.open(served.address)
        local.wait(f"cards.size > {DEVICES} + 14 && {LIVE}")

        def same():
            mine, other = (json.loads(one.run(told)) for one in (page, local))
            return len(mine[0]) > DEVICES + 14 and [sorted(each, key=lambda one: one["id"]) for each in mine] == [
                sorted(each, key=lambda one: one["id"]) for each in other]
        try:
            wait_until(same, 20)
            shown = {one["resourceClaim"]["name"]: (one["state"], one["resourceClaim"].get("reason", ""))
                     for one in json.loads(local.run(told))[0] if "resourceClaim" in one}
            assert shown == {"default/ready": ("used", ""), "default/refused": ("used", "NotPrepared"),
                             "default/stick": ("used", "Allocated"), "default/mdev": ("used", "Allocated")}
        except AssertionError:
            for mine, other in zip(*(json.loads(one.run(told)) for one in (page, local))):
                here, there = ({one["id"]: one for one in each} for each in (mine, other))
                assert here == there
            raise
    finally:
        local.close()
        served.stop()
        for path in scene.made[before:]:
            scene.rest.remove(path)
    page.wait(f"cards.size === {DEVICES}")


def test_changes_are_followed(page, rack, scene):
    free = rack["claimable"]
    claim = scene.claim(free, "False", "Binding", "unbind from e1000e")
    page.wait(f"{card(free)}.data.state === 'pending'")
    scene.rest.remove(claim)
    page.wait(f"{card(free)}.data.state === 'claimable'")
    path = scene.pci("rack3-d", "0000:01:00.0", NIC, 1)
    page.wait(f"{card(path)}?.data.reason === 'NodeGone'")
    scene.rest.remove(path)
    page.wait(f"!{card(path)}")
    assert page.console == []


def test_a_group_has_one_owner(page, rack, scene):
    """Another user's claim refuses the other functions of its group, one's own does not, and a claim of all of it is named."""
    members = ["0000:71:00.0", "0000:71:00.1"]
    free, taken = (scene.pci("rack3-a", address, NIC, 71, iommuGroupMembers=members) for address in members)
    made = [free, taken]
    try:
        page.wait(f"{card(free)}?.data.state === 'claimable'")
        for owner, spec, state, reason in (("carol", {}, "refused", "GroupOwned"), ("ana", {}, "claimable", "Available"),
                                           ("ana", {"includeIOMMUGroup": True}, "claimable", "GroupClaimed")):
            claim = scene.claim(taken, user=owner)
            made.append(claim)
            scene.rest.request("PATCH", claim, {"spec": spec}, "application/merge-patch+json")
            page.wait(f"{card(free)}.data.state === '{state}' && {card(free)}.data.reason === '{reason}'")
            scene.rest.remove(claim)
            page.wait(f"{card(free)}.data.reason === 'Available'")
    finally:
        for path in reversed(made):
            scene.rest.remove(path)
    assert page.console == []


def test_what_may_not_be_listed_is_not_claimable(installed, browser, service, users, scene, people, rack):
    """eve may list devices, but no claims."""
    rules = [{"apiGroups": ["devices.harvesterhci.io"], "resources": ["pcidevices", "usbdevices"], "verbs": ["list", "watch"]}]
    scene.create(f"{RIGHTS}/clusterroles", {"rules": rules, "metadata": {"name": "map-eve"}})
    scene.create(f"{RIGHTS}/clusterrolebindings", binding("eve", "map-eve"))
    with proxied(installed, people.user("eve")) as address:
        browser.open(address + MAP)
        shows(browser, f"{card(rack['claimable'])}?.data.state === 'unknown' && {card(rack['usb'])}?.data.reason === 'NotRead'")
        assert not browser.run("[...cards.values()].filter(c => c.data.state === 'claimable').length")


# --- claim and release ---


def test_a_claim_is_the_users(installed, page, rack, rest):
    """ana claims what she may, and releases it again."""
    free = rack["claimable"]
    name = free.rsplit("/", 1)[1]
    page.run(f"{card(free)}.button.click()")
    press(page, "claim")
    page.wait(f"{card(free)}.data.state === 'pending'")
    claim = rest.get(f"{CLAIMS}/{name}")
    assert claim["spec"] == {"address": "0000:01:00.0", "nodeName": rack["nodes"][0]}
    press(page, "release")
    assert rest.request("GET", f"{CLAIMS}/{name}")[0] == 200  # asks first
    press(page, "keep")
    press(page, "release")
    press(page, "sure")
    page.wait(f"{card(free)}.data.state === 'claimable'")
    assert rest.request("GET", f"{CLAIMS}/{name}")[0] == 404

    def done():
        return {(event["verb"], event["user"]["username"]) for event in installed.audit()
                if event.get("objectRef", {}).get("resource") == "pcideviceclaims" and "Mozilla/" in event.get("userAgent", "")
                and event["verb"] in ("create", "delete") and event["responseStatus"]["code"] in (200, 201)}
    wait_until(lambda: len(done()) > 1, 20, lambda: f"both among {done()}")
    assert done() == {("create", "ana"), ("delete", "ana")}
    assert page.console == []


def refusal(page):
    return page.wait("document.querySelector('#acts .refusal')?.textContent")[0]


def test_a_refusal_is_shown_in_the_words_of_the_api_server(browser, addresses, rack, rest):
    """ben may claim no device, and not release others' claims."""
    page = opened(browser, addresses["ben"], rack)
    free, used = rack["claimable"], rack["available"]
    page.run(f"{card(free)}.button.click()")
    press(page, "claim")
    text = refusal(page)
    assert "ValidatingAdmissionPolicy 'hostdev-claims'" in text and free.rsplit("/", 1)[1] in text
    assert rest.request("GET", f"{CLAIMS}/{free.rsplit('/', 1)[1]}")[0] == 404
    page.run(f"{card(used)}.button.click()")
    assert not page.run("document.querySelector('#acts .refusal')")  # that of the other device
    press(page, "release")
    assert "ana has it" in page.run("document.getElementById('acts').textContent")
    press(page, "sure")
    assert "denied" in refusal(page)
    assert rest.request("GET", f"{CLAIMS}/{used.rsplit('/', 1)[1]}")[0] == 200
    assert page.run("document.querySelector('#acts .refusal').getAttribute('role')") == "alert"


def test_the_group_is_claimed_unless_the_box_is_cleared(page, scene, rest):
    """With GroupShared alone: beside what has no driver, a device is Available."""
    members = ["0000:70:00.0", "0000:70:00.1"]
    made = [scene.pci("rack3-a", address, NIC, 70, claimable(reason), iommuGroupMembers=members)
            for address, reason in zip(members, ("GroupShared", "Available"))]
    ticked = "document.querySelector('#acts [data-act=group]')?.checked"
    command = "document.querySelector('#acts code').textContent"
    sent = "window.sent = []; window.realFetch ??= fetch; fetch = (url, options) => (options?.method === 'POST' && sent.push(options.body), realFetch(url, options))"
    try:
        page.wait(f"Boolean({card(made[1])})")
        page.run(f"{card(made[1])}.button.click()")
        assert not page.run(f"{command}").endswith(" --include-group") and page.run(f"{ticked} === undefined")
        page.run(f"{sent}; {card(made[0])}.button.click()")
        page.wait("Boolean(document.querySelector('#acts [data-act=group]'))")
        for whole in True, False:
            assert page.run(ticked) == whole and page.run(command).endswith(" --include-group") == whole
            press(page, "claim")
            refusal(page)  # ana may not claim this one
            page.run("document.querySelector('#acts [data-act=group]').click()")
            page.wait("!document.querySelector('#acts .refusal')")
        assert [json.loads(body)["spec"].get("includeIOMMUGroup") for body in page.run("sent")] == [True, None]
    finally:
        for path in made:
            scene.rest.remove(path)


def test_only_what_may_be_claimed_has_a_button(page, rack):
    buttons = {}
    for state in ("claimable", "refused", "stuck", "missing", "unknown"):
        page.run(f"{card(rack[state])}.button.click()")
        page.wait(f"selected === {card(rack[state])}.id && Boolean(document.querySelector('#acts code'))")
        buttons[state] = page.run("[...document.querySelectorAll('#acts .buttons button')].map(e => e.textContent)")
    assert buttons == {"claimable": ["Claim"], "refused": [], "stuck": ["Release"], "missing": ["Release"], "unknown": []}


# --- other ways to it ---


def test_other_requests_do_not_pass_the_documented_proxy(addresses):
    """Neither without the secret in the path, nor to what the page does not need."""
    at = urlsplit(addresses["ana"])
    secret = at.path.split("/")[1]

    def status(path, **headers):
        connection = HTTPConnection(at.hostname, at.port, timeout=60)
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    assert status(f"/{secret}{CLAIMS}") == 200
    assert status(CLAIMS) == 404
    for path in ("/api/v1/secrets", f"/api/v1/namespaces/{NAMESPACE}/secrets", "/api/v1/namespaces/default/pods",
                 f"/api/v1/namespaces/{NAMESPACE}/services/other/proxy/", "/apis/apps/v1/deployments"):
        assert status(f"/{secret}{path}") == 403, path
    assert status(f"/{secret}{CLAIMS}", Host="evil.example") == 403


def test_another_web_page_cannot_claim(addresses, rack, rest):
    """A page of another site can send this request without asking: a POST without a content type, which the API server
    takes for JSON. It does not know the secret."""
    at = urlsplit(addresses["ana"])
    name = rack["claimable"].rsplit("/", 1)[1]
    body = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim", "metadata": {"name": name}}

    def post(path):
        connection = HTTPConnection(at.hostname, at.port, timeout=60)
        connection.request("POST", f"{path}?dryRun=All", json.dumps(body), {"Origin": "http://evil.example"})
        return connection.getresponse().status
    assert [post(CLAIMS), post(f"/{'0' * 32}{CLAIMS}")] == [404, 404]
    assert post(f"/{at.path.split('/')[1]}{CLAIMS}") == 201  # so it is the secret that keeps it out
    assert rest.request("GET", f"{CLAIMS}/{name}")[0] == 404


def test_a_bearer_token_stays_outside_of_the_page(installed, browser, service, users, scene, people, rack):
    """A user with a token instead of a certificate; the page stores nothing."""
    scene.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "cara"}})
    for name in ("map-look", "hostdev-view"):
        body = binding("cara", name)
        body["subjects"] = [{"kind": "ServiceAccount", "namespace": "default", "name": "cara"}]
        scene.create(f"{RIGHTS}/clusterrolebindings", body)
    token = installed.kubectl("create", "token", "cara").stdout.strip()
    with proxied(installed, people.kubeconfig("cara", {"token": token})) as address:
        page = opened(browser, address + MAP, rack)
        page.wait("document.getElementById('cluster').textContent === 'as system:serviceaccount:default:cara'")
        path = scene.pci("rack3-a", "0000:71:00.0", NIC, 71)
        page.wait(f"Boolean({card(path)})")
        scene.rest.remove(path)
        assert page.console == []
        assert page.run("document.cookie + localStorage.length + sessionStorage.length + location.hash") == "00"


def test_what_may_not_be_read_is_said(installed, browser, service, users, scene, people, rack):
    """dan may load the page, as everybody may, and is shown nothing else."""
    with proxied(installed, people.user("dan")) as address:
        browser.open(address + MAP)
        shows(browser, f"{LINK} === 'failing'")
        trouble = browser.wait("document.getElementById('trouble').textContent")[0]
        assert 'User "dan" cannot list resource' in trouble and "pcidevices: listing (denied)" in trouble
        assert browser.run("cards.size") == 0


def test_the_page_says_that_the_proxy_has_ended(installed, browser, people, service, users, rack):
    with proxied(installed, people.user("ana")) as address:
        opened(browser, address + MAP, rack)
    browser.wait(f"{LINK} === 'lost'")
    assert "does kubectl proxy still run" in browser.run("document.getElementById('link-text').textContent")


# --- what both maps have ---


def test_a_link_opens_a_device(browser, addresses, rack):
    page = opened(browser, f"{addresses['ana']}#{rack['nodes'][0]}/0000:03:00.0", rack)
    page.wait("document.querySelector('#title h2')?.textContent === '0000:03:00.0'")
    page.run("closeDetails()")
    assert page.run("location.hash") == ""
    page.run(f"{card(rack['stuck'])}.button.click()")
    assert page.run("location.hash") == f"#{rack['nodes'][1]}/0000:01:00.0"
    page.run(f"location.replace('#{rack['nodes'][0]}/0000:02:00.0')")
    page.wait(f"selected === {card(rack['refused'])}.id")
    page.run("location.replace('#%ff/../x')")
    assert page.console == []


def test_devices_are_grouped(page, rack):
    """By node, resource, pod and user, there and back."""
    bands = "[...document.querySelectorAll('main > .node:not([hidden]) > h2 > span:first-child')].map(e => e.textContent)"
    homes = "[...cards.values()].map(c => [c.id, c.el.parentElement.closest('.node').querySelector('h2 span').textContent])"
    nodes, places = page.run(bands), page.run(homes)
    choose = "(() => { const by = document.getElementById('by'); by.value = '%s'; by.dispatchEvent(new Event('change')); })()"
    page.run(choose % "user")
    page.wait(f"({bands}).length === 3")
    assert page.run(bands) == ["ana", "ben", "no claim with an owner"]
    page.run(choose % "pod")
    page.wait(f"({bands})[0] === 'lab/trainer-0'")
    assert page.run("[...nodes.get('lab/trainer-0').el.querySelectorAll('.card')].map(e => e.card.data.address)") == [
        "0000:03:00.0", "0000:02:00.0"]
    page.run(choose % "resource")
    page.wait(f"({bands})[0] === 'example.com/10d3'")
    assert page.run(bands)[-2:] == ["nvidia.com/GRID_A100-10C", "no resource"]
    page.run(choose % "node")
    page.wait(f"({bands})[0] === '{nodes[0]}'")
    assert page.run(bands) == nodes and page.run(homes) == places
    assert page.console == []


def test_a_long_name_of_a_node_leaves_the_address_of_its_device(page, scene):
    """In bands that are not nodes, cards have both; the functions of a card must be told apart."""
    node = scene.node("worker-12.with-a-long-name.example.com").rsplit("/", 1)[1]
    made = [scene.pci(node, f"0000:31:00.{number}", NIC, 80 + number) for number in range(2)]
    choose = "(() => { const by = document.getElementById('by'); by.value = '%s'; by.dispatchEvent(new Event('change')); })()"
    try:
        page.wait(f"Boolean({card(made[1])})")
        for width in (1280, 390):
            page.resize(width, 800)
            page.run(choose % "resource")
            page.run(f"{card(made[1])}.button.scrollIntoView()")  # what is out of sight has no layout
            where, at = (f"{card(made[1])}.{part}" for part in ("where", "at"))
            page.wait(f"{at}.clientWidth > 0 && {at}.innerText === '31:00.1' && {at}.scrollWidth <= {at}.clientWidth")
            assert page.run(f"{where}.textContent") == node and page.run(f"{where}.scrollWidth > {where}.clientWidth")
            page.run(choose % "node")
    finally:
        page.resize(1280, 800)
        for path in (*made, f"/api/v1/nodes/{node}"):
            scene.rest.remove(path)
    assert page.console == []


def test_a_long_name_of_a_resource_stays_on_a_phone(page, scene):
    made = scene.pci("rack3-a", "0000:32:00.0", NIC, 84, resourceName=f"intel.com/82574L_GIGABIT_NETWORK_CONNECTION_{'X' * 40}")
    choose = "(() => { const by = document.getElementById('by'); by.value = '%s'; by.dispatchEvent(new Event('change')); })()"
    page.resize(390, 844)
    try:
        page.wait(f"Boolean({card(made)})")
        page.run(choose % "resource")
        page.wait("[...nodes.keys()].some((name) => name.includes('XXXX'))")
        out = "[...document.querySelectorAll('.node h2 *, #nodes button *')].filter((e) => e.getBoundingClientRect().right > 390).length"
        page.wait(f"({out}) === 0")
    finally:
        page.run(choose % "node")
        page.resize(1280, 800)
        scene.rest.remove(made)
    assert page.console == []


def test_the_legend_explains_every_state(page):
    page.run("document.querySelector('#meanings summary').click()")
    text = page.run("document.getElementById('meanings-list').innerText")
    for state, means in page.run("STATES.map(([, word, means]) => [word, means])"):
        assert state in text and means in text
    page.key("Escape")
    assert not page.run("document.getElementById('meanings').open")


def test_on_a_phone_details_do_not_cover_the_legend(page, rack):
    page.resize(390, 844)
    try:
        page.run(f"{card(rack['claimable'])}.button.click()")
        page.run("document.querySelector('#meanings summary').click()")
        covered = """[...document.querySelectorAll('#meanings-list dd')].filter((e) => { const at = e.getBoundingClientRect();
            return !e.contains(document.elementFromPoint(at.left + at.width / 2, at.top + at.height / 2)); }).length"""
        assert page.run(covered) == 0
    finally:
        page.resize(1280, 800)


def test_a_claimable_device_is_not_called_available(page, rack):
    """That is the reason of its condition, and the state of others."""
    title = "document.querySelector('#title .head').textContent"
    page.run(f"{card(rack['claimable'])}.button.click()")
    assert page.run(f"{card(rack['claimable'])}.data.reason") == "Available" and page.run(title) == "claimable"
    page.run(f"{card(rack['refused'])}.button.click()")
    assert page.run(title) == f"refused: {page.run(card(rack['refused']) + '.data.reason')}"


def test_commands_are_to_be_copied(page, rack):
    page.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    for state, verb in (("claimable", "claim"), ("available", "release"), ("refused", "why")):
        page.run(f"{card(rack[state])}.button.click()")
        page.wait(f"document.querySelector('#acts code')?.textContent === 'kubectl hostdev {verb} {rack[state].rsplit('/', 1)[1]}'")
    page.run("document.querySelector('[data-act=copy]').click()")
    page.wait("document.getElementById('said').textContent === 'The command is copied'")
    assert page.run("quoted(\"a'b $(c)\")") == "'a'\\''b $(c)'"
