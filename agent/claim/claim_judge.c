#include "agent/claim/claim_judge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/claim/claim_group.h"
#include "agent/claim/claim_native.h"
#include "agent/claim/claim_plan.h"
#include "agent/claim/claim_status.h"
#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "api/condition.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/override.h"
#include "api/pcideviceclaim.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/store.h"

/* --- USBDeviceClaims on a controller ---------------------------------------------------------- */

/* A claim without a device yet checks the controller's claim itself. */
static bool is_on(const struct claim_case *c, const struct usbdeviceclaim *claim,
		  const char *address)
{
	const struct usbdeviceclaim_status *status = &claim->status;

	return status->port_path && !usbdeviceclaim_waits(claim) && status->node_name &&
	       status->pci_address && strcmp(status->node_name, c->node_name) == 0 &&
	       strcmp(status->pci_address, address) == 0;
}

/* "USBDeviceClaim 'a' and 2 more": those of devices on the controller at @address that the status
 * says they are for, present or not; NULL: there is none. The caller frees. */
static char *claim_usb_claims(const struct claim_case *c, const char *address)
{
	const struct entry *entry;
	const char *first = NULL;
	size_t cursor = 0;
	size_t len = 0;

	while (c->usb_claims && (entry = store_next(c->usb_claims, &cursor))) {
		if (!entry->object || !is_on(c, entry->object, address))
			continue;
		if (!first || strcmp(entry->name, first) < 0)
			first = entry->name;
		len++;
	}
	if (len == 0)
		return NULL;
	return len == 1 ? xasprintf("USBDeviceClaim '%s'", first)
			: xasprintf("USBDeviceClaim '%s' and %zu more", first, len - 1);
}

/* --- the verdict ------------------------------------------------------------------------------ */

enum { LISTED = 8, QUOTED_MAX = 64 };

void claim_verdict_done(struct claim_verdict *verdict)
{
	free(verdict->message);
	*verdict = (struct claim_verdict){ 0 };
}

/* Takes @message. */
static bool refuse(struct claim_verdict *v, const char *reason, char *message)
{
	v->ok = false;
	v->reason = reason;
	v->message = message;
	return true;
}

static bool is_contradictory(const struct claim_case *c, const struct claim_function *f,
			     struct claim_verdict *v)
{
	const char *address = f->claim->spec.address;
	auto_free char *name = NULL;
	auto_free char *shown = NULL;

	if (!*f->address) {
		shown = str_clean(f->claim->spec.node_name, QUOTED_MAX);
		return refuse(
			v, "Contradictory",
			xasprintf("spec.nodeName is '%s', but that node has no PCI device with the "
				  "claim's name: delete the claim and create one with the name of "
				  "the device",
				  shown));
	}
	if (!address || !*address)
		return false;
	name = names_pcidevice(c->node_name, address);
	if (strcmp(name, f->name) == 0)
		return false;
	shown = str_clean(address, QUOTED_MAX);
	return refuse(v, "Contradictory",
		      xasprintf("spec.address is '%s', but the claim's name means %s: delete the "
				"claim and create one with the name of the device",
				shown, f->address));
}

static bool is_driver_refused(const struct claim_case *c, const struct claim_function *f,
			      struct claim_verdict *v)
{
	const char *driver = claim_driver(f->claim);
	auto_free char *shown = NULL;

	if (claim_driver_allowed(c, driver))
		return false;
	shown = str_clean(driver, QUOTED_MAX);
	return refuse(v, "DriverNotAllowed",
		      xasprintf("the agent of the node does not allow the driver '%s': start it "
				"with --vfio-driver %s, or create the claim without spec.driver",
				shown, shown));
}

/* The finalizer was added only when the device was there. */
static bool was_there(const struct claim_function *f)
{
	return f->recorded || f->claim->status.passthrough_enabled ||
	       api_meta_has_finalizer(&f->claim->meta, NAMES_FINALIZER_HARVESTER_PCI);
}

static bool is_missing(const struct claim_case *c, const struct claim_function *f,
		       struct claim_verdict *v)
{
	if (f->pci)
		return false;
	if (c->on_demand)
		return refuse(v, "DeviceNotFound", xasprintf("%s is not on the node", f->address));
	if (was_there(f))
		return refuse(
			v, "DeviceGone",
			xasprintf(
				"%s is no longer on the node: the claim waits until it comes back",
				f->address));
	return refuse(v, "DeviceNotFound",
		      xasprintf("%s is not on the node: the claim waits for it", f->address));
}

