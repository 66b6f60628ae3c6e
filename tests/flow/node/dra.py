"""Dynamic Resource Allocation on the node: its slices, ResourceClaims, and the files of what is prepared."""

import base64
import functools
import io
import json
import subprocess
import tarfile
from urllib.parse import urlencode

from cluster import ROOT, wait_until
from kubectl_watch import HOURS, KubectlWatch
from kubelet import DIR

DRIVER = "hostdev.io"
CLASS = "hostdev"
CDI = "/var/run/cdi"
PLUGIN = f"{DIR}/plugins/{DRIVER}"
SOCKET = f"{PLUGIN}/dra.sock"
BUS_ID = "resource.kubernetes.io/pciBusID"
API = "resource.k8s.io/v1"
SLICES = f"/apis/{API}/{{}}?{HOURS}&" + urlencode({"fieldSelector": f"spec.driver={DRIVER}"})
# Models of the guest's cards that DRA offers once they are claimed, or on demand.
CARDS = {"e1000e": "8086:10d3", "rtl8139": "10ec:8139", "igbvf": "8086:10ca"}

# Collects which files of claims there are whenever there is more than one.
WATCH = f"""
shopt -s nullglob
mkfifo /run/dra-pause; exec 3<>/run/dra-pause
while :; do
	files=({CDI}/{DRIVER}-device_*.json)
	((${{#files[@]}} < 2)) || echo "${{files[*]}}"
	read -rt 0.03 -u 3 || true
done
"""


@functools.cache
def programs():
    """The folder of the Go programs of tests/flow/dra; hack/test has built them."""
    script = f"""source {ROOT}/hack/lib.sh; source {ROOT}/hack/cluster.d/binaries.sh; source {ROOT}/hack/test.d/dra.sh
                 dra_programs; printf '%s' "$DRA_PROGRAMS" """
    return subprocess.run(["bash", "-euc", script], check=True, stdout=subprocess.PIPE, text=True).stdout


def by_address(address):
    """Selects the device at this PCI address."""
    return f'device.attributes["resource.kubernetes.io"].?pciBusID.orValue("") == "{address}"'


def request(name, expression, count=1):
    return {"name": name, "exactly": {"deviceClassName": CLASS, "count": count,
                                      "selectors": [{"cel": {"expression": expression}}]}}


def claimed(selector):
    """A HostDeviceConfig's entry for the cards of one model."""
    return {"resourceName": f"dra.example.com/{selector.replace(':', '-')}", "pciVendorSelector": selector,
            "dra": {"mode": "Claimed"}}


def on_demand(selector):
    """The same for those that are free."""
    return {**claimed(selector), "dra": {"mode": "OnDemand"}}


