#include "agent/mdev/mdevs.h"

#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/inventory/inventory.h"
#include "agent/lend/lend.h"
#include "agent/mdev/mdev_fare.h"
#include "agent/mdev/mdev_plan.h"
#include "agent/mdev/mdev_type.h"
#include "agent/mdev/mdev_wish.h"
#include "api/mediateddeviceparent.h"
#include "api/names.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/audit.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/store.h"

/* What was told last of one parent. */
struct told {
	struct mdev_fare fare;
	char *reason; /* the fare's, kept */
	char *event;  /* reason of the last event; NULL: none since it went well */
	struct api_condition_value value;
};

struct mdevs {
	struct mdevs_deps deps;
	struct mdev_jobs *jobs;
	struct mdev_view view;
	struct mdev_type *type;
	struct json_pairs labels;
	bool has_labels;
	struct mdev_wish wish;
	struct map *told; /* parent -> struct told */
	struct clock_timer *timer;
};

/* --- what is told ---------------------------------------------------------------------------- */

static void told_free(struct told *told)
{
	mdev_fare_done(&told->fare);
	free(told->reason);
	free(told->event);
	free(told);
}

static struct told *told_of(struct mdevs *mdevs, const char *parent)
{
	struct told *told = map_get(mdevs->told, parent);

	if (!told) {
		told = xcalloc(1, sizeof(*told));
		map_set(mdevs->told, parent, told);
	}
	return told;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The event is on the object of the parent, if the API server has it by now. */
static void tell_outcome(struct mdevs *mdevs, const char *parent,
			 const struct mdev_outcome *outcome)
{
	auto_free char *name = names_mediateddeviceparent(mdevs->deps.node_name, parent);
	auto_free char *message = xasprintf("%zu mediated devices %s", outcome->count,
					    outcome->removes ? "removed" : "made");
	const struct mediateddeviceparent *object =
		store_object(informer_store(mdevs->deps.parents), name);
	const char *done = outcome->removes ? "MediatedDevicesRemoved" : "MediatedDevicesMade";

	audit_record(
		mdevs->deps.events,
		&(struct events_about){ &mediateddeviceparent_kind, object ? &object->meta : NULL },
		&(struct audit){
			.action = outcome->removes ? "remove" : "create",
			.result = outcome->done   ? "Done"
				  : outcome->held ? "Held"
						  : "Failed",
			.kind = mediateddeviceparent_kind.kind,
			.device = name,
			.node = mdevs->deps.node_name,
			.reason = outcome->done ? done : outcome->reason,
			.message = outcome->done ? message : outcome->message,
			.warning = !outcome->done,
		});
}

/* Takes @fare. */
static void tell(struct mdevs *mdevs, const char *parent, struct mdev_fare *fare)
{
	struct told *told = told_of(mdevs, parent);

	if (same(told->reason, fare->reason) && same(told->fare.message, fare->message)) {
		mdev_fare_done(fare);
		return;
	}
	mdev_fare_done(&told->fare);
	free(told->reason);
	told->reason = xstrdup(fare->reason);
	told->fare = *fare;
	told->fare.reason = told->reason;
	told->value = mdev_fare_value(&told->fare);
	mdevs->deps.changed(mdevs->deps.arg);
}

const struct api_condition_value *mdevs_condition(const struct mdevs *mdevs, const char *parent)
{
	const struct told *told = map_get(mdevs->told, parent);

	return told && told->reason ? &told->value : NULL;
}

/* --- the type manager ---------------------------------------------------------------------------- */

static bool is_free(void *arg, const char *uuid)
{
	const struct mdevs *mdevs = arg;
	auto_free char *holder = NULL;

	return lend_is_free(mdevs->deps.lend, uuid, &holder);
}

static void fare_of(struct mdevs *mdevs, const struct mdev_parent_plan *plan)
{
	auto_free char *holder = NULL;
	struct mdev_fare fare;

	if (plan->in_use.len > 0)
		(void)lend_is_free(mdevs->deps.lend, plan->in_use.items[0], &holder);
	fare = mdev_fare(plan, mdev_jobs_trouble(mdevs->jobs, plan->parent), holder);
	tell(mdevs, plan->parent, &fare);
}

/* True if there is something to do for the parent. */
static bool job_of(const struct mdev_parent_plan *plan, struct mdev_job *ret_job)
{
	bool create = plan->create.len > 0;

	*ret_job = (struct mdev_job){
		.parent = plan->parent,
		.type = create ? plan->type : NULL,
		.owner = MDEV_OWNER_TYPES,
		.uuids = create ? &plan->create : &plan->remove,
		.more = create ? NULL : &plan->forget,
	};
	return plan->create.len + plan->remove.len + plan->forget.len > 0;
}

static void start_some(struct mdevs *mdevs, const struct mdev_plan *plan)
{
	uint64_t wait_ms = UINT64_MAX;
	uint64_t one_ms;
	struct mdev_job job;

	for (size_t i = 0; i < plan->len; i++) {
		if (!job_of(&plan->items[i], &job))
			continue;
		if (mdev_jobs_may_start(mdevs->jobs, job.parent, mdevs->view.inventory->began_ms,
					&one_ms))
			mdev_jobs_start(mdevs->jobs, &job);
		else if (one_ms < wait_ms)
			wait_ms = one_ms;
	}
	if (wait_ms < UINT64_MAX)
		clock_timer_start(mdevs->deps.jobs.clock, mdevs->timer, wait_ms);
}

static void look(struct mdevs *mdevs)
{
	struct mdev_plan plan;

	clock_timer_stop(mdevs->deps.jobs.clock, mdevs->timer);
	if (!mdevs->view.inventory || !mdevs->view.config || !mdevs->has_labels)
		return;
	mdev_plan_make(&(struct mdev_plan_case){ .node_name = mdevs->deps.node_name,
						 .facts = mdevs->view.inventory->facts,
						 .wish = &mdevs->wish,
						 .is_free = is_free,
						 .arg = mdevs },
		       &plan);
	start_some(mdevs, &plan);
	for (size_t i = 0; i < plan.len; i++)
		fare_of(mdevs, &plan.items[i]);
	mdev_plan_done(&plan);
}

static void on_timer(void *arg)
{
	look(arg);
}

/* From the loop, as one of several reasons may come in a row. */
static void look_soon(struct mdevs *mdevs)
{
	clock_timer_start(mdevs->deps.jobs.clock, mdevs->timer, 0);
}

/* The same trouble again is no news. */
static void on_ended(void *arg, const char *parent, const struct mdev_outcome *outcome)
{
	struct mdevs *mdevs = arg;
	struct told *told = told_of(mdevs, parent);
	const char *reason = outcome && !outcome->done ? outcome->reason : NULL;

	if (outcome && (outcome->done ? outcome->count > 0 : reason && !same(told->event, reason)))
		tell_outcome(mdevs, parent, outcome);
	if (outcome) {
		free(told->event);
		told->event = xstrdup_or_null(reason);
	}
	lend_touch(mdevs->deps.lend);
	mdevs->deps.moved(mdevs->deps.arg);
	look_soon(mdevs);
}

static void wish(struct mdevs *mdevs)
{
	struct mdev_wish now;

	mdev_wish_make(mdevs->view.config, mdevs->has_labels ? &mdevs->labels : NULL, &now);
	if (mdev_wish_equal(&now, &mdevs->wish)) {
		mdev_wish_done(&now);
		return;
	}
	mdev_wish_done(&mdevs->wish);
	mdevs->wish = now;
	look_soon(mdevs);
}

/* --- what it hears --------------------------------------------------------------------------------- */

void mdevs_set(struct mdevs *mdevs, const struct inventory *inventory)
{
	mdevs->view.inventory = inventory;
	look(mdevs);
}

void mdevs_set_config(struct mdevs *mdevs, const struct config *config)
{
	bool first = !mdevs->view.config;

	mdevs->view.config = config;
	wish(mdevs);
	if (first)
		look_soon(mdevs);
	lend_touch(mdevs->deps.lend);
	mdevs->deps.changed(mdevs->deps.arg);
}

void mdevs_set_labels(struct mdevs *mdevs, const struct json_pairs *labels)
{
	if (mdevs->has_labels && json_pairs_equal(&mdevs->labels, labels))
		return;
	if (!mdevs->has_labels)
		look_soon(mdevs);
	json_pairs_done(&mdevs->labels);
	for (size_t i = 0; i < labels->len; i++)
		json_pairs_set(&mdevs->labels, labels->items[i].key, labels->items[i].value);
	mdevs->has_labels = true;
	wish(mdevs);
}

void mdevs_lent_changed(struct mdevs *mdevs)
{
	if (mdevs->view.inventory && mdevs->view.inventory->sets[INVENTORY_MDEV].len > 0)
		look_soon(mdevs);
}

const char *mdevs_resource(const struct mdevs *mdevs, const struct mediateddevice *device)
{
	return mdev_type_resource(&mdevs->view, device);
}

/* --- life ------------------------------------------------------------------------------------------- */

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
	if (mdevs->view.inventory && mdevs->view.config && mdevs->deps.report)
		mdevs->deps.report(mdevs->deps.arg, &troubles);
	config_troubles_done(&troubles);
}

