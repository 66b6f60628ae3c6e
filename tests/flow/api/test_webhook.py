"""The admission webhook on a real API server: its certificate, who trusts it, and what it costs to be without."""

import base64
import concurrent.futures
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import uuid
from pathlib import Path

import pytest
import yaml

from cluster import ROOT, wait_until
from programs import Program, run
from rest import GROUP, Rest

NAMESPACE = "hostdev-system"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/hostdev-webhook-tls"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/hostdev-controller"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
KINDS = {"ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
         "MutatingWebhookConfiguration": "mutatingwebhookconfigurations"}
CLAIMS = f"{GROUP}/pcideviceclaims"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Replica(Program):
    """One replica with the rights of its ServiceAccount, and its webhook on a port of its own."""

    def __init__(self, kubeconfig, folder, port, *flags):
        self.identity = f"controller-{uuid.uuid4().hex[:6]}"
        self.webhook_port = port
        super().__init__("hostdev-controller",
                         ["--kubeconfig", kubeconfig, "--webhook-listen", f"127.0.0.1:{port}", "--webhook-host",
                          "127.0.0.1", *flags], folder, env={"POD_NAME": self.identity})

    def leads(self):
        self.assert_alive()
        return self.metric("hostdev_controller_leader") == 1

    def certificate(self):
        """What it serves, as DER; None while it serves nothing."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with socket.create_connection(("127.0.0.1", self.webhook_port), 5) as raw, \
                    context.wrap_socket(raw) as tls:
                return tls.getpeercert(binary_form=True)
        except (ssl.SSLError, ConnectionError):
            return None


class Site:
    """The Secret and the configurations in the cluster, and the replicas of a test."""

    def __init__(self, rest, kubeconfig, folder):
        self.rest, self.kubeconfig, self.folder = rest, kubeconfig, folder
        self.replicas = []

    def clear(self):
        for kind in KINDS.values():
            self.rest.request("DELETE", f"{HOOKS}/{kind}/hostdev-webhook")
        for path in (SECRET, LEASE):
            self.rest.request("DELETE", path)

    def replica(self, *flags, port=None):
        self.replicas.append(Replica(self.kubeconfig, self.folder, port or free_port(), *flags))
        return self.replicas[-1].start()

    def configure(self, port):
        """The configurations of the manifest, with the way to a process instead of that to a Service."""
        for body in yaml.safe_load_all((ROOT / "manifests/base/webhook.yaml").read_text()):
            if body["kind"] not in KINDS:
                continue
            for hook in body["webhooks"]:
                path = hook["clientConfig"]["service"]["path"]
                hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}"}
            status, answer = self.rest.request("POST", f"{HOOKS}/{KINDS[body['kind']]}", body)
            assert status == 201, answer

    def configurations(self):
        return [self.rest.get(f"{HOOKS}/{kind}/hostdev-webhook") for kind in KINDS.values()]

    def bundles(self):
        """caBundle of every webhook, decoded; each once."""
        return {base64.b64decode(hook["clientConfig"].get("caBundle", "")).decode()
                for configuration in self.configurations() for hook in configuration["webhooks"]}

    def secret(self):
        status, answer = self.rest.request("GET", SECRET)
        return {key: base64.b64decode(value).decode() for key, value in answer.get("data", {}).items()} \
            if status == 200 else {}

    def trusted(self):
        """All configurations trust the CAs of the Secret."""
        return self.secret().get("ca.crt") and self.bundles() == {self.secret()["ca.crt"]}

    def write_secret(self, data):
        body = {"data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}}
        status, answer = self.rest.request("PATCH", SECRET, body, "application/merge-patch+json")
        assert status == 200, answer

    def claim(self, name, rest=None):
        """(status, message) of a claim of a device that is not there; nothing is written."""
        status, answer = (rest or self.rest).request(
            "POST", f"{CLAIMS}?dryRun=All", {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim",
                                             "metadata": {"name": name},
                                             "spec": {"address": "0000:04:00.0", "nodeName": "nowhere"}})
        return status, answer.get("message", "")

    def asked(self):
        """A claim is asked about, and the answer is a rule's."""
        message = self.claim("nowhere-000004000")[1]
        assert "nowhere-000004000" in message or "failed calling webhook" in message, message
        return "denied the request" in message and "nowhere-000004000" in message


