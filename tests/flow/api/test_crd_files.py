"""The files in crds/ by themselves: Harvester's contract, and that every field is described and bounded."""

import re

import pytest

from cluster import ROOT
from crds import ALL, KINDS, OWN_GROUP, crd, fields, version

by_kind = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.kind)


def test_crds_holds_these_kinds_and_nothing_else():
    assert sorted(path.name for path in (ROOT / "crds").iterdir()) == sorted(
        f"{kind.group}_{kind.plural}.yaml" for kind in ALL
    )


@by_kind
def test_names_and_scope(kind):
    definition = crd(kind)
    assert definition["metadata"]["name"] == f"{kind.plural}.{kind.group}"
    assert definition["spec"]["group"] == kind.group
    assert definition["spec"]["scope"] == "Cluster"
    assert definition["spec"]["names"] == {
        "kind": kind.kind,
        "listKind": kind.kind + "List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "shortNames": [kind.short],
        "categories": ["hostdev"],
    }
    assert "conversion" not in definition["spec"]
    assert version(kind)["name"] == kind.version.split("/")[1]
    assert version(kind)["subresources"] == {"status": {}}


@by_kind
def test_columns_have_harvesters(kind):
    """Some of them only with -o wide, so that a table fits a terminal."""
    columns = version(kind)["additionalPrinterColumns"]
    names = [column["name"] for column in columns]
    assert set(kind.columns.split(", ") if kind.columns else []) <= set(names)
    assert "Age" in names and len(set(names)) == len(names)
    narrow = [column.get("priority", 0) for column in columns]
    if names[-1] == "Full Description":
        names.pop()
        assert narrow.pop() == 1
    if "Description" in names:
        assert names[-1] == "Description" and narrow.pop() == 0, "what is cut by a narrow terminal is the description"
    assert narrow == sorted(narrow), "wide columns come last"


# How wide the values are on a machine such as hack/up's, where a title is not wider.
WIDE = {"name": 16, "Address": 12, "Driver": 11, "Description": 73, "Node Name": 9, "User Name": 16, "Age": 6,
        "Resource Name": 30, "Type Name": 15, "VGPUType": 15, "Reason": 20, "Parent": 12}
NAMES = {"USBDevice": 20, "USBDeviceClaim": 20, "MediatedDevice": 40, "DevicePool": 52}


@by_kind
def test_default_columns_fit_a_terminal(kind):
    """Of 100 characters; with a description, which comes last and is what is broken, of 120, and with two more columns of a word
    each of 128."""
    shown = [column["name"] for column in version(kind)["additionalPrinterColumns"] if not column.get("priority")]
    widths = [NAMES.get(kind.kind, WIDE["name"])] + [max(len(name), WIDE.get(name, 0)) for name in shown]
    most = 128 if "Claimed" in shown else 120 if "Description" in shown else 100
    assert sum(widths) + 3 * (len(widths) - 1) <= most, dict(zip(["Name", *shown], widths))


@by_kind
def test_columns_show_fields_that_exist(kind):
    known = fields(kind)
    for column in version(kind)["additionalPrinterColumns"]:
        path = column["jsonPath"].lstrip(".")
        if path.startswith("metadata."):
            continue
        match = re.fullmatch(r'(status\.conditions)\[\?\(@\.type=="\w+"\)\](\.\w+)', path)
        path = f"{match[1]}[]{match[2]}" if match else path.replace("[*]", "[]")
        assert path in known, column["name"]
        shown = known[path]["type"]
        assert column["type"] == ("string" if shown == "array" else shown), column["name"]


@by_kind
def test_harvesters_fields_keep_their_types_and_may_be_null(kind):
    known = fields(kind)
    for path, wanted in kind.fields.items():
        assert known[path]["type"] == wanted, path
        if wanted != "integer":
            assert known[path].get("nullable") is True, path


@by_kind
def test_every_field_is_described(kind):
    top = version(kind)["schema"]["openAPIV3Schema"]
    for path, schema in {"": top, **fields(kind)}.items():
        if not path.endswith(("[]", "{}")) or schema["type"] == "object":
            assert len(schema.get("description", "")) > 15, path


@by_kind
def test_every_size_is_bounded(kind):
    for path, schema in fields(kind).items():
        if schema["type"] == "array":
            assert 0 < schema["maxItems"] <= 4096, path
        if schema["type"] == "string" and "enum" not in schema and "format" not in schema:
            assert 0 < schema["maxLength"] <= 32768, path
        if "additionalProperties" in schema:
            assert 0 < schema["maxProperties"] <= 256, path


