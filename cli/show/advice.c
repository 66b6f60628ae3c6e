#include "cli/show/advice.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"

/* clang-format off */
static const struct {
	const char *reason;
	const char *text;
} advices[] = {
	/* of devices */
	{ "NoIOMMU", "Switch the IOMMU on in the node's firmware and on its kernel command line." },
	{ "HostFilesystem", "The node runs from it: it cannot be lent unless the node is set up otherwise." },
	{ "HostSwap", "Switch that swap off, if the node can do without." },
	{ "HostNetwork", "Move the node's address or default route to another interface first." },
	{ "Console", "Move the node's console elsewhere first." },
	{ "InUse", "Unmount its file system, or take its interface down." },
	{ "VirtualFunctionsActive", "Set spec.numVFs: 0 of its SRIOVNetworkDevice first." },
	{ "GroupHostCritical", "Nothing in its IOMMU group can be lent while the function that the message names is needed by the node." },
	{ "DeviceGone", "Plug it in again, or release the claim: the object goes with it." },
	{ "GroupShared", "Claim the other functions of its IOMMU group as well, or claim it with --include-group." },
	/* of claims */
	{ "NotSeen", "Is hostdev-agent running on its node? kubectl -n hostdev-system get pods -l app.kubernetes.io/component=agent -o wide" },
	{ "SkippedByAnnotation", "The claim's annotation leaves the binding to others; remove it to have it bound." },
	{ "Contradictory", "Release it, and claim the device by its name." },
	{ "DriverNotAllowed", "Have the agents allow that driver (--vfio-driver), or claim without --driver." },
	{ "DeviceNotFound", "The claim waits until such a device is plugged; release it if it will not be." },
	{ "DifferentDevice", "Release the claim: what it was for is no longer there." },
	{ "USBDevicesClaimed", "Release the USB devices that the message names first." },
	{ "ControllerClaimed", "Release the USB controller that the message names first." },
	{ "SiblingBound", "Claim that function of the group as well, or claim with --include-group." },
	{ "Held", "Nothing is done before the holder ends: stop the pod or process that the message names." },
	{ "Stuck", "The kernel has not let a step end, and it goes on when the kernel does: look at the node's kernel log." },
	{ "OverrideOwned", "Clear the driver_override that somebody else has set on the node." },
	{ "DriverMissing", "Load the driver on the node (modprobe), or have it loaded at boot (/etc/modules-load.d)." },
	{ "NoIOMMUBackend", "Load vfio_iommu_type1 on the node." },
	{ "NativeDriverMissing", "Load the driver that the device is to go back to." },
	{ "HelperFailed", "It is tried again; the agent's log says more." },
	{ "StateNotWritable", "Make the agent's state directory on the node writable." },
	{ "NameTaken", "Give one of the two another resource name." },
	{ "AlreadyClaimed", "Release the other claim of the same device." },
	{ "NodeGone", "The cluster has no such node: its devices and claims are removed after a while." },
	{ "NodeNotReady", "See why the node is not ready: kubectl describe node NODE" },
	{ "AgentNotRunning", "See why no pod of hostdev-agent is ready on the node: kubectl -n hostdev-system get pods -l app.kubernetes.io/component=agent -o wide" },
	/* of cards */
	{ "NoSuchVF", "Raise spec.numVFs, or take the index out of spec.virtualFunctions." },
	{ "TooManyVFs", "Lower spec.numVFs to what the hardware can make." },
	{ "VFsInUse", "Release the virtual function that the message names." },
	{ "PassedThrough", "Release the card itself first." },
	{ "DuplicateMAC", "Give each virtual function a MAC address of its own." },
	{ "NoInterface", "Load the card's driver on the node." },
};
/* clang-format on */

const char *advice_for(const char *reason)
{
	for (size_t i = 0; i < ARRAY_LEN(advices); i++) {
		if (strcmp(advices[i].reason, reason) == 0)
			return advices[i].text;
	}
	return NULL;
}
