"""The API server over plain HTTPS: what tests ask often is too slow through a kubectl each time."""

import base64
import http.client
import json
import ssl
import tempfile
import time
from urllib.parse import urlencode, urlsplit

import yaml

GROUP = "/apis/devices.harvesterhci.io/v1beta1"
MERGE = "application/merge-patch+json"
TRIED_AGAIN = 20  # times, a second apart
DEVICES = {"PCIDevice": "pcidevices", "USBDevice": "usbdevices"}


class Refused(AssertionError):
    """The API server answered otherwise than with success."""


class Rest:
    """Requests as the user of a kubeconfig, with its client certificate or its token."""

    def __init__(self, kubeconfig):
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        at = urlsplit(cluster["server"])
        context = ssl.create_default_context(cadata=decoded(cluster["certificate-authority-data"]))
        self.headers = {"Accept": "application/json"}
        if "token" in user:
            self.headers["Authorization"] = f"Bearer {user['token']}"
        else:
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as pem:
                pem.write(decoded(user["client-certificate-data"]) + decoded(user["client-key-data"]))
                pem.flush()
                context.load_cert_chain(pem.name)
        self.connection = http.client.HTTPSConnection(at.hostname, at.port, context=context, timeout=60)

    def request(self, method, path, body=None, content_type="application/json"):
        """(status, decoded answer)."""
        text = json.dumps(body) if body is not None else None
        headers = {**self.headers, "Content-Type": content_type}
        for last in (False, True):
            try:
                self.connection.request(method, path, text, headers)
                answer = self.connection.getresponse()
                return answer.status, loaded(answer.read())
            except (http.client.HTTPException, OSError):
                self.connection.close()  # it was kept open from an earlier request, and may have gone since
                if last:
                    raise
        return None

    def get(self, path, **query):
        status, answer = self.request("GET", path + (f"?{urlencode(query)}" if query else ""))
        if status != 200:
            raise Refused(f"{path}: {answer}")
        return answer

    def devices(self, label=None, **query):
        """All PCIDevices and USBDevices, by kind and name; label: the node's label value."""
        if label is not None:
            query["labelSelector"] = f"nodename={label}"
        found = {}
        for kind, plural in DEVICES.items():
            for item in self.get(f"{GROUP}/{plural}", **query)["items"]:
                found[kind, item["metadata"]["name"]] = {"kind": kind, **item}
        return found

    def patch(self, plural, name, body, subresource=None):
        """A merge patch by hand."""
        path = "/".join(filter(None, [GROUP, plural, name, subresource]))
        status, answer = self.request("PATCH", f"{path}?fieldManager=by-hand", body, MERGE)
        assert status == 200, answer
        return answer

    def create(self, plural, obj):
        status, answer = self.request("POST", f"{GROUP}/{plural}?fieldManager=by-hand", obj)
        assert status == 201, answer
        return answer

    def put(self, plural, obj, subresource=None):
        """A whole object, as a controller written in Go writes it."""
        path = "/".join(filter(None, [GROUP, plural, obj["metadata"]["name"], subresource]))
        status, answer = self.request("PUT", f"{path}?fieldManager=harvester", obj)
        assert status == 200, answer
        return answer

    def delete(self, plural, name):
        status, answer = self.request("DELETE", f"{GROUP}/{plural}/{name}")
        assert status in (200, 404), answer

    def remove(self, path):
        """Until it is gone, whatever holds it: an agent that runs yet puts its finalizer back. Refusals are no end: an API
        server goes on asking a webhook for a while after its configuration went, and a webhook remembers for a while what
        is no more.
        """
        for pause in [0] * 3 + [1] * TRIED_AGAIN:
            status, answer = self.request("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
            if status == 200:
                status, answer = self.request("DELETE", f"{path}?gracePeriodSeconds=0")
            if status in (200, 202):
                status, answer = self.request("GET", path)
            if status == 404:
                return
            time.sleep(pause)
        raise Refused(f"{path}: {answer}")


def loaded(text):
    try:
        return json.loads(text)
    except ValueError:
        return text.decode(errors="backslashreplace")  # what is no API object says so in words


def decoded(text):
    return base64.b64decode(text).decode()
