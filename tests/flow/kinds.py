"""`kubectl get` without a kubectl: tests ask twenty times a second, and a process for each question takes the
processor from what they wait for."""

from rest import Rest

QUERIES = {"--selector": "labelSelector", "--field-selector": "fieldSelector"}


class Kinds:
    """Finds objects by the words that kubectl takes; knows the kinds that the API server has told."""

    def __init__(self, kubeconfig):
        self.rest = Rest(kubeconfig)
        self.found = {}

    def get(self, words):
        """What `kubectl get WORDS -o json` prints, decoded, of a list its items; None for words that are not for us."""
        parsed = parse(words)
        if not parsed:
            return None
        (kind, *name), namespace, query = parsed
        if kind.lower() not in self.found:
            self.found = self._discover()
        if not (resource := self.found.get(kind.lower())):
            return None
        version, plural, namespaced = resource
        inside = ["namespaces", namespace] if namespaced and namespace else []
        answer = self.rest.get("/".join([version, *inside, plural, *name]), **query)
        if name:
            return as_printed(answer)
        # As kubectl has it: each with its kind, which lists of built-in kinds leave out.
        common = {"apiVersion": answer["apiVersion"], "kind": answer["kind"].removesuffix("List")}
        return [{**common, **as_printed(item)} for item in answer["items"]]

    def _discover(self):
        """(path of the version, plural, whether it has namespaces) by each name that kubectl takes for it."""
        groups = [("", "/api/v1")] + [(group["name"], f"/apis/{group['preferredVersion']['groupVersion']}")
                                      for group in self.rest.get("/apis")["groups"]]
        found = {}
        for group, path in groups:
            status, answer = self.rest.request("GET", path)
            for one in answer["resources"] if status == 200 else []:
                if "/" in one["name"]:  # a subresource
                    continue
                for name in (one["name"], one["singularName"], one["kind"].lower(), *one.get("shortNames", [])):
                    for known_as in (name, f"{name}.{group}"):
                        found.setdefault(known_as, (path, one["name"], one["namespaced"]))
        return found


def as_printed(obj):
    obj["metadata"].pop("managedFields", None)
    return obj


def parse(words):
    """([kind] or [kind, name], namespace or None for all, query), or None: more than this is kubectl's."""
    found, namespace, query = [], "default", {}
    left = iter(map(str, words))
    for word in left:
        if word == "-A":
            namespace = None
        elif word == "-n":
            namespace = next(left)
        elif word in QUERIES:
            query[QUERIES[word]] = next(left)
        elif word.startswith("-"):
            return None
        else:
            found.append(word)
    return (found, namespace, query) if len(found) in (1, 2) and "," not in found[0] else None
