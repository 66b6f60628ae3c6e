"""The client against a real kube-apiserver."""

import json

import pytest

from kube_probe import CONFLICT, EACCES, EINVAL, ENOENT, ESTALE, INVALID, RETRY, Probe, probe_program

APPLY = "application/apply-patch+yaml"
MAP = "/api/v1/namespaces/default/configmaps/client-real"


@pytest.fixture
def probe(cluster):
    probe = Probe(probe_program(), cluster.kubeconfig)
    yield probe
    probe.close()


@pytest.fixture
def configmap(cluster):
    yield MAP
    cluster.kubectl("delete", "configmap", "client-real", "-n", "default", "--ignore-not-found")


def applied(**data):
    return json.dumps({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "client-real"}, "data": data})


def apply(probe, manager, force="false", **data):
    return probe.get(f"{MAP}?fieldManager={manager}&force={force}", verb="apply", method="PATCH",
                     body=applied(**data), content_type=APPLY)


def test_a_list_comes_in_pages(probe):
    path = "/api/v1/namespaces?limit=1"
    names, token = set(), ""
    while token is not None:
        event = probe.get(path + (f"&continue={token}" if token else ""), verb="list")
        assert event["result"] == 0, event["message"]
        page = json.loads(event["body"])
        names |= {item["metadata"]["name"] for item in page["items"]}
        token = page["metadata"].get("continue") or None
    assert {"default", "kube-system"} <= names


def test_a_watch_ends_normally_when_its_time_is_up(probe):
    probe.watch("/api/v1/namespaces?watch=true&allowWatchBookmarks=true&timeoutSeconds=2")
    assert probe.event()["event"] == "line"
    end = probe.event()
    assert (end["result"], end["status"]) == (0, 200)
    assert end["lines"] >= 4 and 1500 <= end["ms"]


def test_a_watch_sees_what_is_applied(probe, configmap):
    watch = probe.watch("/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=10"
                        "&fieldSelector=metadata.name%3Dclient-real")
    write = probe.send(f"{MAP}?fieldManager=one", verb="apply", method="PATCH", body=applied(a="1"),
                       content_type=APPLY)
    events = [probe.event() for _ in range(3)]
    assert {"event": "line", "call": watch} in events
    ends = {e["call"]: (e["status"], e["lines"]) for e in events if e["event"] == "done"}
    assert ends == {write: (201, 0), watch: (200, 1)}


def test_an_unchanged_apply_changes_nothing_and_a_conflict_is_one(probe, configmap):
    first = json.loads(apply(probe, "one", a="1")["body"])
    again = json.loads(apply(probe, "one", a="1")["body"])
    assert first["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]
    event = apply(probe, "two", a="2")
    assert (event["result"], event["kind"], event["status"]) == (ESTALE, CONFLICT, 409)
    assert 'conflict with "one"' in event["message"]
    assert apply(probe, "two", force="true", a="2")["result"] == 0


@pytest.mark.parametrize("method,path,body,result,kind,message", [
    ("GET", "/apis/devices.example.org/v1/things", None, ENOENT, INVALID, "404 not found: 404 page not found"),
    ("GET", "/api/v1/namespaces/default/configmaps/none", None, ENOENT, INVALID, 'configmaps "none" not found'),
    ("GET", "/api/v1/namespaces?continue=nonsense", None, EINVAL, INVALID, "continue key is not valid"),
    ("POST", "/api/v1/namespaces", '{"metadata": {"name": "A_B"}}', EINVAL, INVALID, "422 not valid"),
    ("POST", "/api/v1/namespaces", "{", EINVAL, INVALID, "400 bad request"),
    ("PUT", "/api/v1/namespaces", "{}", EINVAL, INVALID, "405 method not allowed"),
])
def test_the_server_is_quoted(probe, method, path, body, result, kind, message):
    event = probe.get(path, method=method, body=body)
    assert (event["result"], event["kind"]) == (result, kind), event["message"]
    assert message in event["message"]


def test_a_token_without_rights_is_forbidden(cluster, tmp_path):
    cluster.kubectl("create", "serviceaccount", "powerless", "-n", "default")
    try:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(cluster.control("sa-kubeconfig", "default", "powerless"))
        probe = Probe(probe_program(), kubeconfig)
        event = probe.get("/api/v1/namespaces", verb="list")
        assert (event["result"], event["kind"], event["status"]) == (EACCES, RETRY, 403)
        assert "system:serviceaccount:default:powerless" in event["message"]
        probe.close()
    finally:
        cluster.kubectl("delete", "serviceaccount", "powerless", "-n", "default")