@pytest.fixture
def site(identities, rest, tmp_path):
    kubeconfig = identities.kubeconfig("controller", {"token": identities.token("hostdev-controller")})
    site = Site(rest, kubeconfig, tmp_path)
    site.clear()
    yield site
    for replica in site.replicas:
        if replica.process.returncode is None:
            replica.stop()
    site.clear()


@pytest.fixture
def served(site):
    """(site, a leader that is asked about claims)."""
    replica = site.replica()
    site.configure(replica.webhook_port)
    wait_until(site.trusted, 30)
    wait_until(replica.ready, 30)
    wait_until(site.asked, 30)
    return site, replica


def hostile_review(size):
    """A body of that many bytes, which is parsed: an object of 60,000 texts."""
    texts = ["x" * (size // 60000 - 3)] * 60000
    resource = {"group": "devices.harvesterhci.io", "version": "v1beta1", "resource": "pcideviceclaims"}
    return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "1", "resource": resource, "name": "a", "operation": "CREATE", "userInfo": {"username": "eve"},
        "object": {"metadata": {"name": "a"}, "spec": {"texts": texts}}}}, separators=(",", ":"))


def send(port, bodies):
    """The bodies over one connection; the statuses of the answers."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=120, context=context)
    for body in bodies:
        connection.request("POST", "/validate", body)
        answer = connection.getresponse()
        answer.read()
        yield answer.status
    connection.close()


def memory_kib(process):
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"^VmRSS:\s+(\d+)", text, re.MULTILINE)[1])


def text_of(pem):
    return subprocess.run(["openssl", "x509", "-noout", "-text"], input=pem, check=True, capture_output=True,
                          text=True).stdout


def test_claims_are_asked_about_with_a_certificate_of_its_own(served):
    site, replica = served
    status, message = site.claim("nowhere-000004000")
    assert status in (403, 409, 422), message
    assert 'admission webhook "claims.hostdev.io" denied the request' in message
    text = text_of(site.secret()["tls.crt"])
    assert "prime256v1" in text and "ecdsa-with-SHA256" in text and "TLS Web Server Authentication" in text
    assert "DNS:hostdev-webhook.hostdev-system.svc, IP Address:127.0.0.1" in text
    assert "BEGIN PRIVATE KEY" in site.secret()["tls.key"] and set(site.secret()) == {
        "tls.crt", "tls.key", "ca.crt", "ca.key"}
    assert replica.metric("hostdev_webhook_requests_total", 'path="validate"') >= 1
    end = replica.metric("hostdev_webhook_certificate_end_timestamp_seconds")
    assert 89 * 86400 < end - time.time() < 90 * 86400


def test_big_reviews_leave_no_memory_behind(served):
    _, replica = served
    assert list(send(replica.webhook_port, ["{}"] * 3)) == [400] * 3
    before = memory_kib(replica.process)
    bodies = [hostile_review(size) for size in (2_000_000, 2_400_000, 2_900_000)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for statuses in pool.map(lambda _: list(send(replica.webhook_port, bodies * 8)), range(4)):
            assert statuses == [200] * 24
    print(f"RSS {before} KiB, after 96 big reviews {memory_kib(replica.process)} KiB")
    wait_until(lambda: memory_kib(replica.process) - before < 4096, 10)  # given back once the answer is sent


def test_silent_connections_of_two_pods_keep_no_api_server_out(served, crds):
    """One without a handshake has ten seconds, and the oldest goes as soon as there is one too many."""
    site, replica = served
    with Asker(site, crds.kubeconfig) as asker:
        wait_until(lambda: asker.asked > 5, 30)
        began, count = time.monotonic(), asker.asked
        silent = [socket.create_connection(("127.0.0.1", replica.webhook_port), 60, (f"127.0.1.{pod}", 0))
                  for pod in (1, 2) for _ in range(100)]
        assert replica.certificate() and time.monotonic() - began < 10, "another handshake, before the time of these is over"
        wait_until(lambda: asker.asked > count + 20, 30)
        for s in silent:
            s.settimeout(120)
            while s.recv(100):  # an alert, and then the end
                pass
        assert time.monotonic() - began < 60, "they do not have the two minutes of a connection that is idle"
    assert asker.failed == []
    for s in silent:
        s.close()


CLIENTS = """
set -e
printf 'extendedKeyUsage=clientAuth\n' >client
for ca in ours theirs; do
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout $ca.key -subj /CN=$ca -days 2 -out $ca.crt
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout by-$ca.key -subj /CN=api -out by-$ca.csr
	openssl x509 -req -in by-$ca.csr -CA $ca.crt -CAkey $ca.key -CAcreateserial -extfile client -days 1 -out by-$ca.crt