/* The ids of a device, and if those are equal what else distinguishes it: "8086:10d3,
 * mac=52:54:00:12:34:56". */
static char *describe(const char *id, bool same_id, const char *serial, const char *identity)
{
	if (!same_id || (!serial && !identity))
		return xstrdup(id);
	return xasprintf("%s%s%s%s%s", id, serial ? ", serial number " : "", serial ? serial : "",
			 identity ? ", " : "", identity ? identity : "");
}

/* A function that was bound for a ResourceClaim is released when no pod has it any more. */
static const char *on_demand_advice(void)
{
	return "delete the pod and its ResourceClaim, and create new ones";
}

static bool is_different(const struct claim_case *c, const struct claim_function *f,
			 struct claim_verdict *v)
{
	auto_free char *id = NULL;
	auto_free char *now = NULL;
	auto_free char *claimed = NULL;
	const char *known;
	bool same_id;

	if (!f->different)
		return false;
	id = xasprintf("%s:%s", f->pci->vendor ? f->pci->vendor : "?",
		       f->pci->device ? f->pci->device : "?");
	known = f->record->id ? f->record->id : "?";
	same_id = strcmp(id, known) == 0;
	now = describe(id, same_id, f->pci->serial, f->pci->identity);
	claimed = describe(known, same_id, f->record->serial, f->record->identity);
	return refuse(v, "DifferentDevice",
		      xasprintf("%s is another device (%s) than the one that was %s (%s): %s",
				f->address, now, c->on_demand ? "bound" : "claimed", claimed,
				c->on_demand ? on_demand_advice()
					     : "delete the claim, and create another to claim this "
					       "device"));
}

/* A boot may have assigned the addresses differently. */
static bool is_ambiguous(const struct claim_case *c, const struct claim_function *f,
			 struct claim_verdict *v)
{
	const struct pci_facts *twin = claim_twin_hinders(c, f);

	if (!twin)
		return false;
	return refuse(
		v, "IdentityByModelOnly",
		xasprintf(
			"the node has booted, and only the address distinguishes %s from %s, which "
			"is of the same model: %s",
			f->address, twin->address,
			c->on_demand
				? on_demand_advice()
				: "check which one is meant, and set the "
				  "annotation " NAMES_ANNOTATION_BY_ADDRESS
				  ": \"true\" on the claim, or delete it and claim the other"));
}

/* A bound controller has no USB devices any more, and a bind that has begun is completed. */
static bool is_usb_claimed(const struct claim_case *c, const struct claim_function *f,
			   struct claim_verdict *v)
{
	auto_free char *claims = f->recorded ? NULL : claim_usb_claims(c, f->address);
	const char *pod =
		c->usb_pods && !f->recorded ? json_pairs_get(c->usb_pods, f->address) : NULL;

	if (claims)
		return refuse(v, "USBDevicesClaimed",
			      xasprintf("USB devices on %s are claimed: delete %s%s", f->address,
					claims, c->on_demand ? "" : ", or this claim"));
	if (!pod)
		return false;
	return refuse(v, "USBDevicesClaimed",
		      xasprintf("USB devices on %s are in use: %s", f->address, pod));
}

/* The pods of a ResourceClaim keep the group. Functions that the claim has bound itself do not
 * count. */
static bool is_bound_on_demand(const struct claim_case *c, const struct claim_function *f,
			       struct claim_verdict *v)
{
	if (!c->bound_for || claim_function_is_bound(f))
		return false;
	return refuse(v, "Held",
		      xasprintf("%s has it, bound on demand: the claim waits until the pods of "
				"that one have ended",
				c->bound_for));
}

/* A device that keeps its driver is not taken from its user. */
static bool is_left_in_use(const struct claim_function *f)
{
	return pcideviceclaim_is_skipped(f->claim) && strcmp(f->verdict->reason, "InUse") == 0;
}

/* Why the claim of @f is refused, apart from its group. */
static bool refuse_alone(const struct claim_case *c, const struct claim_function *f,
			 struct claim_verdict *v)
{
	if (is_contradictory(c, f, v) || is_driver_refused(c, f, v) || is_missing(c, f, v) ||
	    is_different(c, f, v) || is_ambiguous(c, f, v) || is_bound_on_demand(c, f, v))
		return true;
	if (!f->verdict->claimable && !is_left_in_use(f) &&
	    !override_applies(&f->claim->meta, f->verdict->reason))
		return refuse(v, f->verdict->reason, xstrdup(f->verdict->message));
	if (c->bind_trouble && !pcideviceclaim_is_skipped(f->claim))
		return refuse(v, "Held", xstrdup(c->bind_trouble));
	return is_usb_claimed(c, f, v);
}

