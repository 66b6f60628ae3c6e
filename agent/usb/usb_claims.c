#include "agent/usb/usb_claims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/inventory.h"
#include "agent/usb/usb_claim_plan.h"
#include "agent/usb/usb_identity.h"
#include "api/object.h"
#include "api/reason.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/apply.h"
#include "kube/audit.h"
#include "kube/clock.h"
#include "kube/echoes.h"
#include "kube/events.h"
#include "kube/fetch.h"
#include "kube/informer.h"
#include "kube/reason_count.h"
#include "kube/store.h"
#include "kube/workq_run.h"

enum {
	RUNS_AT_A_TIME = 8,
	STEPS_MAX = 16,
	INSTALL_MS = 2000, /* how often to look whether the kinds have been installed */
};

/* One look at one claim. */
struct run {
	struct usb_claims *claims;
	const char *name; /* the queue's, until end */
	work_end_fn *end;
	void *end_arg;
	unsigned steps;
	bool answered;                /* the API server itself told of the claim in this run */
	struct usbdeviceclaim *claim; /* what it said; NULL: that there is none              */
	struct usb_claim_decision decision;
	char *event_reason;
	struct kube_call *call;
};

struct usb_claims {
	struct usb_claims_deps deps;
	const struct inventory *inventory;
	struct workq_run *queue;
	struct echoes *echoes;
	struct reason_count *count;
	struct run *runs[RUNS_AT_A_TIME];
	size_t running;
};

static uint64_t now_ms(const struct usb_claims *claims)
{
	return clock_now_ms(claims->deps.clock);
}

/* The newest view of the claim; NULL: there is none, or it cannot be read. */
static const struct usbdeviceclaim *claim_now(const struct run *run)
{
	return run->answered ? run->claim
			     : store_object(informer_store(run->claims->deps.claims), run->name);
}

/* --- the end of a run ------------------------------------------------------------------- */

static void forget_decision(struct run *run)
{
	usb_claim_decision_done(&run->decision);
	free(take_ptr(run->event_reason));
}

static void run_free(struct run *run)
{
	forget_decision(run);
	api_object_free(&usbdeviceclaim_kind, run->claim);
	free(run);
}

static void run_end(struct run *run, int result, const struct err *err)
{
	struct usb_claims *claims = run->claims;

	for (size_t i = 0; i < claims->running; i++) {
		if (claims->runs[i] == run)
			claims->runs[i] = claims->runs[--claims->running];
	}
	run->end(run->end_arg, result, err);
	run_free(run);
}

/* The claim is not what we took it for: look again when the store has caught up. */
static void end_failed(struct run *run, const struct err *err)
{
	const struct usbdeviceclaim *claim = claim_now(run);
	struct err cause = *err;

	if (cause.code == -ENOENT)
		cause.kind = ERR_CONFLICT; /* deleted meanwhile */
	if (cause.code == -EMSGSIZE)
		cause.kind = ERR_RETRY;
	if (cause.kind == ERR_CONFLICT && !run->answered && claim)
		echoes_distrust(run->claims->echoes, run->name, claim->meta.resource_version,
				now_ms(run->claims));
	run_end(run, cause.code, &cause);
}

/* --- answers ------------------------------------------------------------------------------- */

static void tell_event(struct run *run)
{
	const struct usb_claims_deps *deps = &run->claims->deps;
	const struct usb_claim_decision *decision = &run->decision;
	const struct usbdeviceclaim *claim = claim_now(run);
	const struct usbdevice *device = store_object(informer_store(deps->devices), run->name);

	if (!run->event_reason || !claim)
		return;
	audit_record(deps->events,
		     &(struct events_about){ &usbdevice_kind, device ? &device->meta : NULL },
		     &(struct audit){
			     .action = claim->meta.deletion_timestamp ? "release" : "bind",
			     .result = audit_result(run->event_reason, decision->warning),
			     .user = claim->spec.user_name,
			     .kind = usbdevice_kind.kind,
			     .device = run->name,
			     .node = deps->node_name,
			     .reason = run->event_reason,
			     .message = decision->event_message,
			     .warning = decision->warning,
		     });
	events_record(deps->events,
		      &(struct events_about){ .kind = &usbdeviceclaim_kind, .meta = &claim->meta },
		      decision->warning ? EVENTS_WARNING : EVENTS_NORMAL, run->event_reason, "%s",
		      decision->event_message);
}

static void go_on(struct run *run);

static struct usbdeviceclaim *decode(const struct kube_response *response, const char *name)
{
	auto_json json_t *json = NULL;
	struct usbdeviceclaim *claim;
	void *object = NULL;

