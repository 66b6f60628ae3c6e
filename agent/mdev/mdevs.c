#include "agent/mdev/mdevs.h"

#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/inventory/inventory.h"
#include "agent/mdev/mdev_plan.h"
#include "agent/mdev/mdev_type.h"
#include "agent/node/this_node.h"
#include "agent/resource/offers.h"
#include "agent/task/attempt.h"
#include "agent/task/task.h"
#include "agent/task/task_line.h"
#include "api/mediateddeviceparent.h"
#include "api/names.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/audit.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/store.h"

enum { EACH_INSTANCE_MS = 500, NUMBER_AGAIN_MS = 5000 };

/* One parent for which there is a condition, or was a task. */
struct parent {
	struct mdevs *mdevs;
	char *name;
	struct task *task; /* NULL: none runs and none is stuck */
	bool removes;      /* the task, or the last one         */
	struct attempt attempt;
	struct mdev_condition condition;
	struct api_condition_value value; /* of the condition, for publish */
	char *event; /* reason of the last failure that has an event; NULL: it was done since */
};

struct mdevs {
	const struct this_node *node;
	struct mdevs_deps deps;
	struct mdev_view view;
	struct mdev_type *type;
	struct json_pairs labels;
	bool has_labels;
	struct mdev_desired desired;
	struct map *parents; /* name -> struct parent */
	size_t running;      /* tasks without those that are stuck */
	struct clock_timer *timer;
};

static const struct attempt_backoff backoff = {
	.first_ms = MDEVS_RETRY_MS,
	.max_ms = MDEVS_RETRY_MAX_MS,
};

static uint64_t now_ms(const struct mdevs *mdevs)
{
	return clock_now_ms(mdevs->node->clock);
}

static struct parent *parent_of(struct mdevs *mdevs, const char *name)
{
	struct parent *parent = map_get(mdevs->parents, name);

	if (parent)
		return parent;
	parent = xcalloc(1, sizeof(*parent));
	parent->mdevs = mdevs;
	parent->name = xstrdup(name);
	map_set(mdevs->parents, name, parent);
	return parent;
}

static void parent_free(void *arg)
{
	struct parent *parent = arg;

	task_abandon(parent->task);
	attempt_done(&parent->attempt);
	mdev_condition_done(&parent->condition);
	free(parent->event);
	free(parent->name);
	free(parent);
}

/* From the loop, as several reasons may come in a row. */
static void plan_soon(struct mdevs *mdevs)
{
	clock_timer_start(mdevs->node->clock, mdevs->timer, 0);
}

/* --- events and conditions -------------------------------------------------------------------- */

/* The event is on the object of the parent, if the API server has it by now. */
static void record_event(const struct parent *parent, const char *reason, const char *message,
			 bool warning)
{
	const struct this_node *node = parent->mdevs->node;
	auto_free char *name = names_mediateddeviceparent(node->name, parent->name);
	const struct mediateddeviceparent *object =
		store_object(informer_store(node->devices[INVENTORY_MDEV_PARENT]), name);

	audit_record(
		node->events,
		&(struct events_about){ &mediateddeviceparent_kind, object ? &object->meta : NULL },
		&(struct audit){
			.action = parent->removes ? "remove" : "create",
			.result = audit_result(reason, warning),
			.kind = mediateddeviceparent_kind.kind,
			.device = name,
			.node = node->name,
			.reason = reason,
			.message = message,
			.warning = warning,
		});
}

static void record_done(struct parent *parent, size_t count)
{
	auto_free char *message =
		xasprintf("%zu mediated devices %s", count, parent->removes ? "removed" : "made");

	free(parent->event);
	parent->event = NULL;
	if (count > 0)
		record_event(parent,
			     parent->removes ? "MediatedDevicesRemoved" : "MediatedDevicesMade",
			     message, false);
}

/* The same failure again is no news. */
static void record_failure(struct parent *parent, const char *reason, const char *message)
{
	if (str_equal(parent->event, reason))
		return;
	record_event(parent, reason, message, true);
	str_set(&parent->event, reason);
}

/* Takes @condition. */
static void set_condition(struct parent *parent, struct mdev_condition *condition)
{
	const struct mdevs_deps *deps = &parent->mdevs->deps;

	if (str_equal(parent->condition.reason, condition->reason) &&
	    str_equal(parent->condition.message, condition->message)) {
		mdev_condition_done(condition);
		return;
	}
	mdev_condition_done(&parent->condition);
	parent->condition = *condition;
	parent->value = (struct api_condition_value){
		.type = "Configured",
		.status = condition->configured ? API_TRUE : API_FALSE,
		.reason = condition->reason,
		.message = condition->message,
	};
	deps->on_changed(deps->arg);
}

