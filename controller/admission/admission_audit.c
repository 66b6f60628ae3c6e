#include "controller/admission/admission_audit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/migconfiguration.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/pod.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "api/virtualmachine.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/admission/device_use.h"
#include "controller/admission/known.h"
#include "controller/cache/view.h"
#include "controller/webhook/admission_review.h"
#include "kube/audit.h"
#include "kube/events.h"
#include "kube/store.h"

/* A kind whose requests are logged. */
struct row {
	const struct api_kind *kind;
	const struct api_kind *device; /* the claimed kind; NULL: it has a card's settings */
	enum view_kind view;           /* the device's kind */
	enum view_kind claims;         /* the claim's kind, if it is a claim */
};

static const struct row rows[] = {
	{ &pcideviceclaim_kind, &pcidevice_kind, VIEW_PCIDEVICE, VIEW_PCICLAIM },
	{ &usbdeviceclaim_kind, &usbdevice_kind, VIEW_USBDEVICE, VIEW_USBCLAIM },
	{ .kind = &sriovnetworkdevice_kind },
	{ .kind = &sriovgpudevice_kind },
	{ .kind = &vgpudevice_kind },
	{ .kind = &migconfiguration_kind },
};

enum {
	CHANGES_SHOWN = 8,
	NAME_SHOWN = 64, /* bytes of the name of a field, or of a value */
};

/* Annotations of a claim that change what is done with the device. */
static const char *const claim_notes[] = { NAMES_ANNOTATION_OVERRIDE, NAMES_ANNOTATION_BY_ADDRESS,
					   NAMES_ANNOTATION_RESOURCE_NAME,
					   NAMES_ANNOTATION_SKIP_VFIO };

/* What happens to a device when its claim is created, changed or deleted. */
struct claim_action {
	const char *action; /* in the log */
	const char *reason; /* in the log and the event */
	const char *message;
	const char *refused; /* "the webhook refused to ..." */
};

static const struct claim_action claim_actions[] = {
	[ADMISSION_CREATE] = { "claim", "Claimed", "a claim of the device was created",
			       "create a claim of the device" },
	[ADMISSION_UPDATE] = { "change", "ClaimChanged", "the claim of the device was changed",
			       "change the claim of the device" },
	[ADMISSION_DELETE] = { "unclaim", "Unclaimed", "the claim of the device was deleted",
			       "delete the claim of the device" },
};

static const struct row *find_row(const struct admission_request *request)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (admission_request_is(request, rows[i].kind))
			return &rows[i];
	}
	return NULL;
}

static const json_t *member(const json_t *object, const char *part, const char *key)
{
	return json_object_get(json_object_get(object, part), key);
}

static bool is_equal(const json_t *a, const json_t *b)
{
	return a == b || (a && b && json_equal(a, b));
}

/* True if the request changes the spec or deletes. Finalizers, labels and owner references are
 * changed by controllers. */
static bool is_user_change(const struct admission_request *request)
{
	const json_t *object = request->object;
	const json_t *old = request->old_object;

	return request->operation != ADMISSION_UPDATE ||
	       !is_equal(json_object_get(object, "spec"), json_object_get(old, "spec")) ||
	       !is_equal(member(object, "metadata", "annotations"),
			 member(old, "metadata", "annotations"));
}

/* --- what was changed --- */

/* "the claim of the device was changed: allow-host-critical is \"true\", spec.driver is removed" */
struct changes {
	struct str text;
	const char *begin; /* of the text, if anything was changed */
	size_t len;
};

static void add_shown(struct str *text, const char *value)
{
	size_t len = strnlen(value, NAME_SHOWN + 1);

	str_add_clean(text, value, len > NAME_SHOWN ? NAME_SHOWN : len);
	str_add(text, len > NAME_SHOWN ? "..." : "");
}

/* The caller adds what it is now. False: enough are shown already. */
static bool add_name(struct changes *changes, const char *part, const char *name)
{
	if (changes->len++ == CHANGES_SHOWN)
		str_add(&changes->text, ", and more");
	if (changes->len > CHANGES_SHOWN)
		return false;
	str_addf(&changes->text, "%s%s", changes->len > 1 ? ", " : changes->begin, part);
	add_shown(&changes->text, name);
	return true;
}

