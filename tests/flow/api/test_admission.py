"""What people see of the admission rules, by kubectl on a real API server: refusals with their way out, what is
filled in, and what a dry run says.
"""

import json

import pytest

from cluster import wait_until
from identities import Identities
from policies import MERGE, Things, accepted, claim, path
from rest import Rest
from webhook import Webhook

NODE, OTHER = "adm-1", "adm-2"
NIC, NIC2, GPU, AUDIO = f"{NODE}-000001000", f"{OTHER}-000001000", f"{NODE}-000002000", f"{NODE}-000002001"
CARD, VF, CONTROLLER = f"{NODE}-000003000", f"{NODE}-000003100", f"{NODE}-000000140"
NEEDED, USED, ALONE = f"{NODE}-000000020", f"{NODE}-000004000", f"{NODE}-000005000"
BRIDGE, SATA, SMBUS = f"{NODE}-0000001f0", f"{NODE}-0000001f2", f"{NODE}-0000001f3"
SPLIT = f"{NODE}-000007000"
STICK, ETH = f"{NODE}-0951-1666-001005", f"{NODE}-eth3"
VGPU, A100 = f"{NODE}-000008004", f"{NODE}-000008000"
WHEN = "2026-01-01T00:00:00Z"


def claimable(reason="Available", message="may be claimed"):
    return [{"type": "Claimable", "status": "True" if reason in ("Available", "GroupShared") else "False",
             "reason": reason, "message": message, "lastTransitionTime": WHEN}]


def pci(address, driver, group="1", node=NODE, conditions=None, members=None, **more):
    return {"address": address, "nodeName": node, "iommuGroup": group, "iommuGroupMembers": members or [address],
            "kernelDriverInUse": driver, "resourceName": f"adm.test/{driver}", "vendorId": "8086", "deviceId": "10d3",
            "classId": "0200", "description": "a card", "conditions": conditions or claimable(), **more}


LONG = "it has virtual functions, which would vanish with it: the number that SRIOVNetworkDevice adm-1-eth7 asks for is 4, " \
       "and 4 of them exist (spec.numVFs: 0 of its SRIOVNetworkDevice removes them)"
PAIR = {"members": ["0000:02:00.0", "0000:02:00.1"], "conditions": claimable("GroupShared", "shares")}
TRIO = {"members": ["0000:00:1f.0", "0000:00:1f.2", "0000:00:1f.3"]}
STATUS = {  # of the devices, by kind and name
    "pcidevices": {
        NIC: pci("0000:01:00.0", "e1000e"),
        NIC2: pci("0000:01:00.0", "e1000e", node=OTHER),
        GPU: pci("0000:02:00.0", "nouveau", "2", **PAIR),
        AUDIO: pci("0000:02:00.1", "snd_hda_intel", "2", **PAIR),
        CARD: pci("0000:03:00.0", "igb", "3", totalVFs=7),
        VF: pci("0000:03:10.0", "igbvf", "4", physicalFunction="0000:03:00.0"),
        CONTROLLER: pci("0000:00:14.0", "xhci_hcd", "5"),
        NEEDED: pci("0000:00:02.0", "virtio-pci", "6",
                    conditions=claimable("HostNetwork", "eth0 has the default route")),
        SPLIT: pci("0000:07:00.0", "igb", "10", conditions=claimable("VirtualFunctionsActive", LONG)),
        USED: pci("0000:04:00.0", "nvme", "7", conditions=claimable("InUse", "nvme0n1 is mounted at /mnt")),
        ALONE: pci("0000:05:00.0", "ahci", "", conditions=claimable("NoIOMMU", "the kernel put it in no IOMMU group")),
        A100: pci("0000:08:00.0", "nvidia", "8"),
        BRIDGE: pci("0000:00:1f.0", "", "9", conditions=claimable("HostFunction", "a bridge of the machine"), **TRIO),
        SATA: pci("0000:00:1f.2", "ahci", "9", **TRIO),
        SMBUS: pci("0000:00:1f.3", "", "9", conditions=claimable("HostFunction", "the machine's SMBus"), **TRIO),
    },
    "usbdevices": {
        STICK: {"nodeName": NODE, "pciAddress": "0000:00:14.0", "portPath": "1-2", "vendorID": "0951",
                "productID": "1666", "resourceName": f"kubevirt.io/{STICK}", "conditions": claimable()},
    },
    "sriovnetworkdevices": {ETH: {"vfPCIDevices": []}},
    "sriovgpudevices": {A100: {}},
    "vgpudevices": {VGPU: {"availableTypes": {"NVIDIA A2-4C": "1146"}}},
    "migconfigurations": {A100: {"profileStatus": [{"name": "MIG 1g.5gb", "id": 19, "available": 4, "total": 7,
                                                    "vGPUID": []}]}},
}
SPEC = {
    ETH: {"address": "0000:03:00.0", "nodeName": NODE, "numVFs": 0},
    VGPU: {"address": "0000:08:00.4", "nodeName": NODE, "enabled": False, "parentGPUDeviceAddress": "0000:08:00.0"},
}
KIND = {"pcidevices": "PCIDevice", "usbdevices": "USBDevice", "sriovnetworkdevices": "SRIOVNetworkDevice",
        "sriovgpudevices": "SRIOVGPUDevice", "vgpudevices": "VGPUDevice", "migconfigurations": "MigConfiguration"}
