"""kubectl commands of documents, held against kubectl's own help, the API server's kinds and what manifests/ installs."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

from cluster import ROOT

FLAG = re.compile(r"^    (?:-(\w), )?--([\w-]+)=(.*):$", re.MULTILINE)
USAGE = re.compile(r"^Usage:\n  kubectl (.*)$", re.MULTILINE)
PLACEHOLDER = re.compile(r"[A-Z][A-Z-]*|\$\S+")  # NODE, NAME, $node
DEVICE = re.compile(r"(vm1|node[12]|NODE)-[\w-]+|(vm1|node[12])/[\w:.-]+|DEVICE|NAME|A|B|\$\S+")
OURS = ("devices.harvesterhci.io", "hostdev.io")
OPTIONAL = {"dry-run", "validate", "cascade"}  # strings that need no value
BY_KIND = {"get", "delete", "patch", "describe", "wait", "label", "annotate", "edit"}
BY_NAME = {"logs", "exec", "rollout status", "rollout undo", "rollout restart", "rollout history"}  # a pod, or TYPE/NAME
VALUES = {"dry-run": "server|client|none|", "type": "json|merge|strategic", "field-selector": "reason=UnexpectedAdmissionError",
          "for": r"condition=(Ready|Accepted|Established|Configured)|jsonpath=.+|\w+/\S+|delete"}
OUTPUTS = r"json|yaml|wide|name|jsonpath=.+|custom-columns=.+"

OTHERS = {  # of whom
    ("Namespace", "default"): "Kubernetes",
    ("Namespace", "kube-system"): "Kubernetes",
    ("ConfigMap", "hami-scheduler-device"): "HAMi",
    ("Namespace", "harvester-system"): "Harvester",
    ("DaemonSet", "harvester-pcidevices-controller"): "Harvester",
    ("ValidatingWebhookConfiguration", "pcidevices-validator"): "Harvester",
    ("MutatingWebhookConfiguration", "pcidevices-mutator"): "Harvester",
    ("Node", "vm1"): "hack/up",
    ("VirtualMachine", "box"): "hack/kubevirt vm",
    ("Node", "node1"): "examples",
    ("Node", "node2"): "examples",
}
OTHERS_LABELS = {
    ("sriovgpu.harvesterhci.io/driver-needed", "true"),  # which the DaemonSet of NVIDIA's driver asks for on Harvester
    ("vmi.kubevirt.io/id", "box"),  # of KubeVirt's pods
}
OTHERS_KINDS = {  # that are on no API server of the tests
    **dict.fromkeys(["virtualmachine", "virtualmachines", "vm"], "VirtualMachine"),
    **dict.fromkeys(["virtualmachineinstances", "virtualmachineinstances.kubevirt.io", "vmi"], "VirtualMachineInstance"),
    "kubevirt": "KubeVirt",
    "KIND": "KIND",
}


class Wrong(Exception):
    """What a reader would stumble over."""


@dataclass
class Kind:
    name: str
    ours: bool = False


class Kubectl:
    def __init__(self, cluster):
        self.program, self.helps = cluster._kubectl, {}
        self.kinds = {alias: Kind(name) for alias, name in OTHERS_KINDS.items()}
        for line in cluster.kubectl("api-resources", "--no-headers").stdout.splitlines():
            words = line.split()
            version = next(i for i, word in enumerate(words) if re.fullmatch(r"([\w.-]+/)?v\d\w*", word))
            group = words[version].rpartition("/")[0]
            kind = Kind(words[version + 2], group in OURS)
            aliases = {words[0], kind.name.lower()} | (set(words[1].split(",")) if version == 2 else set())
            for alias in aliases | {f"{alias}.{group}" for alias in aliases if group}:
                self.kinds.setdefault(alias, kind)
        assert cluster.kubectl("api-resources", "--categories=hostdev", "--no-headers").stdout
        self.kinds["hostdev"] = Kind("PCIDevice", True)  # and all the others: it is a category
        self.objects, self.labels, self.containers = set(OTHERS), {"nodename"}, set()
        self.set_labels, self.rights = set(OTHERS_LABELS), set()
        for text in self.manifests():
            for obj in filter(None, yaml.safe_load_all(text)):
                self.take(obj)
        self.labels |= {key for key, _ in self.set_labels}
        self.labels |= set(re.findall(r'_(?:LABEL|ANNOTATION)_\w+ +"([^"]+)"', (ROOT / "lib/api/names.h").read_text()))
        self.labels |= set(re.findall(r'#define HAMI_\w+ +"(hami\.io/[^"]+)"', (ROOT / "agent/hami/hami_register.h").read_text()))

    def manifests(self):
        for folder in (ROOT / "manifests/base", *(ROOT / "manifests/overlays").iterdir()):
            yield self.run("kustomize", folder).stdout
        for file in (*(ROOT / "manifests/examples").iterdir(), *(ROOT / "crds").iterdir()):
            yield file.read_text()

    def take(self, obj):
        self.objects.add((obj["kind"], obj["metadata"]["name"]))
        self.set_labels |= set(obj["metadata"].get("labels", {}).items())
        for rule in obj.get("rules", []):  # what the programs make themselves
            for resource in rule.get("resources", []):
                self.rights |= set(rule["verbs"])
                if resource in self.kinds:
                    self.objects |= {(self.kinds[resource].name, name) for name in rule.get("resourceNames", [])}
        spec = obj["spec"].get("template", {}).get("spec", {}) if obj["kind"] in ("DaemonSet", "Deployment") else {}
        self.containers |= {(obj["metadata"]["name"], one["name"]) for one in spec.get("containers", [])}
        for rule in obj.get("spec", {}).get("ingress", []) if obj["kind"] == "NetworkPolicy" else []:
            for peer in rule.get("from", []):
                self.set_labels |= set(peer.get("namespaceSelector", {}).get("matchLabels", {}).items())

    def run(self, *words):
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, timeout=60)

    def help(self, *verb):
        if verb not in self.helps:
            self.helps[verb] = self.run(*verb, *(["--help"] if verb != ("options",) else [])).stdout
        return self.helps[verb]

    def flags(self, verb):
        """Whether each one, short or long, takes a value."""
        found = {"help": False, "h": False}
        for short, name, default in FLAG.findall(self.help(*verb) + self.help("options")):
            found[name] = default not in ("true", "false") and name not in OPTIONAL
            if short:
                found[short] = found[name]
        return found

    def verb(self, words):
        """That of the command, of one word or two."""
        verb = self._verb_word(words, 0)
        if not re.search(rf"^  {verb} ", self.help(), re.MULTILINE):
            raise Wrong(f"kubectl has no verb {verb!r}")
        usage = USAGE.search(self.help(verb))
        commands = re.search(r"^Available Commands:\n((?:  .*\n)+)", self.help(verb), re.MULTILINE)
        second = self._verb_word(words, 1) if commands else None
        if second is None or not second:
            return (verb,)
        if not re.search(rf"^  {second} ", commands[1], re.MULTILINE):
            raise Wrong(f"kubectl {verb} has no verb {second!r}: {usage[1]}")
        return verb, second

    def _verb_word(self, words, number):
        """A word of the verb is behind flags that every command has."""
        taken, at, globals_ = 0, 0, self.flags(())
        while at < len(words):
            word = words[at]
            if word.startswith("-") and word != "-":
                at += 1 + (globals_.get(word.lstrip("-"), taken > 0 and word in ("-f", "-k")) is True)
                continue
            if taken == number:
                return word
            taken, at = taken + 1, at + 1
        return ""

    def parse(self, verb, words):
        """(flags, positional words, words behind --)."""
        known, flags, rest, behind = self.flags(verb), {}, [], []
        words = list(words)
        while words:
            word = words.pop(0)
            if word == "--":
                behind = words
                break
            if not word.startswith("-") or word == "-":
                rest.append(word)
                continue
            name, equals, value = word.lstrip("-").partition("=")
            if not word.startswith("--") and name not in known and name[:1] in known:  # -oyaml, -it
                name, value, equals = name[0], name[1:], "="
            if name not in known:
                raise Wrong(f"kubectl {' '.join(verb)} has no flag {word.partition('=')[0]}")
            if known[name] and not equals:
                if not words:
                    raise Wrong(f"{word} wants a value")
                value = words.pop(0)
            flags.setdefault(name, []).append(value)
        if rest[:len(verb)] != list(verb):
            raise Wrong(f"{' '.join(verb)} is not at the beginning")
        return flags, rest[len(verb):], behind

    def check(self, words, page):
        """Raises Wrong; gives back the words of a command that is to be run elsewhere, in a pod."""
        verb = self.verb(words)
        flags, rest, behind = self.parse(verb, words)
        for name, values in flags.items():
            for value in values:
                self.check_flag(name, value, page)
        what = " ".join(verb)
        if what in BY_KIND:
            self.check_objects(rest, page)
        elif what in BY_NAME:
            self.check_target(rest, page)
        elif what == "explain":
            self.kind(rest[0].split(".")[0])
        elif what == "set image":
            self.check_target(rest[:1], page)
            for pair in rest[1:]:
                if (rest[0].split("/")[-1], pair.split("=")[0]) not in self.containers:
                    raise Wrong(f"{rest[0]} has no container {pair.split('=')[0]!r}")
        elif what == "create token":
            self.check_name("ServiceAccount", rest[0], page)
        elif what == "auth can-i":
            if rest[0] not in self.rights:
                raise Wrong(f"no role has the verb {rest[0]!r}")
            self.check_objects(rest[1:], page)
        elif what == "kustomize":
            page.needs(Path(rest[0]) / "kustomization.yaml")
        elif rest and not what.startswith("create") and what != "plugin list":  # what is made has any name
            raise Wrong(f"nobody knows what the words of kubectl {what} are: {rest}")
        return behind

    def kind(self, word):
        if word not in self.kinds and word.lower() not in self.kinds:
            raise Wrong(f"there is no kind {word!r}")
        return self.kinds.get(word) or self.kinds[word.lower()]

    def check_objects(self, words, page):
        """KINDS NAME..., or KIND/NAME...; behind them what `label` sets."""
        if not words or words[0].startswith("$"):
            return
        if "/" in words[0]:
            for word in words:
                if "=" in word:
                    self.check_labels(word)
                else:
                    self.check_target([word], page)
            return
        kinds = [self.kind(word) for word in words[0].split(",")]
        for word in words[1:]:
            if re.search(r"\w=|-$", word):
                self.check_labels(word)
            else:
                for kind in kinds:
                    self.check_name(kind.name, word, page, kind.ours)

    def check_target(self, words, page):
        """TYPE/NAME, TYPE alone, or a pod's name; words that stand for a whole command take any."""
        for word in words:
            kind, slash, name = word.partition("/")
            if slash:
                found = self.kind(kind)
                self.check_name(found.name, name, page, found.ours)
            else:
                self.check_name("Pod", word, page)

    def check_name(self, kind, name, page, ours=False):
        if ours:
            known = DEVICE.fullmatch(name) or kind == "HostDeviceConfig" and name == "default"
        else:
            known = PLACEHOLDER.fullmatch(name) or (kind, name) in self.objects or kind == "Pod" and name in page.pods
        if not known:
            raise Wrong(f"nothing makes a {kind} {name!r}")

    def check_labels(self, text):
        for one in text.split(","):
            key = re.split(r"!?=", one)[0].removesuffix("-")
            value = re.split(r"!?=", one)[-1] if "=" in one else ""
            values = {value for name, value in self.set_labels if name == key}
            if key not in self.labels and not key.startswith("kubernetes.io/"):
                raise Wrong(f"nobody sets or reads the label {key!r}")
            if value and values and value not in values and not PLACEHOLDER.fullmatch(value):
                raise Wrong(f"nobody sets or reads the label {key!r} with {value!r}")
            if key == "nodename" and value and not PLACEHOLDER.fullmatch(value) and ("Node", value) not in OTHERS:
                raise Wrong(f"there is no node {value!r}")

    def check_flag(self, name, value, page):
        if name in ("n", "namespace"):
            self.check_name("Namespace", value, page)
        elif name in ("f", "filename") and value != "-":
            page.needs(value)
        elif name in ("k", "kustomize"):
            page.needs(Path(value) / "kustomization.yaml")
        elif name in ("o", "output") and not re.fullmatch(OUTPUTS, value):
            raise Wrong(f"there is no output {value!r}")
        elif name in VALUES and not re.fullmatch(VALUES[name], value):
            raise Wrong(f"--{name} does not take {value!r}")
        elif name in ("l", "selector"):
            self.check_labels(value)
        elif name == "for" and "/" in value and "=" not in value:
            self.check_target([value], page)
        elif name == "bound-object-name":
            self.check_name("Node", value, page)
        elif name == "bound-object-kind":
            self.kind(value)
