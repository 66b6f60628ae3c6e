"""kubectl hostdev map: who gets an answer of its server, and what of it."""

import json
import os
import socket
import stat
import subprocess
import time
from pathlib import Path

import pytest

from chromium import Chromium
from cluster import wait_until
from map_program import Map
from programs import clean_environment, program


@pytest.fixture(scope="module")
def served(crds):
    made = Map(crds.kubeconfig)
    yield made
    made.stop()


@pytest.fixture
def page(served):
    """The owner's, open."""
    browser = Chromium()
    browser.open(served.address)
    browser.wait("document.getElementById('link').dataset.link === 'live'")
    yield browser
    browser.close()


def test_the_token_is_needed(served):
    token = served.at.path.strip("/")
    assert len(token) == 32
    for path in ("/", "/changes", "/map.js", f"/{token}", f"/{token[:-1]}x/", f"/{token[:-1]}/", f"//{token}/x"):
        status, headers, text = served.request(path=path)
        assert status in (403, 404), path
        assert token not in text
        assert headers["Cache-Control"] == "no-store"
    assert served.request()[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}",
                                  "[::1]:{port}", "127.0.0.1:1"])
def test_another_host_is_refused(served, host):
    assert served.request(host=host.format(port=served.at.port))[0] == 421


def test_localhost_is_a_name_of_it(served):
    assert served.request(host=f"localhost:{served.at.port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"])
def test_only_get_is_answered(served, method):
    status, headers, _ = served.request(method, body=json.dumps({"a": 1}))
    assert status == 405
    assert headers["Allow"] == "GET"


def test_every_answer_has_the_policy(served):
    for path in ("", "map.js", "map.css", "icon.svg", "nothing"):
        _, headers, _ = served.request(path=served.at.path + path)
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert not [name for name in headers if name.lower().startswith("access-control")]


def test_only_loopback_listens(served):
    found = subprocess.run(["ss", "-Hltn", f"sport = :{served.at.port}"], capture_output=True, text=True, check=True)
    assert [line.split()[3] for line in found.stdout.splitlines()] == [f"127.0.0.1:{served.at.port}"]


def test_who_stalls_does_not_keep_the_owner_out(served, page):
    """Connections without the token, half of which have sent half a header."""
    stalled, start = [], time.monotonic()
    try:
        for number in range(100):
            stalled.append(socket.create_connection((served.at.hostname, served.at.port), timeout=60))
            if number % 2:
                stalled[-1].sendall(b"GET /0123456789abcdef/ HTTP/1.1\r\nHost: 127.0.0.1:")
        assert served.request()[0] == 200
        assert time.monotonic() - start < 5, "not only after these were given up"
        connection, answer = served.listen()
        assert answer.status == 200 and answer.readline().startswith(b"retry:")
        connection.close()
        page.run("connect()")
        assert stalled[0].recv(1) == b""  # the oldest has gone
        assert stalled[-1].recv(1) == b""  # and nobody stays
        assert time.monotonic() - start < 30, "as long as who has the token may stay"
        page.wait("document.getElementById('link').dataset.link === 'live'")
    finally:
        for one in stalled:
            one.close()


def test_streams_are_bounded_and_freed(served):
    open_ones = []
    try:
        while len(open_ones) < 40:
            connection, answer = served.listen()
            open_ones.append(connection)
            if answer.status != 200:
                break
            assert answer.getheader("Content-Type") == "text/event-stream"
        assert answer.status == 503
        assert 10 <= len(open_ones) <= 17
    finally:
        for connection in open_ones:
            connection.close()

    def answered():
        connection, answer = served.listen()
        connection.close()
        return answer.status == 200
    wait_until(answered, 15, "a stream once the others are closed")


OPENER = """#!/bin/sh
printf '%s\\n' "$@" >"$0.new"
mv "$0.new" "$0.args"
"""


@pytest.fixture
def opened(crds, tmp_path):
    """opened(folder) -> (the map, what xdg-open gets) with that XDG_RUNTIME_DIR."""
    opener, made = tmp_path / "bin/xdg-open", []
    opener.parent.mkdir()
    opener.write_text(OPENER)
    opener.chmod(0o755)

    def start(folder):
        args = opener.with_name("xdg-open.args")
        made.append(Map(crds.kubeconfig, "--open", env={
            "PATH": f"{opener.parent}:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(folder)}))
        wait_until(args.exists, 20, "xdg-open")
        return made[-1], args.read_text().splitlines()
    yield start
    for one in made:
        if one.process.returncode is None:
            one.stop()


def command_lines(pid):
    """Of a process and its children, as every user of the machine can read them."""
    children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    return "".join(Path(f"/proc/{one}/cmdline").read_text() for one in [pid, *children])


def test_the_browser_gets_the_address_by_a_file_that_is_its_owners(opened, tmp_path):
    folder = tmp_path / "runtime"
    folder.mkdir(0o700)
    shown, [path] = opened(folder)
    file = Path(path)
    assert file.parent == folder and file.suffix == ".html" and stat.S_IMODE(file.stat().st_mode) == 0o600
    token = shown.at.path.strip("/")
    assert token not in path and token not in command_lines(shown.process.pid)
    browser = Chromium()
    try:
        browser.open(file.as_uri())
        browser.wait("location.pathname.endsWith('/') && document.getElementById('link')?.dataset.link === 'live'")
    finally:
        browser.close()
    shown.stop()
    assert not file.exists()


@pytest.mark.parametrize("mode", [None, 0o755, 0o770])
def test_a_folder_that_others_look_into_is_not_used(opened, tmp_path, mode):
    folder = tmp_path / "runtime"
    if mode:
        folder.mkdir()
        folder.chmod(mode)
    _, [path] = opened(folder if mode else "")
    assert Path(path).parent == Path("/tmp") and stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_port_in_use_is_explained(crds, served):
    run = subprocess.run([program("kubectl-hostdev"), "map", "--kubeconfig", crds.kubeconfig, "--port", str(served.at.port)],
                         env=clean_environment(), capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert f"port {served.at.port}" in run.stderr and "in use" in run.stderr
    assert "choose another with --port" in run.stderr and "off" not in run.stderr
