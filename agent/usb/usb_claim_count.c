#include "agent/usb/usb_claim_count.h"

#include "base/mem.h"
#include "kube/reason_count.h"

/* docs/reasons.md says what each means. */
static const struct reason_row rows[] = {
	{ "Ready", "ready" },
	{ "Released", "waiting" },
	{ "Held", "held" },
	{ "AlreadyClaimed", "refused" },
	{ "ControllerClaimed", "refused" },
	{ "DeviceGone", "refused" },
	{ "DeviceNotFound", "refused" },
	{ "DifferentDevice", "refused" },
	{ "NameTaken", "refused" },
	{ "NodeNotWritable", "refused" },
	{ "Unreadable", "refused" },
	/* of the device: agent/inventory/claimable.h */
	{ "Console", "refused" },
	{ "HostFilesystem", "refused" },
	{ "HostFunction", "refused" },
	{ "HostNetwork", "refused" },
	{ "HostSwap", "refused" },
	{ "Hub", "refused" },
	{ "InUse", "refused" },
	{ "UseUnknown", "refused" },
	{ "Unknown", "waiting" },
	{ "Other", "failed" },
};

struct reason_count *usb_claim_count_new(struct metrics *metrics)
{
	return reason_count_new(metrics, "USBDeviceClaim", rows, ARRAY_LEN(rows));
}
