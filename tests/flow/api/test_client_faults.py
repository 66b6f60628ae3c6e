"""The client against a server that misbehaves: every fault ends in one typed outcome, in time.

kube-probe (tests/flow/probe) is the client by hand; tests/fake/apiserver is the server.
"""

import base64
import json
import signal
import subprocess
import time

import pytest

from cluster import ROOT
from kube_probe import (
    CONFLICT, EACCES, EAGAIN, EBADMSG, EEXIST, EINVAL, EIO, EMSGSIZE, ENOENT, EREMOTEIO, ESTALE, ETIMEDOUT, INVALID, RETRY,
    Probe, probe_program)


class Server:
    def __init__(self, program, folder, *flags):
        self.folder = folder
        (folder / "token").write_text("first\n")
        self.process = subprocess.Popen(
            [program, "-dir", folder, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["server"]

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def kubeconfig(self, cluster=None, user=None):
        """A kubeconfig with these settings beyond the server's address."""
        cluster = {"server": self.url, "certificate-authority": "ca.crt"} | (cluster or {})
        cluster = {k: v for k, v in cluster.items() if v is not None}
        path = self.folder / f"kubeconfig-{time.monotonic_ns()}"
        path.write_text(json.dumps({
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user or {}}],
        }))
        return path


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """kube-probe, and the fake server built from source."""
    fake = tmp_path_factory.mktemp("fake") / "apiserver"
    subprocess.run(["go", "build", "-o", fake, "."], cwd=ROOT / "tests/fake/apiserver", check=True)
    return probe_program(), fake


@pytest.fixture
def serve(programs, tmp_path):
    servers = []

    def start(*flags, folder=tmp_path):
        servers.append(Server(programs[1], folder, *flags))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def connect(programs):
    """connect(server, cluster={}, user={}) -> Probe; closes cleanly at the end."""
    probes = []

    def start(server, **settings):
        probes.append(Probe(programs[0], server.kubeconfig(**settings)))
        return probes[-1]

    yield start
    for probe in probes:
        if probe.process.stdin and not probe.process.stdin.closed:
            probe.close()


@pytest.fixture
def server(serve):
    return serve()


@pytest.fixture
def probe(server, connect):
    return connect(server)


OUTCOMES = [
    # path, verb, result, kind, part of the message
    ("/ok", "get", 0, 0, ""),
    ("/status?code=201", "create", 0, 0, ""),
    ("/status?code=400&message=m", "get", EINVAL, INVALID, "get things: 400 bad request: m"),
    ("/status?code=403&message=no+way", "list", EACCES, RETRY, "list things: 403 forbidden: no way"),
    ("/status?code=404&message=gone", "get", ENOENT, INVALID, "404 not found: gone"),
    ("/status?code=409&reason=AlreadyExists", "create", EEXIST, CONFLICT, "409"),
    ("/status?code=409&reason=Conflict", "apply", ESTALE, CONFLICT, "409"),
    ("/status?code=410&reason=Expired", "list", ESTALE, CONFLICT, "410"),
    ("/status?code=422&message=spec.x", "apply", EINVAL, INVALID, "spec.x"),
    ("/status?code=500", "get", EREMOTEIO, RETRY, "500"),
    ("/status?code=503", "get", EREMOTEIO, RETRY, "503"),
    ("/status?code=429", "get", EAGAIN, RETRY, "429"),
    ("/redirect", "get", EIO, RETRY, "302"),
    ("/garbage", "get", 0, 0, ""),
    ("/garbage-502", "get", EREMOTEIO, RETRY, "502 server error: <html>\\xff bad gateway"),
    ("/reset", "get", EIO, RETRY, "https://127.0.0.1"),
    ("/reset?code=401", "create", EACCES, RETRY, "401 unauthorized"),
    ("/reset?code=422", "apply", EINVAL, INVALID, "422"),
    ("/big", "get", EMSGSIZE, INVALID, "larger than 1048576 bytes"),
    ("/big", "list", EMSGSIZE, INVALID, "larger than 16777216 bytes"),
    ("/big?code=500", "get", EREMOTEIO, RETRY, "500"),
    ("/page", "list", 0, 0, ""),
    ("/deep", "get", 0, 0, ""),
    ("/deep?code=403", "get", EACCES, RETRY, "403"),
]


