"""kubectl hostdev map: the page in a real Chromium, of a real API server, changed while it looks."""

import json
import re
import time

import pytest
import yaml

from chromium import Chromium
from cluster import ROOT, wait_until
from faultproxy import FaultProxy
from map_program import Map
from map_scene import NIC, Scene

SHOWN = "cards.size"
DEVICES = 21  # of the rack
NAME = "document.activeElement.getAttribute('aria-label') || document.activeElement.id || document.activeElement.tagName"


@pytest.fixture(scope="module")
def scene(crds, rest):
    made = Scene(rest)
    yield made
    made.close()


@pytest.fixture(scope="module")
def rack(scene):
    """The devices by their state, of two nodes."""
    return scene.every_state("rack1")


@pytest.fixture(scope="module")
def written_before(crds):
    """What other commands of the plugin have written on this API server."""
    return crds.writes("kubectl-hostdev/")


@pytest.fixture(scope="module")
def served(crds, rack, written_before):
    made = Map(crds.kubeconfig)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def browser():
    made = Chromium()
    yield made
    made.close()


@pytest.fixture
def page(browser, served, rack):
    """The page, open and with the devices of the rack."""
    browser.open("about:blank")
    browser.run("new Promise((done) => setTimeout(done, 100))")  # what an earlier page has left to say
    browser.console.clear()
    browser.open(served.address)
    try:
        browser.wait(f"{SHOWN} >= {DEVICES} && document.getElementById('link').dataset.link === 'live'")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{browser.console}\n{browser.run('document.body.innerText')}") from None
    return browser


def card(name):
    return f"cards.get('{'usb' if '/usb' in name else 'pci'}/{name.rsplit('/', 1)[1]}')"


# --- what is shown ---


def test_the_picture_of_the_readme(page, scene):
    """Made anew into build/map.png, for docs/map.png to be replaced by it when the page looks different."""
    before = len(scene.made)
    picture, shown = ROOT / "build/map.png", ROOT / "docs/map.png"
    page.resize(1280, 580)
    try:
        scene.divided()
        page.wait(f"{SHOWN} > {DEVICES} + 9")
        page.run("new Promise((done) => setTimeout(done, 200))")  # a card that comes is faded in
        page.picture(picture)
    finally:
        page.resize(1280, 800)
        for path in scene.made[before:]:
            scene.rest.remove(path)
    assert [path.read_bytes()[:8] for path in (picture, shown)] == [b"\x89PNG\r\n\x1a\n"] * 2
    assert picture.read_bytes()[16:24] == shown.read_bytes()[16:24]  # width and height
    page.wait(f"{SHOWN} === {DEVICES}")


def test_the_page_loads_and_nothing_complains(page, rack):
    """Not a word on the console, no violation of its policy, and nothing from elsewhere."""
    states = {state: page.run(f"{card(path)}.data.state") for state, path in rack.items() if state not in ("usb", "nodes", "lost")}
    assert states == {state: state for state in states}
    loaded = page.run("performance.getEntriesByType('resource').map(e => new URL(e.name).host)")
    assert set(loaded) == {page.run("location.host")}
    assert page.run("document.querySelectorAll('style, script:not([src])').length") == 0
    assert page.console == []


def test_the_policy_is_in_force(page):
    """What the page could be made to do is refused by the browser: inline script and style, other servers, markup."""
    page.run("addEventListener('securitypolicyviolation', (e) => (window.refused ||= []).push(e.effectiveDirective))")
    page.run("""(() => { const script = document.createElement("script"); try { script.textContent = "window.owned = 1"; }
        catch (e) { window.refusedText = e.name; } document.head.append(script); })()""")
    page.run("""document.head.append(Object.assign(document.createElement("style"), { textContent: "body { display: none }" }))""")
    page.run("""document.body.append(Object.assign(document.createElement("img"), { src: "http://127.0.0.1:1/x.png" }))""")
    page.run("fetch('http://127.0.0.1:1/').catch(() => 0)")
    assert page.run("(() => { try { document.body.innerHTML = 'x'; } catch (e) { return e.name; } })()") == "TypeError"
    page.wait("['style-src-elem', 'img-src', 'connect-src'].every((d) => (window.refused || []).includes(d))")
    assert page.run("window.owned === undefined && getComputedStyle(document.body).display !== 'none'")