VMS = "virtualmachines.kubevirt.io"
CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": VMS},
       "spec": {"group": "kubevirt.io", "scope": "Namespaced",
                "names": {"kind": "VirtualMachine", "plural": "virtualmachines", "singular": "virtualmachine"},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def make(things, plural, name, status):
    body = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": KIND[plural], "metadata": {"name": name}}
    spec = SPEC.get(name, {"address": "0000:08:00.0", "nodeName": NODE} if plural.startswith("sriovgpu") else
                    {"gpuAddress": "0000:08:00.0", "nodeName": NODE})
    things.make(plural, body | ({} if plural in ("pcidevices", "usbdevices") else {"spec": spec}))
    accepted(things.rest.request("PATCH", path(plural, name, "status"), {"status": status}, MERGE))


@pytest.fixture(scope="module")
def webhook(installed, rest, tmp_path_factory):
    """The controller, the devices above, and KubeVirt's kind; all is known when it is handed out."""
    folder = tmp_path_factory.mktemp("webhook")
    identities, things = Identities(installed, rest, folder), Things(rest)
    served = Webhook(installed, identities, folder)
    try:
        installed.kubectl("apply", "-f", "-", input=CRD)
        installed.kubectl("wait", "--for=condition=Established", f"crd/{VMS}", "--timeout=180s")
        for node in (NODE, OTHER):
            identities.add_node(node)
        for plural, objects in STATUS.items():
            for name, status in objects.items():
                make(things, plural, name, status)
        served.start()
        yield served
    finally:
        served.close()
        things.close()
        identities.close()
        installed.kubectl("delete", "crd", VMS, "--ignore-not-found", check=False)


@pytest.fixture
def claims(webhook, rest):
    """claims(name, plural) makes a claim, which is gone at the end."""
    made = Things(rest)
    yield lambda name, plural="pcideviceclaims": made.make(plural, claim(name, plural))
    made.close()


def vm(name, devices=(), gpus=(), **spec):
    listed = {"hostDevices": [{"name": n, "deviceName": r} for n, r in devices]} if devices else {}
    listed |= {"gpus": [{"name": n, "deviceName": r} for n, r in gpus]} if gpus else {}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name, "namespace": "default"},
            "spec": {"runStrategy": "Always", **spec, "template": {"spec": {
                "nodeSelector": {"kubernetes.io/hostname": NODE}, "domain": {"devices": listed}}}}}


