#include "agent/usb/usb_claims.h"

#include <stdlib.h>

#include "agent/inventory/inventory.h"
#include "agent/inventory/use_log.h"
#include "agent/node/node_reconcile.h"
#include "agent/node/this_node.h"
#include "agent/usb/usb_claim_plan.h"
#include "agent/usb/usb_identity.h"
#include "agent/usb/usb_rebinds.h"
#include "api/reason.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"
#include "kube/audit.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/reason_count.h"
#include "kube/reconcile.h"
#include "kube/store.h"

enum { RUNS_AT_A_TIME = 8 };

struct usb_claims {
	const struct this_node *node;
	struct usb_claims_deps deps;
	const struct informer *needs[3];
	struct reconcile *reconcile;
	struct reason_count *count;
	struct usb_rebinds *rebinds;
};

static const struct usbdevice *device_of(const struct usb_claims *claims, const char *name)
{
	return store_object(informer_store(claims->node->devices[INVENTORY_USB]), name);
}

/* The socket of its device, or of the one that it would be for; NULL: that is nowhere. */
static const char *port_of(const struct usb_claims *claims, const char *name,
			   const struct usbdeviceclaim *claim)
{
	const struct inventory *inventory = claims->node->inventory;
	const struct usbdevice *device;

	if (claim->status.port_path && !usbdeviceclaim_waits(claim))
		return claim->status.port_path;
	if (claim->status.port_path)
		device = usb_identity_find(claim, inventory,
					   informer_store(claims->node->claims[INVENTORY_USB]))
				 .device;
	else
		device = inventory_find(inventory, INVENTORY_USB, name);
	return device ? device->status.port_path : NULL;
}

/* --- as struct reconcile_spec has them -------------------------------------------------------- */

static bool has_inventory(void *arg)
{
	const struct usb_claims *claims = arg;

	return claims->node->inventory != NULL;
}

static bool is_ours(void *arg, const char *name, const void *object)
{
	const struct usb_claims *claims = arg;

	(void)name;
	return object && usb_claim_is_ours(claims->node->name, object);
}

static void plan_claim(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	static const enum step steps[] = {
		[USB_CLAIM_REST] = STEP_REST,
		[USB_CLAIM_ADD_FINALIZER] = STEP_PATCH,
		[USB_CLAIM_PATCH_STATUS] = STEP_PATCH_STATUS,
		[USB_CLAIM_READ] = STEP_READ,
		[USB_CLAIM_REBIND] = STEP_ACT,
		[USB_CLAIM_REMOVE_FINALIZER] = STEP_PATCH,
	};
	const struct usb_claims *claims = arg;
	const struct usb_claims_deps *deps = &claims->deps;
	const struct this_node *node = claims->node;
	const struct usbdeviceclaim *claim = view->object;
	const struct usbdevice *device = device_of(claims, view->key);
	const char *port = port_of(claims, view->key, claim);
	auto_free char *holder = NULL;
	struct usb_claim_decision decision;
	struct usb_claim_case c = {
		.node_name = node->name,
		.claim = claim,
		.fresh = view->fresh,
		.inventory = node->inventory,
		.claims = informer_store(node->claims[INVENTORY_USB]),
		.pci_claims = informer_store(node->claims[INVENTORY_PCI]),
		.owner = device ? &device->meta : NULL,
		.held = port && !deps->is_free(deps->arg, port, &holder),
		.taken = deps->is_taken(deps->arg, view->key),
		.not_offered = port && !deps->is_offered(deps->arg, view->key, port),
		.out_of_reach = port && deps->is_out_of_reach(deps->arg, port),
		.acting = view->acting,
		.now_wall_ms = view->now_wall_ms,
	};

	usb_rebinds_state(claims->rebinds, claim, &c.rebind);
	if (port && deps->unproven_ms)
		c.unproven_ms = deps->unproven_ms(deps->arg, port,
						  use_log_was_refused(&claim->status.conditions));
	c.holder = holder;
	usb_claim_plan(&c, &decision);
	*ret_decision = (struct decision){
		.step = steps[decision.step],
		.detail = (int)decision.step,
		.body = take_ptr(decision.body),
		.again_ms = decision.again_ms,
		.warning = decision.warning,
		.event_reason = xstrdup_or_null(decision.event_reason),
		.event_message = take_ptr(decision.event_message),
	};
	usb_claim_decision_done(&decision);
	usb_rebind_state_done(&c.rebind);
}

/* Restore the owner of the device's node before the finalizer, the last trace of the change, is
 * removed. */
