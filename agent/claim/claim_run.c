#include "agent/claim/claim_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/claim/claim_answer.h"
#include "agent/claim/claim_event.h"
#include "agent/claim/claim_history.h"
#include "agent/claim/claim_pods.h"
#include "agent/claim/claim_ties.h"
#include "agent/claim/claims.h"
#include "agent/inventory/use_log.h"
#include "api/names.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/apply.h"
#include "kube/audit.h"
#include "kube/clock.h"
#include "kube/echoes.h"
#include "kube/fetch.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "kube/store.h"

enum { STEPS_MAX = 16 };

/* Where a test can end the program: before each step that others can see, and after it. */
static const struct {
	const char *before;
	const char *after;
} failpoints[] = {
	[CLAIM_MARK] = { "agent-mark-before", "agent-mark-after" },
	[CLAIM_TELL] = { "agent-tell-before", "agent-tell-after" },
	[CLAIM_BIND] = { "agent-bind-before", "agent-bind-after" },
	[CLAIM_RELEASE] = { "agent-release-before", "agent-release-after" },
	[CLAIM_UNMARK] = { "agent-unmark-before", "agent-unmark-after" },
};

struct claim_run {
	const struct claim_context *context;
	const char *name;
	char *address; /* NULL: the claim is about no function that can be of this node */
	work_end_fn *end;
	void *end_arg;
	uint64_t began_ms;
	unsigned steps;

	bool answered;                /* the API server itself told of the claim in this run */
	struct pcideviceclaim *claim; /* what it said; NULL: that there is none             */
	struct claim_decision decision;
	char *event_reason; /* of the decision, ours */
	struct kube_call *call;
	bool moving; /* a transition runs */
	bool moved;  /* a transition ended well in this run */
	enum binder_verb verb;
};

static uint64_t now_ms(const struct claim_run *run)
{
	return clock_now_ms(run->context->deps->clock);
}

struct claim_run *claim_run_new(const struct claim_context *context, const char *name,
				work_end_fn *end, void *end_arg)
{
	struct claim_run *run = xcalloc(1, sizeof(*run));

	*run = (struct claim_run){
		.context = context, .name = name, .end = end, .end_arg = end_arg
	};
	run->address = claim_ties_address(context->deps->node_name, context->inventory, name);
	run->began_ms = now_ms(run);
	return run;
}

static void forget_decision(struct claim_run *run)
{
	claim_decision_done(&run->decision);
	free(take_ptr(run->event_reason));
}

static void release(struct claim_run *run)
{
	forget_decision(run);
	api_object_free(&pcideviceclaim_kind, run->claim);
	free(run->address);
	free(run);
}

struct claim_run *claim_run_free(struct claim_run *run)
{
	if (!run)
		return NULL;
	if (run->call)
		kube_call_cancel(run->call);
	run->end(run->end_arg, 0, NULL);
	release(run);
	return NULL;
}

static void end_run(struct claim_run *run, int result, const struct err *err)
{
	static const char *const verbs[] = { [BINDER_BIND] = "bind", [BINDER_RELEASE] = "release" };

	if (run->moved)
		metric_observe(run->context->seconds, now_ms(run) - run->began_ms,
			       &verbs[run->verb]);
	run->context->on_gone(run->context->arg, run);
	run->end(run->end_arg, result, err);
	release(run);
}

/* The newest view of the claim; NULL: there is none, or it cannot be read. */
static const struct pcideviceclaim *claim_now(const struct claim_run *run)
{
	if (run->answered)
		return run->claim;
	return store_object(informer_store(run->context->deps->claims), run->name);
}

static const struct pcidevice *device_now(const struct claim_run *run)
{
	return store_object(informer_store(run->context->deps->devices), run->name);
}

static struct claim_view view_of(const struct claim_run *run)
{
	struct claim_view view = { 0 };

	if (run->address)
		claim_history_look(run->context->history, run->address, run->name, claim_now(run),
				   now_ms(run), &view);
	return view;
}