def test_groups_are_frames_and_usb_devices_hang_on_their_controller(page, rack):
    frames = page.run("[...document.querySelectorAll('.group.many')].map(e => e.getAttribute('aria-label'))")
    assert frames == ["IOMMU group 16, 2 devices"]
    assert page.run(f"{card(rack['used'])}.el.parentElement === {card(rack['available'])}.el.parentElement")
    kids = page.run(f"[...{card(rack['usb'])}.kids.querySelectorAll('.at')].map(e => e.textContent)")
    assert kids == ["1-2", "1-3"]


def test_what_cards_are_divided_into_hangs_on_them(page, scene):
    """Virtual functions, beside each other if they are many, the vGPU on its own, and MIG instances."""
    before = len(scene.made)
    made = scene.divided()
    try:
        page.wait("['used', 'pending ModePending'].every(state => [...cards.values()].some(card => card.data.name.startsWith('rack2')"
                  " && /^(vgpu|mig)/.test(card.id) && `${card.data.state} ${card.data.reason}`.startsWith(state)))")
        kids = "[...%s.kids.children].map(e => e.firstChild.card.data.address)"
        page.wait(f"{kids % card(made['card'])}.length === 6")
        assert page.run(f"{card(made['vfs'][2])}.data.state") == "available"
        assert page.run(f"{card(made['card'])}.el.classList.contains('wide')")
        tops = page.run(f"[...{card(made['card'])}.kids.children].map(e => e.getBoundingClientRect().top)")
        assert len(set(tops)) < 6
        assert page.run(kids % card(made["gpu"])) == ["0000:08:00.4", "MIG"]
        assert page.run(kids % card(made["vf"])) == ["vGPU"]
        labels = page.run(f"[...{card(made['gpu'])}.kids.querySelectorAll('.card')].map(e => e.getAttribute('aria-label'))")
        assert "vGPU, NVIDIA A2-4C, in use, lab/vm-1, on rack2" in labels
        assert "MIG, 2 of 7 MIG 1g.5gb, pending, ModePending, on rack2" in labels
        scene.status(made["vf"], {"allocations": None})
        page.wait(f"Boolean({card(made['vf'])}.kids.querySelector('.s-available'))")
    finally:
        for path in scene.made[before:]:
            scene.rest.remove(path)
    page.wait(f"{SHOWN} === {DEVICES}")
    assert page.console == []


def test_cards_that_hang_on_each_other_are_shown(page, scene):
    """What no hardware has, and anybody who writes objects can say."""
    ring = [scene.pci("rack1-a", f"0000:68:00.{number}", NIC, 68, physicalFunction=f"0000:68:00.{1 - number}")
            for number in range(2)]
    try:
        page.wait(f"Boolean({card(ring[0])} && {card(ring[1])})")
        assert page.run(f"[{card(ring[0])}, {card(ring[1])}].filter(c => c.home.card).length") == 1
        assert page.run(f"{card(ring[0])}.el.checkVisibility() && {card(ring[1])}.el.checkVisibility()")
    finally:
        for path in ring:
            scene.rest.remove(path)
    page.wait(f"{SHOWN} === {DEVICES}")
    assert page.console == []


def test_signs_differ_by_shape(page):
    """Every state has a sign of its own: colour is never all that tells."""
    shapes = page.run("STATES.map(([s]) => document.getElementById(`sign-${s}`).innerHTML)")
    assert len(set(shapes)) == 9
    drawn = page.run("[...cards.values()].every(c => c.sign.firstChild.getAttribute('href') === `#sign-${c.data.state}`)")
    assert drawn


def test_details_have_conditions_and_events(page, rack):
    page.run(f"{card(rack['stuck'])}.button.click()")
    text = page.wait("document.getElementById('details').innerText")[0]
    for part in ("unbind from mlx5_core has not ended for 312 s", "Ready: False", "Claimable: True", "Owner", "ana",
                 "15b3:101d"):
        assert part in text
    page.wait("document.getElementById('details').innerText.includes('has not ended for 30 s')")
    assert page.console == []


