#include "agent/usb/usb_claim_status.h"

#include <stdlib.h>
#include <string.h>

#include "agent/usb/usb_claim_judge.h"
#include "agent/usb/usb_claim_plan.h"
#include "agent/usb/usb_node.h"
#include "api/names.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"

static const char finalizer[] = NAMES_FINALIZER_HARVESTER_USB;

enum {
	CONDITIONS_MAX = 16, /* the schema's */
	OURS = 2,
};

/* --- the mark ------------------------------------------------------------------------- */

static void set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, json_string(text ? text : ""));
}

/* Made on exactly the state of @claim that is known, or not at all. */
static json_t *patch_new(const struct usbdeviceclaim *claim)
{
	json_t *body = json_object();
	json_t *meta = json_object();

	set_text(meta, "uid", claim->meta.uid);
	set_text(meta, "resourceVersion", claim->meta.resource_version);
	json_object_set_new(body, "metadata", meta);
	return body;
}

bool usb_claim_is_marked(const struct usbdeviceclaim *claim)
{
	return api_meta_has_finalizer(&claim->meta, finalizer);
}

/* A merge patch replaces the list whole: what others put there goes with it. */
static json_t *finalizers(const struct usbdeviceclaim *claim, bool ours)
{
	json_t *list = json_array();

	for (size_t i = 0; i < claim->meta.finalizers.len; i++) {
		const char *text = claim->meta.finalizers.items[i];

		if (strcmp(text, finalizer) != 0)
			json_array_append_new(list, json_string(text));
	}
	if (ours)
		json_array_append_new(list, json_string(finalizer));
	return list;
}

static json_t *owner_refs(const struct usb_claim_case *c)
{
	auto_json json_t *meta = json_map_encode(api_meta_map, &c->claim->meta);
	json_t *list = json_incref(json_object_get(meta, "ownerReferences"));
	json_t *ours = json_object();

	if (!list)
		list = json_array();
	set_text(ours, "apiVersion", NAMES_GROUP "/" NAMES_VERSION);
	set_text(ours, "kind", usbdevice_kind.kind);
	set_text(ours, "name", c->owner->name);
	set_text(ours, "uid", c->owner->uid);
	json_array_append_new(list, ours);
	return list;
}

json_t *usb_claim_mark(const struct usb_claim_case *c)
{
	bool owner =
		c->owner && c->owner->uid && !api_meta_owner(&c->claim->meta, usbdevice_kind.kind);
	json_t *body;
	json_t *meta;

	if (usb_claim_is_marked(c->claim) && !owner)
		return NULL;
	body = patch_new(c->claim);
	meta = json_object_get(body, "metadata");
	if (!usb_claim_is_marked(c->claim))
		json_object_set_new(meta, "finalizers", finalizers(c->claim, true));
	if (owner)
		json_object_set_new(meta, "ownerReferences", owner_refs(c));
	return body;
}

json_t *usb_claim_unmark(const struct usbdeviceclaim *claim)
{
	json_t *body = patch_new(claim);

	json_object_set_new(json_object_get(body, "metadata"), "finalizers",
			    finalizers(claim, false));
	return body;
}

/* --- the status ------------------------------------------------------------------------- */

/* One status in the making. */
struct sketch {
	const struct usb_claim_case *c;
	const struct usb_claim_verdict *verdict;
	struct usbdeviceclaim_status want;
};

static bool is_ours(const char *type)
{
	return strcmp(type, "Accepted") == 0 || strcmp(type, "Ready") == 0;
}

/* Room for ours, whatever others wrote. */
static void keep_conditions(struct api_conditions *list)
{
	size_t kept = 0;
	size_t foreign = 0;

	for (size_t i = 0; i < list->len; i++) {
		struct api_condition *condition = &list->items[i];
		bool keep = condition->type &&
			    (is_ours(condition->type) || foreign++ < CONDITIONS_MAX - OURS);

		if (keep)
			list->items[kept++] = *condition;
		else
			json_map_done(api_condition_map, condition);
	}
	list->len = kept;
}

static void say(struct sketch *s, const char *type, enum api_truth truth, const char *reason,
		const char *message)
{
	api_conditions_set(&s->want.conditions,
			   &(struct api_condition_value){
				   .type = type,
				   .status = truth,
				   .reason = reason,
				   .message = message,
				   .observed_generation = s->c->claim->meta.generation,
			   },
			   s->c->now_wall_ms);
}

static void put(char **member, const char *text)
{
	free(*member);
	*member = text && *text ? xstrdup(text) : NULL;
}

/*
 * Which device it is, is written when it is accepted, when it has moved, and while it is refused: plugged in again it
 * has another name, and the claim is for it all the same. A claim that has our finalizer would have got it by that.
 */