def says(run, *texts):
    for text in texts:
        assert text in run.stderr, run.stderr


def refused(run, *texts):
    assert run.returncode != 0, run.stdout
    says(run, "denied the request", *texts)


def dry_apply(webhook, body, check=False):
    return webhook.cluster.kubectl("apply", "--dry-run=server", "-f", "-", input=body, check=check)


CREATIONS = {
    "no device of that name": (claim("adm-nic"), "PCIDeviceClaim 'adm-nic': there is no PCIDevice of this name"),
    "another address": (claim(NIC, address="0000:09:00.0"), "spec.address is '0000:09:00.0', but the PCIDevice of this "
                        "name has '0000:01:00.0'"),
    "another node": (claim(NIC, nodeName=OTHER), f"spec.nodeName is '{OTHER}'"),
    "what the node needs": (claim(NEEDED), "HostNetwork: eth0 has the default route: claim another device"),
    "a card that is divided": (claim(SPLIT), f"VirtualFunctionsActive: {LONG}"),
    "no IOMMU group": (claim(ALONE), "NoIOMMU: the kernel put it in no IOMMU group"),
    "no USB device of that name": (claim("adm-stick", "usbdeviceclaims"), "there is no USBDevice of this name"),
    "a resource that nobody has": (vm("a", [("x", "adm.test/none")]), "VirtualMachine 'default/a': device 'x' requests "
                                   "resource 'adm.test/none', which no device has"),
    "devices of two nodes": (vm("a", [(NIC, "adm.test/e1000e"), (NIC2, "adm.test/e1000e")]),
                             f"device '{NIC}' is on node {NODE}, but '{NIC2}' on node {OTHER}"),
    "one device twice": (vm("a", [(NIC, "adm.test/e1000e")] * 2), f"it names device '{NIC}' twice"),
}


@pytest.mark.parametrize("body, text", CREATIONS.values(), ids=CREATIONS)
def test_what_cannot_be_is_refused_with_the_way_out(webhook, body, text):
    refused(webhook.cluster.kubectl("create", "-f", "-", input=body, check=False), text)


# What is claimed before, then what is wanted, and why not.
CONFLICTS = {
    "a USB controller of which a device is claimed": ((STICK, "usbdeviceclaims"), claim(CONTROLLER),
                                                      f"USBDeviceClaim '{STICK}' has a device of"),
    "a USB device whose controller is claimed": ((CONTROLLER, "pcideviceclaims"), claim(STICK, "usbdeviceclaims"),
                                                 f"PCIDeviceClaim '{CONTROLLER}' has 0000:00:14.0"),
    "a card of which a function is claimed": ((VF, "pcideviceclaims"), claim(CARD),
                                              f"PCIDeviceClaim '{VF}' has 0000:03:10.0, a virtual function"),
    "a function of a card that is claimed": ((CARD, "pcideviceclaims"), claim(VF),
                                             f"PCIDeviceClaim '{CARD}' has 0000:03:00.0"),
}


@pytest.mark.parametrize("before, body, text", CONFLICTS.values(), ids=CONFLICTS)
def test_claims_that_exclude_each_other(webhook, claims, before, body, text):
    claims(*before)
    wait_until(lambda: text in dry_apply(webhook, body).stderr, 10, text)
    refused(webhook.cluster.kubectl("create", "-f", "-", input=body, check=False), text)


CHANGES = {
    "more functions than it can make": ("sriovnetworkdevice", ETH, {"numVFs": 8},
                                        "spec.numVFs is 8, but 0000:03:00.0 supports 7"),
    "a vGPU type that is not available": ("vgpudevice", VGPU, {"enabled": True, "vGPUTypeName": "NVIDIA A2-8C"},
                                          "'NVIDIA A2-8C' is not available: set it to one of 'NVIDIA A2-4C'"),
    "more instances than are available": ("migconfiguration", A100, {"enabled": True, "profileSpec": [
        {"name": "MIG 1g.5gb", "id": 19, "requested": 5}]}, "requests 5 of 'MIG 1g.5gb', but 4 are available"),
}


