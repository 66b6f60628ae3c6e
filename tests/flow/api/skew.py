"""Definitions as they were before hostdev's own optional fields: what an upgrade finds, and a rollback puts back."""

import copy

import yaml

from cluster import wait_until
from crds import KINDS, crd
from programs import ROOT

DROPPED = ("x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys")


def stripped(schema, fields, path=""):
    """The schema with Harvester's fields only, and without rules about others."""
    for word in DROPPED:
        schema.pop(word, None)
    for name, child in list(schema.get("properties", {}).items()):
        below = f"{path}.{name}".lstrip(".")
        if below in ("spec", "status") or below in fields:
            stripped(child, fields, below)
        else:
            del schema["properties"][name]
    if "items" in schema:
        stripped(schema["items"], fields, f"{path}[]")
    return schema


def old(kind):
    """The definition of one of Harvester's kinds with nothing of ours in it."""
    body = copy.deepcopy(crd(kind))
    (version,) = body["spec"]["versions"]
    for word in ("additionalPrinterColumns", "selectableFields"):
        version.pop(word, None)
    version["schema"]["openAPIV3Schema"] = stripped(version["schema"]["openAPIV3Schema"], kind.fields)
    return body


def replace(cluster, definitions):
    """All of them, whole; the API server serves them so when this returns."""
    for body in definitions:
        cluster.kubectl("replace", "-f", "-", input=body)


def install_old(cluster):
    replace(cluster, map(old, KINDS))
    wait_until(lambda: not knows(cluster, "pcideviceclaims.status.conditions") and serves(cluster), 60,
               "the old definitions")


def install(cluster, tree):
    """Those of that version."""
    cluster.kubectl("replace", "-f", tree / "crds")
    wait_until(lambda: serves(cluster), 60, "the definitions")


def install_new(cluster):
    cluster.kubectl("replace", "-f", ROOT / "crds")
    wait_until(lambda: knows(cluster, "pcideviceclaims.status.conditions") and serves(cluster), 60,
               "the definitions of now")


def serves(cluster):
    """Every kind can be listed: for a moment after a change it cannot."""
    specs = (yaml.safe_load(path.read_text())["spec"] for path in sorted((ROOT / "crds").glob("*.yaml")))
    return all(cluster.serves(spec) for spec in specs)


def knows(cluster, field):
    return cluster.kubectl("explain", field, check=False).returncode == 0