static void add_text(struct changes *changes, const char *part, const char *name, const char *value)
{
	if (!add_name(changes, part, name))
		return;
	if (!value) {
		str_add(&changes->text, " is removed");
		return;
	}
	str_add(&changes->text, " is \"");
	add_shown(&changes->text, value);
	str_add(&changes->text, "\"");
}

static void add_flag(struct changes *changes, const char *name, bool value)
{
	if (add_name(changes, "", name))
		str_add(&changes->text, value ? " is true" : " is false");
}

static const char *note_name(const char *key)
{
	return strchr(key, '/') + 1;
}

static void add_notes(struct changes *changes, const json_t *now, const json_t *old)
{
	for (size_t i = 0; i < ARRAY_LEN(claim_notes); i++) {
		const json_t *is = json_object_get(now, claim_notes[i]);

		if (!is_equal(is, json_object_get(old, claim_notes[i])))
			add_text(changes, "", note_name(claim_notes[i]), json_string_value(is));
	}
}

static void add_field(struct changes *changes, const char *key, const json_t *value)
{
	if (json_is_string(value) || !value || json_is_null(value))
		add_text(changes, "spec.", key, json_string_value(value));
	else if (!add_name(changes, "spec.", key))
		return;
	else if (json_is_boolean(value))
		str_add(&changes->text, json_is_true(value) ? " is true" : " is false");
	else if (json_is_integer(value))
		str_addf(&changes->text, " is %" JSON_INTEGER_FORMAT, json_integer_value(value));
	else
		str_add(&changes->text, " is changed");
}

/* Which device and whose the claim is, is not a change of how it is claimed. */
static bool is_named_apart(const char *key)
{
	return strcmp(key, "address") == 0 || strcmp(key, "nodeName") == 0 ||
	       strcmp(key, "userName") == 0;
}

/* @old is NULL for a creation. */
static void add_fields(struct changes *changes, json_t *now, json_t *old)
{
	const char *key;
	json_t *value;

	json_object_foreach (now, key, value) {
		if (!is_equal(value, json_object_get(old, key)) &&
		    (old || !(is_named_apart(key) || json_is_false(value))))
			add_field(changes, key, value);
	}
	json_object_foreach (old, key, value) {
		if (!json_object_get(now, key))
			add_field(changes, key, NULL);
	}
}

/* The message of a request that was admitted. */
static void add_changes(struct changes *changes, const struct admission_request *request)
{
	const json_t *object = request->object;
	const json_t *old = request->old_object;

	if (request->operation == ADMISSION_DELETE)
		return;
	add_notes(changes, member(object, "metadata", "annotations"),
		  member(old, "metadata", "annotations"));
	add_fields(changes, json_object_get(object, "spec"), json_object_get(old, "spec"));
}

/* --- requests --- */

/* What is logged for a refusal of other kinds. */
enum refusal {
	REFUSAL_OF_DEVICE, /* the object is a device */
	REFUSAL_OF_VM,     /* the object requests a device */
	REFUSAL_OF_POD,
};

static const struct {
	const struct api_kind *kind;
	enum refusal refusal;
} refusals[] = {
	{ &pcidevice_kind, REFUSAL_OF_DEVICE },
	{ &usbdevice_kind, REFUSAL_OF_DEVICE },
	{ &virtualmachine_kind, REFUSAL_OF_VM },
	{ &pod_kind, REFUSAL_OF_POD },
};

/* Add the device that a virtual machine or pod requests, if it is known. */
static void add_device(const struct known *known, const struct admission_answer *answer,
		       struct audit *audit)
{
	const char *name = answer->device ? answer->device : "";
	const struct view *pci = known_pcidevice(known, name);
	const struct view *usb = pci ? NULL : known_usbdevice(known, name);

	audit->resource = answer->resource;
	if (!pci && !usb)
		return;
	audit->device = name;
	audit->kind = pci ? pcidevice_kind.kind : usbdevice_kind.kind;
	audit->node = view_text(pci ? pci : usb, VIEW_TEXT_NODE);
}

static void add_object(enum refusal refusal, const struct admission_request *request,
		       struct audit *audit)
{
	const json_t *object = request->object ? request->object : request->old_object;
	const char *told = json_string_value(member(object, "metadata", "name"));
	const char *name = told ? told : request->name;

