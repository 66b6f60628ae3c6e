#include "agent/usb/usb_claim_plan.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/use_log.h"
#include "agent/task/task_line.h"
#include "agent/usb/usb_claim_check.h"
#include "agent/usb/usb_identity.h"
#include "agent/usb/usb_names.h"
#include "agent/usb/usb_node.h"
#include "api/names.h"
#include "api/patch.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"
#include "base/str.h"

static const char finalizer[] = NAMES_FINALIZER_HARVESTER_USB;

static const char *const our_types[] = { "Accepted", "Ready" };

/* --- the finalizer ---------------------------------------------------------------------------- */

/* Is our finalizer, which is Harvester's, on it? */
static bool usb_claim_is_marked(const struct usbdeviceclaim *claim)
{
	return api_meta_has_finalizer(&claim->meta, finalizer);
}

/* The patch that puts finalizer and owner on the claim; NULL if they are there. */
static json_t *usb_claim_body_with_finalizer(const struct usb_claim_case *c)
{
	bool owner =
		c->owner && c->owner->uid && !api_meta_owner(&c->claim->meta, usbdevice_kind.kind);
	json_t *body;

	if (usb_claim_is_marked(c->claim) && !owner)
		return NULL;
	body = patch_new(&c->claim->meta);
	if (!usb_claim_is_marked(c->claim))
		patch_add_finalizer(body, &c->claim->meta, finalizer);
	if (owner)
		patch_add_owner(body, &c->claim->meta, &usbdevice_kind, c->owner, PATCH_LAST);
	return body;
}

/* The patch that takes the finalizer off. */
static json_t *usb_claim_body_without_finalizer(const struct usbdeviceclaim *claim)
{
	json_t *body = patch_new(&claim->meta);

	patch_remove_finalizer(body, &claim->meta, finalizer);
	return body;
}

/* --- the status ------------------------------------------------------------------------------- */

/* One status in the making. */
struct sketch {
	const struct usb_claim_case *c;
	const struct usb_claim_verdict *verdict; /* NULL: the claim is being deleted */
	const char *reason;                      /* then, of Ready                   */
	const char *message;
	struct usbdeviceclaim_status want;
	struct patch_status status; /* leads to @want */
};

/*
 * Which device it is, is written when it is accepted, when it has moved, and while it is refused:
 * plugged in again it has another name, and the claim is for it all the same. A claim that has our
 * finalizer would have got it by that.
 */
static bool has_identity(const struct sketch *s)
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
	str_set_nonempty(&s->want.pci_address, is->pci_address);
	if (!has_identity(s))
		return;
	str_set_nonempty(&s->want.port_path, is->port_path);
	str_set_nonempty(&s->want.vendor_id, is->vendor_id);
	str_set_nonempty(&s->want.product_id, is->product_id);
	str_set_nonempty(&s->want.serial_number, is->serial_number);
}

static bool is_ready(const struct sketch *s)
{
	return api_conditions_status(&s->c->claim->status.conditions, "Ready") == API_TRUE;
}

static void add_verdict(struct sketch *s)
{
	const struct usb_claim_verdict *v = s->verdict;
	auto_free char *message = NULL;

	patch_status_condition(&s->status, "Accepted", v->ok ? API_TRUE : API_FALSE, v->reason,
			       v->message);
	if (!v->ok) {
		patch_status_condition(&s->status, "Ready", API_FALSE, v->reason, v->message);
		return;
	}
	if (s->c->taken) {
		message = xasprintf(
			"claimed devices of another type already have the resource %s on this "
			"node: give those another resource name (see the "
			"annotation " NAMES_ANNOTATION_RESOURCE_NAME ")",
			v->device->status.resource_name);
		patch_status_condition(&s->status, "Ready", API_FALSE, "NameTaken", message);
		return;
	}
	if (s->c->out_of_reach) {
		message = usb_node_advice(v->device->status.device_path);
		patch_status_condition(&s->status, "Ready", API_FALSE, "NodeNotWritable", message);
		return;
	}
	/* It stays Ready while a kubelet restarts. */
	if (s->c->not_offered && !is_ready(s)) {
		message = xasprintf(
			"the kubelet does not list %s in the allocatable resources of node %s yet; "
			"it updates them every 10 s",
			v->device->status.resource_name, s->c->node_name);
		patch_status_condition(&s->status, "Ready", API_FALSE, "NotOffered", message);
		return;
	}
	message = xasprintf("port %s is offered as %s", v->device->status.port_path,
			    v->device->status.resource_name);
	patch_status_condition(&s->status, "Ready", API_TRUE, "Ready", message);
}

