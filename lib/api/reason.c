#include "api/reason.h"

#include <string.h>

#include "base/mem.h"

#define PCI      REASON_PCI_CLAIM
#define CLAIMS   (REASON_PCI_CLAIM | REASON_USB_CLAIM)
#define USE      REASON_USE
#define NEEDED   (REASON_USE | REASON_CRITICAL | REASON_LIFTED)
#define LIFTED   REASON_LIFTED
#define PROGRESS REASON_PROGRESS

/* clang-format off */
static const struct reason reasons[] = {
	{ "Ready", "ready", CLAIMS },
	{ "Waiting", "waiting", PCI | PROGRESS },
	{ "Binding", "waiting", PCI | PROGRESS },
	{ "Releasing", "waiting", CLAIMS | PROGRESS },
	{ "Released", "waiting", CLAIMS | PROGRESS },
	{ "Busy", "waiting", CLAIMS | PROGRESS },
	{ "NotOffered", "waiting", CLAIMS | PROGRESS },
	{ "NodeGone", "waiting", PCI | PROGRESS },
	{ "NodeUnreadable", "waiting", PCI | PROGRESS },
	{ "ClaimDeleted", "waiting", PCI },
	{ "SkippedByAnnotation", "waiting", PCI | PROGRESS },
	{ "Held", "held", CLAIMS },
	{ "GroupInUse", "held", PCI | PROGRESS },
	{ "Stuck", "stuck", CLAIMS },
	/* about the claim, or about other claims that block it */
	{ "AlreadyClaimed", "refused", REASON_USB_CLAIM },
	{ "Contradictory", "refused", PCI },
	{ "ControllerClaimed", "refused", REASON_USB_CLAIM },
	{ "DeviceGone", "refused", CLAIMS },
	{ "DeviceNotFound", "refused", CLAIMS },
	{ "DifferentDevice", "refused", CLAIMS },
	{ "DriverNotAllowed", "refused", PCI },
	{ "GroupShared", "refused", PCI },
	{ "IdentityByModelOnly", "refused", PCI },
	{ "NameTaken", "refused", CLAIMS },
	{ "NodeNotWritable", "refused", REASON_USB_CLAIM },
	{ "OverrideOwned", "refused", PCI },
	{ "SiblingBound", "refused", PCI },
	{ "Unreadable", "refused", REASON_USB_CLAIM },
	{ "USBDevicesClaimed", "refused", PCI },
	/* about the device: agent/inventory/claimable.h. Neither a device that can never be
	 * claimed nor a temporary state can be overridden */
	{ "Console", "refused", CLAIMS | NEEDED },
	{ "GroupHostCritical", "refused", PCI | USE | LIFTED },
	{ "HostBridge", "refused", PCI },
	{ "HostFilesystem", "refused", CLAIMS | NEEDED },
	{ "HostFunction", "refused", CLAIMS | LIFTED },
	{ "HostNetwork", "refused", CLAIMS | NEEDED },
	{ "HostSwap", "refused", CLAIMS | NEEDED },
	{ "Hub", "refused", REASON_USB_CLAIM },
	{ "InUse", "refused", CLAIMS | USE },
	{ "NoIOMMU", "refused", PCI },
	/* the only one that a USBDeviceClaim may override: nothing makes the host release a USB
	 * device before a pod gets it */
	{ "UseUnknown", "refused", CLAIMS | USE | LIFTED | REASON_LIFTED_USB },
	{ "VirtualFunctionsActive", "refused", PCI },
	{ "WideDomain", "refused", PCI | LIFTED },
	/* results of a transition: agent/helper/frame/run.c */
	{ "DriverChanged", "failed", PCI },
	{ "DriverMissing", "failed", PCI },
	{ "GroupNotViable", "failed", PCI },
	{ "HelperFailed", "failed", CLAIMS },
	{ "NativeBindFailed", "failed", PCI },
	{ "NativeDriverMissing", "failed", PCI },
	{ "NoIOMMUBackend", "failed", PCI },
	{ "NodeMissing", "failed", PCI },
	{ "OverrideFailed", "failed", PCI },
	{ "ProbeFailed", "failed", CLAIMS },
	{ "StateNotWritable", "failed", CLAIMS },
	{ "UnbindFailed", "failed", CLAIMS },
	/* reported to the kubelet: agent/resource/pci_type.c */
	{ "Unhealthy", "failed", PCI },
	/* of cards, in addition to some of the above */
	{ "Applying", NULL, PROGRESS },
	{ "Disabled", NULL, PROGRESS },
};
/* clang-format on */

const struct reason *reason_find(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(reasons); i++) {
		if (strcmp(reasons[i].name, name) == 0)
			return &reasons[i];
	}
	return NULL;
}

bool reason_is(const char *name, unsigned flags)
{
	const struct reason *reason = reason_find(name);

	return reason && (reason->flags & flags);
}

const struct reason *reason_next(unsigned flags, size_t *cursor)
{
	while (*cursor < ARRAY_LEN(reasons)) {
		const struct reason *reason = &reasons[(*cursor)++];

		if (reason->flags & flags)
			return reason;
	}
	return NULL;
}
