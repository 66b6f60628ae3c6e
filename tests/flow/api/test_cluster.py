"""The fixtures themselves: what measurements of writes stand on."""

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
