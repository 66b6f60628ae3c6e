#include "agent/claim/claim_count.h"

#include "base/mem.h"
#include "kube/reason_count.h"

/* docs/reasons.md says what each means. */
static const struct reason_row rows[] = {
	{ "Ready", "ready" },
	{ "Waiting", "waiting" },
	{ "Binding", "waiting" },
	{ "Releasing", "waiting" },
	{ "Released", "waiting" },
	{ "Busy", "waiting" },
	{ "NotOffered", "waiting" },
	{ "ClaimDeleted", "waiting" },
	{ "SkippedByAnnotation", "waiting" },
	{ "Held", "held" },
	{ "Stuck", "stuck" },
	/* of the claim or of others that stand in its way */
	{ "Contradictory", "refused" },
	{ "DeviceGone", "refused" },
	{ "DeviceNotFound", "refused" },
	{ "DifferentDevice", "refused" },
	{ "DriverNotAllowed", "refused" },
	{ "GroupShared", "refused" },
	{ "IdentityByModelOnly", "refused" },
	{ "NameTaken", "refused" },
	{ "OverrideOwned", "refused" },
	{ "SiblingBound", "refused" },
	{ "USBDevicesClaimed", "refused" },
	/* of the device: agent/inventory/claimable.h */
	{ "Console", "refused" },
	{ "WideDomain", "refused" },
	{ "GroupHostCritical", "refused" },
	{ "HostBridge", "refused" },
	{ "HostFilesystem", "refused" },
	{ "HostFunction", "refused" },
	{ "HostNetwork", "refused" },
	{ "HostSwap", "refused" },
	{ "InUse", "refused" },
	{ "NoIOMMU", "refused" },
	{ "UseUnknown", "refused" },
	{ "VirtualFunctionsActive", "refused" },
	/* what a transition came to: agent/helper/transition/transition_out.c */
	{ "DriverChanged", "failed" },
	{ "DriverMissing", "failed" },
	{ "GroupNotViable", "failed" },
	{ "HelperFailed", "failed" },
	{ "NativeBindFailed", "failed" },
	{ "NativeDriverMissing", "failed" },
	{ "NoIOMMUBackend", "failed" },
	{ "NodeMissing", "failed" },
	{ "OverrideFailed", "failed" },
	{ "ProbeFailed", "failed" },
	{ "StateNotWritable", "failed" },
	{ "UnbindFailed", "failed" },
	{ "Unknown", "waiting" },
	{ "Other", "failed" },
};

struct reason_count *claim_count_new(struct metrics *metrics)
{
	return reason_count_new(metrics, "PCIDeviceClaim", rows, ARRAY_LEN(rows));
}