@pytest.mark.parametrize("path,verb,result,kind,message", OUTCOMES)
def test_every_answer_has_one_outcome(probe, path, verb, result, kind, message):
    event = probe.get(path, verb=verb)
    assert (event["result"], event["kind"]) == (result, kind), event["message"]
    assert message in event["message"]
    assert event["peak_rss_kib"] < 80 * 1024
    # What went wrong with one request is no trouble for the next.
    assert probe.get("/ok")["result"] == 0


@pytest.mark.parametrize("query,least,most", [
    ("after=7", 7000, 7000), ("after-date-s=9", 7000, 9000), ("after=soon", 0, 0),
    ("after=-5", 0, 0), ("after=999999", 3600000, 3600000), ("after-date-s=-60", 0, 0)])
def test_retry_after_is_read(probe, query, least, most):
    event = probe.get(f"/status?code=429&{query}")
    assert least <= event["retry_after_ms"] <= most


@pytest.mark.parametrize("path", ["/hang", "/hang-body", "/drip"])
def test_a_request_has_a_time_limit(probe, path):
    event = probe.get(path, timeout_ms=1500)
    assert (event["result"], event["kind"]) == (ETIMEDOUT, RETRY)
    assert "did not answer within 1500 ms" in event["message"]
    assert 1450 <= event["ms"] < 15000, "not only after the 30 s of a request without a limit of its own"
    assert probe.get("/ok")["result"] == 0
    assert probe.counts()["connections"] == 1, "a timeout costs a stream, not the connection"


def test_all_that_goes_out_comes_in(server, connect):
    probe = connect(server, user={"token": "abc", "client-certificate": "client.crt", "client-key": "client.key"})
    seen = json.loads(probe.get("/ok?a=%20b", method="PATCH", body='{"x": "y z"}')["body"])
    assert seen == {
        "method": "PATCH", "proto": "HTTP/2.0", "body": '{"x": "y z"}', "client": "tester",
        "authorization": "Bearer abc", "agent": "kube-probe/1", "type": "application/json",
        "query": "a=%20b", "host": server.url.removeprefix("https://")}


def test_one_connection_carries_everything(probe):
    watches = [probe.watch("/watch?end=hang") for _ in range(5)]
    gets = [probe.send("/ok") for _ in range(50)]
    ended = [probe.event() for _ in range(55)]
    assert {e["call"] for e in ended if e["event"] == "line"} == set(watches)
    assert {e["call"] for e in ended if e["event"] == "done"} == set(gets)
    assert probe.counts()["connections"] == 1
    for watch in watches:
        probe.write("cancel", watch)
        assert probe.event() == {"event": "cancelled", "call": watch}
    assert probe.counts()["connections"] == 1


def test_a_server_with_http1_only_works(serve, connect):
    probe = connect(serve("-http1"))
    watches = [probe.watch("/watch?end=hang") for _ in range(3)]
    assert {probe.event()["call"] for _ in watches} == set(watches)
    assert json.loads(probe.get("/ok")["body"])["proto"] == "HTTP/1.1"
    for watch in watches:
        probe.write("cancel", watch)
        probe.event()
    _, log = probe.close()
    assert log.count("server speaks HTTP/1.1 only") == 1


def test_a_watch_brings_its_lines_and_ends(probe):
    call = probe.watch("/watch?n=1000")
    assert probe.event() == {"event": "line", "call": call}
    end = probe.event()
    assert (end["result"], end["status"], end["lines"]) == (0, 200, 1000)


def test_lines_are_whole_however_they_are_cut(probe):
    probe.watch("/watch-bytes")
    probe.event()
    end = probe.event()
    assert (end["lines"], end["line_bytes"]) == (2, len('{"type":"ADDED"}{"type":"BOOKMARK"}'))


def test_a_broken_watch_is_not_a_normal_end(probe):
    probe.watch("/watch?end=reset")
    probe.event()
    end = probe.event()
    assert (end["result"], end["kind"], end["lines"]) == (EIO, RETRY, 3)