static void fill(struct sketch *s)
{
	api_conditions_make_room(&s->want.conditions, our_types, ARRAY_LEN(our_types));
	str_set_nonempty(&s->want.node_name, s->c->node_name);
	s->want.observed_generation = s->c->claim->meta.generation;
	str_set_nonempty(&s->want.holder, !s->verdict && s->c->held ? s->c->holder : NULL);
	set_identity(s);
	if (s->verdict)
		add_verdict(s);
	else
		patch_status_condition(&s->status, "Ready", API_FALSE, s->reason, s->message);
}

/* Add one event for each change of the condition Ready. */
static void add_event(const struct sketch *s, struct usb_claim_decision *decision)
{
	const struct api_condition *before =
		api_conditions_find(&s->c->claim->status.conditions, "Ready");
	const struct api_condition *ready = api_conditions_find(&s->want.conditions, "Ready");

	if ((before && before->reason && strcmp(before->reason, ready->reason) == 0) ||
	    strcmp(ready->reason, "NotOffered") == 0 || s->c->acting)
		return;
	decision->warning = strcmp(ready->status, "True") != 0;
	decision->event_reason = !decision->warning ? "Offered"
				 : !s->verdict      ? s->reason
				 : !s->verdict->ok  ? s->verdict->reason
				 : s->c->taken      ? "NameTaken"
						    : "NodeNotWritable";
	decision->event_message = xstrdup(ready->message);
}

/* Plan the patch of the status to @s. False, with @decision unchanged, if there is no
 * difference. */
static bool patch_sketch(struct sketch *s, struct usb_claim_decision *decision)
{
	const struct usb_claim_case *c = s->c;

	json_map_copy(usbdeviceclaim_status_map, &s->want, &c->claim->status);
	s->status = (struct patch_status){
		.meta = &c->claim->meta,
		.map = usbdeviceclaim_status_map,
		.have = &c->claim->status,
		.want = &s->want,
		.conditions = &s->want.conditions,
		.now_wall_ms = c->now_wall_ms,
	};
	fill(s);
	decision->body = patch_status_body(&s->status);
	if (decision->body) {
		decision->step = USB_CLAIM_PATCH_STATUS;
		add_event(s, decision);
	}
	json_map_done(usbdeviceclaim_status_map, &s->want);
	return decision->body != NULL;
}

static bool usb_claim_patch_status(const struct usb_claim_case *c,
				   const struct usb_claim_verdict *verdict,
				   struct usb_claim_decision *decision)
{
	struct sketch s = { .c = c, .verdict = verdict };

	return patch_sketch(&s, decision);
}

/* Why a claim that is being deleted is still there. */
static bool patch_deleted(const struct usb_claim_case *c, const char *reason, const char *message,
			  struct usb_claim_decision *decision)
{
	struct sketch s = { .c = c, .reason = reason, .message = message };

	return patch_sketch(&s, decision);
}

/* --- the plan --------------------------------------------------------------------------------- */

enum { UNKNOWN_AGAIN_MS = 500, HELD_AGAIN_MS = 5000 };

void usb_claim_decision_done(struct usb_claim_decision *decision)
{
	json_decref(decision->body);
	free(decision->event_message);
	*decision = (struct usb_claim_decision){ 0 };
}

/* A node's name may be the start of another's: the status names the node that has it. */
bool usb_claim_is_ours(const char *node_name, const struct usbdeviceclaim *claim)
{
	const char *node = claim->status.node_name;

	if (node && *node)
		return strcmp(node, node_name) == 0;
	return usb_names_of_node(node_name, claim->meta.name);
}

static void plan_held(const struct usb_claim_case *c, struct usb_claim_decision *decision)
{
	auto_free char *message =
		c->holder ? xasprintf("in use by %s; the device will be released when that ends",
				      c->holder)
			  : NULL;

	if (message && patch_deleted(c, "Held", message, decision))
		return;
	decision->again_ms = c->holder ? HELD_AGAIN_MS : UNKNOWN_AGAIN_MS;
}

/* The claim's device, if pods that had it may have passed on open descriptors that still work;
 * NULL: it has been unplugged since, or has been rebound. */
static const struct usbdevice *find_open(const struct usb_claim_case *c)
{
	struct usb_sighting seen;

	if (c->rebind.done)
		return NULL;
	seen = usb_identity_find(c->claim, c->inventory, c->claims);
	return seen.sight == USB_HERE && seen.device->status.device_path ? seen.device : NULL;
}