	if (json_map_load(response->body, response->body_len, &json, NULL) == 0)
		(void)api_object_decode(&usbdeviceclaim_kind, json, &object, NULL);
	claim = object;
	if (claim && claim->meta.resource_version && strcmp(claim->meta.name, name) == 0)
		return claim;
	api_object_free(&usbdeviceclaim_kind, object);
	return NULL;
}

/* A claim that is being deleted and that nobody holds any more has been shown for the last time. */
static void take(struct run *run, struct usbdeviceclaim *claim)
{
	if (claim && claim->meta.deletion_timestamp && claim->meta.finalizers.len == 0)
		claim = api_object_free(&usbdeviceclaim_kind, claim);
	api_object_free(&usbdeviceclaim_kind, run->claim);
	run->claim = claim;
	run->answered = true;
	echoes_expect(run->claims->echoes, run->name, claim ? claim->meta.resource_version : NULL,
		      now_ms(run->claims));
}

static void on_answer(void *arg, int result, const struct kube_response *response,
		      const struct err *err)
{
	struct run *run = arg;
	bool read = run->decision.step == USB_CLAIM_READ;
	bool gone = read && result == -ENOENT && fetch_says_gone(response, run->name);
	struct usbdeviceclaim *claim = result == 0 ? decode(response, run->name) : NULL;
	struct err cause = *err;

	run->call = NULL;
	if (result == 0 && !claim)
		err_set(&cause, ERR_RETRY, -EBADMSG, "the answer is not the claim '%s'", run->name);
	else if (read && result == -ENOENT)
		err_set(&cause, ERR_RETRY, -EIO, "%s", err->msg);
	if (!claim && !gone) {
		end_failed(run, &cause);
		return;
	}
	tell_event(run);
	take(run, claim);
	forget_decision(run);
	go_on(run);
}

/* --- steps ----------------------------------------------------------------------------------- */

static void send_body(struct run *run, const char *subresource)
{
	run->call = apply_merge(run->claims->deps.client,
				&(struct apply_request){
					.kind = &usbdeviceclaim_kind,
					.name = run->name,
					.subresource = subresource,
					.field_manager = "hostdev-agent",
					.object = run->decision.body,
				},
				on_answer, run);
}

static void unmark(struct run *run)
{
	const struct usbdeviceclaim *claim = claim_now(run);

	if (claim->status.port_path)
		run->claims->deps.give_back(run->claims->deps.arg, claim->status.port_path);
	send_body(run, NULL);
}

static void do_step(struct run *run)
{
	switch (run->decision.step) {
	case USB_CLAIM_REST:
		reason_count_set(run->claims->count, run->name, &claim_now(run)->status.conditions);
		if (run->decision.again_ms > 0)
			workq_run_add_after(run->claims->queue, run->name, run->decision.again_ms);
		run_end(run, 0, NULL);
		return;
	case USB_CLAIM_MARK:
		send_body(run, NULL);
		return;
	case USB_CLAIM_TELL:
		send_body(run, "status");
		return;
	case USB_CLAIM_READ:
		run->call = fetch_object(run->claims->deps.client, &usbdeviceclaim_kind, run->name,
					 on_answer, run);
		return;
	case USB_CLAIM_UNMARK:
		unmark(run);
		return;
	}
}

/* The socket of its device, or of the one that it would be for; NULL: that is nowhere. */
static const char *port_of(const struct run *run, const struct usbdeviceclaim *claim)
{
	const struct inventory *inventory = run->claims->inventory;
	const struct usbdevice *device;

	if (claim->status.port_path && !usbdeviceclaim_waits(claim))
		return claim->status.port_path;
	if (claim->status.port_path)
		device = usb_identity_look(claim, inventory,
					   informer_store(run->claims->deps.claims))
				 .device;
	else
		device = inventory_find(inventory, INVENTORY_USB, run->name);
	return device ? device->status.port_path : NULL;
}

static void decide(struct run *run, const struct usbdeviceclaim *claim)
{
	const struct usb_claims_deps *deps = &run->claims->deps;
	const struct usbdevice *device = store_object(informer_store(deps->devices), run->name);
	const char *port = port_of(run, claim);
	auto_free char *holder = NULL;
	struct usb_claim_case c = {
		.node_name = deps->node_name,
		.claim = claim,
		.fresh = run->answered,
		.inventory = run->claims->inventory,
		.claims = informer_store(deps->claims),
		.pci_claims = informer_store(deps->pci_claims),
		.owner = device ? &device->meta : NULL,
		.held = port && !deps->is_free(deps->arg, port, &holder),
		.taken = deps->is_taken(deps->arg, run->name),
		.out_of_reach = port && deps->is_out_of_reach(deps->arg, port),
		.now_wall_ms = clock_wall_ms(deps->clock),
	};

	c.holder = holder;
	usb_claim_plan(&c, &run->decision);
	run->event_reason = xstrdup_or_null(run->decision.event_reason);
}

