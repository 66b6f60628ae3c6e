"""An agent and a controller with all that they can tell in metrics, and what they tell."""

import re

from cluster import wait_until

HELP = re.compile(r"^# HELP (\w+) (.+)$")
TYPE = re.compile(r"^# TYPE (\w+) (\w+)$")
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
SUFFIX = re.compile(r"_(bucket|sum|count)$")
RESOURCE = "example.com/kvm"


class Exposition:
    """A scrape: of each family its help, its type, its labels and its samples."""

    def __init__(self, text):
        self.text = text
        self.help, self.type, self.labels, self.samples = {}, {}, {}, {}
        for line in text.splitlines():
            self.take(line)

    def take(self, line):
        if found := HELP.match(line):
            assert found[1] not in self.help, f"{found[1]} comes twice"
            self.help[found[1]] = found[2]
        elif found := TYPE.match(line):
            self.type[found[1]] = found[2]
        else:
            found = SAMPLE.match(line)
            assert found, f"no sample: {line}"
            self.add(found[1], dict(LABEL.findall(found[2] or "")), float(found[3]))

    def add(self, name, labels, value):
        family = SUFFIX.sub("", name)
        family = family if self.type.get(family) == "histogram" else name
        self.samples.setdefault(name, []).append((labels, value))
        self.labels.setdefault(family, set()).update(labels.keys() - {"le"})

    def value(self, name, **labels):
        """The sum of the samples with these labels."""
        return sum(value for have, value in self.samples.get(name, []) if labels.items() <= have.items())


class Monitored:
    """Both programs, ready, with one resource offered to a kubelet."""

    def __init__(self, agent, controller, kubelet):
        self.agent, self.controller, self.kubelet = agent, controller, kubelet
        wait_until(agent.ready, 30, "the agent is ready")
        wait_until(controller.ready, 30, "the controller is ready")
        wait_until(lambda: self.scrape("agent").value("hostdev_plugin_devices", resource=RESOURCE) > 0, 30,
                   "a resource is offered")
        wait_until(lambda: self.scrape("controller").value("hostdev_leader") == 1, 30, "the controller leads")
        wait_until(lambda: self.scrape("controller").value("hostdev_webhook_certificate_end_timestamp_seconds"), 30,
                   "there is a certificate")

    def allocate(self):
        """A container gets one of the devices."""
        device = next(iter(self.kubelet.devices(RESOURCE)))
        assert len(self.kubelet.allocate(RESOURCE, [device])) == 1

    def programs(self):
        return {"agent": self.agent, "controller": self.controller}

    def scrape(self, name):
        status, text = self.programs()[name].get("/metrics")
        assert status == 200
        return Exposition(text)
