"""The admission webhook of a controller that runs as a process: the API server is told to ask it by its address."""

import re

import yaml

from cluster import ROOT, wait_until
from programs import Program

MANIFEST = ROOT / "manifests/base/webhook.yaml"
LISTENS = re.compile(r'msg="webhook listening".* port=(\d+)')
CONFIGURATIONS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
NAME = "hostdev-webhook"


class Webhook(Program):
    """A replica that serves, and the configurations of manifests/base with its address instead of a Service."""

    def __init__(self, cluster, identities, folder, *flags):
        self.cluster = cluster
        kubeconfig = identities.kubeconfig("controller", {"token": identities.token("hostdev-controller")})
        super().__init__("hostdev-controller", ["--kubeconfig", kubeconfig, "--webhook-listen", "127.0.0.1:0",
                                                "--webhook-host", "127.0.0.1", *flags], folder, env={"POD_NAME": "gate"})

    def start(self):
        super().start()
        wait_until(lambda: LISTENS.search(self.log()), 10, "the webhook listens")
        self.cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(self.configurations()))
        wait_until(self.trusted, 30, "caBundle is written")
        wait_until(self.ready, 30, "the controller is ready")
        return self

    def configurations(self):
        port = LISTENS.findall(self.log())[-1]
        for one in yaml.safe_load_all(MANIFEST.read_text()):
            if "webhooks" not in one:
                continue
            for webhook in one["webhooks"]:
                path = webhook["clientConfig"]["service"]["path"]
                webhook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}"}
            yield one

    def trusted(self):
        found = [self.cluster.get(kind, NAME) for kind in CONFIGURATIONS]
        return all(webhook["clientConfig"].get("caBundle") for one in found for webhook in one["webhooks"])

    def close(self):
        for kind in CONFIGURATIONS:
            self.cluster.kubectl("delete", kind, NAME, "--ignore-not-found", check=False)
        if self.process and self.process.returncode is None:
            self.stop()