@by_kind
def test_nothing_is_required_but_in_conditions_keys_of_lists_and_what_people_write_to_us(kind):
    known = {"": version(kind)["schema"]["openAPIV3Schema"], **fields(kind)}
    for path, schema in known.items():
        if path == "status.conditions[]":
            assert "required" in schema
        elif "required" in schema and not (kind.group == OWN_GROUP and path.startswith("spec.")):
            assert schema["required"] == known[path.removesuffix("[]")]["x-kubernetes-list-map-keys"], path


def test_every_reason_of_claimable_is_explained():
    reasons = re.findall(r"^ \*   ([A-Z]\w+) ", (ROOT / "agent/inventory/claimable.h").read_text(), re.M)
    assert len(reasons) > 10, "the list of reasons in agent/inventory/claimable.h has another form now"
    pci, usb = (
        fields(kind)["status.conditions"]["description"] for kind in KINDS if kind.kind in ("PCIDevice", "USBDevice")
    )
    assert [reason for reason in reasons if not re.search(rf"\b{reason}\b", pci)] == ["Hub"]
    assert re.search(r"\bHub\b", usb)


CLAIM_REASONS = {
    "Accepted": "Accepted Contradictory DriverNotAllowed DeviceNotFound DeviceGone DifferentDevice "
                "IdentityByModelOnly USBDevicesClaimed GroupShared",
    "GroupViable": "Viable SiblingBound NotBound",
    "DriverBound": "Bound Waiting Binding Releasing Held Busy ClaimDeleted Stuck Released SkippedByAnnotation DeviceGone "
                   "DifferentDevice OverrideOwned InUse UseUnknown DriverChanged DriverMissing NoIOMMUBackend StateNotWritable "
                   "OverrideFailed UnbindFailed ProbeFailed NativeDriverMissing NativeBindFailed GroupNotViable "
                   "NodeMissing HelperFailed",
    "Offered": "Offered NameIgnored NotBound NotOffered Unhealthy GroupInUse NameTaken Waiting Releasing NoKubelet "
               "NodeGone NodeUnreadable",
    "Ready": "Ready",
    "NodeReachable": "Reachable NodeGone NodeNotReady AgentNotRunning",
}


DEVICE_REASONS = {"Claimable": "Available GroupShared UseUnknown DeviceGone", "Distinguishable": "IdentityByModelOnly",
                  "Offered": "Offered BoundOnDemand Unhealthy GroupInUse OtherPlugin", "Claimed": "Claimed"}


STICK_REASONS = {"Claimable": "Available InUse Hub DeviceGone", "Offered": "Offered Unhealthy"}


NIC_REASONS = {
    "Accepted": "Accepted DeviceNotFound DeviceGone DifferentDevice Duplicate NotPhysicalFunction TooManyVFs "
                "PassedThrough DuplicateMAC NoInterface VFsInUse HostNetwork HostFilesystem HostSwap Console UseUnknown",
    "Ready": "Ready AsFound Applying Busy Held Stuck NumVFsFailed AutoprobeFailed SettingsFailed AgentNotPrivileged "
             "StateNotWritable HelperFailed",
}


GPU_REASONS = {
    "Ready": "Enabled Disabled Applying InUse PassedThrough DeviceGone ToolMissing ToolFailed NoEffect HelperFailed "
             "Stuck",
}


VGPU_REASONS = {
    "Ready": "Configured Disabled Applying InUse TypeNotAvailable Claimed NoBackend DeviceGone WriteFailed "
             "HelperFailed Stuck",
}


MIG_REASONS = {
    "Ready": "Synced Disabled Unmanaged Applying OutOfSync UnknownProfile NotSupported ModePending Skipped InUse "
             "DeviceGone ToolMissing ToolFailed Stuck",
}


CONFIG_REASONS = {"Accepted": "Accepted EntriesLeftOut"}


@pytest.mark.parametrize("name, wanted", [
    ("PCIDevice", DEVICE_REASONS), ("USBDevice", STICK_REASONS), ("PCIDeviceClaim", CLAIM_REASONS), ("SRIOVNetworkDevice", NIC_REASONS),
    ("HostDeviceConfig", CONFIG_REASONS),
    ("SRIOVGPUDevice", GPU_REASONS), ("VGPUDevice", VGPU_REASONS), ("MigConfiguration", MIG_REASONS),
])
def test_every_condition_is_explained_with_its_reasons(name, wanted):
    (one,) = (kind for kind in ALL if kind.kind == name)
    text = fields(one)["status.conditions"]["description"]
    parts = re.split(r"\b(\w+) says whether ", text)[1:]
    told = dict(zip(parts[::2], parts[1::2]))
    assert list(told) == list(wanted)
    for condition, reasons in wanted.items():
        assert [one for one in reasons.split() if not re.search(rf"\b{one}\b", told[condition])] == [], condition
