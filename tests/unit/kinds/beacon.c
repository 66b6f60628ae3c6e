#include "unit/kinds/beacon.h"

#include <stdlib.h>
#include <string.h>

#include "agent/node/node_reconcile.h"
#include "agent/node/this_node.h"
#include "agent/task/attempt.h"
#include "agent/task/task.h"
#include "agent/task/task_line.h"
#include "api/json_values.h"
#include "api/names.h"
#include "api/patch.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/clock.h"
#include "kube/reconcile.h"

/* --- the object ------------------------------------------------------------------------------- */

static const struct json_row spec_map[] = {
	JSON_BOOL(struct beacon_spec, blink, "blink", JSON_OPTIONAL),
	JSON_END,
};

#define S struct beacon_status
static const struct json_row status_map[] = {
	JSON_BOOL(S, blinking, "blinking", JSON_ALWAYS),
	JSON_INT(S, observed_generation, "observedGeneration", JSON_OPTIONAL),
	API_CONDITIONS(S),
	JSON_END,
};
#undef S

static const struct json_row map[] = {
	API_META(struct beacon),
	JSON_STRUCT(struct beacon, spec, "spec", JSON_OPTIONAL, struct beacon_spec, spec_map),
	JSON_STRUCT(struct beacon, status, "status", JSON_OPTIONAL, struct beacon_status,
		    status_map),
	JSON_END,
};

const struct api_kind beacon_kind = {
	.group = NAMES_OWN_GROUP,
	.version = NAMES_OWN_VERSION,
	.kind = "Beacon",
	.plural = "beacons",
	.size = sizeof(struct beacon),
	.map = map,
};

/* --- the plan --------------------------------------------------------------------------------- */

/* What is wrong, or how it is: the condition Ready. */
struct ready {
	enum api_truth status;
	const char *reason;
	const char *message;
};

static struct ready ready_of(const struct beacon_case *c, bool wanted)
{
	if (c->stuck)
		return (struct ready){ API_FALSE, "Stuck", c->stuck };
	if (c->failure && c->blinks != wanted)
		return (struct ready){ API_FALSE, c->failure->reason, c->failure->message };
	if (c->blinks)
		return (struct ready){ API_TRUE, "Blinking", "the node's LED blinks" };
	return (struct ready){ API_TRUE, "Off", "the node's LED does not blink" };
}

/* The finalizer comes before the first act, so that the object cannot go while the LED blinks. */
static void plan_finalizer(const struct beacon *beacon, struct decision *d)
{
	d->step = STEP_PATCH;
	d->body = patch_new(&beacon->meta);
	patch_add_finalizer(d->body, &beacon->meta, BEACON_FINALIZER);
}

/* The engine reads the object once more before this, as before ACT. */
static void plan_removal(const struct beacon *beacon, struct decision *d)
{
	d->step = STEP_PATCH;
	d->body = patch_new(&beacon->meta);
	patch_remove_finalizer(d->body, &beacon->meta, BEACON_FINALIZER);
}

/* False: the status is as it should be. An event goes with each new reason. */
static bool plan_status(const struct beacon_case *c, bool wanted, struct decision *d)
{
	const struct beacon *beacon = c->beacon;
	const struct ready ready = ready_of(c, wanted);
	const struct api_condition *before =
		api_conditions_find(&beacon->status.conditions, "Ready");
	struct beacon_status want;
	const struct patch_status status = {
		.meta = &beacon->meta,
		.map = status_map,
		.have = &beacon->status,
		.want = &want,
		.conditions = &want.conditions,
		.now_wall_ms = c->now_wall_ms,
	};

	json_map_copy(status_map, &want, &beacon->status);
	want.blinking = c->blinks;
	want.observed_generation = beacon->meta.generation;
	patch_status_condition(&status, "Ready", ready.status, ready.reason, ready.message);
	d->body = patch_status_body(&status);
	json_map_done(status_map, &want);
	if (!d->body)
		return false;
	d->step = STEP_PATCH_STATUS;
	if (before && before->reason && strcmp(before->reason, ready.reason) == 0)
		return true;
	d->warning = ready.status != API_TRUE;
	d->event_reason = xstrdup(ready.reason);
	d->event_message = xstrdup(ready.message);
	return true;
}

void beacon_plan(const struct beacon_case *c, struct decision *ret_decision)
{
	const struct beacon *beacon = c->beacon;
	bool deleted = beacon->meta.deletion_timestamp != NULL;
	bool wanted = beacon->spec.blink && !deleted;

	if (!api_meta_has_finalizer(&beacon->meta, BEACON_FINALIZER)) {
		if (!deleted)
			plan_finalizer(beacon, ret_decision);
		return;
	}
	if (c->blinks != wanted && !c->stuck && c->hold_ms == 0) {
		ret_decision->step = STEP_ACT;
		ret_decision->job = xstrdup(wanted ? "blink=true" : "blink=false");
		ret_decision->job_free = free;
	} else if (deleted && !c->blinks && !c->stuck) {
		plan_removal(beacon, ret_decision);
	} else if (!plan_status(c, wanted, ret_decision)) {
		ret_decision->again_ms = c->hold_ms;
	}
}

/* --- the reconciler --------------------------------------------------------------------------- */