const struct api_condition_value *mdevs_condition(const struct mdevs *mdevs, const char *parent)
{
	const struct parent *known = map_get(mdevs->parents, parent);

	return known && known->condition.reason ? &known->value : NULL;
}

/* --- tasks ------------------------------------------------------------------------------------ */

static char *describe_stuck(const struct task *task)
{
	auto_free char *what = task_describe(task);

	return xasprintf("%s; the agent changes nothing else here until it ends: see the node's "
			 "kernel log",
			 what);
}

/* What the task has done is seen by the next scan only. */
static void on_task_change(struct mdevs *mdevs)
{
	offers_update_soon(mdevs->deps.offers);
	mdevs->deps.on_moved(mdevs->deps.arg);
	plan_soon(mdevs);
}

static void on_task_end(void *arg, struct task_outcome *outcome)
{
	struct parent *parent = arg;
	struct mdevs *mdevs = parent->mdevs;
	auto_free char *message =
		outcome ? task_outcome_text(outcome) : describe_stuck(parent->task);

	mdevs->running--;
	if (!outcome)
		record_failure(parent, "Stuck", message);
	else if (outcome->result == TASK_DONE)
		record_done(parent, outcome->count);
	else
		record_failure(parent, outcome->reason, message);
	if (outcome) {
		parent->task = NULL;
		(void)attempt_end(&parent->attempt, outcome, &backoff, now_ms(mdevs));
	}
	on_task_change(mdevs);
}

static void on_task_gone(void *arg)
{
	struct parent *parent = arg;
	struct mdevs *mdevs = parent->mdevs;

	parent->task = NULL;
	attempt_end_unknown(&parent->attempt, now_ms(mdevs));
	on_task_change(mdevs);
}

static bool creates(const struct mdev_parent_plan *plan)
{
	return plan->create.len > 0;
}

/* What has failed for one type is not known to fail for another. */
static struct attempt_object attempt_object(const struct mdev_parent_plan *plan)
{
	return (struct attempt_object){ .uid = creates(plan) ? plan->type : "" };
}

static void add_uuids(const struct json_strs *from, struct json_strs *words, struct json_strs *keys)
{
	for (size_t i = 0; i < from->len; i++) {
		task_words_add(words, "uuid", from->items[i]);
		json_strs_add(keys, from->items[i]);
	}
}

static void make_words(const struct mdev_parent_plan *plan, struct json_strs *words,
		       struct json_strs *keys)
{
	task_words_add(words, "parent", plan->parent);
	task_words_add(words, "owner", MDEV_OWNER_TYPES);
	if (creates(plan)) {
		task_words_add(words, "type", plan->type);
		add_uuids(&plan->create, words, keys);
		return;
	}
	add_uuids(&plan->remove, words, keys);
	add_uuids(&plan->forget, words, keys);
}

static void start_task(struct parent *parent, const struct mdev_parent_plan *plan)
{
	struct mdevs *mdevs = parent->mdevs;
	const struct attempt_object of = attempt_object(plan);
	struct json_strs words = { 0 };
	struct json_strs keys = { 0 };
	struct err err = { 0 };

	make_words(plan, &words, &keys);
	parent->removes = !creates(plan);
	parent->task = task_start(
		&(struct task_spec){
			.loop = mdevs->node->loop,
			.helper = &mdevs->node->helper,
			.deadline_ms = mdevs->node->deadline_ms + keys.len * EACH_INSTANCE_MS,
			.verb = parent->removes ? "mdev-remove" : "mdev-create",
			.key = parent->name,
			.keys = &keys,
			.words = &words,
			.on_end = on_task_end,
			.on_gone = on_task_gone,
			.arg = parent,
		},
		&err);
	json_strs_done(&words);
	json_strs_done(&keys);
	if (parent->task) {
		mdevs->running++;
		attempt_begin(&parent->attempt, &of, ATTEMPT_CHANGES_MANY, now_ms(mdevs));
		/* Instances that are being removed must not be allocated. */
		if (parent->removes)
			offers_update_soon(mdevs->deps.offers);
		return;
	}
	attempt_not_started(&parent->attempt, &of, &backoff, &err, now_ms(mdevs));
	record_failure(parent, "HelperFailed", err.msg);
}