	audit->ns = request->ns;
	switch (refusal) {
	case REFUSAL_OF_DEVICE:
		audit->device = name;
		audit->node = json_string_value(member(object, "status", "nodeName"));
		return;
	case REFUSAL_OF_VM:
		audit->vm = name;
		return;
	case REFUSAL_OF_POD:
		audit->pod = name;
		audit->node = json_string_value(member(object, "spec", "nodeName"));
		return;
	}
}

void admission_audit_refusal(const struct known *known, const struct admission_trail *trail,
			     const struct admission_request *request,
			     const struct admission_answer *answer)
{
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		bool device = refusals[i].refusal == REFUSAL_OF_DEVICE;
		bool deletion = request->operation == ADMISSION_DELETE;
		struct audit audit = { .action = !device    ? "use"
						 : deletion ? "delete"
							    : "change",
				       .result = "Refused",
				       .user = request->user,
				       .kind = device ? refusals[i].kind->kind : NULL,
				       .message = answer->message.buf,
				       .verified = request->verified ? "true" : "false",
				       .warning = true };

		if (answer->allowed || request->dry_run || *request->subresource ||
		    !admission_request_is(request, refusals[i].kind))
			continue;
		add_object(refusals[i].refusal, request, &audit);
		if (!device)
			add_device(known, answer, &audit);
		audit_quota_log(trail->quota, &audit);
	}
}

/* NULL if it is not known: a USB device claim does not name its node. */
static const char *node_of(const struct known *known, const struct row *row, const json_t *object,
			   const char *name)
{
	const char *told = json_string_value(member(object, "spec", "nodeName"));
	const struct view *device = NULL;

	if (told || !row->device)
		return told;
	device = row->view == VIEW_USBDEVICE ? known_usbdevice(known, name)
					     : known_pcidevice(known, name);
	return device ? view_text(device, VIEW_TEXT_NODE) : NULL;
}

/* The API server calls webhooks before it checks that an object of that name exists. */
static bool exists_already(const struct known *known, const struct row *row,
			   const struct admission_request *request, const char *name)
{
	return row->device && name && request->operation == ADMISSION_CREATE &&
	       *known_uid(known, row->claims, name);
}

/* A claim that is deleted before its pod is gone: nothing is wrong. */
static bool is_too_early(const struct known *known, const struct admission_request *request,
			 const struct admission_answer *answer, const char *name)
{
	auto_free char *use = NULL;

	if (answer->allowed || request->operation != ADMISSION_DELETE || answer->code != 409)
		return false;
	use = device_use(known, name);
	return use != NULL;
}

/* The event of a refusal does not repeat the message, which may name other users and pods. */
static void record_refusal(const struct known *known, struct events *events, const struct row *row,
			   const struct audit *audit, const char *refused, bool verified)
{
	static const char doubt[] = "; it is not verified that an API server sent the request";
	const char *uid = known_uid(known, row->view, audit->device);
	struct api_meta meta = { 0 };

	if (!events || !*uid)
		return;
	meta.name = xstrdup(audit->device);
	meta.uid = xstrdup(uid);
	if (audit->warning)
		events_record(
			events, &(struct events_about){ row->device, &meta }, EVENTS_WARNING,
			audit->reason,
			"the webhook refused to %s: the controller's log has the user and the "
			"cause%s",
			refused, verified ? "" : doubt);
	else
		events_record(events, &(struct events_about){ row->device, &meta }, EVENTS_NORMAL,
			      audit->reason, "its claim was not deleted: a pod has the device%s",
			      verified ? "" : doubt);
	free(meta.name);
	free(meta.uid);
}

