#include "agent/usb/usb_claim_plan.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/use_log.h"
#include "agent/usb/usb_claim_judge.h"
#include "agent/usb/usb_claim_status.h"
#include "agent/usb/usb_names.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"

enum { UNKNOWN_AGAIN_MS = 500, HELD_AGAIN_MS = 5000 };

void usb_claim_decision_done(struct usb_claim_decision *decision)
{
	json_decref(decision->body);
	free(decision->event_message);
	*decision = (struct usb_claim_decision){ 0 };
}

/* A node's name may be the start of another's: who has it says so in the status. */
bool usb_claim_is_ours(const char *node_name, const struct usbdeviceclaim *claim)
{
	const char *node = claim->status.node_name;

	if (node && *node)
		return strcmp(node, node_name) == 0;
	return usb_names_of_node(node_name, claim->meta.name);
}

static void plan_deleted(const struct usb_claim_case *c, struct usb_claim_decision *decision)
{
	const struct usbdeviceclaim_status *status = &c->claim->status;

	if (!usb_claim_is_marked(c->claim))
		return;
	if (c->held) {
		if (c->holder && usb_claim_tell(c, NULL, decision))
			return;
		decision->again_ms = c->holder ? HELD_AGAIN_MS : UNKNOWN_AGAIN_MS;
		return;
	}
	if (!c->fresh) {
		decision->step = USB_CLAIM_READ;
		return;
	}
	decision->step = USB_CLAIM_UNMARK;
	decision->body = usb_claim_unmark(c->claim);
	if (!status->port_path)
		return;
	decision->event_reason = "Released";
	decision->event_message =
		xasprintf("the device in port %s is the node's again", status->port_path);
}

/* Whether a pod has the device matters only before it is the claim's, and before it moves. */
static bool is_unclear(const struct usb_claim_case *c, const struct usb_claim_verdict *verdict)
{
	return c->held && !c->holder &&
	       (verdict->seen.sight == USB_UNKNOWN || verdict->seen.sight == USB_MOVED ||
		usbdeviceclaim_waits(c->claim));
}

/* It would get a device now that the node used a moment ago, or say that one is offered which is not yet. What it says is
 * true until then. */
static bool is_unproven(const struct usb_claim_case *c, const struct usb_claim_verdict *verdict)
{
	return verdict->ok && c->unproven_ms > 0 &&
	       (verdict->seen.sight == USB_UNKNOWN || usbdeviceclaim_waits(c->claim) ||
		use_log_was_refused(&c->claim->status.conditions));
}

static void plan_live(const struct usb_claim_case *c, struct usb_claim_decision *decision)
{
	struct usb_claim_verdict verdict;
	bool lent;

	usb_claim_judge(c, &verdict);
	lent = verdict.ok || (verdict.seen.sight != USB_UNKNOWN && !usbdeviceclaim_waits(c->claim));
	if (is_unclear(c, &verdict) || is_unproven(c, &verdict)) {
		decision->again_ms = is_unclear(c, &verdict) ? UNKNOWN_AGAIN_MS : c->unproven_ms;
		usb_claim_verdict_done(&verdict);
		return;
	}
	decision->body = lent ? usb_claim_mark(c) : NULL;
	if (decision->body)
		decision->step = USB_CLAIM_MARK;
	else
		(void)usb_claim_tell(c, &verdict, decision);
	usb_claim_verdict_done(&verdict);
}

void usb_claim_plan(const struct usb_claim_case *c, struct usb_claim_decision *ret_decision)
{
	*ret_decision = (struct usb_claim_decision){ 0 };
	if (c->claim->meta.deletion_timestamp)
		plan_deleted(c, ret_decision);
	else
		plan_live(c, ret_decision);
}