/* Of the last transition, if the event says what that came to. */
static const char *result_of(const struct claim_run *run)
{
	struct claim_view view = view_of(run);
	const struct binder_outcome *outcome = view.past.outcome;

	if (run->decision.warning && outcome && outcome->reason &&
	    strcmp(outcome->reason, run->event_reason) == 0)
		return binder_result_text(outcome->result);
	return audit_result(run->event_reason, run->decision.warning);
}

static void tell_event(struct claim_run *run)
{
	const struct pcideviceclaim *claim = claim_now(run);

	if (!run->event_reason)
		return;
	claim_event_tell(run->context->deps,
			 &(struct claim_event){ .name = run->name,
						.claim = claim,
						.release = !claim || claim->meta.deletion_timestamp,
						.result = result_of(run),
						.reason = run->event_reason,
						.message = run->decision.event_message,
						.warning = run->decision.warning });
	free(take_ptr(run->event_reason));
}

static void go_on(struct claim_run *run);

static void finish_step(struct claim_run *run)
{
	tell_event(run);
	forget_decision(run);
	go_on(run);
}

/* What the API server says of the claim (NULL: there is none) counts more than the store. */
static void take(struct claim_run *run, struct pcideviceclaim *claim)
{
	api_object_free(&pcideviceclaim_kind, run->claim);
	run->claim = claim;
	run->answered = true;
	echoes_expect(run->context->echoes, run->name, claim ? claim->meta.resource_version : NULL,
		      now_ms(run));
}

/* The step has succeeded: its event is told of the claim as it was. One that is being deleted and that
 * nobody holds any more has been shown for the last time. */
static int take_answer(struct claim_run *run, const struct kube_response *response, struct err *err)
{
	struct pcideviceclaim *claim = claim_answer_decode(response, run->name, err);

	if (!claim)
		return err->code;
	tell_event(run);
	if (claim->meta.deletion_timestamp && claim->meta.finalizers.len == 0)
		claim = api_object_free(&pcideviceclaim_kind, claim);
	take(run, claim);
	return 0;
}

/* The claim is not what we took it for: look again when the store has caught up. */
static void distrust(struct claim_run *run)
{
	const struct pcideviceclaim *claim = claim_now(run);

	if (!run->answered && claim)
		echoes_distrust(run->context->echoes, run->name, claim->meta.resource_version,
				now_ms(run));
}

static void end_failed(struct claim_run *run, const struct err *err)
{
	struct err cause = *err;

	if (cause.code == -ENOENT)
		cause.kind = ERR_CONFLICT; /* deleted meanwhile */
	if (cause.code == -EMSGSIZE)
		cause.kind = ERR_RETRY;
	if (cause.kind == ERR_CONFLICT)
		distrust(run);
	end_run(run, cause.code, &cause);
}

static void on_written(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct claim_run *run = arg;
	struct err cause = *err;

	run->call = NULL;
	if (result < 0 || take_answer(run, response, &cause) < 0) {
		end_failed(run, &cause);
		return;
	}
	failpoint(failpoints[run->decision.step].after);
	finish_step(run);
}

static void send_body(struct claim_run *run, const char *subresource)
{
	failpoint(failpoints[run->decision.step].before);
	run->call = apply_merge(run->context->deps->client,
				&(struct apply_request){
					.kind = &pcideviceclaim_kind,
					.name = run->name,
					.subresource = subresource,
					.field_manager = "hostdev-agent",
					.object = run->decision.body,
				},
				on_written, run);
}

static void on_read(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	struct claim_run *run = arg;
	struct err cause = *err;

	run->call = NULL;
	if (result == -ENOENT && fetch_says_gone(response, run->name)) {
		take(run, NULL);
		finish_step(run);
		return;
	}
	if (result == -ENOENT) /* the path is not served: that says nothing of the claim */
		err_set(&cause, ERR_RETRY, -EIO, "%s", err->msg);
	if (result < 0 || take_answer(run, response, &cause) < 0) {
		end_failed(run, &cause);
		return;
	}
	finish_step(run);
}