done
"""


def test_only_who_has_a_certificate_is_answered_where_that_is_asked_for(site, tmp_path):
    subprocess.run(["bash", "-c", CLIENTS], cwd=tmp_path, check=True, capture_output=True)
    replica = site.replica("--webhook-client-ca", tmp_path / "ours.crt")
    wait_until(replica.ready, 30)

    def status(name):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if name:
            context.load_cert_chain(tmp_path / f"{name}.crt", tmp_path / f"{name}.key")
        connection = http.client.HTTPSConnection("127.0.0.1", replica.webhook_port, timeout=60, context=context)
        connection.request("POST", "/validate", "{}")
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    assert status("by-ours")[0] == 400, "it is answered: this is no review"
    for stranger in (None, "by-theirs"):
        assert status(stranger) == (403, "only API servers with a client certificate of --webhook-client-ca get an answer\n")


def test_until_there_is_a_certificate_a_replica_is_not_ready(site):
    replica = site.replica()
    wait_until(replica.ready, 30)
    assert "[+]webhook ok" in replica.get("/readyz?verbose")[1]
    assert site.secret()["tls.crt"]


def test_both_replicas_serve_the_same_certificate(served):
    site, leader = served
    other = site.replica()
    wait_until(other.ready, 30)
    assert not other.leads()
    assert other.certificate() == leader.certificate() is not None


def test_what_others_wrote_into_the_configurations_stays(served):
    site, _ = served
    for kind, plural in KINDS.items():
        before = site.rest.get(f"{HOOKS}/{plural}/hostdev-webhook")
        patch = [{"op": "add", "path": "/metadata/labels/mine", "value": "yes"},
                 {"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 7},
                 {"op": "replace", "path": "/webhooks/0/clientConfig/caBundle",
                  "value": base64.b64encode(site.secret()["ca.crt"].encode() * 2).decode()}]
        status, answer = site.rest.request("PATCH", f"{HOOKS}/{plural}/hostdev-webhook", patch,
                                           "application/json-patch+json")
        assert status == 200, answer
        wait_until(site.trusted, 20)
        after = site.rest.get(f"{HOOKS}/{plural}/hostdev-webhook")
        assert after["metadata"]["labels"] == before["metadata"]["labels"] | {"mine": "yes"}, kind
        before["webhooks"][0]["timeoutSeconds"] = 7
        assert after["webhooks"] == before["webhooks"], kind


def test_at_rest_nothing_is_written(served, crds):
    site, replica = served
    wait_until(site.asked, 20)
    version = [c["metadata"]["resourceVersion"] for c in site.configurations()]
    wait_until(lambda: replica.metric("hostdev_queue_waiting") == 0, 20)
    written = replica.metric("hostdev_api_requests_total", 'resource="secrets"', 'verb="patch"')
    site.replica()
    wait_until(site.replicas[-1].ready, 30)
    assert replica.metric("hostdev_api_requests_total", 'resource="secrets"', 'verb="patch"') == written == 1
    assert [c["metadata"]["resourceVersion"] for c in site.configurations()] == version


class Asker:
    """Asks about claims all the time, over a connection of its own."""

    def __init__(self, site, kubeconfig):
        self.site, self.rest, self.failed, self.asked = site, Rest(kubeconfig), [], 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.ask)

    def ask(self):
        while not self.stop.is_set():
            status, message = self.site.claim("nowhere-000004000", self.rest)
            self.asked += 1
            if "denied the request" not in message:
                self.failed.append((status, message))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


SCRIPT = """
set -e
cat >conf <<'END'
[ca]
default_ca=it
[it]
database=index
new_certs_dir=.
rand_serial=yes
default_md=sha256
policy=any
[any]
commonName=supplied
[authority]
basicConstraints=critical,CA:TRUE
[server]
subjectAltName=DNS:hostdev-webhook.hostdev-system.svc,IP:127.0.0.1
extendedKeyUsage=serverAuth
END
>index
stamp() { date -u -d "$1 days" +%Y%m%d%H%M%SZ; }
request() { openssl ecparam -name prime256v1 -genkey -noout -out $1.key; openssl req -new -key $1.key -subj /CN=$1 -out $1.csr; }
sign() { # NAME SECTION DAYS-AGO LIFE OPTION...
	openssl ca -batch -config conf -keyfile ca.key -in $1.csr -extensions $2 -notext -out $1.crt \
		-startdate $(stamp -$3) -enddate $(stamp $(($4 - $3))) "${@:5}"
}
[ -e ca.crt ] || { request ca; sign ca authority $CA_DAYS 365 -selfsign; }
request tls
sign tls server $SERVING_DAYS 90 -cert ca.crt
"""


def aged(site, serving_days, ca_days=None):
    """The Secret's content as if made so many days ago; without ca_days, by the CA that the Secret has."""
    folder = site.folder / uuid.uuid4().hex
    folder.mkdir()
    if ca_days is None:
        for name in ("ca.crt", "ca.key"):
            (folder / name).write_text(site.secret()[name])
    subprocess.run(["bash", "-c", SCRIPT], cwd=folder, check=True, capture_output=True,
                   env=os.environ | {"CA_DAYS": str(ca_days), "SERVING_DAYS": str(serving_days)})
    return {name: (folder / name).read_text() for name in ("ca.crt", "ca.key", "tls.crt", "tls.key")}


