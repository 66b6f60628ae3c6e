"""docs/man: pages that mandoc takes, with every flag of --help and no other."""

import re
import subprocess

import pytest

from cluster import ROOT
from programs import program, run

FOLDER = ROOT / "docs/man"
# Of each page: the headings of a program's forms and the words of its command line.
FORMS = {
    "hostdev-agent.8": {"OPTIONS": [], "INSPECT": ["inspect"], "PLAN": ["plan"]},
    "hostdev-controller.8": {"OPTIONS": [], "UNINSTALL": ["uninstall"]},
    "kubectl-hostdev.1": {word.upper(): [word] for word in ("tree", "why", "who", "log", "plan", "claim", "release", "top",
                                                            "map", "version", "completion")},
}
COMMON = {"kubectl-hostdev.1": "OPTIONS"}  # the heading of the flags that every form has: kubectl hostdev options
FLAG = re.compile(r"^ {7}(?:-(\w), )?--([\w-]+)", re.MULTILINE)
DEFAULT = re.compile(r"Default:\s+(.*?)\.(?:\n| +[A-Z])", re.DOTALL)


def sections(page):
    """The source by heading."""
    parts = re.split(r"^\.Sh (.*)\n", (FOLDER / page).read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def without_breaks(text):
    return "".join(text.split())


@pytest.mark.parametrize("page", sorted(path.name for path in FOLDER.iterdir()))
def test_mandoc_finds_nothing_wrong(page):
    ended = subprocess.run(["mandoc", "-Tlint", "-W", "warning", FOLDER / page], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "")


def test_every_program_of_people_has_a_page():
    there = {path.name for path in FOLDER.iterdir()}
    assert there == FORMS.keys()
    for page in FORMS:
        assert program(page.rpartition(".")[0]).exists()


def test_every_command_of_the_plugin_is_on_its_page():
    listed = run("kubectl-hostdev", "--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
    assert {line.split()[0] for line in listed.splitlines()} == {words[0] for words in FORMS["kubectl-hostdev.1"].values()}


FORM_CASES = [(page, heading, words) for page, forms in FORMS.items() for heading, words in forms.items()]


@pytest.mark.parametrize("page, heading, words", FORM_CASES, ids=[f"{p} {h}" for p, h, _ in FORM_CASES])
def test_flags_are_those_of_help(page, heading, words):
    text = run(page.rpartition(".")[0], *words, "--help").stdout
    section = sections(page)[heading]
    if page in COMMON:
        assert 'Use "kubectl hostdev options" for the flags that all commands take' in " ".join(text.split())
        assert "--kubeconfig" not in text
        text = text.split("EXAMPLES")[0] + run("kubectl-hostdev", "options").stdout
        section += sections(page)[COMMON[page]]
    letters, names = zip(*FLAG.findall(text))
    assert set(re.findall(r"\bFl Fl ([\w-]+)", section)) == set(names)
    whole = (FOLDER / page).read_text()
    assert [letter for letter in letters if letter and f".It Fl {letter} , Fl Fl " not in whole] == []
    # What is explained in the section of another form has its default there.
    for default in DEFAULT.findall(text):
        assert without_breaks(default) in plain(page), default


def plain(page):
    """The page as it is read, without white space, overstrikes and hyphens at ends of lines."""
    text = subprocess.run(["mandoc", "-Tascii", "-Owidth=1000", FOLDER / page], check=True, capture_output=True,
                          text=True).stdout
    return without_breaks(re.sub(".\b", "", text))