static void go_on(struct run *run)
{
	const struct usbdeviceclaim *claim = claim_now(run);

	if (!claim) {
		reason_count_set(run->claims->count, run->name, NULL);
		run_end(run, 0, NULL);
		return;
	}
	if (run->steps++ == STEPS_MAX) {
		workq_run_add_after(run->claims->queue, run->name, INSTALL_MS);
		run_end(run, 0, NULL);
		return;
	}
	decide(run, claim);
	log_debug("usb claim step", log_str("claim", run->name),
		  log_int("step", run->decision.step));
	do_step(run);
}

/* --- the queue ---------------------------------------------------------------------------------- */

/* Nothing can be decided before all of it is there. */
static bool is_informed(const struct usb_claims *claims)
{
	return claims->inventory && informer_synced(claims->deps.claims) &&
	       informer_synced(claims->deps.devices) && informer_synced(claims->deps.pci_claims);
}

static bool is_to_be_decided(struct usb_claims *claims, const char *name)
{
	const struct entry *entry = store_get(informer_store(claims->deps.claims), name);
	uint64_t wait_ms;

	if (!is_informed(claims) || (entry && !entry->object))
		return false;
	if (!entry || !usb_claim_is_ours(claims->deps.node_name, entry->object)) {
		reason_count_set(claims->count, name, NULL);
		return false;
	}
	wait_ms = echoes_wait_ms(claims->echoes, name, entry, now_ms(claims));
	if (wait_ms == 0 && !informer_installed(claims->deps.claims))
		wait_ms = INSTALL_MS;
	if (wait_ms > 0)
		workq_run_add_after(claims->queue, name, wait_ms);
	return wait_ms == 0;
}

static void work(void *arg, const char *name, work_end_fn *end, void *end_arg)
{
	struct usb_claims *claims = arg;
	struct run *run;

	if (!is_to_be_decided(claims, name)) {
		end(end_arg, 0, NULL);
		return;
	}
	run = xcalloc(1, sizeof(*run));
	*run = (struct run){ .claims = claims, .name = name, .end = end, .end_arg = end_arg };
	claims->runs[claims->running++] = run;
	go_on(run);
}

void usb_claims_look(struct usb_claims *claims)
{
	const struct store *store = informer_store(claims->deps.claims);
	const struct entry *entry;
	size_t cursor = 0;

	if (!is_informed(claims))
		return;
	while ((entry = store_next(store, &cursor))) {
		if (entry->object && usb_claim_is_ours(claims->deps.node_name, entry->object))
			workq_run_add(claims->queue, entry->name);
	}
}

void usb_claims_set(struct usb_claims *claims, const struct inventory *inventory)
{
	claims->inventory = inventory;
	usb_claims_look(claims);
}

void usb_claims_touch(struct usb_claims *claims, const char *name)
{
	echoes_hear(claims->echoes, name, store_get(informer_store(claims->deps.claims), name));
	workq_run_add(claims->queue, name);
}

struct usb_claims *usb_claims_new(const struct usb_claims_deps *deps)
{
	struct usb_claims *claims = xcalloc(1, sizeof(*claims));

	claims->deps = *deps;
	claims->echoes = echoes_new();
	claims->count = reason_count_of(deps->metrics, usbdeviceclaim_kind.kind, REASON_USB_CLAIM);
	claims->queue = workq_run_new(&(struct workq_run_spec){
		.name = "usbdeviceclaims",
		.max_running = RUNS_AT_A_TIME,
		.work = work,
		.arg = claims,
		.clock = deps->clock,
		.metrics = deps->metrics,
	});
	return claims;
}

struct usb_claims *usb_claims_free(struct usb_claims *claims)
{
	if (!claims)
		return NULL;
	while (claims->running > 0) {
		struct run *run = claims->runs[--claims->running];

		if (run->call)
			kube_call_cancel(run->call);
		run->end(run->end_arg, 0, NULL);
		run_free(run);
	}
	workq_run_free(claims->queue);
	echoes_free(claims->echoes);
	reason_count_free(claims->count);
	free(claims);
	return NULL;
}
