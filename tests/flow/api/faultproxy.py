"""tests/fake/faultproxy as a process: the API server, with faults on demand."""

import json
import subprocess
import urllib.error
import urllib.request

import yaml

from cluster import ROOT


def build(folder):
    program = folder / "faultproxy"
    subprocess.run(["go", "build", "-o", program, "."], cwd=ROOT / "tests/fake/faultproxy", check=True)
    return program


class FaultProxy:
    def __init__(self, program, cluster):
        server = yaml.safe_load(cluster.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        self.process = subprocess.Popen([program, "-server", server, "-pki", cluster.folder / "pki"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        at = json.loads(self.process.stdout.readline())
        self.control = at["control"]
        self.server = at["server"]

    def rules(self, rules=None):
        """Sets the rules, if given; answers them with what they have seen and met."""
        data = json.dumps(rules).encode() if rules is not None else None
        request = urllib.request.Request(f"{self.control}/rules", data, method="PUT" if data else "GET")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None

    def stop(self):
        self.process.kill()
        self.process.wait()
