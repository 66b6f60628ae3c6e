"""The webhook that answers API servers only: one that is told its client certificate as docs/webhook.md says, and finds
the webhook by its Service. Its own control plane.
"""

import ipaddress
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
import yaml

from cluster import ROOT, Cluster, wait_until
from identities import NAMESPACE, Identities
from programs import Program
from rest import Rest

DOCS = ROOT / "docs/webhook.md"
LISTENS = re.compile(r'msg="webhook listening".* port=(\d+)')
STRANGERS = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout theirs.key -subj /CN=theirs -days 2 -out theirs.crt"


def own_addresses():
    """Those that an Endpoint may have, not loopback's; all tests run with each: one of either family at most."""
    told = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split()
    addresses = [ipaddress.ip_address(one) for one in told]
    usable = {one.version: str(one) for one in addresses if not (one.is_loopback or one.is_link_local)}
    return [usable[version] for version in sorted(usable)]


def test_this_machine_has_an_address_that_an_endpoint_may_have():
    """The tests below would be none without one."""
    assert own_addresses(), "give this machine an address that is neither loopback's nor link-local: `ip -br address`"


def documented():
    """The page's AdmissionConfiguration, and the user that it names."""
    text = DOCS.read_text()
    [block] = re.findall(r"```yaml\n(apiVersion: apiserver.config.*?)```", text, re.DOTALL)
    return yaml.safe_load(block), re.search(r"the user `([^`]+)` has `client-certificate` and `client-key`", text)[1]


def test_the_local_cluster_is_told_as_the_page_says(careful, folder):
    """So that what is seen below is what the page promises."""
    made, (wanted, user) = folder / "cluster/pki/webhooks", documented()
    text = (made / "admission.yaml").read_text()
    assert yaml.safe_load(text.replace(str(made / "kubeconfig"), "/etc/kubernetes/webhooks.kubeconfig")) == wanted
    assert yaml.safe_load((made / "kubeconfig").read_text()) == {"apiVersion": "v1", "kind": "Config", "users": [
        {"name": user, "user": {"client-certificate": str(made / "apiserver.crt"), "client-key": str(made / "apiserver.key")}}]}


@pytest.fixture(scope="module")
def folder():
    made = Path(tempfile.mkdtemp(prefix="hostdev-clients-"))
    subprocess.run(["bash", "-c", STRANGERS], cwd=made, check=True, capture_output=True)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def careful(folder):
    """The cluster, with what hostdev installs but its pods."""
    try:
        cluster = Cluster.start(folder / "cluster", "--apiserver", "--enable-aggregator-routing")
        cluster.install_kinds("--server-side")
        cluster.kubectl("apply", "--server-side", "-k", ROOT / "manifests/overlays/processes")
        yield cluster
    finally:
        Cluster.stop(folder / "cluster")


@pytest.fixture(scope="module")
def ours(careful, folder):
    return folder / "cluster/pki/webhooks/ca.crt"


@pytest.fixture(params=own_addresses())
def controller(careful, folder, request):
    """controller(FILE) -> one that answers whom that CA has signed, behind the Service of manifests/base."""
    identities, address, made = Identities(careful, Rest(careful.kubeconfig), folder), request.param, []
    version = ipaddress.ip_address(address).version

    def start(ca):
        kubeconfig = identities.kubeconfig("controller", {"token": identities.token("hostdev-controller")})
        made.append(Program("hostdev-controller", [
            "--kubeconfig", kubeconfig, "--webhook-listen", f"[{address}]:0" if version == 6 else f"{address}:0",
            "--webhook-client-ca", ca],
            folder, env={"POD_NAME": "gate"}).start())
        port = int(wait_until(lambda: LISTENS.search(made[-1].log()), 20, "the webhook listens")[1])
        objects = list(yaml.safe_load_all((ROOT / "manifests/base/webhook.yaml").read_text()))
        [service] = [o for o in objects if o["kind"] == "Service"]
        del service["spec"]["selector"]
        careful.kubectl("apply", "-f", "-", input=yaml.safe_dump_all([*objects, {
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": f"IPv{version}",
            "metadata": {"name": f"hostdev-webhook-{version}", "namespace": NAMESPACE,
                         "labels": {"kubernetes.io/service-name": "hostdev-webhook"}},
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
            "ports": [{"name": service["spec"]["ports"][0]["name"], "port": port, "protocol": "TCP"}]}]))
        wait_until(lambda: all(webhook["clientConfig"].get("caBundle") for kind in (
            "validatingwebhookconfigurations", "mutatingwebhookconfigurations")
            for webhook in careful.get(kind, "hostdev-webhook")["webhooks"]), 30, "caBundle")
        wait_until(made[-1].ready, 30, "the controller is ready")
        return made[-1]
    yield start
    for one in made:
        one.stop()
    careful.kubectl("-n", NAMESPACE, "delete", "endpointslice", f"hostdev-webhook-{version}", "--ignore-not-found")