void admission_audit(const struct known *known, const struct admission_trail *trail,
		     const struct admission_request *request, const struct admission_answer *answer)
{
	const struct row *row = find_row(request);
	const json_t *object = request->object ? request->object : request->old_object;
	const char *name = json_string_value(member(object, "metadata", "name"));
	struct changes changes = { .begin = "" };
	struct audit audit;
	bool claim;

	if (!row || *request->subresource || request->dry_run ||
	    request->operation > ADMISSION_DELETE || !is_user_change(request) ||
	    (answer->allowed && exists_already(known, row, request, name)))
		return;
	claim = row->device != NULL;
	if (claim) {
		str_add(&changes.text, claim_actions[request->operation].message);
		changes.begin = ": ";
	}
	add_changes(&changes, request);
	audit = (struct audit){
		.action = claim ? claim_actions[request->operation].action : "configure",
		.result = answer->allowed ? "Done" : "Refused",
		.user = request->user,
		.owner = json_string_value(member(object, "spec", "userName")),
		.kind = claim ? row->device->kind : row->kind->kind,
		.device = name ? name : request->name,
		.node = node_of(known, row, object, name),
		.reason = !claim            ? NULL
			  : answer->allowed ? claim_actions[request->operation].reason
					    : "ClaimRefused",
		.message = !answer->allowed   ? answer->message.buf
			   : changes.text.len ? str_cstr(&changes.text)
					      : NULL,
		.verified = request->verified ? "true" : "false",
		.warning = !answer->allowed &&
			   !is_too_early(known, request, answer, name ? name : request->name),
	};
	audit_quota_log(trail->quota, &audit);
	if (claim && !answer->allowed)
		record_refusal(known, trail->events, row, &audit,
			       claim_actions[request->operation].refused, request->verified);
	str_done(&changes.text);
}

/* --- events of claims that were seen --- */

/* The claim; NULL: there is none, it is being deleted, or it is unreadable. */
static const struct view *claim_of(const struct entry *entry)
{
	const struct view *view = entry ? entry->object : NULL;

	return view && !view->deleting ? view : NULL;
}

/* NULL: not a change made by a user. */
static const struct claim_action *claim_change_of(const struct entry *before,
						  const struct entry *after)
{
	const struct view *was = claim_of(before);
	const struct view *is = claim_of(after);
	bool same = before && after && strcmp(before->uid, after->uid) == 0;

	if (was && is && same)
		return was->spec_hash != is->spec_hash ? &claim_actions[ADMISSION_UPDATE] : NULL;
	if (is && !same)
		return &claim_actions[ADMISSION_CREATE];
	return was ? &claim_actions[ADMISSION_DELETE] : NULL;
}

/* As far as a view has it; @was is all zero for a creation. */
static void add_view_changes(struct changes *changes, const struct view *was, const struct view *is)
{
	const struct {
		const char *name;
		bool was;
		bool is;
	} flags[] = {
		{ note_name(NAMES_ANNOTATION_OVERRIDE), was->lifted, is->lifted },
		{ note_name(NAMES_ANNOTATION_SKIP_VFIO), was->skipped, is->skipped },
		{ "spec.includeIOMMUGroup", was->group, is->group },
		{ "spec.disableResourcePooling", was->alone, is->alone },
	};

	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (flags[i].was != flags[i].is)
			add_flag(changes, flags[i].name, flags[i].is);
	}
	if (!str_equal(was->resource, is->resource))
		add_text(changes, "", note_name(NAMES_ANNOTATION_RESOURCE_NAME), is->resource);
}

/* Both are NULL if there is none. */
static void add_event_changes(struct changes *changes, const struct claim_action *action,
			      const struct view *was, const struct view *is)
{
	static const struct view none = { 0 };

	str_add(&changes->text, action->message);
	if (is)
		add_view_changes(changes, action == &claim_actions[ADMISSION_UPDATE] ? was : &none,
				 is);
}

void claim_events_on_change(struct events *events, const struct store *const *stores,
			    enum view_kind kind, const char *name, const struct entry *before,
			    const struct entry *after)
{
	const struct claim_action *action = claim_change_of(before, after);
	const struct row *row = rows;
	const struct entry *device;
	struct api_meta meta = { 0 };
	struct changes changes = { .begin = ": " };

	while (row < rows + ARRAY_LEN(rows) && !(row->device && row->claims == kind))
		row++;
	if (row == rows + ARRAY_LEN(rows) || !action)
		return;
	device = store_get(stores[row->view], name);
	if (!device || !*device->uid)
		return;
	meta.name = xstrdup(name);
	meta.uid = xstrdup(device->uid);
	add_event_changes(&changes, action, claim_of(before), claim_of(after));
	events_record(events, &(struct events_about){ row->device, &meta }, EVENTS_NORMAL,
		      action->reason, "%s", str_cstr(&changes.text));
	str_done(&changes.text);
	free(meta.name);
	free(meta.uid);
}
