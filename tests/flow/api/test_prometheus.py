"""Metrics of a real agent and a real controller: as the docs list them, scraped by a real Prometheus."""

import pytest

from cluster import ROOT
from fake_kubelet import FakeKubelet
from monitored import RESOURCE, Monitored
from webhook import Webhook

CONFIG = "/apis/hostdev.io/v1alpha1/hostdeviceconfigs"


@pytest.fixture
def kubelet():
    made = FakeKubelet()
    yield made
    made.remove()


@pytest.fixture
def controller(installed, identities, tmp_path):
    made = Webhook(installed, identities, tmp_path)
    try:
        yield made.start()
    finally:
        made.close()


@pytest.fixture
def monitored(agents, machine, node, controller, kubelet, rest, tmp_path):
    (tmp_path / "host/dev").mkdir(parents=True)
    (tmp_path / "host/dev/kvm").symlink_to("/dev/null")
    body = {"apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
            "spec": {"genericDevices": [{"resourceName": RESOURCE, "path": "/dev/kvm", "count": 2}]}}
    status, answer = rest.request("POST", CONFIG, body)
    assert status == 201, answer
    try:
        agent = agents(machine, node, flags=[*kubelet.flags, "--host-root", tmp_path / "host", "--dev-root",
                                             tmp_path / "host/dev"]).start()
        yield Monitored(agent, controller, kubelet)
    finally:
        rest.request("DELETE", f"{CONFIG}/default")


def test_dump(monitored):
    for name in monitored.programs():
        (ROOT / f"build/{name}.prom").write_text(monitored.scrape(name).text)