def test_devices_of_a_node_that_is_not_well_are_unknown(page, rack, scene):
    """With its sign, and the node says what is wrong; told as it happens, and taken back."""
    node = f"/api/v1/nodes/{rack['nodes'][1]}"
    ready = scene.rest.request("GET", node)[1]["status"]["conditions"][0]
    sick = "[...nodes.get('%s').title.children].map(e => e.innerText).join(' ')"
    assert "NotReady for" in page.run(sick % rack["nodes"][2])
    assert "container runtime is down" in page.run(sick % rack["nodes"][2])
    assert page.run(f"{card(rack['lost'])}.sign.firstChild.getAttribute('href')") == "#sign-unknown"
    scene.status(node, {"conditions": [{**ready, "status": "Unknown", "reason": "NodeStatusUnknown",
                                        "message": "Kubelet stopped posting node status."}]})
    try:
        page.wait(f"{card(rack['pending'])}.data.state === 'unknown'")
        assert page.run(f"{card(rack['pending'])}.data.reason") == "NodeNotReady"
        assert page.run(f"{card(rack['stuck'])}.data.state") == "stuck"
        page.wait(f"({sick % rack['nodes'][1]}).includes('NotReady for')")
    finally:
        scene.status(node, {"conditions": [ready]})
    page.wait(f"{card(rack['pending'])}.data.state === 'pending'")
    page.wait(f"!({sick % rack['nodes'][1]}).includes('NotReady')")
    path = scene.pci("rack1-d", "0000:01:00.0", NIC, 1)
    page.wait(f"Boolean({card(path)})")
    assert page.run(f"{card(path)}.data.reason") == "NodeGone"
    page.wait(f"({sick % 'rack1-d'}).includes('gone: the cluster has no such node')")
    scene.rest.remove(path)
    page.wait(f"!{card(path)}")
    assert page.console == []


def test_text_is_never_markup(page, scene):
    """What an API server says may be anything."""
    hostile = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
    path = scene.pci("rack1-a", "0000:66:00.0", (NIC[0], NIC[1], NIC[2], hostile, NIC[4]), 66)
    page.wait(f"Boolean({card(path)})")
    page.run(f"{card(path)}.button.click()")
    page.wait("document.getElementById('details').textContent.includes('onerror')")
    assert page.run("document.querySelectorAll('main img, aside img, main script, aside script').length") == 0
    assert page.run("document.title") == "hostdev map"
    scene.rest.remove(path)
    page.wait(f"!{card(path)}")
    assert page.console == []


# --- as it happens ---


def test_changes_are_followed(page, rack, scene):
    free = rack["claimable"]
    claim = scene.claim(free, "False", "Binding", "unbind from e1000e")
    page.wait(f"{card(free)}.button.classList.contains('s-pending')")
    scene.status(claim, {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "",
                                         "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    page.wait(f"{card(free)}.button.classList.contains('s-available')")
    scene.status(free, {"allocations": [{"namespace": "lab", "pod": "p", "container": "c"}]})
    page.wait(f"{card(free)}.button.getAttribute('aria-label').includes('in use, lab/p')")
    scene.status(free, {"allocations": None})
    scene.rest.remove(claim)
    page.wait(f"{card(free)}.button.classList.contains('s-claimable')")
    path = scene.pci("rack1-d", "0000:01:00.0", NIC, 1)
    page.wait("document.getElementById('nodes').textContent.includes('rack1-d')")
    scene.rest.remove(path)
    page.wait("!document.getElementById('nodes').textContent.includes('rack1-d')")


def test_what_has_gone_meanwhile_is_gone_after_a_reconnect(page, scene):
    path = scene.pci("rack1-a", "0000:67:00.0", NIC, 67)
    page.wait(f"Boolean({card(path)})")
    page.run("stream.close()")
    scene.rest.remove(path)
    page.run("connect()")
    page.wait(f"!{card(path)}")
    assert page.run(SHOWN) == DEVICES
    assert page.console == []


def test_the_page_says_that_its_program_has_ended(crds, browser, rack):
    first = Map(crds.kubeconfig, "--port", "0")
    browser.open(first.address)
    browser.wait(f"{SHOWN} >= {DEVICES}")
    first.stop()
    browser.wait("document.getElementById('link').dataset.link === 'lost'")
    assert "no connection" in browser.run("document.getElementById('said').textContent")


def test_what_may_not_be_read_is_said(crds, browser, rack, scene, tmp_path):
    """A user who may read devices but no claims sees the devices, and what is missing."""
    rules = [{"apiGroups": ["devices.harvesterhci.io"], "resources": ["pcidevices", "usbdevices"],
              "verbs": ["list", "watch"]}]
    scene.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": "map-some"}, "rules": rules})
    scene.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "metadata": {"name": "map-some"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "map-some"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "map-some"}]})
    scene.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "map-some"}})
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(crds.control("sa-kubeconfig", "default", "map-some"))
    served = Map(kubeconfig)
    browser.open(served.address)
    said = "!document.getElementById('trouble').hidden && document.getElementById('trouble').textContent"
    trouble = browser.wait(f"['pcideviceclaims', 'you may not list them: '].every(kind => ({said} || '').includes(kind)) && ({said})")[0]
    assert "denied" in trouble and 'cannot list resource "pcideviceclaims"' in trouble
    assert re.search(r"you may not list them: (\w+, )*nodes\b", trouble)
    assert browser.run("document.getElementById('link').dataset.link") == "failing"
    assert trouble.endswith("whether nodes are ready is not known")
    browser.wait(f"{SHOWN} >= 14")
    assert "no such node" not in browser.run("document.body.innerText")
    assert not browser.run("[...cards.values()].filter(c => c.data.state === 'claimable').length")
    served.stop()