/* Why none must be created now: a pod could open it. NULL: none could. The caller frees. */
static char *number_trouble(const struct mdevs *mdevs, const struct mdev_parent_plan *plan)
{
	return creates(plan) ? offers_bind_trouble(mdevs->deps.offers, plan->create.items[0])
			     : NULL;
}

/* Returns for how long the plan must wait; UINT64_MAX: it runs, or something has to change first,
 * which plans again. */
static uint64_t start_or_wait(struct parent *parent, const struct mdev_parent_plan *plan)
{
	const struct mdevs *mdevs = parent->mdevs;
	const struct attempt_object of = attempt_object(plan);
	auto_free char *trouble = NULL;
	uint64_t hold_ms = 0;

	if (parent->task || mdevs->running >= MDEVS_TASKS_MAX ||
	    attempt_is_newer(&parent->attempt, mdevs->node->inventory->began_ms))
		return UINT64_MAX;
	if (attempt_failure(&parent->attempt, &of, now_ms(mdevs), &hold_ms) && hold_ms > 0)
		return hold_ms;
	trouble = number_trouble(mdevs, plan);
	if (trouble)
		return NUMBER_AGAIN_MS;
	start_task(parent, plan);
	return attempt_failure(&parent->attempt, &of, now_ms(mdevs), &hold_ms) ? hold_ms
									       : UINT64_MAX;
}

/* --- plans ------------------------------------------------------------------------------------ */

static bool is_free(void *arg, const char *uuid)
{
	const struct mdevs *mdevs = arg;
	auto_free char *holder = NULL;

	return offers_is_free(mdevs->deps.offers, uuid, &holder);
}

static void start_tasks(struct mdevs *mdevs, const struct mdev_plan *plan)
{
	uint64_t wait_ms = UINT64_MAX;

	for (size_t i = 0; i < plan->len; i++) {
		const struct mdev_parent_plan *one = &plan->items[i];
		uint64_t one_ms = UINT64_MAX;

		if (mdev_plan_has_work(one))
			one_ms = start_or_wait(parent_of(mdevs, one->parent), one);
		if (one_ms < wait_ms)
			wait_ms = one_ms;
	}
	if (wait_ms < UINT64_MAX)
		clock_timer_start(mdevs->node->clock, mdevs->timer, wait_ms);
}

static void update_condition(struct mdevs *mdevs, const struct mdev_parent_plan *plan)
{
	struct parent *parent = parent_of(mdevs, plan->parent);
	const struct attempt_object of = attempt_object(plan);
	auto_free char *holder = NULL;
	auto_free char *stuck = NULL;
	auto_free char *trouble = NULL;
	struct mdev_condition condition;
	uint64_t hold_ms;

	if (plan->in_use.len > 0)
		(void)offers_is_free(mdevs->deps.offers, plan->in_use.items[0], &holder);
	if (parent->task && task_is_stuck(parent->task))
		stuck = describe_stuck(parent->task);
	if (!parent->task)
		trouble = number_trouble(mdevs, plan);
	mdev_condition_make(
		plan,
		&(struct mdev_obstacle){
			.stuck = stuck,
			.failure = attempt_failure(&parent->attempt, &of, now_ms(mdevs), &hold_ms),
			.holder = holder,
			.trouble = trouble,
		},
		&condition);
	set_condition(parent, &condition);
}

void mdevs_plan(struct mdevs *mdevs)
{
	struct mdev_plan plan;

	clock_timer_stop(mdevs->node->clock, mdevs->timer);
	if (!mdevs->node->inventory || !mdevs->view.config || !mdevs->has_labels)
		return;
	mdev_plan_make(&(struct mdev_plan_case){ .node_name = mdevs->node->name,
						 .facts = mdevs->node->inventory->facts,
						 .desired = &mdevs->desired,
						 .is_free = is_free,
						 .arg = mdevs },
		       &plan);
	start_tasks(mdevs, &plan);
	for (size_t i = 0; i < plan.len; i++)
		update_condition(mdevs, &plan.items[i]);
	mdev_plan_done(&plan);
}

static void on_timer(void *arg)
{
	mdevs_plan(arg);
}

static void update_desired(struct mdevs *mdevs)
{
	struct mdev_desired now;

	mdev_desired_make(mdevs->view.config, mdevs->has_labels ? &mdevs->labels : NULL, &now);
	if (mdev_desired_equal(&now, &mdevs->desired)) {
		mdev_desired_done(&now);
		return;
	}
	mdev_desired_done(&mdevs->desired);
	mdevs->desired = now;
	plan_soon(mdevs);
}

