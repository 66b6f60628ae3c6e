"""Documents that are run: the fenced blocks of a Markdown file, and the commands in them with what they print.

A block to run begins with ```console PLACE; the place says what it is run against. In it, "$ " begins a command, which
goes on for as long as a shell wants more, and the lines up to the next one are its output: "..." stands for any text,
alone in its line for any lines but refusals, which a page must show, white space is as good as other white space, and an
age such as 16s as any other. A block may stand in a list, moved in as the item's text is.
"""

import os
import re
import subprocess
import time
from dataclasses import dataclass, field

from cluster import SLOWNESS

FENCE = re.compile(r"^( *)```(.*)$")
AGE = re.compile(r"(?<![\w.-])(?:\d+[smhd])+(?![\w.-])")
# As kubectl and its plugin say them: it must fail.
REFUSALS = ("Error from server", "The request is invalid", "kubectl hostdev ", "  HostNetwork: ")
HIDDEN = re.compile(r"\bdenied\b|^Error from server")  # no reader takes such a line for left out
TIMEOUT = re.compile(r"--timeout=(\d+)s\b")
LOOKS = ("kubectl get ", *(f"kubectl hostdev {verb} " for verb in ("tree", "why", "who", "top")))


@dataclass
class Block:
    """Words are those behind the fence: language, place."""

    file: object
    line: int
    words: list
    lines: list = field(default_factory=list)

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"

    def __str__(self):
        return f"{self.file.name}:{self.line}"


@dataclass
class Command:
    block: Block
    line: int
    text: str
    output: list

    def __str__(self):
        return f"{self.block.file.name}:{self.line}"


def blocks(file):
    """The fenced blocks of a file."""
    found, current = [], None
    for number, line in enumerate(file.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if fence and current:
            found.append(current)
            current = None
        elif fence:
            current, margin = Block(file, number, fence[2].split()), len(fence[1])
        elif current:
            assert not line[:margin].strip(), f"{file}:{number}: the block's lines are moved in less than its fence"
            current.lines.append(line[margin:])
    assert not current, f"{file}: the block of line {current.line} has no end"
    return found


def _is_whole(text):
    """bash tells of a quote or a document that has no end, and not of a line that goes on."""
    return not text.endswith("\\") and not subprocess.run(["bash", "-n"], input=text + "\n", capture_output=True, text=True).stderr


def commands(file, place):
    """Those that are to be run there, in order."""
    return [command for block in blocks(file) if block.words[:2] == ["console", place] for command in commands_of(block)]


def commands_of(block):
    found, whole = [], True
    for number, line in enumerate(block.lines, block.line + 1):
        if line.startswith("$ ") and whole:
            found.append(Command(block, number, line[2:], []))
        elif whole:
            assert found, f"{block.file}:{number}: output before the first command"
            found[-1].output.append(line)
            continue
        else:
            found[-1].text += "\n" + line
        whole = _is_whole(found[-1].text)
    assert whole, f"{found[-1]}: a shell wants more: {found[-1].text}"
    return found


def _pattern(line):
    parts = [re.escape(" ".join(part.split())) for part in AGE.sub("0s", line).split("...")]
    return re.compile(r"\s*.*?\s*".join(parts) + r"\s*")


def matches(wanted, seen):
    """Are these lines what is written?"""
    wanted = [line for line in wanted if line.strip()]
    seen = [" ".join(AGE.sub("0s", line).split()) for line in seen if line.strip()]

    def from_here(w, s):
        if w == len(wanted):
            return s == len(seen)
        if wanted[w].strip() == "...":
            shown = next((at for at in range(s, len(seen)) if HIDDEN.search(seen[at])), len(seen))
            return any(from_here(w + 1, at) for at in range(s, shown + 1))
        return s < len(seen) and bool(_pattern(wanted[w]).fullmatch(seen[s])) and from_here(w + 1, s + 1)

    return from_here(0, 0)


class Shell:
    """Runs commands in a folder; replace: texts of the document and what stands for them here. What only looks is
    repeated for so many seconds: 0 where a reader sees at once what is written."""

    def __init__(self, folder, path, kubeconfig, replace=None, repeat=0):
        self.folder, self.repeat = folder, repeat
        self.env = os.environ | {"PATH": f"{path}:{os.environ['PATH']}", "KUBECONFIG": str(kubeconfig)}
        self.replace = replace or {}

    def _here(self, text):
        for written, meant in self.replace.items():
            text = text.replace(written, meant)
        return text

    def _patient(self, text):
        """kubectl waits as long as a slow machine needs."""
        return TIMEOUT.sub(lambda wait: f"--timeout={int(wait[1]) * SLOWNESS}s", text)

    def _run_once(self, command):
        run = subprocess.run(["bash", "-c", self._patient(self._here(command.text))], cwd=self.folder, env=self.env, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240 * SLOWNESS)
        return run.returncode, run.stdout

    def run(self, command):
        """What it prints must be what is written, and if nothing is, it must succeed."""
        wanted = [self._here(line) for line in command.output]
        end = time.monotonic() + (self.repeat if command.text.startswith(LOOKS) else 0)
        while True:
            status, text = self._run_once(command)
            refused = any(line.startswith(REFUSALS) for line in wanted)
            right = (status != 0) == refused and (not wanted or matches(wanted, text.splitlines()))
            if right:
                return text
            if time.monotonic() >= end:
                break
            time.sleep(0.5)
        raise AssertionError(f"{command}: {command.text}\nends with {status} and prints:\n{text}\nand not:\n"
                             + "\n".join(wanted))
