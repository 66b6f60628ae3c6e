"""Debian's Prometheus and promtool, and the rules of manifests/ in the form that they read."""

import json
import socket
import subprocess
import urllib.parse
import urllib.request

import yaml

from cluster import ROOT, wait_until

COMPONENT = ROOT / "manifests/components/monitoring"
BIN = ROOT / "build/local/bin"


def promtool(*args, **options):
    path = BIN / "promtool"
    assert path.exists(), f"{path} is not there: hack/test api fetches it"
    return subprocess.run([path, *map(str, args)], capture_output=True, text=True, timeout=1200, **options)


def groups():
    """Those of the PrometheusRule."""
    rule = yaml.safe_load((COMPONENT / "rules.yaml").read_text())
    assert (rule["apiVersion"], rule["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    return rule["spec"]["groups"]


def alerts():
    return {rule["alert"]: rule for group in groups() for rule in group["rules"]}


def plain_rules(path):
    """The same rules as a file for Prometheus."""
    path.write_text(yaml.safe_dump({"groups": groups()}))
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    """A server that scrapes addresses, by job, every second."""

    def __init__(self, folder, targets, node):
        self.folder, self.port = folder, free_port()
        folder.mkdir()
        plain_rules(folder / "rules.yaml")
        jobs = [{"job_name": job, "static_configs": [{"targets": [target], "labels": {"node": node}}]}
                for job, target in targets.items()]
        (folder / "prometheus.yaml").write_text(yaml.safe_dump({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(folder / "rules.yaml")], "scrape_configs": jobs}))
        checked = promtool("check", "config", folder / "prometheus.yaml")
        assert checked.returncode == 0, checked.stdout + checked.stderr

    def __enter__(self):
        self.log = open(self.folder / "log", "w")
        self.process = subprocess.Popen(
            [BIN / "prometheus", f"--config.file={self.folder}/prometheus.yaml", f"--storage.tsdb.path={self.folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log, cwd=self.folder)
        try:
            wait_until(self.answers, 60, "Prometheus answers")
        except AssertionError:
            self.__exit__()
            raise AssertionError((self.folder / "log").read_text()[-4000:]) from None
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(120)
        self.log.close()

    def answers(self):
        assert self.process.poll() is None, "it has ended"
        try:
            return self.ask("query", query="1")
        except OSError:
            return None

    def ask(self, path, **parameters):
        """The data of an answer of its API."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            said = json.load(answer)
        assert said["status"] == "success", said
        return said["data"]

    def query(self, expression):
        """[(labels, value)] now."""
        return [(one["metric"], float(one["value"][1])) for one in self.ask("query", query=expression)["result"]]