class Dra:
    """A node with a kubelet and a containerd that knows CDI, whose claimed cards are offered by DRA."""

    def __init__(self, node, kubelet):
        self.node, self.kubelet = node, kubelet
        self.guest, self.cluster, self.kubectl = node.guest, node.cluster, node.cluster.kubectl
        self.made = []
        self.watch = KubectlWatch(self.cluster, "resourceslices", "", SLICES)

    def install(self):
        self.kubectl("apply", "-f", "-", input={
            "apiVersion": API, "kind": "DeviceClass", "metadata": {"name": CLASS},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}})
        self.configure()

    def configure(self, **more):
        self.kubectl("apply", "-f", "-", input={
            "apiVersion": "hostdev.io/v1alpha1", "kind": "HostDeviceConfig", "metadata": {"name": "default"},
            "spec": {"pciHostDevices": [claimed(selector) for selector in CARDS.values()], **more}})

    def remove(self):
        self.watch.close()
        self.clear()
        self.kubectl("delete", "hostdeviceconfig", "default", "--ignore-not-found")
        self.kubectl("delete", "deviceclass", CLASS, "--ignore-not-found")
        self.kubectl("delete", "resourceslices", "--field-selector", f"spec.driver={DRIVER}")

    # --- slices -------------------------------------------------------------------------------

    def devices(self):
        """{name: device} of the node's slices."""
        return devices_of(self.watch.objects().values())

    def offered(self):
        """The PCI addresses and mdev UUIDs in the slices."""
        attributes = [device.get("attributes", {}) for device in self.devices().values()]
        return {one[name]["string"] for one in attributes for name in (BUS_ID, "mdevUUID") if name in one}

    def wait_offered(self, *wanted, timeout=30):
        wait_until(lambda: self.offered() == set(wanted), timeout,
                   lambda: f"{wanted} in the slices, which have {self.offered()}")

    def written(self):
        """The writes of the node's agents to slices so far."""
        return [write for write in self.node.agent.written() if write[1] == "resourceslices"]

    # --- claims -------------------------------------------------------------------------------

    def _create(self, kind, name, spec):
        self.kubectl("create", "-f", "-", input={
            "apiVersion": API, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec})
        self.made.append((kind, name))

    def claim(self, name, *requests, constraints=()):
        """A ResourceClaim; a pod of the scheduler's has to get its devices."""
        self._create("ResourceClaim", name, {"devices": {"requests": list(requests), "constraints": list(constraints)}})

    def template(self, name, *requests):
        self._create("ResourceClaimTemplate", name, {"spec": {"devices": {"requests": list(requests)}}})

    def allocated(self, name, address, config=()):
        """A ResourceClaim whose device somebody has written, as a scheduler would do; its UID."""
        self.claim(name, request("card", by_address(address)))
        (device,) = [one for one, what in self.devices().items() if what["attributes"][BUS_ID] == {"string": address}]
        result = {"request": "card", "driver": DRIVER, "pool": self.node.guest.name, "device": device}
        self.kubectl("patch", "resourceclaim", name, "-n", "default", "--subresource=status", "--type=merge", "-p",
                     json.dumps({"status": {"allocation": {"devices": {"results": [result], "config": list(config)}}}}))
        return self.cluster.get("resourceclaim", name)["metadata"]["uid"]

    def clear(self):
        for kind, name in self.made:
            self.kubectl("delete", kind, name, "-n", "default", "--ignore-not-found", "--wait=false")
        for kind, name in self.made:
            self.kubectl("wait", kind, name, "-n", "default", "--for=delete", "--timeout=180s")
        self.made.clear()

    # --- the kubelet's calls, made here ---------------------------------------------------------

    def call(self, service, *commands):
        """The answers of the driver to prepare and unprepare commands of tests/flow/dra/kubelet. An agent that has just begun
        refuses claims until it has read the kubelet's pods."""
        return wait_until(lambda: self._call(service, commands), 60, "an agent that has read the kubelet's pods")

    def _call(self, service, commands):
        lines = [f"connect {DRIVER} {SOCKET} {service}"]
        for verb, name, uid in commands:
            lines.append(f"{verb} {DRIVER} default {name} {uid}")
        said = self.guest.run(f"{programs()}/kubelet", input="\n".join(lines) + "\n")
        answers = [json.loads(line) for line in said.splitlines()][1:]
        return None if any("has not listed its pods yet" in one.get("error", "") for one in answers) else answers

    # --- files ----------------------------------------------------------------------------------

    def files(self):
        """{path: content} of what is prepared on the node: CDI files, metadata and checkpoints."""
        text = self.guest.sh(f"find {CDI} {PLUGIN} -type f -name '*.json' 2>/dev/null | tar -cPf - -T -")
        with tarfile.open(fileobj=io.BytesIO(text.encode())) as archive:
            return {member.name: archive.extractfile(member).read()
                    for member in sorted(archive, key=lambda member: member.name)}

    def cdi_files(self):
        return [path for path in self.files() if path.startswith(CDI)]

    def wait_files(self, wanted, timeout=10):
        wait_until(lambda: self.files() == wanted, timeout,
                   lambda: f"{sorted(wanted)} on the node, which has {sorted(self.files())}, maybe with other content")

    def seconds_until_restored(self, script):
        """How long a CDI file is missing that the script has removed, by the guest's clock."""
        (path,) = self.cdi_files()
        said = self.guest.run("bash", "-euc", f"""
            {script}
            read -r began _ </proc/uptime
            for ((i = 0; i < 1000; i++)); do [[ ! -e {path} ]] || break; read -rt 0.02 <> <(:) || true; done
            read -r ended _ </proc/uptime; echo $began $ended""")
        began, ended = map(float, said.split())
        return ended - began

    def metadata(self, pod, folder):
        """Copies what the container's programs find below /var/run into the folder."""
        text = pod.exec("cd /var/run && tar -cf - kubernetes.io dra-device-attributes | base64")
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(text))) as archive:
            archive.extractall(folder)

    @staticmethod
    def read_by_kubevirt(program, folder, argument):
        """What KubeVirt's code finds for NAME/CLAIM/REQUEST of a VM's spec: (PCI address, UUID of a mediated device)."""
        run = subprocess.run([f"{programs()}/{program}", folder, argument], check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(run.stdout)
        return found.get("pciBusID"), found.get("mdevUUID")


class TwicePrepared:
    """A process in the guest that looks many times a second whether more than one claim is prepared; as a context."""

    def __init__(self, guest):
        self.guest = guest

    def __enter__(self):
        self.guest.write("/run/dra-watch", WATCH)
        self.pid = self.guest.sh("rm -f /run/dra-pause; setsid bash /run/dra-watch </dev/null >/run/dra-twice 2>&1 & echo $!")
        return self

    def __exit__(self, *_):
        self.guest.sh(f"kill -9 -{self.pid.strip()}; rm -f /run/dra-pause")

    def seen(self):
        """What it has seen: a line for each time."""
        assert self.guest.try_sh(f"test -e /proc/{self.pid.strip()}"), self.guest.sh("cat /run/dra-twice")
        return self.guest.sh("cat /run/dra-twice").splitlines()


def devices_of(slices):
    """Of an empty list the API server makes null."""
    return {device["name"]: device for one in slices for device in one["spec"].get("devices") or []}
