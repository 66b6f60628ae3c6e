#include "cli/print/advice.h"

#include <stddef.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"
#include "base/str.h"

/* clang-format off */
static const struct {
	const char *reason;
	const char *text;
} advices[] = {
	/* of devices */
	{ "NoIOMMU", "Enable the IOMMU in the node's firmware and on its kernel command line." },
	{ "HostBridge", "Claim a device behind it: it is a bridge." },
	{ "HostFunction", "Claim another device: this one is part of the machine itself." },
	{ "Hub", "Claim the devices behind it: it is a hub." },
	{ "HostFilesystem",
	  "The node runs from it: move that to another disk, or claim another device." },
	{ "HostSwap", "Disable that swap, if the node does not need it." },
	{ "HostNetwork", "Move the node's address or default route to another interface first." },
	{ "Console", "Move the node's console elsewhere first." },
	{ "InUse",
	  "End the use that the message names: unmount its file system, take its interface down, "
	  "or end the pod or machine." },
	{ "UseUnknown",
	  "Make visible on the node what the message names, or claim with the override if you know "
	  "that the device is unused." },
	{ "VirtualFunctionsActive", "Set spec.numVFs: 0 of its SRIOVNetworkDevice first." },
	{ "GroupHostCritical",
	  "Claim a device of another IOMMU group: the node needs the function that the message "
	  "names." },
	{ "WideDomain",
	  "Claim another device: KubeVirt cannot parse its PCI address. The override lifts that, "
	  "for pods that are no virtual machines." },
	{ "DeviceGone", "Plug it in again, or release its claim." },
	{ "GroupShared", "The functions of an IOMMU group are claimed together. HOW" },
	{ "Divided",
	  "Set spec.numVFs: 0 of its SRIOVNetworkDevice, or spec.enabled: false of its "
	  "SRIOVGPUDevice or VGPUDevice, first." },
	{ "VirtualFunctionClaimed", "Release its virtual functions that are claimed or in use." },
	{ "PhysicalFunctionClaimed", "Release its physical function first." },
	{ "GroupOwned",
	  "Ask that user to release the function, or, with the verb manage on both, claim this one "
	  "for them: kubectl hostdev claim DEVICE --for USER" },
	{ "GroupClaimed", "One pod at a time can use the functions of its IOMMU group. HOW" },
	{ "NotSaid",
	  "Check that hostdev-agent runs on its node: kubectl -n hostdev-system get pods -l "
	  "app.kubernetes.io/component=agent -o wide" },
	{ "NotLent", "Add an entry for its type to mediatedDevices of the HostDeviceConfig." },
	/* of claims */
	{ "NotSeen",
	  "Check that hostdev-agent runs on its node: kubectl -n hostdev-system get pods -l "
	  "app.kubernetes.io/component=agent -o wide" },
	{ "SkippedByAnnotation",
	  "The claim's annotation leaves the binding to others; remove it to have it bound." },
	{ "Contradictory", "Release it, and claim the device by its name." },
	{ "DriverNotAllowed",
	  "Have the agents allow that driver (--vfio-driver), or claim without --driver." },
	{ "DeviceNotFound",
	  "The claim waits until such a device is plugged; release it if it will not be." },
	{ "DifferentDevice",
	  "Release the claim, or delete the object, of the former device: another one is in its "
	  "place." },
	{ "IdentityByModelOnly",
	  "Check which of the equal devices this one is. A claim that waits for that after a boot "
	  "goes on with the annotation hostdev.io/identify-by-address=true." },
	{ "USBDevicesClaimed",
	  "Release the USB devices behind it first, or delete the pods that have them: kubectl "
	  "hostdev who shows both." },
	{ "ControllerClaimed", "Release the USB controller that the message names first." },
	{ "SiblingBound", "The functions of an IOMMU group are claimed together. HOW" },
	{ "Held",
	  "Nothing is done before the holder ends: stop the pod or process that the message "
	  "names." },
	{ "Stuck",
	  "The kernel has not finished a step; hostdev continues when it has. See the node's "
	  "kernel log, and for a device on vfio-pci which process has it open: fuser "
	  "/dev/vfio/GROUP on the node." },
	{ "OverrideOwned", "Clear the driver_override that another program has set on the node." },
	{ "DriverChanged", "Find out what else changes the driver of the device." },
	{ "DriverMissing",
	  "Load the driver on the node (modprobe), or have it loaded at boot "
	  "(/etc/modules-load.d)." },
	{ "NoIOMMUBackend", "Load vfio_iommu_type1 on the node." },
	{ "NativeDriverMissing", "Load the driver to which the device returns." },
	{ "OverrideFailed", "See the node's kernel log; the agent tries again." },
	{ "UnbindFailed", "See the node's kernel log; the agent tries again." },
	{ "ProbeFailed", "See the node's kernel log; the agent tries again." },
	{ "NativeBindFailed", "See the node's kernel log; the agent tries again." },
	{ "GroupNotViable", "See the node's kernel log; the agent tries again." },
	{ "NodeMissing",
	  "Is its node below /dev/vfio on the machine? Look at udev, or at the agent's "
	  "--dev-root." },
	{ "HelperFailed", "The agent tries again; see its log." },
	{ "StateNotWritable",
	  "Make the agent's state directory on the node writable, or free space on its disk." },
	{ "Unreadable", "Unplug it and plug it in again: its descriptors cannot be read." },
	{ "NodeNotWritable",
	  "Install manifests/components/usb, or have a udev rule of the host give the device's "
	  "node to 107:107." },
	{ "NotOffered", "Wait for the kubelet, which updates its Node every 10 s." },
	{ "Unhealthy",
	  "Do what the message says: the claim is ready again when the cause is gone." },
	{ "OtherPlugin",
	  "Run one of the two device plugins on the node: hostdev offers the GPUs when the other "
	  "one has ended." },
	{ "NodeUnreadable",
	  "Let the agent read its Node: give its ClusterRole get, list and watch of nodes." },
	{ "NameIgnored",
	  "Set a resource name DOMAIN/NAME that a kubelet accepts, or remove the annotation." },
	{ "NoKubelet",
	  "Run a kubelet on the node, and its agent with device plugins, if pods need the "
	  "device." },
	{ "NameTaken", "Give one of the two another resource name." },
	{ "AlreadyClaimed", "Release the other claim of the same device." },
	{ "NodeGone",
	  "Bring the node back. Otherwise its devices and claims are removed after a while." },
	{ "NodeNotReady", "See why the node is not ready: kubectl describe node NODE" },
	{ "AgentNotRunning",
	  "Check that hostdev-agent runs on its node: kubectl -n hostdev-system get pods -l "
	  "app.kubernetes.io/component=agent -o wide" },
	/* of cards */
	{ "NoSuchVF", "Raise spec.numVFs, or take the index out of spec.virtualFunctions." },
	{ "TooManyVFs", "Lower spec.numVFs to what the hardware can make." },
	{ "VFsInUse", "Release its virtual functions that are claimed or in use." },
	{ "PassedThrough", "Release the card itself first." },
	{ "DuplicateMAC", "Give each virtual function a MAC address of its own." },
	{ "NoInterface", "Load the card's driver on the node." },
	{ "Duplicate", "Delete one of the two objects about the card." },
	{ "NotPhysicalFunction",
	  "Delete the object, or set its spec.address to a card that can make virtual functions." },
	{ "NumVFsFailed", "See the node's kernel log; the agent tries again." },
	{ "AutoprobeFailed", "See the node's kernel log; the agent tries again." },
	{ "AgentNotPrivileged", "Install the agents with manifests/components/privileged." },
	{ "SettingsFailed", "See the node's kernel log; the agent tries again." },
	/* of GPUs */
	{ "NotSupported", "Delete the object, or divide the card that it is about first." },
	{ "ToolMissing",
	  "Add NVIDIA's program to the agent's image, or set its path with --sriov-manage or "
	  "--nvidia-smi." },
	{ "ToolFailed",
	  "Do what the message says, and look at the driver's messages in the node's kernel log." },
	{ "NoEffect", "Look at the driver's messages in the node's kernel log." },
	{ "TypeNotAvailable", "Choose one of status.availableTypes." },
	{ "Claimed", "Release the function itself to make a vGPU of it." },
	{ "NoBackend", "Load NVIDIA's vGPU driver on the node." },
	{ "WriteFailed",
	  "Remove the mediated device that another program has made, or see the node's kernel "
	  "log." },
	{ "OutOfSync",
	  "Remove the instances that profileSpec does not ask for, or set spec.enabled: false to "
	  "have all removed." },
	{ "ModePending", "Reset the card, or restart the node." },
	{ "UnknownProfile", "Choose among the profiles that status.profileStatus lists." },
	{ "Skipped", "Remove the annotation that leaves the card alone to have it divided." },
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

static char *replaced(const char *from, const char *word, const char *by)
{
	auto_str struct str text = STR_INIT;
	const char *at;

	while (*by && (at = strstr(from, word))) {
		str_add_mem(&text, from, (size_t)(at - from));
		str_add(&text, by);
		from = at + strlen(word);
	}
	str_add(&text, from);
	return str_detach(&text);
}

char *advice_flags(const char *message)
{
	auto_free char *set =
		replaced(message, "set spec.includeIOMMUGroup", "use --include-group");

	auto_free char *flag =
		replaced(set, "set includeIOMMUGroup in the claim", "use --include-group");
	auto_free char *group = replaced(
		flag, "leave spec.includeIOMMUGroup out and claim its functions one by one",
		"claim its functions together without --include-group");

	return replaced(group, "leave spec.userName out", "leave --for out");
}

char *advice_without_group(const char *message)
{
	static const char *const ends[] = { ", or set spec.includeIOMMUGroup",
					    ", or set includeIOMMUGroup",
					    ": leave spec.includeIOMMUGroup out" };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		const char *end = strstr(message, ends[i]);

		if (end)
			return xstrndup(message, (size_t)(end - message));
	}
	return xstrdup(message);
}

char *advice_about(const char *reason, const char *node, const char *device, const char *how)
{
	const char *from = advice_for(reason);
	auto_free char *text = from ? replaced(from, "NODE", node) : NULL;
	auto_free char *whole = text ? replaced(text, "DEVICE", device) : NULL;

	return whole ? replaced(whole, "HOW", how) : NULL;
}

char *advice_kept(const struct api_meta *claim)
{
	const char *finalizer = state_finalizer(claim);

	return finalizer ? xasprintf("the device is released; the finalizer '%s' keeps the claim",
				     finalizer)
			 : NULL;
}

char *advice_unkeep(enum device_type type, const struct api_meta *claim)
{
	return state_finalizer(claim)
		       ? xasprintf(
				 "An administrator can remove the finalizer: kubectl patch "
				 "%sdeviceclaim %s --type=merge -p '{\"metadata\":{\"finalizers\":"
				 "null}}'",
				 type == DEVICE_USB ? "usb" : "pci", claim->name)
		       : NULL;
}