def test_a_line_has_a_size(probe):
    probe.watch("/watch-long-line")
    end = probe.event()
    assert (end["result"], end["kind"]) == (EMSGSIZE, INVALID)
    # 8 MiB of the line, twice while it grows, and the HTTP/2 window of 32 MiB that libcurl opens.
    assert end["peak_rss_kib"] < 96 * 1024


def test_a_refused_watch_quotes_the_status(probe):
    probe.watch("/status?code=410&reason=Expired&message=too+old")
    end = probe.event()
    assert (end["result"], end["lines"]) == (ESTALE, 0)
    assert end["message"] == "watch things: 410 gone: too old"


def test_a_watch_must_begin_in_time_but_may_last(probe):
    probe.watch("/hang", timeout_ms=1000)
    end = probe.event()
    assert end["result"] == ETIMEDOUT and 1000 <= end["ms"] < 15000, "not only after the 30 s of a request"
    long = probe.watch("/watch?n=50&ms=100", timeout_ms=3000)
    assert probe.event() == {"event": "line", "call": long}
    end = probe.event()
    assert (end["result"], end["lines"]) == (0, 50)


@pytest.mark.parametrize("action,events", [("refuse", 1), ("cancel", 1), ("free", 0), ("send", 2)])
def test_a_line_may_do_anything_to_the_client(probe, action, events):
    call = probe.watch("/watch?n=100", action)
    other = probe.watch("/watch?end=hang&n=0")
    assert probe.event() == {"event": "line", "call": call}
    after = [probe.event() for _ in range(events)]
    if action == "refuse":
        assert after[0]["result"] == EBADMSG and "not to my liking" in after[0]["message"]
        assert after[0]["lines"] == 1
    elif action == "cancel":
        assert after == [{"event": "cancelled", "call": call}]
    elif action == "send":
        assert {(e["call"], e["result"]) for e in after} == {(call, 0), (other + 1, 0)}
    probe.write("free")
    rest, _ = probe.close()
    assert rest == []


def test_everything_can_be_given_up_at_any_time(probe):
    for path in ("/hang", "/hang-body", "/drip", "/big", "/watch?ms=1&n=100000"):
        for delay in (0, 0.005, 0.05):
            call = probe.send(path, timeout_ms=60000)
            time.sleep(delay)
            probe.write("cancel", call)
    probe.watch("/watch?end=hang")
    probe.send("/hang")
    time.sleep(0.2)
    probe.write("free")
    probe.close()


def test_401_is_tried_once_more(probe):
    assert probe.get("/401-once")["result"] == 0
    event = probe.get("/status?code=401&message=who")
    assert (event["result"], event["kind"]) == (EACCES, RETRY)
    assert 'hostdev_api_retries_total{reason="unauthorized"} 2' in probe.metrics()
    assert probe.counts()["requests"] == 5


def test_a_rotated_token_is_used_at_once(server, connect):
    probe = connect(server, user={"tokenFile": "token"})
    assert probe.get("/token")["result"] == 0
    for i in range(3):
        new = server.folder / "token.new"
        new.write_text(f"token-{i}")
        new.rename(server.folder / "token")
        assert probe.get("/token")["result"] == 0
    _, log = probe.close()
    assert "token-" not in log and "token reloaded" in log


def test_a_missing_token_file_is_an_error_of_each_call(server, connect):
    probe = connect(server, user={"tokenFile": "nowhere"})
    for _ in range(2):
        event = probe.get("/ok")
        assert (event["result"], event["status"], event["kind"]) == (ENOENT, 0, RETRY)
        assert "nowhere" in event["message"]
    (server.folder / "nowhere").write_text("x")
    assert probe.get("/ok")["result"] == 0


def test_an_unknown_ca_is_refused_and_can_be_replaced(server, connect):
    good = (server.folder / "ca.crt").read_text()
    (server.folder / "ca.crt").write_text((server.folder / "client.crt").read_text())
    probe = connect(server)
    event = probe.get("/ok")
    assert (event["result"], event["kind"]) == (EIO, RETRY)
    assert "certificate" in event["message"]
    (server.folder / "ca.crt").write_text(good)
    time.sleep(1.1)
    assert probe.get("/ok")["result"] == 0


