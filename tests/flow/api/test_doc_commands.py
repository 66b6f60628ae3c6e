"""No command of README.md and docs/ escapes: it is run, by whom PLACES says, and it names only what there is."""

import re

import pytest

from cluster import ROOT
from doc_commands import OTHERS, SHELL, Commands, Page, executed, inline
from shell_words import simple_commands
from transcript import blocks, commands_of

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PLACES = {  # by what the commands of ```console PLACE are run
    "api": ["tests/flow/api/test_docs.py"],
    "vm": ["tests/flow/node/test_first_claim.py"],
    "alice": ["tests/flow/api/test_self_service.py"],
}
OTHER_BLOCKS = {"sh", "yaml", "c", "diff", "text"}  # commands that are checked only; no commands
COMMAND = re.compile(r"\s*(\$ |kubectl |hack/|cmake |hostdev-|tests/bench/|build/\S+/bin/)|\s*(%s) +[-\w/]" % "|".join(OTHERS))

by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def moved_in(page):
    """Lines that Markdown takes for a block by their indentation."""
    fence, empty = False, True
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence and empty and line.startswith("    ") and line.strip():
            yield f"{number}: {line}"
        empty = not line.strip()


def wrong_blocks(page):
    """Those whose commands would escape."""
    for line in moved_in(page):
        yield f"{line}: a block without a fence, which says what is in it"
    for block in blocks(page):
        kind, *places = block.words or [""]
        hidden = [line for line in block.lines if kind not in ("console", "sh") and COMMAND.match(line)]
        if kind == "console" and places not in [[place] for place in PLACES]:
            yield f"{block}: nobody runs its commands: {', '.join(PLACES)} are run"
        elif kind not in OTHER_BLOCKS | {"console"}:
            yield f"{block}: {kind!r} is none of console PLACE, {', '.join(sorted(OTHER_BLOCKS))}"
        elif hidden:
            yield f"{block}: commands are in blocks of console or sh: {hidden[0]}"
        elif kind == "sh" and not simple_commands(block.text) or kind == "console" and not commands_of(block):
            yield f"{block}: no command"


@by_page
def test_every_block_is_run_or_checked_or_holds_no_commands(page):
    assert list(wrong_blocks(page)) == []


ELSEWHERE = {  # pages with devices of another cluster than hack/up's, and what they say of that
    "kubectl-hostdev.md": "are example nodes", "nvidia.md": "`hack/up` has no such card"}


def devices_elsewhere(page):
    """Names of devices in what a reader types, where the local cluster has no such node."""
    typed = [text for _, text in executed(page)] + [text for _, text in inline(page)]
    typed += [block.text for block in blocks(page) if block.words[:1] == ["yaml"]]
    return sorted({name for text in typed for name in re.findall(r"\b(?!vm1-)\w+-[\da-f]{9}\b", text)})


@by_page
def test_devices_in_commands_are_those_of_the_local_cluster_or_the_page_says_so(page):
    assert devices_elsewhere(page) == [] or ELSEWHERE.get(page.name, "nothing") in page.read_text()


def test_no_page_is_excused_that_has_no_such_device():
    assert [name for name in ELSEWHERE if not devices_elsewhere(ROOT / "docs" / name)] == []


@pytest.mark.parametrize("text", [
    "```\nkubectl get nodes\n```\n", "```bash\nkubectl get nodes\n```\n", "```console\n$ kubectl get nodes\n```\n",
    "```console elsewhere\n$ kubectl get nodes\n```\n", "```console api\n```\n", "```sh\n# nothing\n```\n",
    "```text\n$ kubectl get nodes\n```\n", "```text\nhack/up\n```\n", "```yaml\na: b\nskopeo copy a b\n```\n",
    "Text\n\n    kubectl get nodes\n", "1. Text\n\n       kubectl get nodes\n"])
def test_a_block_that_escapes_is_seen(text, tmp_path):
    (tmp_path / "page.md").write_text(text)
    assert list(wrong_blocks(tmp_path / "page.md"))


def test_every_place_is_one_that_a_test_runs():
    marked = {block.words[1] for page in PAGES for block in blocks(page) if block.words[:1] == ["console"]}
    assert marked == set(PLACES)
    for place, files in PLACES.items():
        for file in files:
            assert f'"{place}")' in (ROOT / file).read_text(), f"{file} runs no commands of {place}"


@pytest.fixture(scope="module")
def known(crds):
    return Commands(crds)