def claim(cluster):
    """What the API server says to a claim of a device that there is not."""
    answer = cluster.kubectl("create", "--dry-run=server", "-f", "-", check=False, input={
        "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
        "metadata": {"name": "nowhere-000004000"}})
    assert answer.returncode != 0
    return answer.stderr


def test_an_api_server_with_the_certificate_is_answered(careful, controller, ours):
    controller(ours)
    wait_until(lambda: 'admission webhook "claims.hostdev.io" denied the request' in claim(careful), 20,
               "an answer of the webhook")


PINNED = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pinned", "namespace": NAMESPACE},
          "spec": {"nodeName": "clients-1", "serviceAccountName": "hostdev-agent", "automountServiceAccountToken": False,
                   "containers": [{"name": "main", "image": "i", "resources": {"limits": {"clients.test/nic": "1"}}}]}}


def test_what_it_asks_is_told_as_verified(careful, controller, ours):
    """In the audit trail, and as an event of the pod that it is about (docs/webhook.md)."""
    told, rest = controller(ours), Rest(careful.kubeconfig)
    kind = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice"}
    careful.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "Node", "metadata": {"name": "clients-1"}})
    careful.kubectl("apply", "-f", "-", input={**kind, "metadata": {"name": "clients-1-000001000"}})
    rest.patch("pcidevices", "clients-1-000001000", {"status": {
        "address": "0000:01:00.0", "nodeName": "clients-1", "resourceName": "clients.test/nic"}}, "status")
    try:
        wrong = {**kind, "kind": "PCIDeviceClaim", "metadata": {"name": "clients-1-000001000"},
                 "spec": {"address": "0000:09:00.0"}}
        wait_until(lambda: "denied the request" in careful.kubectl("create", "-f", "-", check=False, input=wrong).stderr,
                   20, "a refusal")
        [line] = told.lines("msg=audit action=claim result=Refused")[-1:]
        assert line.endswith("verified=true"), line
        events = wait_until(lambda: careful.get("events", "-n", "default", "--field-selector",
                                                "involvedObject.name=clients-1-000001000"), 20, "the refusal's event")
        assert [e["reason"] for e in events] == ["ClaimRefused"] and "not verified" not in events[0]["message"]
        wait_until(lambda: "clients-1 does not offer clients.test/nic" in careful.kubectl(
            "create", "--dry-run=server", "-f", "-", input=PINNED, check=False).stderr, 20, "a warning")
        careful.kubectl("create", "-f", "-", input=PINNED)
        uid = careful.get("pod", "pinned", "-n", NAMESPACE)["metadata"]["uid"]
        events = wait_until(lambda: careful.get("events", "-n", NAMESPACE, "--field-selector",
                                                f"involvedObject.uid={uid}"), 20, "an event of the pod")
        assert [(e["type"], e["reason"], e["count"]) for e in events] == [("Warning", "DeviceNotOffered", 1)]
        assert "spec.nodeName skips the scheduler, and node clients-1 does not offer" in events[0]["message"]
    finally:
        careful.kubectl("delete", "pod", "pinned", "-n", NAMESPACE, "--force", "--ignore-not-found", check=False)
        careful.kubectl("delete", "pcidevice", "clients-1-000001000", "--ignore-not-found")
        careful.kubectl("delete", "node", "clients-1", "--ignore-not-found")
        careful.kubectl("delete", "events", "-n", "default", "--field-selector", "involvedObject.name=clients-1-000001000")


def test_one_without_it_is_not(careful, controller, folder):
    """The same API server and a controller that wants certificates of another CA: so the first one was what counted."""
    controller(folder / "theirs.crt")
    wait_until(lambda: "failed calling webhook" in claim(careful) and "only API servers with a client certificate" in claim(careful),
               20, "the refusal")