/* --- one owner for a group --- */

static const char *accepted_status(const struct pcideviceclaim *claim)
{
	const struct api_condition *c = api_conditions_find(&claim->status.conditions, "Accepted");

	return c && c->status ? c->status : "";
}

/* Does the claim of @f have the device already? A bind that the scan has not seen yet may be for
 * the claim of another function, but only for accepted claims. Devices that Harvester has bound
 * have no record. */
static bool has_device(const struct claim_function *f)
{
	if (f->recorded && !f->rewritten)
		return claim_function_recorded_for(f, f->claim);
	if (!claim_is_marked(f->claim) || !claim_function_on_driver(f, f->claim))
		return false;
	return f->rewritten ? strcmp(accepted_status(f->claim), "True") == 0
			    : f->claim->status.passthrough_enabled &&
				      strcmp(accepted_status(f->claim), "False") != 0;
}

/* Does the claim of @f give access to the group? Not if it leaves the device on the host's driver,
 * or if it is being deleted and has released the device. */
static bool shares_group(const struct claim_group *group, const struct claim_function *f)
{
	if (!f->claim || !claim_group_member(group, f))
		return false;
	if (has_device(f))
		return true;
	if (pcideviceclaim_is_skipped(f->claim) && !f->vendor)
		return false;
	return !f->claim->meta.deletion_timestamp || claim_is_marked(f->claim);
}

static bool came_before(const struct claim_function *a, const struct claim_function *b)
{
	int order;

	if (has_device(a) != has_device(b))
		return has_device(a);
	order = str_compare(a->claim->meta.creation_timestamp, b->claim->meta.creation_timestamp);
	return order ? order < 0 : strcmp(a->name, b->name) < 0;
}

static const struct claim_function *find_first_claim(const struct claim_group *group)
{
	const struct claim_function *first = NULL;

	for (size_t i = 0; i < group->len; i++) {
		const struct claim_function *f = &group->items[i];

		if (shares_group(group, f) && (!first || came_before(f, first)))
			first = f;
	}
	return first;
}

/* All claims of a group must have the owner of the first one. Returns that claim's function if @f
 * has another owner, else NULL. No owner is not the same as any owner. */
static const struct claim_function *find_other_owner(const struct claim_group *group,
						     const struct claim_function *f)
{
	const struct claim_function *first = find_first_claim(group);

	if (!shares_group(group, f) ||
	    str_compare(first->claim->spec.user_name, f->claim->spec.user_name) == 0)
		return NULL;
	return first;
}

/* Events have this message, too, and must not name users. */
static bool has_other_owner(const struct claim_group *group, const struct claim_function *f,
			    struct claim_verdict *v)
{
	const struct claim_function *other = find_other_owner(group, f);
	bool owned = other && str_compare(other->claim->spec.user_name, NULL) != 0;

	if (!other)
		return false;
	v->other_owner = true;
	return refuse(
		v, "GroupShared",
		xasprintf(
			"IOMMU group %s also holds %s, %s: whoever has one function of a group can "
			"use all of them. %s, or ask an administrator to claim both for one user",
			f->group, other->address,
			owned ? "which another user has claimed" : "whose claim names no owner",
			owned ? "Ask that user to release it" : "Delete that claim"));
}

/* --- which claim has which function --- */

static bool is_live(const struct pcideviceclaim *claim)
{
	return claim && !claim->meta.deletion_timestamp && !pcideviceclaim_is_skipped(claim);
}

static bool covers_itself(const struct claim_case *c, const struct claim_group *group,
			  const struct claim_function *f)
{
	struct claim_verdict v = { 0 };
	bool refused;

	if (!is_live(f->claim))
		return false;
	refused = refuse_alone(c, f, &v) || has_other_owner(group, f, &v);
	claim_verdict_done(&v);
	return !refused || claim_function_is_bound(f);
}

/* Of several that include the group, the one with the first name. A claim that is bound and
 * refused because of its owner has its own function only. */