def der(pem):
    return ssl.PEM_cert_to_DER_cert(pem)


def test_an_old_certificate_is_renewed_while_requests_go_on(served, crds):
    site, replica = served
    site.write_secret(aged(site, ca_days=100, serving_days=59))
    wait_until(site.trusted, 20)
    wait_until(site.asked, 20)
    ca = site.secret()["ca.crt"]
    old = replica.certificate()
    soon = aged(site, serving_days=61)
    with Asker(site, crds.kubeconfig) as asker:
        wait_until(lambda: asker.asked > 20, 30)
        site.write_secret(soon)
        wait_until(lambda: replica.certificate() not in (old, der(soon["tls.crt"])), 20)
        count = asker.asked
        wait_until(lambda: asker.asked > count + 50, 30)
    assert asker.failed == []
    assert site.secret()["ca.crt"] == ca, "the CA has time yet"


def test_an_old_ca_is_joined_by_a_new_one_first(served):
    site, replica = served
    data = aged(site, ca_days=300, serving_days=10)
    site.write_secret(data)
    wait_until(lambda: site.secret()["ca.crt"].count("BEGIN CERTIFICATE") == 2, 20)
    wait_until(site.trusted, 20)
    now = site.secret()
    assert now["ca.crt"].endswith(data["ca.crt"]), "the new one in front of the old one"
    assert now["ca.key"] != data["ca.key"]
    assert (now["tls.crt"], now["tls.key"]) == (data["tls.crt"], data["tls.key"]), "the new one signs later"
    assert replica.certificate() == der(data["tls.crt"])
    assert site.asked()


