"""The fixtures themselves: what measurements of writes stand on."""

import json

import pytest

from cluster import wait_until


def test_writes_are_counted_by_user_agent(cluster):
    before, pods = cluster.writes("kubectl/"), cluster.writes("kubectl/", resource="pods")
    cluster.kubectl("create", "configmap", "written")
    cluster.kubectl("get", "configmap", "written")
    cluster.kubectl("delete", "configmap", "written")
    assert cluster.writes("kubectl/") - before == {("create", "configmaps"): 1, ("delete", "configmaps"): 1}
    assert cluster.writes("kubectl/", resource="pods") == pods
    assert cluster.writes("hostdev-none/") == {}


def test_writes_to_a_subresource_are_named_so(cluster):
    before = cluster.writes("kubectl/", "serviceaccounts")
    cluster.kubectl("create", "serviceaccount", "writer")
    cluster.kubectl("create", "token", "writer")
    cluster.kubectl("delete", "serviceaccount", "writer")
    made = cluster.writes("kubectl/", "serviceaccounts") - before
    assert made["create", "serviceaccounts"] == made["create", "serviceaccounts/token"] == 1


def test_wait_until_gives_the_first_true_value_and_gives_up():
    values = iter([None, 0, "now", "later"])
    assert wait_until(lambda: next(values)) == "now"
    with pytest.raises(AssertionError, match="the sun to rise"):
        wait_until(lambda: False, timeout=0.01, what="the sun to rise")


@pytest.mark.parametrize("words", [
    ["namespace", "default"], ["ns"], ["-n", "kube-system", "configmaps"], ["serviceaccounts", "-A"],
    ["clusterrole", "cluster-admin"], ["crd", "--field-selector", "metadata.name=pcidevices.devices.harvesterhci.io"],
    ["PCIDevice.devices.harvesterhci.io"], ["pcidevices", "--selector", "nodename=none"]], ids=" ".join)
def test_get_answers_as_kubectl_prints(crds, words):
    printed = json.loads(crds.kubectl("get", *words, "-o", "json").stdout)
    assert crds._get_here(words) == (printed["items"] if printed["kind"] == "List" else printed)


def test_get_says_what_is_not_there(crds):
    with pytest.raises(AssertionError, match="nowhere"):
        crds.get("pcidevice", "nowhere")
