#include "cli/model/state.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "api/condition.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "base/str.h"
#include "cli/model/cluster.h"

/* clang-format off */
static const struct state_look looks[STATES] = {
	[STATE_UNKNOWN]   = { "unknown",   "Unknown",   '?', COLOUR_RED,
				"no agent has reported it, or its node has a problem" },
	[STATE_CLAIMABLE]      = { "claimable", "Claimable", 'o', COLOUR_NONE,
				"may be claimed now" },
	[STATE_REFUSED]   = { "refused",   "Refused",   '-', COLOUR_DIM,
				"its node needs it, or it cannot be claimed now" },
	[STATE_PENDING]   = { "pending",   "Pending",   '~', COLOUR_YELLOW,
				"claimed, not ready yet" },
	[STATE_AVAILABLE]     = { "available", "Available", '+', COLOUR_GREEN,
				"offered to the kubelet, and no pod has it" },
	[STATE_USED]      = { "in use",    "InUse",     '#', COLOUR_BLUE,   "a pod has it" },
	[STATE_RELEASING] = { "releasing", "Releasing", '<', COLOUR_YELLOW,
	  "its claim is being deleted" },
	[STATE_MISSING]   = { "missing",   "Missing",   '!', COLOUR_RED,
				"claimed, but not on its node" },
	[STATE_STUCK]     = { "stuck",     "Stuck",     'X', COLOUR_RED,
				"the kernel has not finished a step" },
};
/* clang-format on */

const struct state_look *state_look(enum device_state state)
{
	assert(state < STATES);
	return &looks[state];
}

static struct state_verdict plain(enum device_state state, const char *reason, const char *message)
{
	return (struct state_verdict){ state, reason, message, "" };
}

static struct state_verdict by_condition(enum device_state state, const struct api_condition *c)
{
	return (struct state_verdict){ state, str_or_empty(c->reason), str_or_empty(c->message),
				       str_or_empty(c->last_transition_time) };
}

static const struct api_condition *find(const struct api_conditions *list, const char *type)
{
	return list ? api_conditions_find(list, type) : NULL;
}

static bool says(const struct api_condition *c, const char *status)
{
	return c && c->status && strcmp(c->status, status) == 0;
}

/* The state of a device with a claim: the first thing that is missing. */
static struct state_verdict by_claim(const struct cluster_device *device)
{
	const struct api_condition *reach = find(device->claim_conditions, "NodeReachable");
	const struct api_condition *ready = find(device->claim_conditions, "Ready");
	bool deleting = device->claim->deletion_timestamp != NULL;

	if (says(reach, "False"))
		return by_condition(STATE_UNKNOWN, reach);
	if (deleting && ready && !says(ready, "True"))
		return by_condition(STATE_RELEASING, ready);
	if (deleting)
		return plain(STATE_RELEASING, "Releasing", "the claim is being deleted");
	if (!ready)
		return plain(
			device->is_there ? STATE_PENDING : STATE_MISSING, "NotSeen",
			device->is_there
				? "waiting for the agent of its node: does hostdev-agent run there?"
				: "waiting for the agent of its node: is there a device of that "
				  "name, and does hostdev-agent run there?");
	/* The device of such a claim has an object; the caller may not read it. */
	if (says(ready, "True") && !device->is_there)
		return plain(STATE_UNKNOWN, "NotRead",
			     "the claim is Ready, but its device cannot be read: whether a pod has "
			     "it is not known");
	if (says(ready, "True"))
		return by_condition(STATE_AVAILABLE, ready);
	/* The object of a claimed device that is gone stays. */
	if (!device->is_there || strcmp(str_or_empty(ready->reason), "DeviceGone") == 0)
		return by_condition(STATE_MISSING, ready);
	return by_condition(STATE_PENDING, ready);
}

/* Why a claim is refused because of other claims and objects, as in controller/admission, or why
 * that is not known. */
static const struct {
	enum device_state state;
	const char *reason;
	const char *message;
} conflicts[] = {
	[CONFLICT_DIVIDED] = { STATE_REFUSED, "Divided",
			       "an SRIOVNetworkDevice, SRIOVGPUDevice or VGPUDevice divides it" },
	[CONFLICT_VF] = { STATE_REFUSED, "VirtualFunctionClaimed",
			  "a virtual function of it is claimed" },
	[CONFLICT_PF] = { STATE_REFUSED, "PhysicalFunctionClaimed",
			  "it is a virtual function, and its physical function is claimed" },
	[CONFLICT_USB] = { STATE_REFUSED, "USBDevicesClaimed",
			   "USB devices behind this controller, or one of its IOMMU group, are "
			   "claimed, or a pod has them" },
	[CONFLICT_CONTROLLER] = { STATE_REFUSED, "ControllerClaimed",
				  "the USB controller of this device is claimed" },
	[CONFLICT_OWNER] = { STATE_REFUSED, "GroupOwned",
			     "another user has claimed a function of its IOMMU group, and all "
			     "claims of a group must have one owner" },
	[CONFLICT_GROUP] = { STATE_CLAIMABLE, "GroupClaimed",
			     "the claim of another function has its whole IOMMU group, which one "
			     "pod at a time can use" },
	[CONFLICT_HIDDEN] = { STATE_UNKNOWN, "NotRead",
			      "whether it is claimed is not known: you may not read its claim" },
	[CONFLICT_USB_HIDDEN] = { STATE_UNKNOWN, "NotRead",
				  "whether USB devices behind it, or its IOMMU group, are claimed "
				  "is not known: you may not read USBDeviceClaims" },
};