@pytest.fixture(scope="module")
def wrong(known):
    """Of each page, what a reader would stumble over."""
    found = {}
    for page in PAGES:
        made = Page.of(page)
        found[page] = [f"{page.name}:{line}: {one}" for line, text in (*executed(page), *inline(page))
                       for one in known.wrong(text, made)]
    return found


@by_page
def test_commands_name_what_there_is(page, wrong):
    assert wrong[page] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs/man").iterdir()), ids=lambda page: page.name)
def test_and_those_of_the_man_pages(page, known):
    literal = re.findall(r"^\.Bd -literal.*\n((?:[^.].*\n)+)\.Ed", page.read_text(), re.MULTILINE)
    assert literal and [one for text in literal for one in known.wrong(text.replace(r"\(ti", "~"), Page())] == []


def test_no_program_is_excused_that_is_not_used(known, wrong):
    assert (OTHERS.keys() | SHELL) - known.used == set()


WRONG = """
kubectl gett nodes
kubectl get nodez
kubectl get nodes --outptu wide
kubectl get nodes -o wid
kubectl get node vm2
kubectl get node vm1 vm2
kubectl get pcidevice thing
kubectl get pods -l app.kubernetes.io/component=agents
kubectl get pods -l app.kubernetes.io/part=hostdev
kubectl -n hostdev-sistem get pods
kubectl -n hostdev-system rollout statsu daemonset/hostdev-agent
kubectl -n hostdev-system rollout status daemonset/hostdev-agents
kubectl -n hostdev-system rollout status demonset/hostdev-agent
kubectl -n hostdev-system logs daemonset/hostdev-controller
kubectl -n hostdev-system set image daemonset/hostdev-agent controller=x
kubectl apply -f manifests/examples/claim-two-devices.yaml
kubectl apply -k manifests/overlays/kubervirt
kubectl apply -k ../site
kubectl apply --server-sid -f crds/
kubectl wait pcideviceclaim/vm1-000001000 --for=condition=Redy
kubectl delete crd devicepool.hostdev.io
kubectl create token hostdev-agents -n hostdev-system
kubectl auth can-i clam pcidevices.devices.harvesterhci.io/node1-000008000
kubectl explain pcideviceclam.spec
kubectl label node vm1 hostdev.io/agents=process
kubectl exec try -- ls /dev/vfio
kubectl events --for pcidevices/thing
kubectl hostdev clam vm1-000001000
kubectl hostdev claim vm1-000001000 --no-waits
kubectl hostdev claim thing
kubectl hostdev tree -o jsn
kubectl hostdev completion fish
build/release/bin/hostdev-agents inspect
build/relase/bin/hostdev-agent inspect
hostdev-agent inspekt
hostdev-agent inspect --outputs wide
hostdev-controller uninstal
hack/upp
hack/up --kubelets
hack/test unti
hack/vm plugg nic
hack/vm plug nick
hack/vm exec -- lspcy
hack/vm plug nic --modl e1000e
hack/packages install builds
hack/packages remove build
hack/image --program build/release/bin
hack/image --programs build/relase/bin
hack/image --arch arm65
hack/docs apis
tests/bench/run clusters
tests/bench/run cluster --node 100
cmake --preset relase
cmake --build --preset relase
cmake --build --preset release --target kubectl-hostdevs
cmake --workflow --preset release
ctest --test-dir build/dev -L units
man docs/man/hostdev-agents.8
jq '.items[' file
skopeo copy oci-archive:build/images/hostdev-agents.tar docker://registry.example.com/hostdev/agent:0.1.0
helm install hostdev
for node in $(kubectl get nodez); do echo $node; done
echo "$(kubectl hostdev clam vm1-000001000)"
true && kubectl gett nodes
kubectl get nodes | kubectl gett nodes
kubectl get 'nodes
""".strip().splitlines()


@pytest.mark.parametrize("text", WRONG)
def test_what_is_misspelt_is_seen(text, known):
    assert known.wrong(text, Page())


def test_what_a_page_has_made_is_there(known):
    assert known.wrong("kubectl apply -k ../site", Page.of(ROOT / "docs/upgrade.md")) == []
    assert known.wrong("mkdir ../site; cat >../site/kustomization.yaml; kubectl apply -k ../site", Page()) == []
    assert known.wrong("kubectl exec try -- ls /dev/vfio", Page.of(ROOT / "docs/first-claim.md")) == []