/* Taking it away would harm the node. */
static bool is_node_using(const struct usb_claim_case *c, const struct usbdevice *device)
{
	const struct task_outcome *failure = c->rebind.failure;

	return !usb_claim_spares(c->claim, device) || (failure && failure->result == TASK_REFUSED &&
						       strcmp(failure->reason, "InUse") == 0);
}

/* True: the status shows how the last attempt ended, and the next one is not due yet. */
static bool plan_failed(const struct usb_claim_case *c, struct usb_claim_decision *decision)
{
	const struct task_outcome *failure = c->rebind.failure;
	auto_free char *stuck = NULL;

	if (c->rebind.stuck) {
		stuck = xasprintf("%s; the device is released when it ends: see the node's kernel "
				  "log",
				  c->rebind.stuck);
		(void)patch_deleted(c, "Stuck", stuck, decision);
		return true;
	}
	if (!failure || c->rebind.hold_ms == 0)
		return false;
	if (!patch_deleted(c, failure->reason, failure->message, decision))
		decision->again_ms = c->rebind.hold_ms;
	return true;
}

static void plan_finalizer_removal(const struct usb_claim_case *c, bool open,
				   struct usb_claim_decision *decision)
{
	const char *port = c->claim->status.port_path;

	decision->step = USB_CLAIM_REMOVE_FINALIZER;
	decision->body = usb_claim_body_without_finalizer(c->claim);
	if (!port)
		return;
	decision->event_reason = "Released";
	decision->event_message = xasprintf(
		"the device in port %s is the node's again%s", port,
		open ? "; the node uses it, so it was not taken from processes that have it open"
		     : "");
}

static void plan_deleted(const struct usb_claim_case *c, struct usb_claim_decision *decision)
{
	const struct usbdevice *open;
	bool rebinds;

	if (!usb_claim_is_marked(c->claim))
		return;
	if (c->held) {
		plan_held(c, decision);
		return;
	}
	open = find_open(c);
	rebinds = open && !is_node_using(c, open);
	if (rebinds && plan_failed(c, decision))
		return;
	if (!c->fresh) {
		decision->step = USB_CLAIM_READ;
		return;
	}
	if (rebinds)
		decision->step = USB_CLAIM_REBIND;
	else
		plan_finalizer_removal(c, open, decision);
}

/* The message has no time, so it is written once. */
static void plan_acting(const struct usb_claim_case *c, struct usb_claim_decision *decision)
{
	(void)patch_deleted(
		c, "Releasing",
		"ending what processes have open of the device takes longer than usual: "
		"the node is busy, or the kernel waits for the device",
		decision);
}

/* Whether a pod has the device matters only before it is the claim's, and before it moves. */
static bool is_unclear(const struct usb_claim_case *c, const struct usb_claim_verdict *verdict)
{
	return c->held && !c->holder &&
	       (verdict->seen.sight == USB_UNKNOWN || verdict->seen.sight == USB_MOVED ||
		usbdeviceclaim_waits(c->claim));
}

/* Wait: the node used the device a moment ago, or it would show an offer that does not exist yet.
 * The status is right until then. */
static bool is_unproven(const struct usb_claim_case *c, const struct usb_claim_verdict *verdict)
{
	return verdict->ok && c->unproven_ms > 0 &&
	       (verdict->seen.sight == USB_UNKNOWN || usbdeviceclaim_waits(c->claim) ||
		use_log_was_refused(&c->claim->status.conditions));
}

static void plan_live(const struct usb_claim_case *c, struct usb_claim_decision *decision)
{
	struct usb_claim_verdict verdict;
	bool offered;

	usb_claim_check(c, &verdict);
	offered = verdict.ok ||
		  (verdict.seen.sight != USB_UNKNOWN && !usbdeviceclaim_waits(c->claim));
	if (is_unclear(c, &verdict) || is_unproven(c, &verdict)) {
		decision->again_ms = is_unclear(c, &verdict) ? UNKNOWN_AGAIN_MS : c->unproven_ms;
		usb_claim_verdict_done(&verdict);
		return;
	}
	decision->body = offered ? usb_claim_body_with_finalizer(c) : NULL;
	if (decision->body)
		decision->step = USB_CLAIM_ADD_FINALIZER;
	else
		(void)usb_claim_patch_status(c, &verdict, decision);
	usb_claim_verdict_done(&verdict);
}

void usb_claim_plan(const struct usb_claim_case *c, struct usb_claim_decision *ret_decision)
{
	*ret_decision = (struct usb_claim_decision){ 0 };
	if (c->acting)
		plan_acting(c, ret_decision);
	else if (c->claim->meta.deletion_timestamp)
		plan_deleted(c, ret_decision);
	else
		plan_live(c, ret_decision);
}
