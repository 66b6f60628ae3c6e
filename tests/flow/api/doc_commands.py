"""Commands of documents that are not run, or not on this machine, held against the tree: does it have the programs,
verbs, flags, files, kinds and objects that they name?
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from functools import cache

from cluster import ROOT
from doc_kubectl import DEVICE, Kubectl, Wrong
from programs import program
from shell_words import NotRead, simple_commands
from transcript import blocks, commands_of

SHELL = {"echo", "export", "source", "[", "mkdir", "cat"}
IMAGE = r"build/images/hostdev-(?P<image>agent|controller)\.tar"
RELEASED = r"(build/release-0\.2\.0/)?hostdev-(?P<released>agent|controller)\.oci\.tar"
OTHERS = {  # programs that the tree has not: the words that pages give them
    "ctr": rf"-n k8s.io images import ({IMAGE}|{RELEASED})",
    "env": r"",
    "git": r"tag v0\.2\.0",
    "grep": r"pcidevices|msg=audit|FailedPrepareDynamicResources",
    "helm": r"(install|uninstall|upgrade) hostdev( (build/release-0\.2\.0/)?hostdev-0\.2\.0\.tgz)? --namespace kube-system( --set components\.usb=true| --wait)?|"
            r"repo add hami-charts https://project-hami\.github\.io/HAMi/|"
            r"install hami hami-charts/hami -n kube-system --set devicePlugin\.enabled=false",
    "ls": r"/dev/vfio|-l /dev",
    "lspci": r"-nnk|-k -s [\da-f:.]+",
    "openssl": r"rand -hex 16",
    "pkill": r"-9 (kubelet|hostdev-agent)",
    "sed": r"s/(\S+)/(\S+)/ /tmp/pod.yaml|-i s/newTag: [\d.]+/newTag: [\d.]+/ \.\./site/kustomization\.yaml",
    "skopeo": rf"copy( --all| oci-archive:{IMAGE} docker://registry.example.com/hostdev/(?P=image):0\.1\.0"
              rf"| --all oci-archive:{RELEASED} docker://registry.example.com/hostdev/(?P=released):0\.2\.0)",
    "tests/journal/run": r"record HEAD(~20)? api/test_controller\.py|compare OLD NEW",
    "tail": r"/run/hostdev-node/logs/kubelet.log",
}
INLINE = re.compile(r"(kubectl|kubectl-hostdev|hostdev-(agent|controller)|hack/\S+|tests/bench/run|build/\S+/bin/\S+|"
                    r"cmake|ctest|man)( |$)")
MADE = {  # by what: files that are not in the tree
    "build/local/kubeconfig": "hack/up",
    "build/local/bin": "hack/up",
    "build/local/alice": "docs/self-service.md",
    "build/docs/api.md": "hack/docs",
    "build/images/hostdev-agent.tar": "hack/image",
    "build/images/hostdev-controller.tar": "hack/image",
    "install.yaml": "hack/release",
    **{f"build/release-0.2.0/{name}": "hack/release" for name in (
        "install.yaml", "hostdev-agent.oci.tar", "hostdev-controller.oci.tar", "hostdev-0.2.0.tgz")},
    "crds.yaml": "hack/release",
}

KREW = ["install", "--manifest=hostdev.krew.yaml", "--archive=kubectl-hostdev-linux-amd64.tar.gz"]  # test_release.py runs it


@dataclass
class Page:
    """What the commands of a page make, of which later ones live; what those of pages that it links to have made."""

    files: set = field(default_factory=set)
    pods: set = field(default_factory=set)

    @classmethod
    def of(cls, file):
        text = file.read_text()
        page = cls(pods=set(re.findall(r"^kind: Pod\nmetadata: \{name: (\w+)\}", text, re.MULTILINE)))
        for target in set(re.findall(r"\]\(([\w/-]+\.md)[)#]", text)):
            for _, commands in executed(file.parent / target):
                for one in simple_commands(commands):
                    page.files |= {os.path.normpath(path) for path in one.writes}
        return page

    def needs(self, path):
        path = str(path)
        if not re.search(r"[A-Z$]", path.split("/")[0]) and path not in self.files | MADE.keys() and not (ROOT / path).exists():
            raise Wrong(f"there is no file {path!r}, and the page has not made it")


@cache
def executed(file):
    """(line, text) of each command of a page's blocks, in order: those that are run, those that are not."""
    found = []
    for block in blocks(file):
        if block.words[:1] == ["console"]:
            found += [(one.line, one.text) for one in commands_of(block)]
        elif block.words[:1] == ["sh"]:
            found.append((block.line, block.text))
    return found


