"""/healthz, /readyz and /metrics of a running program, whoever calls."""

import http.client
import json
import signal
import socket
import subprocess
import time

import pytest

from cluster import wait_until
from kube_probe import built


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def controller(tmp_path):
    """(process, (--listen, --probe-listen)) of the controller, with an API server that is not there."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps({
        "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{free_port()}"}}]}))
    ports = free_port(), free_port()
    program = subprocess.Popen(
        [built("hostdev-controller"), "--kubeconfig", kubeconfig, "--listen", f"127.0.0.1:{ports[0]}",
         "--probe-listen", f"127.0.0.1:{ports[1]}"], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: all(socket.socket().connect_ex(("127.0.0.1", port)) == 0 for port in ports),
                   what="the ports are open")
        yield program, ports
        assert program.poll() is None, "it must survive all of this"
    finally:
        program.kill()
        program.wait()


@pytest.fixture
def ports(controller):
    return controller[1]


@pytest.fixture
def port(ports):
    return ports[0]


def ask(port, path, method="GET", body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body=body)
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), answer.headers


@pytest.mark.parametrize("method,path,status,text", [
    ("GET", "/healthz", 200, "ok\n"),
    ("GET", "/healthz?verbose", 200, "ok\n"),
    ("GET", "/readyz", 503, "[-]election failed: "),
    ("GET", "/readyz?verbose=1", 503, "readyz check failed\n"),
    ("HEAD", "/healthz", 200, ""),
    ("POST", "/healthz", 405, "only GET and HEAD"),
    ("GET", "/", 404, "there is /healthz"),
    ("GET", "/../etc/passwd", 404, "there is /healthz"),
])
def test_an_answer_is_short_and_right(port, method, path, status, text):
    got = ask(port, path, method, body="x" * 100000 if method == "POST" else None)
    assert got[0] == status
    assert text in got[1] if text else got[1] == ""


def test_metrics_are_in_prometheus_text_format(port):
    def counted():
        status, text, headers = ask(port, "/metrics")
        assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return text if 'hostdev_api_requests_total{' in text else None

    text = wait_until(counted, what="a request is counted")
    families = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    for line in text.splitlines():
        name = line.split("{")[0].split()[0]
        assert line.startswith("# ") or any(name.startswith(f) for f in families), line
    assert 'code="error"' in text


def test_idle_and_rude_callers_are_bounded(port):
    idle = [socket.create_connection(("127.0.0.1", port), 60, ("127.0.0.2", 0)) for _ in range(60)]
    for s in idle[:8]:
        s.sendall(b"GET /" + b"x" * 1000)
    assert ask(port, "/healthz")[0] == 200, "another caller is answered all the same"
    for s in idle:
        s.close()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        s.sendall(b"\x16\x03\x01\x00" + b"\xff" * 100 + b"\r\n\r\n")
        s.recv(1000)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"y" * 60000 + b"\r\n\r\n")
        assert b" 431 " in s.recv(1000)
    assert ask(port, "/healthz")[0] == 200


SILENT_S, IDLE_S = 2, 10  # that a connection may be silent which has not asked, and one that has


@pytest.mark.parametrize("which", ["all", "probes"])
def test_silent_connections_of_many_pods_do_not_keep_the_kubelet_out(ports, which):
    port = ports[which == "probes"]
    told = [silent_beside_a_question(port)]
    while not (told[-1][0] < SILENT_S and told[-1][1] < IDLE_S):
        assert len(told) < 10, f"seconds until the answer and until the last end, each time: {told}"
        told.append(silent_beside_a_question(port))


def silent_beside_a_question(port):
    """(seconds until it was answered, until the last silent one was ended) since the first silent connection: what is quicker
    than the time that these have is not owed to it. A machine that was busy proves nothing either way."""
    began = time.monotonic()
    silent = [socket.create_connection(("127.0.0.1", port), 60, (f"127.0.1.{pod}", 0)) for pod in range(1, 9)
              for _ in range(40)]
    assert ask(port, "/healthz")[:2] == (200, "ok\n")
    answered = time.monotonic() - began
    for s in silent:  # the oldest at once, the rest after two seconds
        assert s.recv(1) == b""
        s.close()
    return answered, time.monotonic() - began


def test_a_caller_that_asks_is_kept_before_silent_ones(controller):
    """Also when the program is late and finds all of them at once; it has more time, too."""
    program, (port, _) = controller
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    program.send_signal(signal.SIGSTOP)
    connection.request("GET", "/healthz")
    mine = connection.sock
    silent = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(100)]  # the kernel keeps 128
    program.send_signal(signal.SIGCONT)
    assert connection.getresponse().read() == b"ok\n"
    time.sleep(2.5)
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b"ok\n" and connection.sock is mine, "on the same connection"
    for s in [connection, *silent]:
        s.close()


def test_the_port_of_probes_has_no_metrics(ports):
    assert ask(ports[1], "/healthz?verbose")[:2] == (200, "ok\n")
    status, text, _ = ask(ports[1], "/readyz")
    assert status == 503 and "[-]election failed: " in text
    assert ask(ports[1], "/metrics")[:2] == (404, "there is /healthz and /readyz\n")