LINK = "document.getElementById('link').dataset.link"
TROUBLE = "document.getElementById('trouble')"


def refused(crds, tmp_path):
    """What makes every list fail, by what says so: flags of the map, its kubeconfig, and the error."""
    config = yaml.safe_load(crds.kubeconfig.read_text())
    config["users"] = [{"name": user["name"], "user": {"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "false", "interactiveMode": "Never"}}}
        for user in config["users"]]
    plugin = tmp_path / "plugin"
    plugin.write_text(json.dumps(config))
    return [([], plugin, "from 'false': it failed with exit status 1"),
            (["-s", "https://127.0.0.1:1"], crds.kubeconfig, "https://127.0.0.1:1: "),
            (["--as", "nobody"], crds.kubeconfig, 'User "nobody" cannot list resource "pcidevices"')]


@pytest.mark.parametrize("number", range(3), ids=["plugin", "server", "user"])
def test_why_nothing_can_be_read_is_said(crds, browser, tmp_path, number):
    """On the page, which is not "live", and on standard error, once."""
    flags, kubeconfig, error = refused(crds, tmp_path)[number]
    served = Map(kubeconfig, *flags)
    try:
        browser.open(served.address)
        browser.wait(f"{LINK} === 'failing' && !{TROUBLE}.hidden")
        assert error in browser.run(f"{TROUBLE}.textContent")
        assert len(browser.run(f"{TROUBLE}.textContent")) < 2000
        assert "cannot read the cluster" in browser.run("document.getElementById('said').textContent")
        browser.wait("document.getElementById('empty').textContent.startsWith('The cluster cannot be read')")
        time.sleep(6)  # another beat
    finally:
        errors = served.stop()
    # What is forbidden is one line, whichever kinds it names.
    assert errors.count("user 'nobody' may not (403 forbidden)" if "--as" in flags else error) == 1, errors


def test_trouble_is_over_once_a_watch_is_answered(crds, browser, rack, faultproxy_program):
    """Though nothing happens that it could bring."""
    proxy = FaultProxy(faultproxy_program, crds)
    proxy.rules([{"verb": "watch", "path": "/(events|usbdevices)", "fault": "reset-stream"}])
    served = Map(crds.kubeconfig, "-s", proxy.server)
    try:
        browser.open(served.address)
        browser.wait(f"{LINK} === 'failing' && ['events', 'usbdevices'].every(kind => {TROUBLE}.textContent.includes(kind))")
        assert "not up to date" in browser.run("document.getElementById('link-text').textContent")
        time.sleep(5.5)  # a beat
        proxy.rules([])
        browser.wait(f"{LINK} === 'live' && {TROUBLE}.hidden", 50)
    finally:
        errors = served.stop()
        proxy.stop()
    assert "Cannot read usbdevices" in errors and "All can be read again" in errors


# --- keys and labels ---


def test_one_is_not_told_as_many(page):
    assert page.run("[0, 1, 2].map((number) => counted(number, 'node')).join()") == "0 nodes,1 node,2 nodes"
    page.wait(f"/^{DEVICES} devices, [0-9]+ nodes$/.test(document.getElementById('count').textContent)")


def test_the_filter_works_by_keyboard(page):
    page.key("/")
    assert page.run("document.activeElement.id") == "filter"
    page.type("yubikey")
    page.wait(f"document.getElementById('count').textContent === '1 of {DEVICES} devices'")
    page.wait(f"document.getElementById('said').textContent === '1 of {DEVICES} devices'")
    shown = page.run("[...document.querySelectorAll('.card:not(.context)')].filter(e => e.checkVisibility()).map(e => e.innerText)")
    assert len(shown) == 1 and "Yubikey" in shown[0]
    page.key("Enter")
    assert "Yubikey" in page.run(NAME)
    page.key("Enter")
    page.wait("!document.getElementById('details').hidden")
    assert page.run("document.activeElement.tagName") == "H2"
    page.key("Escape")
    assert page.run("document.getElementById('details').hidden")
    assert "Yubikey" in page.run(NAME)
    page.key("/")
    page.key("Escape")
    page.wait(f"document.getElementById('count').textContent.startsWith('{DEVICES} devices')")
    page.type("group 16")
    page.wait(f"document.getElementById('count').textContent === '2 of {DEVICES} devices'")
    page.key("Escape")
    page.type("group 1")
    alone = page.run("[...cards.values()].filter((card) => card.data.group === '1').length")
    page.wait(f"document.getElementById('count').textContent === '{alone} of {DEVICES} devices'")
    assert page.console == []


def test_arrows_move_and_the_focus_is_seen(page):
    page.run("focusCard(firstCard())")
    start = page.run(NAME)
    page.key("ArrowRight")
    assert page.run(NAME) != start
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.key("ArrowLeft")
    assert page.run(NAME) == start
    top = page.run("document.activeElement.getBoundingClientRect().top")
    page.key("ArrowDown")
    assert page.run("document.activeElement.getBoundingClientRect().top") > top
    page.key("ArrowUp")
    page.key("End")
    assert "rack1-c" in page.run(NAME)
    page.key("Home")
    assert page.run(NAME) == start
    assert page.run("document.querySelectorAll('.card[tabindex=\"0\"]').length") == 1


def test_a_screen_reader_is_told_all(page):
    # Chromium brings what it tells a screen reader up to date some time after the page.
    labels = wait_until(lambda: [one for one in [page.labels()] if ("button", "stuck: 1") in one], 20, "the totals told")[0]
    names = {role: [name for r, name in labels if r == role] for role, _ in labels}
    assert any(name.startswith("Devices by node") for name in names["main"])
    assert "Filter" in " ".join(names["searchbox"])
    assert "IOMMU group 16, 2 devices" in names["group"]
    assert any("0000:03:00.0" in name and "in use, lab/trainer-0" in name and "IOMMU group 16" in name and "on rack1-a" in name
               for name in names["button"])
    assert any(name.startswith("Node rack1-b: 1 stuck") and "ready" not in name for name in names["button"])
    assert any(name.startswith("Node rack1-c: 2 unknown, cordoned, NotReady ") and "KubeletNotReady" in name
               for name in names["button"]), names["button"]
    assert any("0000:02:00.0" in name and "unknown, lab/trainer-0" in name and "on rack1-c" in name
               for name in names["button"])
    assert not [role for role, name in labels if role in ("button", "searchbox", "group") and not name]


def test_tab_comes_to_the_first_card_that_is_shown(page):
    """Also when a filter hides the one that it came to."""
    there = "document.querySelector('.card[tabindex=\"0\"]')"
    page.wait(f"{there} === firstCard().button")
    page.run("focusCard(lastCard())")
    page.key("/")
    page.type("yubikey")
    page.wait(f"document.getElementById('count').textContent === '1 of {DEVICES} devices'")
    page.wait(f"{there}.checkVisibility() && {there}.innerText.includes('Yubikey')")


CONTRAST = """(() => {
  const lum = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (!/, 0\\)$/.test(c)) return c; } return "rgb(255,255,255)"; };
  return [...document.querySelectorAll("header *, .node h2 *, .mark, .card *")]
    .filter((e) => e.checkVisibility() && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
    .map((e) => { const [a, b] = [lum(getComputedStyle(e).color), lum(ground(e))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), e.className, e.textContent]; }).filter(([ratio]) => ratio < 4.5); })()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_is_readable(page, scheme):
    """WCAG 2 AA: 4.5 to 1."""
    page.colours(scheme)
    page.wait("new Promise(done => setTimeout(() => done(true), 300))")
    assert page.run(CONTRAST) == []


def test_nothing_is_written(crds, page, written_before):
    """The question who the caller is creates no object."""
    def objects(writes):
        return {key: count for key, count in writes.items() if "selfsubjectreviews" not in key}
    assert objects(crds.writes("kubectl-hostdev/")) == objects(written_before)