static struct state_verdict by_itself(const struct cluster_device *device)
{
	const struct api_condition *claimable = find(device->conditions, "Claimable");
	const struct api_condition *offered = find(device->conditions, "Offered");
	enum state_conflict conflict = device->claim_hidden ? CONFLICT_HIDDEN : device->conflict;

	/* The pods of a ResourceClaim have it; not everybody may read that. */
	if (says(offered, "True") && strcmp(str_or_empty(offered->reason), "BoundOnDemand") == 0)
		return by_condition(STATE_USED, offered);
	if (says(offered, "True"))
		return by_condition(STATE_AVAILABLE, offered);
	if (device->type == DEVICE_MDEV && device->resource[0])
		return plain(STATE_AVAILABLE, "Lent", "the HostDeviceConfig offers it");
	if (device->type == DEVICE_MDEV)
		return plain(
			STATE_REFUSED, "NotLent",
			"no entry of the HostDeviceConfig offers mediated devices of its type");
	if (says(claimable, "True") && conflict)
		return plain(conflicts[conflict].state, conflicts[conflict].reason,
			     conflicts[conflict].message);
	if (says(claimable, "True"))
		return by_condition(STATE_CLAIMABLE, claimable);
	if (says(claimable, "False") && claimable->reason &&
	    strcmp(claimable->reason, "DeviceGone") == 0)
		return by_condition(STATE_MISSING, claimable);
	if (says(claimable, "False"))
		return by_condition(STATE_REFUSED, claimable);
	return plain(STATE_UNKNOWN, "NotSaid", "no agent has said whether it may be claimed");
}

/* Is a device of this state "in use" if a pod has it? Not while it is being released, is
 * missing, or its node has a problem. */
static bool yields_to_pod(const struct cluster_device *device, enum device_state state)
{
	switch (state) {
	case STATE_CLAIMABLE:
	case STATE_REFUSED:
	case STATE_PENDING:
	case STATE_AVAILABLE:
		return true;
	case STATE_UNKNOWN:
		return !device->claim;
	case STATE_USED:
	case STATE_RELEASING:
	case STATE_MISSING:
	case STATE_STUCK:
	case STATES:
		break;
	}
	return false;
}

/* The condition with the reason Stuck: Ready, or DriverBound while Ready has another reason. */
static const struct api_condition *find_stuck(const struct api_conditions *list)
{
	for (size_t i = 0; list && i < list->len; i++) {
		const struct api_condition *c = &list->items[i];

		if (strcmp(str_or_empty(c->reason), "Stuck") == 0 && !says(c, "True"))
			return c;
	}
	return NULL;
}

static struct state_verdict by_fault(const struct node_fault *fault)
{
	return (struct state_verdict){ STATE_UNKNOWN, fault->reason, fault->message, fault->since };
}

/* Stuck comes first, because only the kernel ends it, whatever happens to pod, claim and node.
 * Then a fault of the node, because its reports are out of date. */
struct state_verdict state_judge(const struct cluster_device *device)
{
	const struct api_condition *stuck = find_stuck(device->claim_conditions);
	struct state_verdict verdict;

	if (stuck)
		return by_condition(STATE_STUCK, stuck);
	if (device->fault)
		return by_fault(device->fault);
	verdict = device->claim ? by_claim(device) : by_itself(device);
	if (((device->allocations && device->allocations->len > 0) || device->resource_claim) &&
	    yields_to_pod(device, verdict.state))
		verdict.state = STATE_USED;
	return verdict;
}

struct state_verdict state_judge_part(const struct api_conditions *conditions, bool used,
				      const struct node_fault *fault)
{
	const struct api_condition *stuck = find_stuck(conditions);
	const struct api_condition *ready = find(conditions, "Ready");

	if (stuck)
		return by_condition(STATE_STUCK, stuck);
	if (fault)
		return by_fault(fault);
	if (!ready)
		return plain(STATE_PENDING, "NotSeen", "waiting for the agent of its node");
	if (says(ready, "True"))
		return by_condition(used ? STATE_USED : STATE_AVAILABLE, ready);
	if (strcmp(str_or_empty(ready->reason), "DeviceGone") == 0)
		return by_condition(STATE_MISSING, ready);
	return by_condition(STATE_PENDING, ready);
}

const char *state_finalizer(const struct api_meta *claim)
{
	if (!claim->deletion_timestamp || claim->finalizers.len == 0 ||
	    api_meta_has_finalizer(claim, NAMES_FINALIZER_HARVESTER_PCI) ||
	    api_meta_has_finalizer(claim, NAMES_FINALIZER_HARVESTER_USB))
		return NULL;
	return claim->finalizers.items[0];
}