static bool tells_identity(const struct sketch *s)
{
	const struct usb_claim_verdict *v = s->verdict;
	const struct usbdevice_status *is = &v->device->status;

	if (v->seen.sight == USB_HERE)
		return false;
	if (v->ok)
		return true;
	return is->port_path && is->vendor_id && is->product_id &&
	       !usb_claim_is_marked(s->c->claim) &&
	       (v->seen.sight == USB_UNKNOWN || usbdeviceclaim_waits(s->c->claim));
}

static void set_identity(struct sketch *s)
{
	const struct usb_claim_verdict *v = s->verdict;
	const struct usbdevice_status *is = v && v->device ? &v->device->status : NULL;

	if (!is)
		return;
	put(&s->want.pci_address, is->pci_address);
	if (!tells_identity(s))
		return;
	put(&s->want.port_path, is->port_path);
	put(&s->want.vendor_id, is->vendor_id);
	put(&s->want.product_id, is->product_id);
	put(&s->want.serial_number, is->serial_number);
}

static void say_judged(struct sketch *s)
{
	const struct usb_claim_verdict *v = s->verdict;
	auto_free char *message = NULL;

	say(s, "Accepted", v->ok ? API_TRUE : API_FALSE, v->reason, v->message);
	if (!v->ok) {
		say(s, "Ready", API_FALSE, v->reason, v->message);
		return;
	}
	if (s->c->taken) {
		message = xasprintf(
			"claimed devices of another kind are lent as %s on this node: give those "
			"another resource name (see the annotation " NAMES_ANNOTATION_RESOURCE_NAME
			")",
			v->device->status.resource_name);
		say(s, "Ready", API_FALSE, "NameTaken", message);
		return;
	}
	if (s->c->out_of_reach) {
		message = usb_node_advice(v->device->status.device_path);
		say(s, "Ready", API_FALSE, "NodeNotWritable", message);
		return;
	}
	message = xasprintf("socket %s is offered as %s", v->device->status.port_path,
			    v->device->status.resource_name);
	say(s, "Ready", API_TRUE, "Ready", message);
}

static void say_held(struct sketch *s)
{
	auto_free char *message =
		xasprintf("%s has the device: it is given back when that is gone", s->c->holder);

	say(s, "Ready", API_FALSE, "Held", message);
}

static void fill(struct sketch *s)
{
	keep_conditions(&s->want.conditions);
	put(&s->want.node_name, s->c->node_name);
	s->want.observed_generation = s->c->claim->meta.generation;
	put(&s->want.holder, s->verdict ? NULL : s->c->holder);
	set_identity(s);
	if (s->verdict)
		say_judged(s);
	else
		say_held(s);
}

/* @want with null for each field that must go. */
static json_t *status_json(json_t *want, const json_t *have)
{
	json_t *status = json_copy(want);

	for (const struct json_row *row = usbdeviceclaim_status_map; row->type != JSON_ROW_END;
	     row++) {
		if (json_object_get(have, row->key) && !json_object_get(want, row->key))
			json_object_set_new(status, row->key, json_null());
	}
	return status;
}

/* One event for each change of what Ready says. */
static void tell_change(const struct sketch *s, struct usb_claim_decision *decision)
{
	const struct api_condition *before =
		api_conditions_find(&s->c->claim->status.conditions, "Ready");
	const struct api_condition *ready = api_conditions_find(&s->want.conditions, "Ready");

	if (before && before->reason && strcmp(before->reason, ready->reason) == 0)
		return;
	decision->warning = strcmp(ready->status, "True") != 0;
	decision->event_reason = !decision->warning ? "Offered"
				 : !s->verdict      ? "Held"
				 : !s->verdict->ok  ? s->verdict->reason
				 : s->c->taken      ? "NameTaken"
						    : "NodeNotWritable";
	decision->event_message = xstrdup(ready->message);
}

bool usb_claim_tell(const struct usb_claim_case *c, const struct usb_claim_verdict *verdict,
		    struct usb_claim_decision *decision)
{
	struct sketch s = { .c = c, .verdict = verdict };
	auto_json json_t *have = NULL;
	auto_json json_t *want = NULL;
	bool changed;

	json_map_copy(usbdeviceclaim_status_map, &s.want, &c->claim->status);
	fill(&s);
	have = json_map_encode(usbdeviceclaim_status_map, &c->claim->status);
	want = json_map_encode(usbdeviceclaim_status_map, &s.want);
	changed = !json_equal(want, have);
	if (changed) {
		decision->step = USB_CLAIM_TELL;
		decision->body = patch_new(c->claim);
		json_object_set_new(decision->body, "status", status_json(want, have));
		tell_change(&s, decision);
	}
	json_map_done(usbdeviceclaim_status_map, &s.want);
	return changed;
}