@pytest.mark.parametrize("kind, name, spec, text", CHANGES.values(), ids=CHANGES)
def test_changes_that_cannot_be(webhook, kind, name, spec, text):
    change = json.dumps({"spec": spec})
    refused(webhook.cluster.kubectl("patch", kind, name, "--type=merge", "-p", change, check=False), text)


def test_a_card_whose_function_is_claimed_keeps_its_functions(webhook, claims):
    kubectl = webhook.cluster.kubectl
    kubectl("patch", "sriovnetworkdevice", ETH, "--type=merge", "-p", '{"spec":{"numVFs":2}}')
    claims(VF)
    no_more = ("patch", "sriovnetworkdevice", ETH, "--type=merge", "-p", '{"spec":{"numVFs":0}}')
    text = f"PCIDeviceClaim '{VF}' has one of its virtual functions"
    wait_until(lambda: text in kubectl(*no_more, "--dry-run=server", check=False).stderr, 10, text)
    refused(kubectl(*no_more, check=False), text)
    refused(kubectl("delete", "sriovnetworkdevice", ETH, check=False), text)
    kubectl("delete", "pcideviceclaim", VF, "--wait=false")
    wait_until(lambda: kubectl(*no_more, check=False).returncode == 0, 10, "numVFs may be 0 again")


def test_a_card_has_one_object_and_a_second_may_go(webhook, claims, rest):
    kubectl, second = webhook.cluster.kubectl, f"{NODE}-second"
    body = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": KIND["sriovnetworkdevices"],
            "metadata": {"name": second}, "spec": SPEC[ETH]}
    refused(kubectl("create", "-f", "-", input=body, check=False), f"SRIOVNetworkDevice '{ETH}' is about the same card")
    kubectl("create", "-f", "-", input=body | {"spec": SPEC[ETH] | {"address": "0000:0e:00.0"}})  # before it moves
    try:
        claims(VF)
        says_so = {"type": "Accepted", "status": "False", "reason": "Duplicate", "message": "", "lastTransitionTime": WHEN}
        rest.patch("sriovnetworkdevices", second, {"status": {"vfPCIDevices": [VF]}}, "status")
        text = f"PCIDeviceClaim '{VF}' has one of its virtual functions"
        gone = ("delete", "sriovnetworkdevice", second)
        wait_until(lambda: text in kubectl(*gone, "--dry-run=server", check=False).stderr, 10, text)
        rest.patch("sriovnetworkdevices", second, {"status": {"conditions": [says_so]}}, "status")
        kubectl(*gone)
    finally:
        rest.remove(path("sriovnetworkdevices", second))


RENAMED = "pcidevice.harvesterhci.io/override-resource-name"


def test_a_resource_name_that_no_kubelet_takes_is_refused_with_what_one_looks_like(webhook):
    for name in ("not a name!!", "cpu"):
        refused(dry_apply(webhook, claim(NIC, annotations={RENAMED: name})), f"{RENAMED} is '{name}', but kubelets refuse "
                "that resource name: it must be DOMAIN/NAME", "such as 'vendor.com/NIC'")
    assert dry_apply(webhook, claim(NIC, annotations={RENAMED: "vendor.com/NIC"}), check=True).returncode == 0


def test_a_pcidevice_is_not_given_such_a_name_either(webhook):
    def named(name):
        return webhook.cluster.kubectl("annotate", "--overwrite", "--dry-run=server", "pcidevice", NIC,
                                       f"{RENAMED}={name}", check=False)

    for name in ("not a name!!", "cpu"):
        refused(named(name), f"PCIDevice '{NIC}': the annotation {RENAMED} is '{name}', but kubelets refuse that "
                "resource name: it must be DOMAIN/NAME", "such as 'vendor.com/NIC'")
    refused(named("devices.kubevirt.io/x"), "KubeVirt's own domain")
    assert named("vendor.com/NIC").returncode == 0


