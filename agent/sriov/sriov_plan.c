#include "agent/sriov/sriov_plan.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/limits.h"
#include "agent/sriov/sriov_card.h"
#include "agent/sriov/sriov_check.h"
#include "agent/task/task_line.h"
#include "api/json_map.h"
#include "api/names.h"
#include "api/patch.h"
#include "api/sriovnetworkdevice.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/store.h"

/* --- the status ------------------------------------------------------------------------------- */

/* What the status depends on beside the case. All borrowed. */
struct sriov_pending {
	const struct sriov_verdict *verdict;
	const char *reason;  /* why Ready is False; NULL: by the verdict and the card */
	const char *message; /* with a reason                       */
};

/* The event that goes with the patch. */
struct sriov_event {
	bool warning;
	const char *reason; /* NULL: none; static, or part of the case and of what is pending */
	char *message;      /* the caller's */
};

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

static void set_functions(const struct sriov_case *c, struct sriovnetworkdevice_status *want)
{
	json_strs_done(&want->vf_addresses);
	json_strs_done(&want->vf_pci_devices);
	for (size_t i = 0; c->pf && i < c->pf->virtual_functions.len && i < VFS_MAX; i++) {
		const char *address = c->pf->virtual_functions.items[i];

		json_strs_add(&want->vf_addresses, address);
		*array_add(&want->vf_pci_devices) = names_pcidevice(c->node_name, address);
	}
	str_set(&want->status, want->vf_addresses.len > 0 ? SRIOVNETWORKDEVICE_ENABLED
							  : SRIOVNETWORKDEVICE_DISABLED);
}

/* The identity of the card is recorded once for each address. */
static void set_identity(const struct sriov_case *c, const struct sriov_verdict *verdict,
			 struct sriovnetworkdevice_status *want)
{
	bool same = want->address && c->pf && strcmp(want->address, c->pf->address) == 0;