struct beacons {
	const struct this_node *node;
	void (*on_moved)(void *arg);
	void *arg;
	struct reconcile *reconcile;
	bool blinks;      /* the LED, by the last scan            */
	uint64_t scan_ms; /* when that began; 0: there was none   */
	/* A kind with many objects keeps these two for each key. */
	struct task *task;      /* NULL: none runs, and none is stuck */
	struct attempt attempt; /* the last                           */
};

static const struct attempt_backoff backoff = { .first_ms = 1000, .max_ms = 64000 };

static uint64_t now_ms(const struct beacons *beacons)
{
	return clock_now_ms(beacons->node->clock);
}

/* An attempt counts for one object and one generation: what has failed for another spec holds
 * nothing back. */
static struct attempt_object attempt_object(const struct beacon *beacon)
{
	return (struct attempt_object){
		.uid = beacon->meta.uid ? beacon->meta.uid : "",
		.generation = beacon->meta.generation,
		.direction = beacon->meta.deletion_timestamp != NULL,
	};
}

static bool has_scan(void *arg)
{
	const struct beacons *beacons = arg;

	return beacons->scan_ms > 0;
}

/* Collects what is known, and has beacon_plan() decide. */
static void plan(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct beacons *beacons = arg;
	const struct beacon *beacon = view->object;
	const struct attempt_object of = attempt_object(beacon);
	bool is_stuck = beacons->task && task_is_stuck(beacons->task);
	auto_free char *stuck = is_stuck ? task_describe(beacons->task) : NULL;
	struct beacon_case c = {
		.beacon = beacon,
		.blinks = beacons->blinks,
		.stuck = stuck,
		.now_wall_ms = view->now_wall_ms,
	};

	/* The scan is older than what the last task did: the next one enqueues the key. */
	if (attempt_is_newer(&beacons->attempt, beacons->scan_ms))
		return;
	c.failure = attempt_failure(&beacons->attempt, &of, now_ms(beacons), &c.hold_ms);
	beacon_plan(&c, ret_decision);
}

static void on_task_end(void *arg, struct task_outcome *outcome)
{
	struct beacons *beacons = arg;

	if (outcome) { /* else it is stuck, and stays until on_task_gone() */
		beacons->task = NULL;
		if (attempt_end(&beacons->attempt, outcome, &backoff, now_ms(beacons)))
			beacons->on_moved(beacons->arg);
	}
	reconcile_acted(beacons->reconcile, beacons->node->name);
}

static void on_task_gone(void *arg)
{
	struct beacons *beacons = arg;

	beacons->task = NULL;
	attempt_end_unknown(&beacons->attempt, now_ms(beacons));
	beacons->on_moved(beacons->arg);
}

static bool act(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	struct beacons *beacons = arg;
	const struct attempt_object of = attempt_object(view->object);
	struct json_strs words = { 0 };
	struct err err = { 0 };

	json_strs_add(&words, decision->job);
	beacons->task = task_start(
		&(struct task_spec){
			.loop = beacons->node->loop,
			.helper = &beacons->node->helper,
			.deadline_ms = beacons->node->deadline_ms,
			.verb = "beacon",
			.key = view->key,
			.words = &words,
			.on_end = on_task_end,
			.on_gone = on_task_gone,
			.arg = beacons,
		},
		&err);
	json_strs_done(&words);
	if (beacons->task) {
		attempt_begin(&beacons->attempt, &of, ATTEMPT_CHANGES_ONE, now_ms(beacons));
		return true;
	}
	attempt_not_started(&beacons->attempt, &of, &backoff, &err, now_ms(beacons));
	reconcile_enqueue(beacons->reconcile, view->key); /* the status says so */
	return false;
}

void beacons_enqueue_all(struct beacons *beacons)
{
	reconcile_enqueue_all(beacons->reconcile);
}

void beacons_set_scan(struct beacons *beacons, bool blinks, uint64_t began_ms)
{
	beacons->blinks = blinks;
	beacons->scan_ms = began_ms;
}

bool beacons_ready(const struct beacons *beacons, struct str *reason)
{
	return reconcile_is_synced(beacons->reconcile, reason);
}

void beacons_start(struct beacons *beacons)
{
	reconcile_start(beacons->reconcile);
}

struct beacons *beacons_new(const struct this_node *node, void (*on_moved)(void *arg), void *arg)
{
	struct beacons *beacons = xcalloc(1, sizeof(*beacons));
	auto_free char *own = xasprintf("metadata.name=%s", node->name);
	const struct reconcile_spec spec = {
		.name = "beacons",
		.kind = &beacon_kind,
		.field_selector = own,
		.max_running = 1,
		.is_ready = has_scan,
		.plan = plan,
		.act = act,
		.arg = beacons,
	};

	beacons->node = node;
	beacons->on_moved = on_moved;
	beacons->arg = arg;
	beacons->reconcile = node_reconcile_new(node, &spec);
	return beacons;
}

struct beacons *beacons_free(struct beacons *beacons)
{
	if (!beacons)
		return NULL;
	reconcile_free(beacons->reconcile);
	task_abandon(beacons->task);
	attempt_done(&beacons->attempt);
	free(beacons);
	return NULL;
}