static const struct pcideviceclaim *find_including(const struct claim_group *group)
{
	const struct claim_function *first = NULL;

	for (size_t i = 0; i < group->len; i++) {
		const struct claim_function *f = &group->items[i];

		if (claim_group_member(group, f) && f->cover &&
		    f->cover->spec.include_iommu_group && !find_other_owner(group, f) &&
		    (!first || strcmp(f->name, first->name) < 0))
			first = f;
	}
	return first ? first->cover : NULL;
}

void claim_cover_group(const struct claim_case *c, struct claim_group *group)
{
	const struct pcideviceclaim *including;

	for (size_t i = 0; i < group->len; i++) {
		struct claim_function *f = &group->items[i];

		f->cover = covers_itself(c, group, f) ? f->claim : NULL;
	}
	including = find_including(group);
	for (size_t i = 0; including && i < group->len; i++) {
		struct claim_function *f = &group->items[i];

		if (!f->cover && f->pci && claim_group_member(group, f) &&
		    !claim_function_is_port(f))
			f->cover = including;
	}
}

static bool counts(const struct claim_function *f)
{
	return f->recorded || (f->driver && !claim_function_is_port(f));
}

/* The annotation is for the device of its claim, like the verb `override`. A reason of the group
 * names another function, which is judged itself. */
static bool is_sibling_spared(const struct claim_function *f)
{
	if (f->verdict->claimable || f->recorded ||
	    strcmp(f->verdict->reason, "GroupHostCritical") == 0)
		return true;
	return f->cover && f->cover == f->claim &&
	       override_applies(&f->cover->meta, f->verdict->reason);
}

/* For an administrator who has overridden it for the claim that includes it. */
static const char *sibling_advice(const struct claim_function *f)
{
	if (!f->cover || !override_applies(&f->cover->meta, f->verdict->reason))
		return "";
	return ": the annotation " NAMES_ANNOTATION_OVERRIDE
	       " is for the claimed device only, so claim this one too, with the annotation";
}

/* The other functions of the group that are moved must be claimable, too. */
static bool is_sibling_refused(const struct claim_case *c, const struct claim_function *f,
			       struct claim_verdict *v)
{
	if (!counts(f) || !f->pci)
		return false;
	if (is_different(c, f, v) || is_ambiguous(c, f, v))
		return true;
	if (is_sibling_spared(f))
		return is_usb_claimed(c, f, v);
	return refuse(v, f->verdict->reason,
		      xasprintf("IOMMU group %s also holds %s: %s%s", f->group, f->address,
				f->verdict->message, sibling_advice(f)));
}

static bool is_shared(const struct claim_group *group, struct claim_verdict *v)
{
	auto_str struct str missing = STR_INIT;
	size_t len = 0;

	for (size_t i = 1; i < group->len; i++) {
		const struct claim_function *f = &group->items[i];

		if (!claim_group_member(group, f) || !counts(f) || f->cover)
			continue;
		if (len++ >= LISTED)
			continue;
		str_addf(&missing, "%s%s", missing.len ? ", " : "", f->address);
		if (f->driver)
			str_addf(&missing, " (%s)", f->driver);
	}
	if (len == 0)
		return false;
	if (len > LISTED)
		str_addf(&missing, " and %zu more", len - LISTED);
	return refuse(v, "GroupShared",
		      xasprintf("IOMMU group %s also holds %s: claim them too, or set "
				"spec.includeIOMMUGroup",
				claim_group_self(group)->group, missing.buf));
}

static bool is_group_refused(const struct claim_case *c, const struct claim_group *group,
			     struct claim_verdict *v)
{
	for (size_t i = 1; i < group->len; i++) {
		const struct claim_function *f = &group->items[i];

		if (claim_group_member(group, f) && is_sibling_refused(c, f, v))
			return true;
	}
	return is_shared(group, v);
}

void claim_judge(const struct claim_case *c, const struct claim_group *group,
		 struct claim_verdict *ret_verdict)
{
	const struct claim_function *self = claim_group_self(group);

	*ret_verdict = (struct claim_verdict){ 0 };
	if (refuse_alone(c, self, ret_verdict) || has_other_owner(group, self, ret_verdict))
		return;
	if (!pcideviceclaim_is_skipped(self->claim) && !claim_function_is_bound(self) &&
	    is_group_refused(c, group, ret_verdict))
		return;
	*ret_verdict = (struct claim_verdict){
		.ok = true,
		.reason = "Accepted",
		.message = xasprintf("%s may be claimed", self->address),
	};
}