/* --- changes ---------------------------------------------------------------------------------- */

void mdevs_set_config(struct mdevs *mdevs, const struct config *config)
{
	bool first = !mdevs->view.config;

	mdevs->view.config = config;
	update_desired(mdevs);
	if (first)
		plan_soon(mdevs);
}

void mdevs_set_labels(struct mdevs *mdevs, const struct json_pairs *labels)
{
	if (mdevs->has_labels && json_pairs_equal(&mdevs->labels, labels))
		return;
	if (!mdevs->has_labels)
		plan_soon(mdevs);
	json_pairs_done(&mdevs->labels);
	for (size_t i = 0; i < labels->len; i++)
		json_pairs_set(&mdevs->labels, labels->items[i].key, labels->items[i].value);
	mdevs->has_labels = true;
	update_desired(mdevs);
}

void mdevs_enqueue_all(struct mdevs *mdevs)
{
	if (mdevs->node->inventory && mdevs->node->inventory->sets[INVENTORY_MDEV].len > 0)
		plan_soon(mdevs);
}

const char *mdevs_resource(const struct mdevs *mdevs, const struct mediateddevice *device)
{
	return mdev_type_resource(&mdevs->view, device);
}

/* --- life ------------------------------------------------------------------------------------- */

static void nodes(void *arg, struct json_strs *list)
{
	const struct mdevs *mdevs = arg;

	mdev_type_nodes(mdevs->type, list);
}

static void offer(void *arg, struct plugins *plugins)
{
	const struct mdevs *mdevs = arg;
	struct config_troubles troubles = { 0 };

	mdev_type_offer(mdevs->type, plugins, &troubles);
	if (mdevs->node->inventory && mdevs->view.config && mdevs->deps.report)
		mdevs->deps.report(mdevs->deps.arg, &troubles);
	config_troubles_done(&troubles);
}

static bool removing(void *arg, const char *uuid)
{
	const struct mdevs *mdevs = arg;

	size_t cursor = 0;
	void *value;

	while (map_next(mdevs->parents, &cursor, NULL, &value)) {
		const struct parent *parent = value;

		if (parent->task && parent->removes && task_has_key(parent->task, uuid))
			return true;
	}
	return false;
}

static const char *otherwise(void *arg, const char *uuid)
{
	const struct mdevs *mdevs = arg;

	return mdevs->deps.otherwise ? mdevs->deps.otherwise(mdevs->deps.arg, uuid) : NULL;
}

static const char *held_as(void *arg, const char *uuid, bool *ret_ours)
{
	const struct mdevs *mdevs = arg;

	return offers_resource(mdevs->deps.offers, uuid, ret_ours);
}

static char *number(void *arg, const char *uuid)
{
	const struct mdevs *mdevs = arg;

	return offers_number_trouble(mdevs->deps.offers, uuid);
}

static char *start(void *arg, const char *uuid)
{
	const struct mdevs *mdevs = arg;

	return offers_start_trouble(mdevs->deps.offers, uuid);
}

static bool busy(void *arg, const char *uuid)
{
	const struct mdevs *mdevs = arg;

	return offers_is_busy(mdevs->deps.offers, uuid);
}

struct mdevs *mdevs_new(const struct this_node *node, const struct mdevs_deps *deps)
{
	struct mdevs *mdevs = xcalloc(1, sizeof(*mdevs));

	mdevs->node = node;
	mdevs->deps = *deps;
	mdevs->view = (struct mdev_view){ .node = node,
					  .removing = removing,
					  .otherwise = otherwise,
					  .held_as = held_as,
					  .number = number,
					  .start = start,
					  .busy = busy,
					  .arg = mdevs };
	mdevs->type = mdev_type_new(&mdevs->view);
	mdevs->parents = map_new();
	mdevs->timer = clock_timer_new(node->clock, on_timer, mdevs);
	offers_add(deps->offers,
		   &(struct offers_type){ .offer = offer, .arg = mdevs, .nodes = nodes });
	return mdevs;
}

struct mdevs *mdevs_free(struct mdevs *mdevs)
{
	if (!mdevs)
		return NULL;
	clock_timer_free(mdevs->node->clock, mdevs->timer);
	mdev_type_free(mdevs->type);
	mdev_desired_done(&mdevs->desired);
	json_pairs_done(&mdevs->labels);
	map_free_with(mdevs->parents, parent_free);
	free(mdevs);
	return NULL;
}
