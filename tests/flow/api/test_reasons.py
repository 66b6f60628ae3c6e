"""docs/reasons.md against the code: every reason of a condition or event is there, and none that is not in the code."""

import re
import subprocess
from collections import defaultdict

import pytest

from cluster import ROOT
from crds import ALL, crd

PAGE = ROOT / "docs/reasons.md"
TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|"((?:\\.|[^"\\\n])*)"|'(?:\\.|[^'\\])+'""", re.DOTALL)
WORD = re.compile(r"\b[A-Z](?=[A-Za-z]{1,39}\b)[A-Z]*[a-z][A-Za-z]*\b")

# Words of the code that have the form of a reason and are none. What is added to the code and is neither here nor on
# the page fails; so does what is here and not in the code any more.
NO_REASONS = """
  conditions: Claimable DriverBound GroupViable NodeReachable
  truths and words of settings: True False Unknown Null All
  kinds: AdmissionReview DeleteOptions DevicePool Event HostDeviceConfig KubeVirt Lease List MediatedDevice
    MediatedDeviceParent MigConfiguration MutatingWebhookConfiguration Node PCIDevice PCIDeviceClaim Pod Secret
    SRIOVGPUDevice SRIOVNetworkDevice USBDevice USBDeviceClaim VGPUDevice ValidatingWebhookConfiguration VirtualMachine
  members and values of them: Function Halted InternalIP JSONPatch Manual Normal NotOlderThan PhysicalFunction VirtualFunction
    Strict Warning Data DeviceIDs DevicePlugin PodDeviceEntries Healthy Unhealthy
  answers of API servers: Accept AlreadyExists Authorization Conflict Expired Failure Forbidden NotFound
    ServiceUnavailable
  labels of metrics: Other
  words of kubeconfigs: Always IfAvailable Never
  gRPC: Aborted Canceled DataLoss DeadlineExceeded FailedPrecondition Internal InvalidArgument OutOfRange
    PermissionDenied ResourceExhausted Unauthenticated Unavailable Unimplemented
  steps of the helper: Bind CheckHolders ClearOverride Create LoadModule MakeFunctions Probe Release Remove
    RemoveFunctions RemoveRecord Rollback SetAutoprobe SetFunctions SetOverride Unbind WaitLock WriteRecord
  results of the helper, and what it alone says: BlockHolder Done Failed InterfaceUp Mounted NotVirtualFunction Opened
    Refused
  groups of flags: Claim Claims Cluster Election General Kubelet Nodes Output Uninstall Webhook
  classes of devices: Audio Billboard Class Communications Device Diagnostic Image Miscellaneous Physical Printer Vendor
    Video
"""


def literals():
    """Strings of the sources that are one word like a reason, and the files that have them."""
    found = defaultdict(set)
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "--", "agent", "controller", "lib"], check=True,
                           capture_output=True, text=True).stdout.split()
    for name in files:
        if name.endswith((".c", ".h")):
            for token in TOKEN.finditer((ROOT / name).read_text()):
                if token[1] and WORD.fullmatch(token[1]):
                    found[token[1]].add(name)
    return found


def tables():
    """Reasons of the page by heading: those in the first cells of its tables."""
    found, heading = defaultdict(set), None
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| `") and heading:
            found[heading] |= set(re.findall(r"`(\w+)`", line.split("|")[1]))
    return found


def no_reasons():
    return set(WORD.findall(re.sub(r"^ *[a-z][^:\n]*:", "", NO_REASONS, flags=re.MULTILINE)))


def test_every_reason_of_the_code_is_on_the_page():
    on_page = set().union(*tables().values())
    missing = {word: sorted(files) for word, files in literals().items() if word not in on_page | no_reasons()}
    assert missing == {}, "say in docs/reasons.md what it means and what to do, or here that it is no reason"


def test_every_reason_of_the_page_is_in_the_code():
    assert sorted(set().union(*tables().values()) - literals().keys()) == []


def test_what_is_said_to_be_no_reason_is_in_the_code_and_not_on_the_page():
    assert sorted(no_reasons() - literals().keys()) == []
    assert sorted(no_reasons() & set().union(*tables().values())) == []


HEADINGS = {"PCIDevice": "Why is this device not claimable?", "USBDevice": "Why is this device not claimable?"}
WITH_CONDITIONS = [kind for kind in ALL if "conditions" in crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"][
    "properties"].get("status", {}).get("properties", {})]


@pytest.mark.parametrize("kind", WITH_CONDITIONS, ids=lambda kind: kind.kind)
def test_every_reason_that_the_schema_names_is_in_the_table_of_its_kind(kind):
    status = crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    text = status["properties"]["conditions"]["description"]
    named = {word for word in WORD.findall(text) if word in literals()} - no_reasons()
    told = tables()
    here = told[HEADINGS.get(kind.kind, kind.kind)] | told["NodeReachable"]
    if kind.kind.endswith("Claim"):
        here |= told[HEADINGS["PCIDevice"]]
    # Names of conditions, and words at the beginning of a sentence.
    assert sorted(named - here - {"Accepted", "Configured", "Ready", "NodeReachable", "Claimable"}) == []
    assert here & named


def test_the_page_says_what_to_read_of_each_kind():
    text = PAGE.read_text()
    assert [kind.kind for kind in WITH_CONDITIONS if kind.kind not in text.split("## ")[0]] == []