	if (!c->pf || strcmp(verdict->reason, "DifferentDevice") == 0)
		return;
	if (!same) {
		auto_free char *device = sriov_other_device(c);

		str_set(&want->address, c->pf->address);
		str_set(&want->device, device);
		str_set(&want->serial_number, NULL);
	}
	if (!want->serial_number)
		str_set(&want->serial_number, c->pf->serial);
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

/* The patch; NULL, and no event, if the status is so already. The caller releases both. */
static json_t *sriov_status_patch(const struct sriov_case *c, const struct sriov_pending *pending,
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

/* --- jobs ------------------------------------------------------------------------------------- */

enum { SETTINGS_MAX = 1024 }; /* the schema's, and the helper's */

static void add(struct sriov_job *job, char *word)
{
	*array_add(&job->words) = word;
}

static int by_index(const void *a, const void *b)
{
	const struct sriovnetworkdevice_vf *left = a;
	const struct sriovnetworkdevice_vf *right = b;

	return (left->index > right->index) - (left->index < right->index);
}

static void add_switch(struct sriov_job *job, const char *key, const char *value)
{
	if (value)
		add(job, xasprintf("%s=%d", key, strcmp(value, "on") == 0));
}

static void add_setting(struct sriov_job *job, const struct sriovnetworkdevice_vf *vf)
{
	add(job, xasprintf("vf=%d", vf->index));
	if (vf->mac_address)
		add(job, xasprintf("mac=%s", vf->mac_address));
	if (vf->vlan >= 0)
		add(job, xasprintf("vlan=%d", vf->vlan));
	if (vf->qos >= 0)
		add(job, xasprintf("qos=%d", vf->qos));
	add_switch(job, "trust", vf->trust);
	add_switch(job, "spoofcheck", vf->spoof_check);
}

/* By rising index, each once: the helper takes them in no other order. */
static void add_settings(struct sriov_job *job, const struct sriovnetworkdevice_vfs *vfs)
{
	size_t len = vfs->len < SETTINGS_MAX ? vfs->len : SETTINGS_MAX;
	auto_free struct sriovnetworkdevice_vf *sorted = xcalloc(len + 1, sizeof(*sorted));

	if (len > 0)
		memcpy(sorted, vfs->items, len * sizeof(*sorted)); /* their texts are borrowed */
	qsort(sorted, len, sizeof(*sorted), by_index);
	for (size_t i = 0; i < len; i++) {
		if (i == 0 || sorted[i].index != sorted[i - 1].index)
			add_setting(job, &sorted[i]);
	}
}

/* Have @object->spec.numVFs of them if @count, else as many as there are; and all settings. */
static void sriov_job_make(const struct sriovnetworkdevice *object, const struct pci_facts *pf,
			   bool count, struct sriov_job *ret_job)
{
	struct sriov_job job = { .count = count };

	add(&job, xasprintf("address=%s", pf->address));
	add(&job, xasprintf("id=%s:%s", pf->vendor, pf->device));
	if (pf->serial)
		add(&job, xasprintf("serial=%s", pf->serial));
	if (count) {
		add(&job, xasprintf("count=%d", object->spec.num_vfs));
		add(&job, xasprintf("autoprobe=%d", object->spec.drivers_autoprobe));
	}
	add_settings(&job, &object->spec.virtual_functions);
	*ret_job = job;
}

void sriov_job_done(struct sriov_job *job)
{
	json_strs_done(&job->words);
	job->count = false;
}

static bool is_setting(const struct sriovnetworkdevice_vf *vf)
{
	return vf->mac_address || vf->vlan >= 0 || vf->trust || vf->spoof_check;
}

bool sriov_job_has_settings(const struct sriovnetworkdevice *object, int count)
{
	const struct sriovnetworkdevice_vfs *vfs = &object->spec.virtual_functions;

	for (size_t i = 0; i < vfs->len; i++) {
		if (vfs->items[i].index < count && is_setting(&vfs->items[i]))
			return true;
	}
	return false;
}

bool sriov_job_sets(const struct sriovnetworkdevice *object, int index)
{
	const struct sriovnetworkdevice_vfs *vfs = &object->spec.virtual_functions;

	for (size_t i = 0; i < vfs->len; i++) {
		if (vfs->items[i].index == index && is_setting(&vfs->items[i]))
			return true;
	}
	return false;
}

/* --- one call of the plan --------------------------------------------------------------------- */

enum { UNKNOWN_AGAIN_MS = 500 };

/* One call of sriov_plan(). */
struct pass {
	const struct sriov_case *c;
	struct sriov_decision *decision;
	struct sriov_verdict verdict;
};

void sriov_decision_done(struct sriov_decision *decision)
{
	json_decref(decision->body);
	sriov_job_done(&decision->job);
	free(decision->event_message);
	*decision = (struct sriov_decision){ 0 };
}

/* --- metadata and spec ------------------------------------------------------------------------ */

/* The number of virtual functions, as in the annotation. The caller frees. */
static char *found_text(const struct sriov_case *c)
{
	return xasprintf("%zu", c->pf->virtual_functions.len);
}

bool sriov_is_as_found(const struct sriovnetworkdevice *object)
{
	const char *found = api_meta_annotation(&object->meta, NAMES_ANNOTATION_FOUND_VFS);
	char count[16];

	(void)snprintf(count, sizeof(count), "%d", object->spec.num_vfs);
	return found && strcmp(found, count) == 0;
}

/* The object for a card without one. Its spec is the state that was found; an annotation marks that
 * no user has set it. */
static json_t *new_object(const struct sriov_case *c)
{
	auto_free char *label = names_label_value(c->node_name);
	auto_free char *found = found_text(c);

	return json_pack("{s:{s:{s:s}, s:{s:s, s:s}}, s:{s:s, s:s, s:i}}", "metadata", "labels",
			 NAMES_LABEL_NODE, label, "annotations", NAMES_ANNOTATION_INTERFACE,
			 c->pf->interface, NAMES_ANNOTATION_FOUND_VFS, found, "spec", "address",
			 c->pf->address, "nodeName", c->node_name, "numVFs",
			 (int)c->pf->virtual_functions.len);
}

static void correct_labels(const struct sriov_case *c, json_t *meta)
{
	const char *has = api_meta_label(&c->object->meta, NAMES_LABEL_NODE);
	auto_free char *label = names_label_value(c->node_name);

	if (!has || strcmp(has, label) != 0)
		json_object_set_new(meta, "labels", json_pack("{s:s}", NAMES_LABEL_NODE, label));
}

/* A card that is passed through has no interface: then the annotation stays. */
static void correct_interface(const struct sriov_case *c, json_t *annotations)
{
	const char *has = api_meta_annotation(&c->object->meta, NAMES_ANNOTATION_INTERFACE);
	const char *is = c->pf ? c->pf->interface : NULL;

	if (is && (!has || strcmp(has, is) != 0))
		json_put_text(annotations, NAMES_ANNOTATION_INTERFACE, is);
}

static void correct_found(const struct sriov_case *c, json_t *annotations, json_t *spec)
{
	auto_free char *found = c->pf ? found_text(c) : NULL;
	const char *has = api_meta_annotation(&c->object->meta, NAMES_ANNOTATION_FOUND_VFS);

	if (!has)
		return;
	if (!sriov_is_as_found(c->object)) {
		json_object_set_new(annotations, NAMES_ANNOTATION_FOUND_VFS, json_null());
	} else if (found && strcmp(found, has) != 0) {
		json_put_text(annotations, NAMES_ANNOTATION_FOUND_VFS, found);
		json_object_set_new(spec, "numVFs",
				    json_integer((json_int_t)c->pf->virtual_functions.len));
	}
}

static void fill_spec(const struct sriov_case *c, json_t *spec)
{
	if (!c->object->spec.address && c->pf)
		json_put_text(spec, "address", c->pf->address);
	if (!c->object->spec.node_name)
		json_put_text(spec, "nodeName", c->node_name);
}

/* The patch that corrects label and annotations, fills in address and node name, and sets a
 * spec.numVFs that no user has set to what the card has; NULL if nothing differs. */
static json_t *object_patch(const struct sriov_case *c)
{
	json_t *body = patch_new(&c->object->meta);
	json_t *meta = json_object_get(body, "metadata");
	json_t *annotations = json_object();
	json_t *spec = json_object();
	size_t before = json_object_size(meta);

	correct_labels(c, meta);
	correct_interface(c, annotations);
	correct_found(c, annotations, spec);
	fill_spec(c, spec);
	if (json_object_size(annotations) > 0)
		json_object_set(meta, "annotations", annotations);
	if (json_object_size(spec) > 0)
		json_object_set(body, "spec", spec);
	json_decref(annotations);
	json_decref(spec);
	if (json_object_size(meta) > before || json_object_size(body) > 1)
		return body;
	json_decref(body);
	return NULL;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Takes @body. */
static void write_step(struct pass *pass, enum sriov_step step, json_t *body)
{
	pass->decision->step = step;
	pass->decision->body = body;
}

/* A card gets an object unless the node needs it, or may need it, or an object with another name
 * exists. */
static void plan_new(struct pass *pass)
{
	const struct sriov_case *c = pass->c;
	const struct verdict *verdict;

	if (!c->pf || !sriov_card_is_nic(c->pf) || sriov_card_object(c->objects, c->pf->address))
		return;
	verdict = sriov_card_verdict(c->inventory, c->pf->address);
	if ((!verdict || !sriov_card_critical(verdict)) && !sriov_card_unread(c->inventory, c->pf))
		write_step(pass, SRIOV_CREATE, new_object(c));
}

static bool asks_for_something(const struct sriovnetworkdevice *object)
{
	return (object->spec.num_vfs > 0 && !sriov_is_as_found(object)) ||
	       object->spec.virtual_functions.len > 0 || object->spec.drivers_autoprobe;
}

/* True if the status differs and is to be written. */
static bool write_status(struct pass *pass, const char *reason, const char *message)
{
	struct sriov_pending pending = {
		.verdict = &pass->verdict,
		.reason = reason,
		.message = message,
	};
	struct sriov_event event;
	json_t *body = sriov_status_patch(pass->c, &pending, &event);

	if (!body)
		return false;
	write_step(pass, SRIOV_PATCH_STATUS, body);
	pass->decision->warning = event.warning;
	pass->decision->event_reason = event.reason;
	pass->decision->event_message = event.message;
	return true;
}

/* Is autoprobe still switched for virtual functions that are gone? */
static bool needs_autoprobe_reset(const struct sriov_case *c)
{
	return c->pf->virtual_functions.len == 0 &&
	       json_strs_has(&c->inventory->facts->autoprobes, c->pf->address);
}

static char *applying_text(const struct pass *pass)
{
	const struct sriov_case *c = pass->c;

	if (!pass->verdict.change)
		return xstrdup("the settings of the virtual functions are being read");
	return xasprintf("there are %zu virtual functions, and %d are requested",
			 c->pf->virtual_functions.len, c->object->spec.num_vfs);
}

/* Settings that were right before are checked again without a change of the status. */
static bool write_applying(struct pass *pass)
{
	auto_free char *message = applying_text(pass);

	if (!pass->verdict.change) {
		struct sriov_decision quiet = { 0 };
		struct pass again = { pass->c, &quiet, pass->verdict };
		bool differs = write_status(&again, NULL, NULL);

		sriov_decision_done(&quiet);
		if (!differs)
			return false;
	}
	return write_status(pass, "Applying", message);
}

static void apply(struct pass *pass)
{
	const struct sriov_case *c = pass->c;

	/* Removing virtual functions cannot be undone. */
	if (pass->verdict.change && !c->fresh) {
		pass->decision->step = SRIOV_READ;
		return;
	}
	pass->decision->step = SRIOV_APPLY;
	sriov_job_make(c->object, c->pf, pass->verdict.change, &pass->decision->job);
}

/* The spec may be applied to the card, and has not been. */
static void plan_due(struct pass *pass)
{
	const struct sriov_case *c = pass->c;

	if (c->failure && write_status(pass, c->failure->reason, c->failure->message))
		return;
	if (c->failure && c->hold_ms > 0) {
		pass->decision->again_ms = c->hold_ms;
		return;
	}
	if (c->failure || !write_applying(pass))
		apply(pass);
}

/* Ready means that the virtual functions can be claimed, so they have PCIDevices. It stays if one
 * is deleted later. */
static bool await_publishing(struct pass *pass)
{
	const struct sriov_case *c = pass->c;
	auto_free char *message = NULL;

	if (!pass->verdict.ok || c->unpublished == 0 || sriov_is_as_found(c->object) ||
	    api_conditions_status(&c->object->status.conditions, "Ready") == API_TRUE)
		return false;
	message = xasprintf("%zu of %zu virtual functions have no PCIDevice yet", c->unpublished,
			    c->pf->virtual_functions.len);
	(void)write_status(pass, "Applying", message);
	return true;
}

static void plan_checked(struct pass *pass)
{
	const struct sriov_case *c = pass->c;
	const struct sriov_verdict *v = &pass->verdict;
	bool due =
		v->ok && (v->change || (v->settings && !c->verified) || needs_autoprobe_reset(c));

	if (c->stuck) {
		(void)write_status(pass, "Stuck", c->stuck);
		return;
	}
	if (v->ok && v->change && c->unknown) {
		pass->decision->again_ms = UNKNOWN_AGAIN_MS;
		return;
	}
	if (due)
		plan_due(pass);
	else if (!await_publishing(pass))
		(void)write_status(pass, NULL, NULL);
}

static void plan_object(struct pass *pass)
{
	const struct sriov_case *c = pass->c;
	json_t *body;

	if (!c->pf && c->object->status.address && !asks_for_something(c->object)) {
		pass->decision->step = SRIOV_DELETE;
		return;
	}
	body = object_patch(c);
	if (body) {
		write_step(pass, SRIOV_PATCH, body);
		return;
	}
	sriov_check(c, &pass->verdict);
	plan_checked(pass);
	sriov_verdict_done(&pass->verdict);
}

void sriov_plan(const struct sriov_case *c, struct sriov_decision *ret_decision)
{
	const struct sriovnetworkdevice *object = c->object;
	struct pass pass = { .c = c, .decision = ret_decision };

	*ret_decision = (struct sriov_decision){ 0 };
	if (c->pf && (!c->pf->vendor || !c->pf->device))
		return; /* the scan could not read it: nothing is known of it */
	if (!object)
		plan_new(&pass);
	else if (!object->meta.deletion_timestamp &&
		 (!object->spec.node_name || strcmp(object->spec.node_name, c->node_name) == 0))
		plan_object(&pass);
}