/* Does the status of a claim tell what became of the device @name? */
static bool is_told(const struct claim_run *run, const char *name)
{
	if (strcmp(name, run->name) == 0)
		return claim_now(run) != NULL;
	return store_get(informer_store(run->context->deps->claims), name) != NULL;
}

/* The functions that were moved and have no claim of their own, or none any more. */
static void tell_moved(const struct claim_run *run)
{
	const struct claims_deps *deps = run->context->deps;
	const struct pcideviceclaim *claim = claim_now(run);
	const struct binder_job *job = &run->decision.job;
	bool release = job->verb == BINDER_RELEASE;

	for (size_t i = 0; i < job->len; i++) {
		const struct binder_function *f = &job->items[i];
		auto_free char *name = names_pcidevice(deps->node_name, f->address);
		auto_free char *message =
			release ? xasprintf("%s was released", f->address)
				: xasprintf("bound to %s for the claim %s", f->driver, f->claim);

		if (!is_told(run, name))
			claim_event_tell(deps, &(struct claim_event){
						       .name = name,
						       .user = claim ? claim->spec.user_name : NULL,
						       .release = release,
						       .result = binder_result_text(BINDER_DONE),
						       .reason = release ? "Released" : "Bound",
						       .message = message,
					       });
	}
}

static void on_transition_end(void *arg, const struct binder_outcome *outcome)
{
	struct claim_run *run = arg;
	const struct claim_context *context = run->context;
	auto_free char *address = xstrdup(run->decision.job.items[0].address);

	failpoint(failpoints[run->decision.step].after);
	claim_history_end(context->history, address, outcome);
	run->moving = false;
	run->moved = outcome->result == BINDER_DONE;
	if (run->moved)
		tell_moved(run);
	context->on_moved(context->arg, address, run->name);
	if (!run->call) /* else when it has been told how long that takes */
		finish_step(run);
}

static void transit(struct claim_run *run)
{
	const struct claim_context *context = run->context;
	const struct binder_job *job = &run->decision.job;
	struct json_strs members = { 0 };
	bool idle;

	for (size_t i = 0; i < job->len; i++)
		claim_ties_members(context->inventory, job->items[i].address, &members);
	idle = claim_history_idle(context->history, context->binder, &members);
	if (idle)
		claim_history_begin(context->history,
				    &(struct claim_begin){ .job = job,
							   .members = &members,
							   .name = run->name,
							   .claim = claim_now(run) },
				    now_ms(run));
	json_strs_done(&members);
	if (!idle) {
		end_run(run, 0, NULL); /* looked at again when that ends */
		return;
	}
	run->verb = job->verb;
	run->moving = true;
	failpoint(failpoints[run->decision.step].before);
	binder_start(context->binder, job, on_transition_end, run);
}

static void rest(struct claim_run *run)
{
	struct claim_view view = view_of(run);
	uint64_t again_ms = run->decision.again_ms;
	struct claim_rest rest = { .claim = claim_now(run),
				   .again_ms = again_ms ? again_ms : UINT64_MAX,
				   .watch_pid = run->decision.watch_pid };
	struct err err = { 0 };
	int result = 0;

	tell_event(run);
	if (view.hold_ms && view.hold_ms < rest.again_ms)
		rest.again_ms = view.hold_ms;
	if (run->address)
		result = claim_history_failure(run->context->history, run->address, run->name,
					       now_ms(run), &err);
	run->context->on_rest(run->context->arg, run->name, &rest);
	end_run(run, result, &err);
}

static void do_step(struct claim_run *run)
{
	switch (run->decision.step) {
	case CLAIM_REST:
		rest(run);
		return;
	case CLAIM_MARK:
	case CLAIM_UNMARK:
		send_body(run, NULL);
		return;
	case CLAIM_TELL:
		send_body(run, "status");
		return;
	case CLAIM_READ:
		run->call = fetch_object(run->context->deps->client, &pcideviceclaim_kind,
					 run->name, on_read, run);
		return;
	case CLAIM_BIND:
	case CLAIM_RELEASE:
		transit(run);
		return;
	}
}