static bool removing(void *arg, const char *uuid)
{
	const struct mdevs *mdevs = arg;

	return mdev_jobs_removing(mdevs->jobs, uuid);
}

static const char *otherwise(void *arg, const char *uuid)
{
	const struct mdevs *mdevs = arg;

	return mdevs->deps.otherwise ? mdevs->deps.otherwise(mdevs->deps.arg, uuid) : NULL;
}

static const char *held_as(void *arg, const char *uuid, bool *ret_ours)
{
	const struct mdevs *mdevs = arg;

	return lend_resource(mdevs->deps.lend, uuid, ret_ours);
}

struct mdevs *mdevs_new(const struct mdevs_deps *deps)
{
	struct mdevs *mdevs = xcalloc(1, sizeof(*mdevs));
	struct mdev_jobs_deps jobs = deps->jobs;

	mdevs->deps = *deps;
	jobs.ended = on_ended;
	jobs.arg = mdevs;
	mdevs->jobs = mdev_jobs_new(&jobs);
	mdevs->view = (struct mdev_view){ .dev_root = deps->jobs.helper.dev_root,
					  .sysfs_root = deps->jobs.helper.sysfs_root,
					  .removing = removing,
					  .otherwise = otherwise,
					  .held_as = held_as,
					  .arg = mdevs };
	mdevs->type = mdev_type_new(&mdevs->view);
	mdevs->told = map_new();
	mdevs->timer = clock_timer_new(deps->jobs.clock, on_timer, mdevs);
	lend_add(deps->lend, &(struct lend_type){ .offer = offer, .arg = mdevs, .nodes = nodes });
	return mdevs;
}

struct mdevs *mdevs_free(struct mdevs *mdevs)
{
	size_t cursor = 0;
	void *told;

	if (!mdevs)
		return NULL;
	clock_timer_free(mdevs->deps.jobs.clock, mdevs->timer);
	mdev_jobs_free(mdevs->jobs);
	mdev_type_free(mdevs->type);
	mdev_wish_done(&mdevs->wish);
	json_pairs_done(&mdevs->labels);
	while (map_next(mdevs->told, &cursor, NULL, &told))
		told_free(told);
	map_free(mdevs->told);
	free(mdevs);
	return NULL;
}