def test_a_new_ca_means_a_new_connection_and_no_lost_watch(server, connect):
    probe = connect(server)
    watch = probe.watch("/watch?end=hang")
    probe.event()
    assert probe.counts()["connections"] == 1
    time.sleep(1.1)
    ca = server.folder / "ca.crt"
    (server.folder / "ca.new").write_text(ca.read_text())
    (server.folder / "ca.new").rename(ca)
    assert probe.counts()["connections"] == 2
    probe.write("cancel", watch)
    assert probe.event() == {"event": "cancelled", "call": watch}
    assert probe.counts()["connections"] == 2


def inline(folder, name):
    return base64.b64encode((folder / name).read_bytes()).decode()


def test_inline_certificates_need_no_files(server, connect):
    probe = connect(
        server,
        cluster={"certificate-authority": None, "certificate-authority-data": inline(server.folder, "ca.crt")},
        user={"client-certificate-data": inline(server.folder, "client.crt"),
              "client-key-data": inline(server.folder, "client.key")})
    for name in ("ca.crt", "client.crt", "client.key"):
        (server.folder / name).unlink()
    assert json.loads(probe.get("/ok")["body"])["client"] == "tester"


def test_the_expected_name_may_be_another(serve, connect):
    server = serve("-name", "kubernetes.default.svc")
    event = connect(server).get("/ok")
    assert event["result"] == EIO
    probe = connect(server, cluster={"tls-server-name": "kubernetes.default.svc"})
    assert probe.get("/ok")["result"] == 0
    careless = connect(server, cluster={"certificate-authority": None, "insecure-skip-tls-verify": True})
    assert careless.get("/ok")["result"] == 0


def test_a_server_that_is_down_is_a_quick_error(server, connect):
    probe = connect(server)
    server.stop()
    event = probe.get("/ok")
    assert (event["result"], event["kind"], event["status"]) == (EIO, RETRY, 0)
    assert event["ms"] < 8000 and server.url in event["message"], "not only after the 10 s that a connection has"


def test_a_server_that_comes_back_is_found(serve, connect):
    server = serve()
    probe = connect(server)
    watch = probe.watch("/watch?end=hang")
    probe.event()
    server.stop()
    end = probe.event()
    assert (end["call"], end["result"]) == (watch, EIO)
    # The new one has new certificates, as after a change of the cluster's CA.
    serve("-port", server.url.rsplit(":", 1)[1])
    time.sleep(1.1)
    assert probe.get("/ok")["result"] == 0


def test_a_stopped_server_is_noticed_and_a_quiet_one_is_left_alone(serve, connect, tmp_path):
    """A stopped server's kernel still answers TCP's probes: only a question shows that nobody is there."""
    (tmp_path / "quiet").mkdir()
    stopped, quiet = serve(), serve("-strict", folder=tmp_path / "quiet")
    probe, other = connect(stopped), connect(quiet, user={"token": "good"})
    watch = probe.watch("/watch?end=hang")
    other.watch("/watch?end=hang")
    assert probe.event()["event"] == other.event()["event"] == "line"
    began = time.monotonic()
    stopped.process.send_signal(signal.SIGSTOP)
    end = probe.event(60)
    assert (end["call"], end["result"]) == (watch, EIO)
    assert "silent" in end["message"]
    assert time.monotonic() - began > 35, "it has 25 s to say something, and 15 s to answer the question"
    stopped.process.send_signal(signal.SIGCONT)
    assert probe.get("/ok")["result"] == 0
    _, log = probe.close()
    assert "connection does not respond" in log

    assert other.counts()["connections"] == 1  # the question has not cost it its connection
    other.write("cancel", 0)
    assert other.event() == {"event": "cancelled", "call": 0}


def test_outcomes_are_counted(probe):
    for path in ("/ok", "/status?code=503", "/reset"):
        probe.get(path)
    probe.get("/hang", timeout_ms=200)
    text = probe.metrics()
    for code, count in (("200", 1), ("503", 1), ("timeout", 1), ("error", 1)):
        assert f'hostdev_api_requests_total{{verb="get",resource="things",code="{code}"}} {count}\n' in text
    assert 'hostdev_api_request_duration_seconds_count{verb="get"} 4\n' in text