static void restore_node(void *arg, const struct reconcile_view *view,
			 const struct decision *decision)
{
	const struct usb_claims *claims = arg;
	const struct usbdeviceclaim *claim = view->object;

	if (decision->detail == USB_CLAIM_REMOVE_FINALIZER && claim->status.port_path)
		claims->deps.restore_node(claims->deps.arg, claim->status.port_path);
}

static void audit_step(void *arg, const struct reconcile_view *view,
		       const struct decision *decision)
{
	const struct usb_claims *claims = arg;
	const struct this_node *node = claims->node;
	const struct usbdeviceclaim *claim = view->object;
	const struct usbdevice *device = device_of(claims, view->key);

	if (!decision->event_reason)
		return;
	audit_record(node->events,
		     &(struct events_about){ &usbdevice_kind, device ? &device->meta : NULL },
		     &(struct audit){
			     .action = claim->meta.deletion_timestamp ? "release" : "bind",
			     .result = audit_result(decision->event_reason, decision->warning),
			     .user = claim->spec.user_name,
			     .kind = usbdevice_kind.kind,
			     .device = view->key,
			     .node = node->name,
			     .reason = decision->event_reason,
			     .message = decision->event_message,
			     .warning = decision->warning,
		     });
}

static void on_rest(void *arg, const char *name, const void *object,
		    const struct decision *decision)
{
	const struct usb_claims *claims = arg;
	const struct usbdeviceclaim *claim = object;

	(void)decision;
	reason_count_set(claims->count, name, claim ? &claim->status.conditions : NULL);
	if (!claim)
		usb_rebinds_forget(claims->rebinds, name);
}

/* --- the helper that ends open descriptors of the device -------------------------------------- */

static bool act(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	struct usb_claims *claims = arg;
	const struct usbdeviceclaim *claim = view->object;
	const struct usbdevice *device =
		usb_identity_in(claims->node->inventory, claim->status.port_path);

	(void)decision;
	if (device && usb_rebinds_start(claims->rebinds, claim, device))
		return true;
	reconcile_enqueue(claims->reconcile, view->key);
	return false;
}

static void on_rebind_end(void *arg, const char *name)
{
	const struct usb_claims *claims = arg;

	reconcile_acted(claims->reconcile, name);
}

static void on_rebind_late(void *arg, const char *name)
{
	const struct usb_claims *claims = arg;

	reconcile_report(claims->reconcile, name);
}

static void on_rebind_gone(void *arg, const char *name)
{
	const struct usb_claims *claims = arg;

	reconcile_enqueue(claims->reconcile, name);
}

/* --- the whole -------------------------------------------------------------------------------- */

void usb_claims_enqueue_all(struct usb_claims *claims)
{
	reconcile_enqueue_all(claims->reconcile);
}

void usb_claims_enqueue(struct usb_claims *claims, const char *name)
{
	reconcile_changed(claims->reconcile, name);
}

struct usb_claims *usb_claims_new(const struct this_node *node, const struct usb_claims_deps *deps)
{
	struct usb_claims *claims = xcalloc(1, sizeof(*claims));
	const struct reconcile_spec spec = {
		.name = "usbdeviceclaims",
		.kind = &usbdeviceclaim_kind,
		.objects = node->claims[INVENTORY_USB],
		.needs = claims->needs,
		.max_running = RUNS_AT_A_TIME,
		.is_ready = has_inventory,
		.is_ours = is_ours,
		.plan = plan_claim,
		.before = restore_node,
		.after = audit_step,
		.act = act,
		.rested = on_rest,
		.arg = claims,
	};

	claims->node = node;
	claims->deps = *deps;
	claims->needs[0] = node->devices[INVENTORY_USB];
	claims->needs[1] = node->claims[INVENTORY_PCI];
	claims->rebinds = usb_rebinds_new(node, &(struct usb_rebinds_deps){
							.on_end = on_rebind_end,
							.on_late = on_rebind_late,
							.on_gone = on_rebind_gone,
							.arg = claims,
						});
	claims->count = reason_count_of(node->metrics, usbdeviceclaim_kind.kind, REASON_USB_CLAIM);
	claims->reconcile = node_reconcile_new(node, &spec);
	return claims;
}

struct usb_claims *usb_claims_free(struct usb_claims *claims)
{
	if (!claims)
		return NULL;
	usb_rebinds_free(claims->rebinds);
	reconcile_free(claims->reconcile);
	reason_count_free(claims->count);
	free(claims);
	return NULL;
}
