"""docs/reasons.md against the code: every reason of a condition or event is there with its meaning and what to do, none that
is not in the code, and what `kubectl hostdev why` advises is what the page does.
"""

import re
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass

import pytest

from cluster import ROOT
from crds import ALL, crd

PAGE = ROOT / "docs/reasons.md"
ADVICE = ROOT / "cli/print/advice.c"
TABLE = ROOT / "lib/api/reason.c"
TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|"((?:\\.|[^"\\\n])*)"|'(?:\\.|[^'\\])+'""", re.DOTALL)
WORD = re.compile(r"\b[A-Z](?=[A-Za-z]{1,39}\b)[A-Z]*[a-z][A-Za-z]*\b")

# Words of the code that have the form of a reason and are none. What is added to the code and is neither here nor on
# the page fails; so does what is here and not in the code any more.
NO_REASONS = """
  conditions: Claimable Distinguishable DriverBound GroupViable NodeReachable PodScheduled
  truths and words of settings: True False Unknown Null All Off OnDemand
  kinds: AdmissionReview DeleteOptions DeviceClass DeviceMetadata DevicePool Event HostDeviceConfig KubeVirt Lease List MediatedDevice
    MediatedDeviceParent MigConfiguration MutatingWebhookConfiguration Node PCIDevice PCIDeviceClaim Pod
    ResourceClaim ResourceClaimTemplate ResourceSlice ResourceSlices Secret
    SRIOVGPUDevice SRIOVNetworkDevice USBDevice USBDeviceClaim VGPUDevice ValidatingWebhookConfiguration VirtualMachine
  members and values of them: Function Halted InternalIP JSONPatch Manual None Normal NotOlderThan PhysicalFunction VirtualFunction
    Running Strict Succeeded Warning AllocResp Data DeviceIDs DevicePlugin PodDeviceEntries PodUID ResourceName
    DRAPlugin FromClass NoSchedule
  answers of API servers: Accept AlreadyExists Authorization Conflict Expired Failure Forbidden NotFound
    ServiceUnavailable
  labels of metrics: Other
  handshakes with HAMi: Deleted Requesting
  words of kubeconfigs: Always IfAvailable Never
  gRPC: Aborted Canceled DataLoss DeadlineExceeded FailedPrecondition Internal InvalidArgument OutOfRange
    PermissionDenied ResourceExhausted Unauthenticated Unavailable Unimplemented
  steps of the helper: Bind CheckHolders ClearOverride Create LoadModule MakeFunctions Probe Release Remove
    RemoveFunctions RemoveRecord Rollback SetAutoprobe SetFunctions SetOverride Unbind WaitLock WriteRecord
  results of the helper, and what it alone says: BlockHolder Done Failed InterfaceMoved InterfaceUp Mounted
    NotVirtualFunction Refused
  questions of the helper: Disks HostFolder Interfaces Members Mounts NodeAddress Routes Server Swaps
  words of the kernel's tables, kinds of targets: Id Iface NVMe
  groups of flags: Claim Claims Cluster Devices Election General Kubelet Map Nodes Output Uninstall Webhook
  states that the plugin gives devices: Missing Pending
  kinds, headings and words that only the plugin has: DevicePools ExecCredential Flags NotReady Page Parent Subsystem
    Type VirtualMachineInstance
  classes of devices: Audio Billboard Class Communications Device Diagnostic Image Miscellaneous Physical Printer Vendor
    Video
"""


def literals():
    """Strings of the sources that are one word like a reason, and the files that have them."""
    found = defaultdict(set)
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "--", "agent", "cli", "controller", "lib"],
                           check=True, capture_output=True, text=True).stdout.split()
    for name in files:
        if name.startswith("agent/nvml/"):
            continue  # it speaks of functions of NVIDIA's library, and to the agent alone
        # What the plugin advises about, or the table has, is no reason for that alone.
        if name.endswith((".c", ".h")) and ROOT / name not in (ADVICE, TABLE):
            for token in TOKEN.finditer((ROOT / name).read_text()):
                if token[1] and WORD.fullmatch(token[1]):
                    found[token[1]].add(name)
    return found