def test_a_secret_that_is_deleted_is_made_anew(served):
    site, replica = served
    old = replica.certificate()
    site.rest.request("DELETE", SECRET)
    wait_until(lambda: replica.certificate() != old, 20)
    wait_until(site.trusted, 20)
    wait_until(site.asked, 20)


def test_what_is_broken_by_hand_is_repaired(served):
    site, replica = served
    old = replica.certificate()
    site.write_secret({"tls.crt": "nonsense", "ca.key": "nonsense"})
    wait_until(lambda: replica.certificate() not in (None, old), 20)
    wait_until(site.trusted, 20)
    wait_until(site.asked, 20)


def test_the_secret_of_cert_manager_is_used_and_never_written(site):
    data = aged(site, ca_days=300, serving_days=80)
    body = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"name": "hostdev-webhook-tls", "annotations": {"cert-manager.io/certificate-name": "x"}},
            "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items() if key != "ca.key"}}
    status, answer = site.rest.request("POST", SECRET.rsplit("/", 1)[0], body)
    assert status == 201, answer
    replica = site.replica()
    site.configure(replica.webhook_port)
    wait_until(site.trusted, 30)
    wait_until(site.asked, 30)
    assert replica.certificate() == der(data["tls.crt"])
    assert site.rest.get(SECRET)["metadata"]["resourceVersion"] == answer["metadata"]["resourceVersion"]


def test_without_its_controller_claims_are_refused_and_machines_are_not_asked_about(served, crds):
    site, replica = served
    replica.kill()
    status, message = site.claim("nowhere-000004000")
    assert status == 500 and 'failed calling webhook "claims.hostdev.io"' in message
    again = site.replica(port=replica.webhook_port)
    wait_until(again.ready, 40)
    wait_until(site.asked, 20)


def test_a_leader_that_was_stopped_makes_nothing_that_another_has_made(served):
    site, leader = served
    other = site.replica()
    wait_until(other.ready, 30)
    leader.signal(signal.SIGSTOP)
    wait_until(other.leads, 40)
    site.rest.request("DELETE", SECRET)
    wait_until(lambda: site.secret().get("tls.crt"), 20)
    made = site.rest.get(SECRET)["metadata"]["resourceVersion"]
    leader.signal(signal.SIGCONT)
    wait_until(lambda: leader.certificate() == other.certificate(), 20)
    wait_until(lambda: not leader.leads(), 20)
    assert site.rest.get(SECRET)["metadata"]["resourceVersion"] == made


def test_other_secrets_are_not_the_controllers(identities, rest):
    """Of Secrets its token may have its own and no other, in no way."""
    controller = Rest(identities.kubeconfig("controller", {"token": identities.token("hostdev-controller")}))
    path = SECRET.rsplit("/", 1)[0]
    apply = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other"}, "data": {}}
    assert controller.request("GET", path)[0] == 403
    assert controller.request("POST", path, apply)[0] == 403
    assert controller.request("PATCH", f"{path}/other?fieldManager=x", apply, "application/apply-patch+yaml")[0] == 403


@pytest.mark.parametrize("flags,text", [
    (["--webhook-listen", "nonsense"], "--webhook-listen: 'nonsense' is not ADDRESS:PORT"),
    (["--webhook-listen", "localhost:9"], "--webhook-listen: 'localhost' is not an IP address"),
])
def test_a_wrong_address_is_one_plain_line(crds, flags, text):
    ended = run("hostdev-controller", "--kubeconfig", crds.kubeconfig, "--listen", "off", *flags)
    assert ended.returncode == 2 and text in ended.stderr and "hostdev-controller: " in ended.stderr