/* Of the whole group; what is in use now is judged by itself. */
static uint64_t unproven_ms(const struct claim_run *run)
{
	const struct pcideviceclaim *claim = claim_now(run);
	bool refused = claim && use_log_was_refused(&claim->status.conditions);
	struct json_strs members = { 0 };
	uint64_t longest_ms = 0;

	if (run->address)
		claim_ties_members(run->context->inventory, run->address, &members);
	for (size_t i = 0; i < members.len; i++) {
		uint64_t ms = claim_history_unproven_ms(run->context->history, members.items[i],
							refused, now_ms(run));

		if (ms > longest_ms)
			longest_ms = ms;
	}
	json_strs_done(&members);
	return longest_ms;
}

static void decide(struct claim_run *run, const struct claim_view *view,
		   struct claim_decision *ret_decision)
{
	const struct claim_context *context = run->context;
	auto_free char *holder = NULL;
	auto_free char *given =
		claim_pods_find(context->deps, context->inventory, run->address, &holder);
	const char *lead = view->lead ? view->lead : run->address;
	const struct informer *usb = context->deps->usb_claims;
	struct json_pairs usb_pods = { 0 };
	struct claim_case c = {
		.node_name = context->deps->node_name,
		.name = run->name,
		.claim = claim_now(run),
		.fresh = run->answered,
		.inventory = context->inventory,
		.claims = informer_store(context->deps->claims),
		.usb_claims = usb ? informer_store(usb) : NULL,
		.usb_pods = &usb_pods,
		.device = device_now(run),
		.past = view->past,
		.unproven_ms = unproven_ms(run),
		.allocated = given,
		.allocated_to = holder,
		.vfio_drivers = context->deps->vfio_drivers,
		.driverless = context->deps->driverless,
		.now_wall_ms = clock_wall_ms(context->deps->clock),
	};

	if (run->address && context->deps->ask_offer)
		context->deps->ask_offer(context->deps->arg, run->address, &c.offer);
	if (lead)
		c.state = binder_look(context->binder, lead, &c.trouble);
	claim_pods_usb(context->deps, context->inventory, run->address, &usb_pods);
	claim_plan(&c, ret_decision);
	json_pairs_done(&usb_pods);
}

/* The one who runs a transition, or the next inventory, has the claim looked at again. */
static bool must_wait(const struct claim_run *run, const struct claim_view *view)
{
	return view->running || view->unsure || (!claim_now(run) && view->past.newer);
}

static void go_on(struct claim_run *run)
{
	struct claim_rest at_once = { .claim = claim_now(run) };
	struct claim_view view = view_of(run);

	if (must_wait(run, &view)) {
		end_run(run, 0, NULL);
		return;
	}
	if (run->steps++ == STEPS_MAX) {
		run->context->on_rest(run->context->arg, run->name, &at_once);
		end_run(run, 0, NULL);
		return;
	}
	decide(run, &view, &run->decision);
	run->event_reason = xstrdup_or_null(run->decision.event_reason);
	log_debug("claim step", log_str("claim", run->name), log_int("step", run->decision.step));
	do_step(run);
}

void claim_run_start(struct claim_run *run)
{
	go_on(run);
}

/* If it could not be written, the end of the transition will be. */
static void on_late_told(void *arg, int result, const struct kube_response *response,
			 const struct err *err)
{
	struct claim_run *run = arg;
	struct err cause = *err;

	run->call = NULL;
	if (result == 0)
		(void)take_answer(run, response, &cause);
	if (!run->moving)
		finish_step(run);
}

void claim_run_late(struct claim_run *run, const char *address)
{
	struct claim_view view = view_of(run);
	struct claim_decision late;

	if (!run->moving || run->call || strcmp(run->decision.job.items[0].address, address) != 0)
		return;
	decide(run, &view, &late);
	if (late.step == CLAIM_TELL)
		run->call = apply_merge(run->context->deps->client,
					&(struct apply_request){
						.kind = &pcideviceclaim_kind,
						.name = run->name,
						.subresource = "status",
						.field_manager = "hostdev-agent",
						.object = late.body,
					},
					on_late_told, run);
	claim_decision_done(&late);
}
