"""Who asks: agents with tokens of their nodes, and people with certificates of their own."""

import yaml

from cluster import wait_until
from rest import Rest

NAMESPACE = "hostdev-system"


class Identities:
    """Kubeconfigs for a cluster, in a folder; the Nodes that are made for them are removed at the end."""

    def __init__(self, cluster, rest, folder):
        self.cluster, self.rest, self.folder = cluster, rest, folder
        self.nodes = []

    def add_node(self, node):
        """A Node, as its kubelet would make it: a token is bound to it."""
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}
        status, answer = self.rest.request("POST", "/api/v1/nodes", body)
        assert status in (201, 409), answer
        if status == 201:
            self.nodes.append(node)

    def token(self, account, node=None):
        """Of a ServiceAccount of ours, bound to the node as in a pod on it."""
        spec = {"expirationSeconds": 86400}
        if node:
            self.add_node(node)
            spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Node", "name": node}
        status, answer = self.rest.request(
            "POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        assert status == 201, answer
        return answer["status"]["token"]

    def kubeconfig(self, name, user, server=None):
        """The administrator's with another user; server: by another way."""
        config = yaml.safe_load(self.cluster.kubeconfig.read_text())
        config["users"][0]["user"] = user
        if server:
            config["clusters"][0]["cluster"]["server"] = server
        path = self.folder / f"{name[:64]}.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path

    def agent(self, node, server=None):
        """The agent's of this node."""
        return self.kubeconfig(f"agent-{node}", {"token": self.token("hostdev-agent", node)}, server)

    def user(self, name):
        """A person's, with a client certificate; roles are the test's to bind."""
        path = self.folder / f"user-{name}.kubeconfig"
        path.write_text(self.cluster.control("user-kubeconfig", name))
        return path

    def close(self):
        for node in self.nodes:
            self.rest.request("DELETE", f"/api/v1/nodes/{node}")


def wait_fenced(cluster, rest, folder):
    """Until the API server has taken note of the policies, which it looks at once a second."""
    unbound = Identities(cluster, rest, folder)
    agent = Rest(unbound.kubeconfig("unbound", {"token": unbound.token("hostdev-agent")}))
    device = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice", "metadata": {"name": "unbound"}}
    path = "/apis/devices.harvesterhci.io/v1beta1/pcidevices?dryRun=All"
    wait_until(lambda: "names no node" in str(agent.request("POST", path, device)[1]), 30, "the write fence")