def inline(file):
    """Spans of text that are commands."""
    prose, fence = [], False
    for line in file.read_text().splitlines():
        if line.lstrip().startswith("```"):
            fence = not fence
        prose.append("" if fence or line.lstrip().startswith("```") else line)
    text = "\n".join(prose)
    for span in re.finditer(r"(?<!`)(`+)(?!`)((?:[^\n]|\n(?!\n))+?)(?<!`)\1(?!`)", text):
        if INLINE.match(span[2]):
            yield text.count("\n", 0, span.start()) + 1, " ".join(span[2].replace("\\|", "|").split())


@cache
def help_of(*words):
    return subprocess.run([*words, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60).stdout


class Commands:
    def __init__(self, cluster):
        self.kubectl, self.used = Kubectl(cluster), set()
        presets = json.loads((ROOT / "CMakePresets.json").read_text())
        self.presets = {name: {one["name"] for one in presets[f"{name}Presets"] if not one.get("hidden")}
                        for name in ("configure", "build", "test", "workflow")}

    def wrong(self, text, page):
        """What a shell or a reader would stumble over in these commands."""
        shell = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
        if shell.returncode or shell.stderr:
            return [shell.stderr]
        found = []
        try:
            for one in simple_commands(text):
                page.files |= {os.path.normpath(path) for path in one.writes}
                try:
                    self.check(one.words, page)
                except Wrong as error:
                    found.append(f"{' '.join(one.words)}: {error}")
        except NotRead as error:
            found.append(f"not understood: {error}")
        return found

    def check(self, words, page):
        if not words:
            return
        name, *rest = words
        self.used.add(name)
        if re.match(r"build/[\w-]+/bin/|\$PWD/build/[\w-]+/bin/", name):
            preset, _, name = name.removeprefix("$PWD/").split("/")[1:]
            self.in_presets("configure", preset)
        if name == "kubectl":
            self.check_kubectl(rest, page)
        elif name in ("kubectl-hostdev", "hostdev-agent", "hostdev-controller"):
            self.check_program(name, rest)
        elif name.startswith("hack/"):
            self.check_script(name, rest, page)
        elif name == "tests/bench/run":
            self.check_bench(rest)
        elif name in ("cmake", "ctest"):
            getattr(self, f"check_{name}")(rest)
        elif name == "jq":
            filters = [word for word in rest if not word.startswith("-")]
            answer = subprocess.run(["jq", *filters], input="", capture_output=True, text=True)
            if answer.returncode:
                raise Wrong(answer.stderr)
        elif name == "man":
            page.needs(rest[-1])
        elif name == "ssh":  # [-L FORWARDING] HOST COMMAND
            self.check(rest[3:] if rest[0] == "-L" else rest[1:], page)
        elif name in SHELL:
            self.check_shell(name, rest, page)
        elif name not in OTHERS:
            raise Wrong(f"nobody knows the program {name!r}: see OTHERS in {os.path.basename(__file__)}")
        elif not re.fullmatch(OTHERS[name], " ".join(rest)):
            raise Wrong(f"these are not the words that OTHERS in {os.path.basename(__file__)} has for {name}")
        else:
            self.check_files(rest, page)

    def check_files(self, words, page):
        """Words that look like files of this tree are."""
        for word in words:
            path = word.removeprefix("oci-archive:")
            if program_file := re.fullmatch(r"build/([\w-]+)/bin/([\w-]+)", path):
                self.in_presets("configure", program_file[1])
                self.built(program_file[2])
            elif path.startswith("build/"):
                if path not in MADE:
                    raise Wrong(f"nothing makes {path!r}")
            elif re.match(r"(hack|manifests|docs|crds|tests)/", path):
                page.needs(path)

    def check_shell(self, name, words, page):
        if name == "mkdir":
            page.files |= {os.path.normpath(word) for word in words if not word.startswith("-")}
        elif name == "export":
            for word in words:
                for path in re.findall(r"\$PWD/([^:]+)", word):
                    self.check_files([path], page)

    def built(self, name):
        try:
            program(name)
        except AssertionError:
            raise Wrong(f"there is no program {name!r}") from None

    def in_presets(self, kind, name):
        if name not in self.presets[kind]:
            raise Wrong(f"CMakePresets.json has no {kind} preset {name!r}")

    def check_kubectl(self, words, page):
        if words[:1] == ["hostdev"]:
            self.check_program("kubectl-hostdev", words[1:])
        elif words[:1] == ["krew"]:
            if words[1:] != KREW:
                raise Wrong("these are not the words of KREW")
        elif words:
            self.check(self.kubectl.check(words, page), page)

    def check_program(self, name, words):
        """One of ours: verbs and flags are those of its help."""
        self.built(name)
        verbs = [word for word in words if not word.startswith("-") and word != "COMMAND"][:1]
        if name == "kubectl-hostdev" and verbs:
            if not re.search(rf"^  {verbs[0]} ", help_of(program(name)), re.MULTILINE) \
                    and verbs[0] not in ("__complete", "options"):
                raise Wrong(f"kubectl hostdev has no verb {verbs[0]!r}")
        elif name != "kubectl-hostdev" and words and not words[0].startswith("-") and not re.search(
                rf"^       {name} {words[0]}\b", help_of(program(name)), re.MULTILINE):
            raise Wrong(f"{name} has no verb {words[0]!r}")
        elif name != "kubectl-hostdev":
            verbs = [word for word in words[:1] if not word.startswith("-")]
        if verbs == ["__complete"]:
            return
        text = help_of(program(name), *verbs)
        if name == "kubectl-hostdev":
            text += help_of(program(name), "options")
        rest = self.check_flags(text, words, r"^ {7}(?:(-\w), )?(--[\w-]+)(?:\[=\w+\])?(?: (\S+))?$")
        if verbs == ["why"] and rest[1:2] == ["pod"] and len(rest) == 3 and "/" in rest[2]:
            return
        for word in rest[len(verbs):] if name == "kubectl-hostdev" and verbs else []:
            choice = re.search(r"^       kubectl hostdev \w+ ([a-z|]+)$", text, re.MULTILINE)
            if word not in choice[1].split("|") if choice else not DEVICE.fullmatch(word.split("$(")[0] or "A") \
                    and not re.fullmatch(r"node\d|vm1|NODE|[\da-f:.]+|[a-z|]+\|[a-z|]+", word):
                raise Wrong(f"{word!r} is no device")

    def check_flags(self, text, words, pattern):
        """Flags are in the help, and values there where it has them; the other words."""
        known = {}
        for short, name, value in re.findall(pattern, text, re.MULTILINE):
            known[name] = value
            if short:
                known[short] = value
        rest, words = [], list(words)
        while words:
            word = words.pop(0)
            if not word.startswith("-"):
                rest.append(word)
                continue
            name, equals, value = word.partition("=")
            if name in ("--help", "-h", "--version"):
                continue
            if name not in known:
                raise Wrong(f"there is no flag {name!r}")
            if known[name] and not equals and known[name] != "BOOL":
                if not words:
                    raise Wrong(f"{name} wants a value")
                value = words.pop(0)
            choices = re.search(r"One\s+of:\s+([^.]*)\.", self.paragraph(text, name))
            taken = re.split(r",\s+", choices[1]) if choices else []
            if taken and value and value not in taken and value.partition("=")[0] + "=" not in taken:
                raise Wrong(f"{name} does not take {value!r}")
        return rest

    @staticmethod
    def paragraph(text, flag):
        """What the help says of a flag."""
        found = re.search(rf"^ {{7}}(?:-\w, )?{flag}\b.*\n((?: {{14}}.*\n)+)", text, re.MULTILINE)
        return found[1] if found else ""

    def check_script(self, name, words, page):
        """A script of hack/, whose help is free text."""
        if not os.access(ROOT / name, os.X_OK):
            raise Wrong(f"there is no script {name!r}")
        if words[:2] == ["exec", "--"]:
            return self.check(words[2:], page)
        if not words:
            return None
        text = help_of(ROOT / name)
        verb = words[0] if not words[0].startswith("-") else None
        if verb and not re.search(rf"^ +{name} .*\b{verb}\b|^  {verb} |`{name} {verb}\b|{name} (\w+\|)*{verb}\b", text,
                                  re.MULTILINE):
            raise Wrong(f"{name} has no {verb!r}")
        synopsis = text
        if verb and name == "hack/vm":
            synopsis = "\n".join(line for line in re.findall(r"^    hack/vm [^\n]*(?:\n {10,}[^\n]*)*", text, re.MULTILINE)
                                 if re.match(rf"    hack/vm (.* )?{verb}\b", line))
            if verb == "plug" and f"plug {words[1]}" not in synopsis:
                raise Wrong(f"{name} plugs no {words[1]!r}")
        if name in ("hack/packages", "hack/test"):
            for word in words[name == "hack/packages":]:
                if not word.startswith("-") and not re.search(rf"^  {word} ", text, re.MULTILINE):
                    raise Wrong(f"{name} does not know {word!r}")
        for flag, value in zip(words, words[1:]):
            if flag in ("--arch", "--format", "--model", "--kernel") and not re.search(rf"{flag}.*\b{value}\b", text):
                raise Wrong(f"{flag} does not take {value!r}")
        for word in words:
            if word.startswith("--") and not re.search(rf"(?<![\w-]){word.split('=')[0]}(?![\w-])", synopsis + "--name --help"):
                raise Wrong(f"{name} has no flag {word!r}")
        if "--programs" in words:
            folder = re.fullmatch(r"build/([\w-]+)/bin", words[words.index("--programs") + 1])
            if not folder:
                raise Wrong("--programs wants build/PRESET/bin")
            self.in_presets("configure", folder[1])
        return None

    def check_bench(self, words):
        text = help_of(ROOT / "tests/bench/run")
        names = re.search(r"Names: ([^.]*)\.", text)[1]
        rest = self.check_flags(text, words, r"^  (?:(-\w), )?(--[\w-]+)(?: ([A-Z]+))?")
        for word in rest:
            if word not in re.findall(r"\w+", names.replace("(default: these)", "")):
                raise Wrong(f"there is no figure {word!r}")

    def check_cmake(self, words):
        if installed := re.fullmatch(r"--install build/(\S+) --component kubectl-hostdev --prefix /usr/local", " ".join(words)):
            self.in_presets("configure", installed[1])
            return
        kind = "build" if words[:1] == ["--build"] else "workflow" if words[:1] == ["--workflow"] else "configure"
        words = words[kind != "configure":]
        if words[:1] != ["--preset"]:
            raise Wrong("--preset is missing")
        self.in_presets(kind, words[1])
        if words[2:3] == ["--target"]:
            for name in words[3:]:
                self.built(name)
        elif words[2:]:
            raise Wrong(f"nobody knows what {words[2:]} is")

    def check_ctest(self, words):
        labels = re.findall(r"LABELS (\w+)", (ROOT / "hack/cmake/modules.cmake").read_text())
        for flag, value in zip(words, words[1:]):
            if flag == "--test-dir":
                self.in_presets("configure", value.removeprefix("build/"))
            elif flag == "--preset":
                self.in_presets("test", value)
            elif flag == "-L" and value not in labels:
                raise Wrong(f"no test has the label {value!r}")