@dataclass
class Row:
    """What the page says of reasons."""

    heading: str
    reasons: list
    means: str
    do: str

    @property
    def idle(self):
        """Nothing is to be done."""
        return self.do.startswith("nothing: ")


def rows():
    found, heading, columns = [], None, []
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            heading, columns = line[3:], []
        elif line.startswith("| reason |"):
            columns = cells
        elif line.startswith("| `") and heading and columns:
            assert len(cells) == len(columns), line
            cell = dict(zip(columns, cells))
            found.append(Row(heading, re.findall(r"`(\w+)`", cells[0]), cell.get("what it means", ""),
                             cell.get("what to do", "")))
    return found


def tables():
    """Reasons of the page by heading."""
    found = defaultdict(set)
    for row in rows():
        found[row.heading] |= set(row.reasons)
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


def trivial(text):
    """Too little to mean anything, but for a word that leads to where more is said."""
    return len(re.findall(r"[A-Za-z]{2,}", text)) < 2 or len(text) < 8


def test_every_row_says_what_it_means_and_what_to_do():
    assert [(row.heading, row.reasons) for row in rows() if trivial(row.means) or trivial(row.do)] == []
    assert [(row.heading, row.reasons) for row in rows() if row.idle and trivial(row.do.removeprefix("nothing: "))] == []


def test_a_row_without_anything_of_its_own_leads_to_another_table():
    led = [row for row in rows() if "as there" in row.do]
    assert [(row.heading, row.reasons) for row in led if not re.match(r"as with \[\w+\]\(#\w+\)$", row.means)] == []


def test_no_two_rows_of_a_table_mean_the_same():
    told = Counter((row.heading, row.means) for row in rows())
    assert [one for one, count in told.items() if count > 1] == []


# Of these the plugin shows conditions. Reasons of the others are no device's.
NOT_SHOWN = {"MediatedDeviceParent", "HostDeviceConfig", "ResourceClaim", "Events"}


def advices():
    literal = r'"((?:\\.|[^"\\\n])*)"'
    found = re.findall(rf'^\t\{{ "(\w+)",((?:\s+{literal})+) \}},$', ADVICE.read_text(), re.MULTILINE)
    return {row[0]: "".join(re.findall(literal, row[1])) for row in found}


def test_the_plugin_advises_where_the_page_says_what_to_do_and_nowhere_else():
    asked = {reason for row in rows() if row.heading not in NOT_SHOWN and not row.idle for reason in row.reasons
             if row.do != "as there"}
    assert len(advices()) == len(re.findall(r'^\t\{ "', ADVICE.read_text(), re.MULTILINE))
    assert sorted(asked - advices().keys()) == [], "cli/print/advice.c has no advice, or the page's is to be \"nothing: why\""
    assert sorted(advices().keys() - asked) == [], "the page says of no device's condition what to do about it"
    assert [reason for reason, text in advices().items() if trivial(text)] == []


def table():
    """The rows of the table: the reason and its flags."""
    found = dict(re.findall(r'^\t\{ "(\w+)", (?:"\w+"|NULL), ([^\n]*) \},$', TABLE.read_text(), re.MULTILINE))
    assert len(found) == len(re.findall(r'^\t\{ "', TABLE.read_text(), re.MULTILINE)) > 40
    return found


def test_the_table_has_reasons_of_the_code_alone():
    assert sorted(table().keys() - literals().keys()) == []
    assert sorted(table().keys() - set().union(*tables().values())) == []


def test_the_page_says_which_refusals_the_override_lifts():
    lifted = {reason for reason, flags in table().items() if re.search(r"\b(LIFTED|NEEDED)\b", flags)}
    told = {reason for row in rows() if row.heading == HEADINGS["PCIDevice"] and "the override" in row.do for reason in
            row.reasons}
    assert lifted and told == lifted
    [section] = re.findall(r"^### What the node needs\n(.*?)\n###? ", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", section)) & set().union(*tables().values()) == lifted
    assert set(re.findall(r"`(\w+)`", section)) & set().union(*tables().values()) == lifted
    assert "hostdev.io/allow-host-critical" in section
    assert "hostdev.io/allow-host-critical" in section
