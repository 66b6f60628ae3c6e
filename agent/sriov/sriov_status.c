#include "agent/sriov/sriov_status.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/limits.h"
#include "agent/sriov/sriov_judge.h"
#include "agent/sriov/sriov_plan.h"
#include "api/names.h"
#include "api/patch.h"
#include "api/sriovnetworkdevice.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"

/* As in crds/devices.harvesterhci.io_sriovnetworkdevices.yaml. */
enum {
	VFS_MAX = 4096,
	ADDRESS_MAX = 16,
	DEVICE_MAX = 9,
	SERIAL_MAX = 64,
	LISTED_MAX = 8, /* indexes in a text */
};

static const char *const our_types[] = { "Accepted", "Ready" };
static const char no_such_vf[] = "NoSuchVF";

#define S struct sriovnetworkdevice_status
static const struct limit limits[] = {
	LIMIT(S, address, ADDRESS_MAX, limit_is_address),
	LIMIT(S, device, DEVICE_MAX, NULL),
	LIMIT(S, serial_number, SERIAL_MAX, NULL),
};
#undef S

static void put(char **member, const char *text)
{
	free(*member);
	*member = xstrdup_or_null(text);
}

static void set_functions(const struct sriov_case *c, struct sriovnetworkdevice_status *want)
{
	json_strs_done(&want->vf_addresses);
	json_strs_done(&want->vf_pci_devices);
	for (size_t i = 0; c->pf && i < c->pf->virtual_functions.len && i < VFS_MAX; i++) {
		const char *address = c->pf->virtual_functions.items[i];

		json_strs_add(&want->vf_addresses, address);
		*array_add(&want->vf_pci_devices) = names_pcidevice(c->node_name, address);
	}
	put(&want->status,
	    want->vf_addresses.len > 0 ? SRIOVNETWORKDEVICE_ENABLED : SRIOVNETWORKDEVICE_DISABLED);
}

/* The identity of the card is recorded once for each address. */
static void set_identity(const struct sriov_case *c, const struct sriov_verdict *verdict,
			 struct sriovnetworkdevice_status *want)
{
	bool same = want->address && c->pf && strcmp(want->address, c->pf->address) == 0;

	if (!c->pf || strcmp(verdict->reason, "DifferentDevice") == 0)
		return;
	if (!same) {
		auto_free char *device = sriov_judge_device(c);

		put(&want->address, c->pf->address);
		put(&want->device, device);
		put(&want->serial_number, NULL);
	}
	if (!want->serial_number)
		put(&want->serial_number, c->pf->serial);
}

/* Settings of virtual functions that do not exist; NULL: none. While a card has none at all, they
 * are kept for later. */
static char *beyond_text(const struct sriov_case *c)
{
	const struct sriovnetworkdevice_vfs *vfs = &c->object->spec.virtual_functions;
	size_t len = c->pf->virtual_functions.len;
	auto_str struct str list = STR_INIT;
	size_t count = 0;

	for (size_t i = 0; len > 0 && i < vfs->len; i++) {
		if ((size_t)vfs->items[i].index < len)
			continue;
		if (count++ < LISTED_MAX)
			str_addf(&list, "%s%d", count > 1 ? ", " : "", vfs->items[i].index);
	}
	if (count == 0)
		return NULL;
	if (count > LISTED_MAX)
		str_addf(&list, " and %zu more", count - LISTED_MAX);
	return xasprintf(
		"spec.virtualFunctions has settings for index %s, but numVFs is %d, and the "
		"%zu virtual functions have the indexes 0 to %zu: raise it, or remove these "
		"settings. The other settings are applied",
		str_cstr(&list), c->object->spec.num_vfs, len, len - 1);
}

/* What is true when nothing is to be done. */
static void set_done(const struct sriov_case *c, const struct patch_status *status)
{
	size_t len = c->pf->virtual_functions.len;
	auto_free char *beyond = beyond_text(c);
	auto_free char *message = NULL;
	bool found = sriov_is_as_found(c->object);

	if (beyond) {
		patch_status_condition(status, "Ready", API_FALSE, no_such_vf, beyond);
		return;
	}
	if (found)
		message = xasprintf(
			"spec.numVFs is not set: the %zu existing virtual functions stay as they "
			"are; set it, or remove the annotation %s",
			len, NAMES_ANNOTATION_FOUND_VFS);
	else
		message = xasprintf("%zu virtual functions, as requested", len);
	patch_status_condition(status, "Ready", API_TRUE, found ? "AsFound" : "Ready", message);
}

static void set_conditions(const struct sriov_case *c, const struct sriov_pending *pending,
			   const struct patch_status *status)
{
	const struct sriov_verdict *v = pending->verdict;

	patch_status_condition(status, "Accepted", v->ok ? API_TRUE : API_FALSE, v->reason,
			       v->message);
	if (pending->reason)
		patch_status_condition(status, "Ready", API_FALSE, pending->reason,
				       pending->message);
	else if (!v->ok)
		patch_status_condition(status, "Ready", API_FALSE, v->reason, v->message);
	else
		set_done(c, status);
}

/* One for each change of Ready; while it is Applying, only if another program has changed the
 * card. */
static void choose_event(const struct sriov_case *c, const struct sriov_pending *pending,
			 const struct sriovnetworkdevice_status *want, struct sriov_event *event)
{
	const struct sriovnetworkdevice_status *old = &c->object->status;
	const struct api_condition *before = api_conditions_find(&old->conditions, "Ready");
	const struct api_condition *ready = api_conditions_find(&want->conditions, "Ready");
	bool was_true = api_conditions_status(&old->conditions, "Ready") == API_TRUE;
	bool same_spec = old->observed_generation == c->object->meta.generation;

	if (api_conditions_status(&want->conditions, "Ready") == API_TRUE) {
		if (before && !was_true)
			*event = (struct sriov_event){ .reason = "Applied" };
	} else if (strcmp(ready->reason, "Applying") == 0) {
		if (was_true && same_spec && pending->verdict->change)
			*event = (struct sriov_event){ .warning = true, .reason = "Drifted" };
	} else if (!before || !before->reason || strcmp(before->reason, ready->reason) != 0) {
		*event = (struct sriov_event){ .warning = true };
		event->reason = pending->reason         ? pending->reason
				: !pending->verdict->ok ? pending->verdict->reason
							: no_such_vf;
	}
	if (event->reason)
		event->message = xstrdup(ready->message);
}

json_t *sriov_status_patch(const struct sriov_case *c, const struct sriov_pending *pending,
			   struct sriov_event *ret_event)
{
	struct sriovnetworkdevice_status want;
	const struct patch_status status = {
		.meta = &c->object->meta,
		.map = sriovnetworkdevice_status_map,
		.have = &c->object->status,
		.want = &want,
		.conditions = &want.conditions,
		.now_wall_ms = c->now_wall_ms,
	};
	json_t *body;

	*ret_event = (struct sriov_event){ 0 };
	json_map_copy(status.map, &want, &c->object->status);
	api_conditions_make_room(&want.conditions, our_types, ARRAY_LEN(our_types));
	want.observed_generation = c->object->meta.generation;
	set_functions(c, &want);
	set_identity(c, pending->verdict, &want);
	limits_apply(limits, ARRAY_LEN(limits), &want);
	set_conditions(c, pending, &status);
	body = patch_status_body(&status);
	if (body)
		choose_event(c, pending, &want, ret_event);
	json_map_done(status.map, &want);
	return body;
}
