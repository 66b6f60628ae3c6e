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
PAIRS = """
set -e
printf 'extendedKeyUsage=clientAuth\\n' >client
for ca in ours theirs; do
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout $ca.key -subj /CN=$ca -days 2 -out $ca.crt
done
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout api.key -subj /CN=api -out api.csr
openssl x509 -req -in api.csr -CA ours.crt -CAkey ours.key -CAcreateserial -extfile client -days 1 -out api.crt
"""


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


def write_configuration(folder):
    """Its path; the kubeconfig lies beside it instead of in /etc/kubernetes."""
    configuration, user = documented()
    kubeconfig = folder / "webhooks.kubeconfig"
    kubeconfig.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "users": [
        {"name": user, "user": {"client-certificate": str(folder / "api.crt"), "client-key": str(folder / "api.key")}}]}))
    for plugin in configuration["plugins"]:
        assert plugin["configuration"]["kubeConfigFile"] == "/etc/kubernetes/webhooks.kubeconfig"
    path = folder / "admission.yaml"
    # Not by safe_dump: what the page shares between its plugins stays shared.
    path.write_text(yaml.safe_dump(configuration).replace("/etc/kubernetes/webhooks.kubeconfig", str(kubeconfig)))
    return path


@pytest.fixture(scope="module")
def folder():
    made = Path(tempfile.mkdtemp(prefix="hostdev-clients-"))
    subprocess.run(["bash", "-c", PAIRS], cwd=made, check=True, capture_output=True)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def careful(folder):
    """The cluster, with what hostdev installs but its pods."""
    try:
        cluster = Cluster.start(folder / "cluster", "--apiserver", "--enable-aggregator-routing", "--apiserver",
                                f"--admission-control-config-file={write_configuration(folder)}")
        cluster.install_kinds("--server-side")
        cluster.kubectl("apply", "--server-side", "-k", ROOT / "manifests/overlays/processes")
        yield cluster
    finally:
        Cluster.stop(folder / "cluster")


@pytest.fixture(params=own_addresses())
def controller(careful, folder, request):
    """controller(CA) -> one that answers whom that CA has signed, behind the Service of manifests/base."""
    identities, address, made = Identities(careful, Rest(careful.kubeconfig), folder), request.param, []
    version = ipaddress.ip_address(address).version

    def start(ca):
        kubeconfig = identities.kubeconfig("controller", {"token": identities.token("hostdev-controller")})
        made.append(Program("hostdev-controller", [
            "--kubeconfig", kubeconfig, "--webhook-listen", f"[{address}]:0" if version == 6 else f"{address}:0",
            "--webhook-client-ca", folder / f"{ca}.crt"],
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


def test_an_api_server_with_the_certificate_is_answered(careful, controller):
    controller("ours")
    wait_until(lambda: 'admission webhook "claims.hostdev.io" denied the request' in claim(careful), 20,
               "an answer of the webhook")


PINNED = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pinned", "namespace": NAMESPACE},
          "spec": {"nodeName": "clients-1", "serviceAccountName": "hostdev-agent", "automountServiceAccountToken": False,
                   "containers": [{"name": "main", "image": "i", "resources": {"limits": {"clients.test/nic": "1"}}}]}}


def test_what_it_asks_is_told_as_verified(careful, controller):
    """In the audit trail, and as an event of the pod that it is about (docs/webhook.md)."""
    told, rest = controller("ours"), Rest(careful.kubeconfig)
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


def test_one_without_it_is_not(careful, controller):
    """The same API server and a controller that wants certificates of another CA: so the first one was what counted."""
    controller("theirs")
    wait_until(lambda: "failed calling webhook" in claim(careful) and "only API servers with a client certificate" in claim(careful),
               20, "the refusal")