@pytest.mark.parametrize("kind", ["pcidevice", "pcideviceclaim"])
def test_a_misspelled_annotation_is_told_on_a_device_and_on_a_claim(webhook, rest, kind):
    """Once, and only of hostdev's domains."""
    def annotate(*pairs):
        return webhook.cluster.kubectl("annotate", "--overwrite", kind, NIC, *pairs).stderr

    if kind == "pcideviceclaim":
        rest.create("pcideviceclaims", claim(NIC))
    keys = ["pcidevice.harvesterhci.io/overide-resource-name", "pcidevices.harvesterhci.io/skip-vfio", "hostdev.io/x"]
    try:
        for key in keys:
            says(webhook.cluster.kubectl("annotate", kind, NIC, f"{key}=a.b/c"), f"the annotation {key} has no effect: ")
        assert "has no effect" not in annotate("example.com/overide-resource-name=a.b/c", "harvesterhci.io/description=x")
    finally:
        annotate(*(f"{key}-" for key in [*keys, "example.com/overide-resource-name", "harvesterhci.io/description"]))
        if kind == "pcideviceclaim":
            rest.remove(path("pcideviceclaims", NIC))


def pod(name, node=None, resource="adm.test/e1000e"):
    """A ServiceAccount is there only where the manifests have one."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "hostdev-system"},
            "spec": {**({"nodeName": node} if node else {}), "serviceAccountName": "hostdev-agent",
                     "automountServiceAccountToken": False, "containers": [{
                         "name": "main", "image": "i", "resources": {"limits": {resource: "1"}}}]}}


SILENT = f"spec.nodeName skips the scheduler, and node {NODE} does not offer adm.test/e1000e: it runs without the device"


def test_a_pod_that_names_a_node_without_its_device_is_warned_of(webhook, rest):
    """And has no event: this API server has no client certificate, so that anybody could have made it up
    (test_webhook_clients.py has the event)."""
    kubectl, asked = webhook.cluster.kubectl, len(webhook.cluster.audit())
    says(dry_apply(webhook, pod("pinned", NODE), check=True), f"Warning: Pod 'hostdev-system/pinned': {SILENT}")
    assert SILENT not in dry_apply(webhook, pod("placed"), check=True).stderr
    assert SILENT not in dry_apply(webhook, pod("other", NODE, "gone.test/x"), check=True).stderr
    try:
        says(kubectl("create", "-f", "-", input=pod("pinned", NODE)), SILENT)
        # A claim's event comes after what there would be of the pod.
        claim_and_await_its_event(webhook, rest)
        def namespaces():
            return {e["objectRef"]["namespace"] for e in webhook.cluster.audit()[asked:]
                    if e.get("objectRef", {}).get("resource") == "events" and e["verb"] in ("create", "patch")
                    and e["user"]["username"].endswith(":hostdev-controller")}

        wait_until(namespaces, 20, "the claim's event in the audit log, which is written a moment later")
        assert namespaces() == {"default"}
    finally:
        kubectl("delete", "pod", "pinned", "-n", "hostdev-system", "--force", "--ignore-not-found", check=False)


def claim_and_await_its_event(webhook, rest):
    """The event says what the controller has seen, whoever asked for it."""
    seen = len(webhook.cluster.audit())
    rest.create("pcideviceclaims", claim(NIC))
    try:
        wait_until(lambda: [e for e in webhook.cluster.audit()[seen:] if e.get("objectRef", {}).get("resource") == "events"
                            and e["user"]["username"].endswith(":hostdev-controller")], 20, "the event of the claim")
    finally:
        rest.remove(path("pcideviceclaims", NIC))


def test_a_pod_that_names_a_node_is_warned_of_a_misspelt_resource(webhook):
    words = f"node {NODE} does not offer misspelt.test/kvm: it runs without the device"
    assert words in dry_apply(webhook, pod("pinned", NODE, "misspelt.test/kvm"), check=True).stderr


def test_a_claim_says_all_of_its_device_and_user(webhook, rest):
    kubectl = webhook.cluster.kubectl
    me = json.loads(kubectl("auth", "whoami", "-o", "json").stdout)["status"]["userInfo"]["username"]
    device = webhook.cluster.get("pcidevice", NIC)
    body = {"apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDeviceClaim", "metadata": {"name": NIC}}
    try:
        for way in ("apply --server-side", "apply --server-side", "replace", "apply", "apply"):
            kubectl(*way.split(), "-f", "-", input=body)
            got = webhook.cluster.get("pcideviceclaim", NIC)
            assert got["spec"] == {"address": "0000:01:00.0", "nodeName": NODE, "userName": me}
            assert got["metadata"]["ownerReferences"] == [{
                "apiVersion": "devices.harvesterhci.io/v1beta1", "kind": "PCIDevice", "name": NIC,
                "uid": device["metadata"]["uid"]}]
    finally:
        rest.remove(path("pcideviceclaims", NIC))


def test_a_dry_run_says_what_would_be_done_and_does_nothing(webhook, rest):
    before = len(webhook.cluster.audit())
    says(dry_apply(webhook, claim(NIC), check=True), f"Warning: PCIDeviceClaim '{NIC}': bind 0000:01:00.0 to vfio-pci; "
         "goes back to e1000e")
    says(dry_apply(webhook, claim(GPU), check=True), "bind 0000:02:00.0 to vfio-pci; goes back to nouveau",
         "waits, GroupShared: IOMMU group 2 also holds 0000:02:00.1 (snd_hda_intel)")
    says(dry_apply(webhook, claim(GPU, includeIOMMUGroup=True), check=True), "bind 0000:02:00.0 to vfio-pci",
         "bind 0000:02:00.1 to vfio-pci; goes back to snd_hda_intel")
    chipset = dry_apply(webhook, claim(SATA, includeIOMMUGroup=True, driver="evil"), check=True)
    says(chipset, "bind 0000:00:1f.2 to evil, if the agent's --vfio-driver allows that; goes back to ahci")
    assert "0000:00:1f.0" not in chipset.stderr and "0000:00:1f.3" not in chipset.stderr, chipset.stderr
    says(dry_apply(webhook, claim(USED), check=True), "waits until this ends: nvme0n1 is mounted at /mnt")
    says(dry_apply(webhook, claim(NEEDED, annotations={"hostdev.io/allow-host-critical": "true"}), check=True),
         "the node loses the device with this claim, and needs it: HostNetwork: eth0 has the default route")
    says(dry_apply(webhook, claim(STICK, "usbdeviceclaims"), check=True), f"port 1-2 as kubevirt.io/{STICK}")
    for plural in ("pcideviceclaims", "usbdeviceclaims"):
        assert rest.get(path(plural))["items"] == []
    writes = [event for event in webhook.cluster.audit()[before:] if event["verb"] in ("create", "patch", "delete")
              and event["objectRef"]["resource"].endswith("claims")]
    assert writes and all("dryRun=All" in event["requestURI"] for event in writes), writes


def test_the_claims_of_a_group_have_one_owner(webhook, rest):
    def create(user, body):
        return webhook.cluster.kubectl("--as", user, "--as-group", "system:masters", "create", "-f", "-", input=body,
                                       check=False)

    try:
        assert create("bob", claim(AUDIO)).returncode == 0
        wait_until(lambda: create("eve", claim(GPU)).returncode != 0
                   or rest.remove(path("pcideviceclaims", GPU)), 10, "the webhook knows bob's claim")
        for spec in ({}, {"includeIOMMUGroup": True}):
            refused(create("eve", claim(GPU, **spec)),
                    "GroupShared: IOMMU group 2 also holds 0000:02:00.1, which 'bob' has claimed: whoever has one function "
                    "of a group can use all of them. Ask 'bob' to release it, or an administrator to claim both for one user")
        assert create("eve", claim(GPU, userName="bob")).returncode == 0  # an administrator, for bob
    finally:
        for name in (GPU, AUDIO):
            rest.remove(path("pcideviceclaims", name))


def test_a_claim_in_use_stays_until_the_user_is_gone(webhook, rest):
    kubectl = webhook.cluster.kubectl
    pod = [{"namespace": "default", "pod": "launcher", "container": "compute"}]
    gone = ("delete", "pcideviceclaim", NIC, "--dry-run=server")
    kubectl("apply", "-f", "-", input=claim(NIC))
    try:
        rest.patch("pcidevices", NIC, {"status": {"allocations": pod}}, "status")
        wait_until(lambda: "pod default/launcher has it" in kubectl(*gone, check=False).stderr, 10, "it is in use")
        refused(kubectl("delete", "pcideviceclaim", NIC, check=False), "pod default/launcher has it: delete the pod")
        refused(kubectl("delete", "pcidevice", NIC, check=False), f"PCIDeviceClaim '{NIC}' would be deleted with it")
        rest.patch("pcidevices", NIC, {"status": {"allocations": None}}, "status")
        wait_until(lambda: kubectl(*gone, check=False).returncode == 0, 10, "it is free")
        kubectl("apply", "-f", "-", input=vm("user", [(NIC, "adm.test/e1000e")]))
        text = f"PCIDeviceClaim '{NIC}': a virtual machine names it, and does not have it"
        wait_until(lambda: text in kubectl(*gone).stderr, 10, text)
        says(kubectl("delete", "pcideviceclaims", "--all"), text)
        assert not rest.get(path("pcideviceclaims"))["items"]
    finally:
        kubectl("delete", VMS, "user", "--ignore-not-found", check=False)
        rest.patch("pcidevices", NIC, {"status": {"allocations": None}}, "status")
        wait_until(lambda: rest.request("DELETE", path("pcideviceclaims", NIC))[0] in (200, 404), 10, "the claim goes")


def test_two_machines_do_not_have_one_device(webhook):
    kubectl = webhook.cluster.kubectl
    mine = [(NIC, "adm.test/e1000e")]
    try:
        says(kubectl("create", "-f", "-", input=vm("one", mine)), f"device '{NIC}' is not claimed")
        text = f"virtual machine default/one names device '{NIC}' too"
        wait_until(lambda: text in dry_apply(webhook, vm("two", mine)).stderr, 10, text)
        refused(kubectl("create", "-f", "-", input=vm("two", mine), check=False), text)
        says(kubectl("create", "-f", "-", input=vm("two", mine, runStrategy="Halted")), "only one of them can have it")
        start = ("patch", VMS, "two", "--type=merge", "-p", '{"spec":{"runStrategy":"Always"}}')
        refused(kubectl(*start, check=False), text)
        kubectl("label", VMS, "two", "unrelated=change")
    finally:
        kubectl("delete", VMS, "one", "two", "--ignore-not-found")


def test_a_machine_of_another_namespace_is_in_the_way_only_if_it_has_the_device(webhook, rest):
    """Whoever may create machines in a namespace of his own must not be able to lock devices by naming them."""
    kubectl, mine = webhook.cluster.kubectl, vm("mine", [(NIC, "adm.test/e1000e")])
    evil = vm("evil", [(NIC, "adm.test/e1000e")], runStrategy="Manual")
    evil["metadata"]["namespace"] = "adm-bob"
    text = f"a virtual machine of another namespace names device '{NIC}' too"
    pod = [{"namespace": "adm-bob", "pod": "virt-launcher-evil-x7k2p", "container": "compute"}]
    try:
        kubectl("create", "namespace", "adm-bob")
        kubectl("create", "-f", "-", input=evil)
        kubectl("apply", "-f", "-", input=claim(NIC))
        wait_until(lambda: text in dry_apply(webhook, mine).stderr, 10, text)
        says(dry_apply(webhook, mine, check=True), text, "only one of them can have it")
        kubectl("patch", VMS, "evil", "-n", "adm-bob", "--type=merge", "-p", '{"spec":{"runStrategy":"Always"}}')
        says(kubectl("create", "-f", "-", input=mine), text)
        kubectl("delete", VMS, "mine")
        rest.patch("pcidevices", NIC, {"status": {"allocations": pod}}, "status")
        wait_until(lambda: dry_apply(webhook, mine).returncode, 10, "it has the device")
        refused(dry_apply(webhook, mine), text)
        rest.patch("pcidevices", NIC, {"status": {"allocations": None}}, "status")
        text = "a virtual machine names it, and does not have it"
        says(wait_until(lambda: not (run := kubectl("delete", "pcideviceclaim", NIC, check=False)).returncode and run, 10,
                        "the claim may be deleted"), text)
    finally:
        rest.patch("pcidevices", NIC, {"status": {"allocations": None}}, "status")
        rest.remove(path("pcideviceclaims", NIC))
        kubectl("delete", VMS, "mine", "--ignore-not-found")
        kubectl("delete", "namespace", "adm-bob", "--ignore-not-found", "--wait=false")


def test_any_number_of_gpus_moves(webhook):
    kubectl = webhook.cluster.kubectl
    gpus = [(f"gpu{i}", "adm.test/nouveau") for i in range(3)]
    try:
        kubectl("create", "-f", "-", input=vm("gamer", [("nic", "adm.test/e1000e")], gpus))
        devices = webhook.cluster.get(VMS, "gamer")["spec"]["template"]["spec"]["domain"]["devices"]
        assert "gpus" not in devices
        assert [(one["name"], one["deviceName"]) for one in devices["hostDevices"]] == [
            ("nic", "adm.test/e1000e"), *gpus]
    finally:
        kubectl("delete", VMS, "gamer", "--ignore-not-found")


def test_the_user_of_a_claim_is_who_made_it(webhook, rest, identities):
    """And by the policies nobody else may say so."""
    user = identities.user("adm-alice")
    rules = [{"apiGroups": ["devices.harvesterhci.io"], "resources": ["pcideviceclaims"], "verbs": ["create", "delete"]},
             {"apiGroups": ["devices.harvesterhci.io"], "resources": ["pcidevices"], "verbs": ["claim"],
              "resourceNames": [NIC]}]
    rbac = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "adm-alice"}, "rules": rules}
    bound = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "adm-alice"},
             "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "adm-alice"},
             "subjects": [{"apiGroup": rbac, "kind": "User", "name": "adm-alice"}]}
    alice = Rest(user)
    try:
        webhook.cluster.kubectl("apply", "-f", "-", input={"apiVersion": "v1", "kind": "List", "items": [role, bound]})
        made = wait_until(lambda: (a := alice.request("POST", path("pcideviceclaims"), claim(NIC)))[0] == 201 and a, 10)
        assert made[1]["spec"]["userName"] == "adm-alice"
        assert alice.request("DELETE", path("pcideviceclaims", NIC))[0] == 200
        status, answer = alice.request("POST", path("pcideviceclaims"), claim(NIC, userName="bob"))
        assert status == 403 and "may not claim for user 'bob'" in answer["message"]
    finally:
        rest.remove(path("pcideviceclaims", NIC))
        webhook.cluster.kubectl("delete", "clusterrole,clusterrolebinding", "adm-alice", "--ignore-not-found")
