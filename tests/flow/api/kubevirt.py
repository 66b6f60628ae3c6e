"""KubeVirt's own definitions in the cluster, and its objects made by hand. Its programs do not run."""

import functools
import json
import os
import subprocess
import time
import zipfile

import yaml

from cluster import ROOT, wait_until
from replicas import MERGE

MODULE, VERSION = "kubevirt.io/kubevirt", "v1.9.0"
SUM = "h1:eauQfI39dRALNciMIQtR7UsbTUjUft5V6IBO57Icl/k="
SCHEMAS = "pkg/virt-operator/resource/generate/components/validations_generated.go"
# In the module kubevirt.io/api: core/v1/register.go, ApiSupportedVersions.
SERVED = (("v1", True), ("v1alpha3", False))
KINDS = {"kubevirt": "KubeVirt", "virtualmachine": "VirtualMachine"}
API = "/apis/kubevirt.io/v1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RECORD = "hostdev.io/permitted-host-devices"
DETAILS = "harvesterhci.io/deviceAllocationDetails"
NAMESPACE = "kubevirt"


@functools.cache
def schemas():
    """The schemas in the module, by singular name."""
    go = os.environ.get("GO", "go")
    here = ROOT / "tests/flow/kubevirt_schemas"
    env = os.environ | {"GOFLAGS": "-mod=mod", "GOWORK": "off"}
    # Go that is older than the module wants fetches it, but does not unpack it and ends with an error.
    fetched = subprocess.run([go, "mod", "download", "-json", f"{MODULE}@{VERSION}"], cwd=here, env=env,
                             stdout=subprocess.PIPE, text=True)
    module = json.loads(fetched.stdout)
    assert module.get("Sum") == SUM, module
    with zipfile.ZipFile(module["Zip"]) as archive:
        source = archive.read(f"{MODULE}@{VERSION}/{SCHEMAS}")
    run = subprocess.run([go, "run", "."], cwd=here, env=env, check=True, input=source, stdout=subprocess.PIPE)
    return json.loads(run.stdout)


def definition(singular):
    """The CustomResourceDefinition, as the operator makes it (components/crds.go)."""
    schema = yaml.load(schemas()[singular], getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    versions = [{"name": name, "served": True, "storage": stored, "schema": schema, "subresources": {"status": {}}}
                for name, stored in SERVED]
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{singular}s.kubevirt.io"},
            "spec": {"group": "kubevirt.io", "scope": "Namespaced", "versions": versions,
                     "names": {"plural": f"{singular}s", "singular": singular, "kind": KINDS[singular]}}}


def pci(selector, resource, **more):
    return {"pciVendorSelector": selector, "resourceName": resource, **more}


def ours(entry):
    return entry | {"externalResourceProvider": True}


class KubeVirt:
    """The definitions and what is made of them; all of it goes at the end."""

    def __init__(self, rest, namespace):
        self.rest = rest
        self.namespace = namespace
        self.path = f"{API}/namespaces/{NAMESPACE}/kubevirts/kubevirt"
        self.vms = f"{API}/namespaces/{namespace}/virtualmachines"

    def install(self):
        for name in (NAMESPACE, self.namespace):
            self.rest.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        for singular in KINDS:
            status, answer = self.rest.request("POST", CRDS, definition(singular))
            assert status in (201, 409), answer
        wait_until(lambda: all(self.rest.request("GET", f"{API}/{singular}s")[0] == 200 for singular in KINDS), 30)

    def uninstall(self):
        for singular in KINDS:
            self.rest.request("DELETE", f"{CRDS}/{singular}s.kubevirt.io")
        wait_until(lambda: all(self.rest.request("GET", f"{API}/{singular}s")[0] == 404 for singular in KINDS), 30)

    def clear(self):
        """Without the definitions it takes a while, which most tests need not wait for."""
        self.rest.request("DELETE", self.path)
        for vm in self.rest.request("GET", self.vms)[1].get("items", []):
            self.rest.request("DELETE", f"{self.vms}/{vm['metadata']['name']}")

    # --- the KubeVirt ---

    def create(self, permitted=None, **more):
        """permitted: permittedHostDevices; None: there are none."""
        configuration = {} if permitted is None else {"permittedHostDevices": permitted}
        body = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt",
                "metadata": {"name": "kubevirt", "namespace": NAMESPACE, **more},
                "spec": {"configuration": configuration}}
        status, answer = self.rest.request("POST", f"{API}/namespaces/{NAMESPACE}/kubevirts", body)
        assert status == 201, answer

    def delete(self):
        assert self.rest.request("DELETE", self.path)[0] == 200

    def get(self):
        return self.rest.get(self.path)

    def version(self):
        return self.get()["metadata"]["resourceVersion"]

    def permitted(self, kind="pciHostDevices"):
        """That list; None if there is none, or are no lists."""
        return self.get()["spec"].get("configuration", {}).get("permittedHostDevices", {}).get(kind)

    def record(self):
        text = self.get()["metadata"].get("annotations", {}).get(RECORD)
        return json.loads(text) if text is not None else None

    def write(self, permitted):
        """As an administrator does: whatever is there now."""
        body = {"spec": {"configuration": {"permittedHostDevices": permitted}}}
        status, answer = self.rest.request("PATCH", self.path, body, MERGE)
        assert status == 200, answer

    def wait_permitted(self, entries, kind="pciHostDevices", seconds=15):
        wait_until(lambda: self.permitted(kind) == entries, seconds, f"{kind} {entries}")

    # --- virtual machines ---

    def vm(self, name, annotations=None, **devices):
        """devices: of its domain."""
        body = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
                "metadata": {"name": name, "annotations": annotations or {}},
                "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"devices": devices}}}}}
        status, answer = self.rest.request("POST", self.vms, body)
        assert status == 201, answer
        return f"{self.vms}/{name}"

    def details(self, path):
        """What the annotation says; None without one."""
        text = self.rest.get(path)["metadata"].get("annotations", {}).get(DETAILS)
        try:
            return json.loads(text) if text is not None else None
        except ValueError:
            return text

    def wait_details(self, path, details, seconds=15):
        wait_until(lambda: self.details(path) == details, seconds, f"{details} of {path}")


def settle(seconds=3):
    """Longer than the controller waits for more changes."""
    time.sleep(seconds)
