#include "controller/nodes/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "controller/nodes/node_index.h"
#include "controller/nodes/node_plan.h"
#include "kube/clock.h"
#include "kube/metrics.h"
#include "kube/reconcile.h"
#include "kube/store.h"

enum {
	SETTLE_MS = 250,      /* changes of many nodes are processed together */
	AGAIN_MS = 60 * 1000, /* between two cleanups of a deleted node */
	RUNS_AT_A_TIME = 8,   /* per kind */
};

static const struct metric_desc count_desc = {
	.name = "hostdev_cluster_nodes",
	.help = "Nodes with devices, claims or an agent's pod, by whether an agent can serve them.",
	.type = METRIC_GAUGE,
	.labels = { "reach" },
};

/* A kind of objects that belong to nodes. */
struct owned {
	struct nodes *nodes;
	enum view_kind kind;
	struct api_kind api;
	struct reconcile *reconcile; /* by name */
};

struct nodes {
	struct nodes_deps deps;
	struct metric *count;
	size_t shown[REACH_LEN];
	struct node_index *index;
	struct owned owned[VIEW_OWNED];
	struct api_kind node_kind;
	struct reconcile *gone; /* of missing Nodes, by name */
	struct map *swept;      /* key of a deleted node -> struct sweep */
	/* "kind/name" of objects found by sweeps -> key of the node. Needed because a claim may be
	 * known to belong to the node only through its device, which may be deleted first. */
	struct map *left;
	struct map *changed; /* keys of nodes to process -> a non-NULL value */
	struct clock_timer *timer;
	uint64_t due_ms; /* when the timer fires; UINT64_MAX: it is stopped */
	bool started;
};

struct sweep {
	uint64_t at_ms;
};

static void show_count(struct nodes *nodes, bool all)
{
	for (enum reach reach = REACH_OK; reach < REACH_LEN; reach++) {
		size_t n = node_index_count(nodes->index, reach);

		if (!all && n == nodes->shown[reach])
			continue;
		nodes->shown[reach] = n;
		metric_set(nodes->count, (int64_t)n, (const char *const[]){ reach_reason(reach) });
	}
}

static uint64_t now_ms(const struct nodes *nodes)
{
	return clock_now_ms(nodes->deps.clock);
}

static bool is_started(void *arg)
{
	const struct nodes *nodes = arg;

	return nodes->started;
}

/* --- deleted nodes --- */

/* The remaining time before @node may be cleaned up; UINT64_MAX: it is not missing. */
static uint64_t wait_ms(const struct nodes *nodes, const char *node)
{
	auto_free char *key = node_index_key(node);
	const struct sweep *sweep = map_get(nodes->swept, key);
	uint64_t due_ms;

	if (!node_index_gone(nodes->index, node, &due_ms))
		return UINT64_MAX;
	due_ms += nodes->deps.gone_ms;
	if (sweep && sweep->at_ms + AGAIN_MS > due_ms)
		due_ms = sweep->at_ms + AGAIN_MS;
	return due_ms > now_ms(nodes) ? due_ms - now_ms(nodes) : 0;
}

/* True if the API server has confirmed that the node does not exist. A Node that comes back is
 * dropped from the map at once. */
static bool is_gone_for_good(const struct nodes *nodes, const char *node)
{
	auto_free char *key = node_index_key(node);

	return map_get(nodes->swept, key);
}

static void enqueue_if_gone(struct nodes *nodes, const char *node)
{
	auto_free char *key = node_index_key(node);
	uint64_t wait = wait_ms(nodes, node);

	if (wait != UINT64_MAX)
		reconcile_enqueue_after(nodes->gone, node_index_name(nodes->index, key), wait);
}

static void forget(struct nodes *nodes, const char *node)
{
	auto_free char *key = node_index_key(node);
	size_t cursor = 0;
	const char *object;
	void *of;

	free(map_remove(nodes->swept, key));
	while (map_next(nodes->left, &cursor, &object, &of)) {
		if (strcmp(of, key) == 0)
			free(map_remove(nodes->left, object));
	}
}

static bool is_any(void *arg, const char *name, const void *object)
{
	(void)arg;
	(void)name;
	(void)object;
	return true;
}

static void plan_node(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct nodes *nodes = arg;
	uint64_t wait = wait_ms(nodes, view->key);

	if (wait == UINT64_MAX)
		return;
	if (wait > 0)
		ret_decision->again_ms = wait;
	else if (!view->fresh)
		ret_decision->step = STEP_READ;
	else if (view->object) /* the watch will report it */
		ret_decision->again_ms = AGAIN_MS;
	else
		ret_decision->step = STEP_ACT;
}

static const char *node_of(const struct nodes *nodes, enum view_kind kind, const char *name,
			   const struct view *view)
{
	return node_plan_node(nodes->deps.stores, kind, name, view);
}

static char *left_key(enum view_kind kind, const char *name)
{
	return xasprintf("%d/%s", (int)kind, name);
}

/* Enqueue all objects of a kind that belong to the deleted node. */
static size_t sweep_kind(struct nodes *nodes, const struct owned *owned, const char *key)
{
	const char *name = node_index_name(nodes->index, key);
	const struct entry *entry;
	size_t cursor = 0;
	size_t found = 0;

	while ((entry = store_next(nodes->deps.stores[owned->kind], &cursor))) {
		const struct view *view = entry->object;
		auto_free char *object = NULL;
		const char *node;

		if (!view || retire_plan(owned->kind, view) == RETIRE_NOTHING)
			continue;
		node = node_of(nodes, owned->kind, entry->name, view);
		if (strcmp(node, name) != 0 && strcmp(node, key) != 0)
			continue;
		object = left_key(owned->kind, entry->name);
		free(map_set(nodes->left, object, xstrdup(key)));
		reconcile_enqueue(owned->reconcile, entry->name);
		found++;
	}
	return found;
}

/* Claims first, because their node may be known only through their devices' objects. */
static bool sweep(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	struct nodes *nodes = arg;
	auto_free char *key = node_index_key(view->key);
	struct sweep *done = xcalloc(1, sizeof(*done));
	size_t found = 0;

	(void)decision;
	done->at_ms = now_ms(nodes);
	free(map_set(nodes->swept, key, done));
	for (int kind = VIEW_OWNED - 1; kind >= 0; kind--)
		found += sweep_kind(nodes, &nodes->owned[kind], key);
	if (found > 0)
		log_info("node deleted, removing its objects", log_str("node", view->key),
			 log_int("objects", (int64_t)found));
	reconcile_enqueue_after(nodes->gone, view->key, AGAIN_MS);
	return false;
}

static void forget_if_not_gone(void *arg, const char *node, const void *object,
			       const struct decision *decision)
{
	struct nodes *nodes = arg;
	uint64_t since_ms;

	(void)object;
	(void)decision;
	if (!node_index_gone(nodes->index, node, &since_ms))
		forget(nodes, node);
}

/* --- objects of nodes --- */

static bool owned_is_ready(void *arg)
{
	const struct owned *owned = arg;

	return is_started(owned->nodes);
}

/* For a claim. While the node's state is too recent, nothing is written: the claims are enqueued
 * once it is settled. */
static void plan_reach(const struct owned *owned, const struct reconcile_view *view,
		       const char *node, struct decision *ret_decision)
{
	const struct nodes *nodes = owned->nodes;
	const struct view *claim = view->object;
	enum reach reach = REACH_UNKNOWN;
	uint64_t wait;

	if (node[0])
		reach = claim_reach_plan(
			claim->reach, node_index_reach(nodes->index, node, now_ms(nodes), &wait));
	if (reach == REACH_UNKNOWN)
		return;
	if (!view->fresh)
		ret_decision->step = STEP_READ;
	else if (claim_reach_patch(view->text->text, view->text->len, reach, view->now_wall_ms,
				   &ret_decision->body, &ret_decision->failure) == 0 &&
		 ret_decision->body)
		ret_decision->step = STEP_PATCH_STATUS;
}

/* An object that is created again is not deleted before the next sweep has asked the API server. */
static void plan_owned(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct owned *owned = arg;
	const struct nodes *nodes = owned->nodes;
	auto_free char *object = left_key(owned->kind, view->key);
	const char *left = map_get(nodes->left, object);
	const char *node = node_of(nodes, owned->kind, view->key, view->object);
	enum retire_step step = RETIRE_NOTHING;

	if (!node[0] && left)
		node = left;
	if (is_gone_for_good(nodes, node))
		step = retire_plan(owned->kind, view->object);
	if (step == RETIRE_DELETE && left)
		ret_decision->step = STEP_DELETE;
	else if (step == RETIRE_REMOVE_FINALIZER)
		retire_remove_finalizer(owned->kind, view, ret_decision);
	else if (node_plan_is_claim(owned->kind))
		plan_reach(owned, view, node, ret_decision);
}

/* --- changes --- */

static void on_timer(void *arg);

/* Call settle_changed() after @wait or earlier. */
static void settle_after(struct nodes *nodes, uint64_t wait)
{
	uint64_t due_ms = now_ms(nodes) + wait;

	if (!nodes->started || due_ms >= nodes->due_ms)
		return;
	nodes->due_ms = due_ms;
	clock_timer_start(nodes->deps.clock, nodes->timer, wait);
}

static void note_change(struct nodes *nodes, const char *name)
{
	auto_free char *key = node_index_key(name);

	map_set(nodes->changed, key, nodes);
	settle_after(nodes, SETTLE_MS);
}

/* An unreadable Node exists, but its state is unknown and is not reported. */
static void change_node(struct nodes *nodes, const char *name, const struct entry *after)
{
	const struct view_node *view = after ? after->object : NULL;

	node_index_set(nodes->index, name, after, !view || view->ready, now_ms(nodes));
	note_change(nodes, name);
	if (after)
		forget(nodes, name);
	else if (nodes->started)
		enqueue_if_gone(nodes, name);
}

static void count_agent(struct nodes *nodes, const struct entry *entry, int sign)
{
	const struct view_agent *view = entry ? entry->object : NULL;

	if (!view || !view->node[0])
		return;
	node_index_pod(nodes->index, view->node, sign, now_ms(nodes));
	if (view->running)
		node_index_agent(nodes->index, view->node, sign, now_ms(nodes));
	if (view->running || !node_index_has(nodes->index, view->node))
		note_change(nodes, view->node);
}

/* A node without objects must be forgotten. */
static void count_object(struct nodes *nodes, const struct view *view, int sign)
{
	if (!view || !view->node[0])
		return;
	node_index_object(nodes->index, view->node, sign, now_ms(nodes));
	if (!node_index_has(nodes->index, view->node))
		note_change(nodes, view->node);
}

/* Objects that are not claims are only written if a sweep has found them. */
static void change_owned(struct nodes *nodes, const struct owned *owned, const char *name,
			 const struct entry *before, const struct entry *after)
{
	auto_free char *object = NULL;
	const struct view *was = before ? before->object : NULL;
	const struct view *is = after ? after->object : NULL;

	count_object(nodes, is, 1);
	count_object(nodes, was, -1);
	if (!nodes->started)
		return;
	object = left_key(owned->kind, name);
	if (node_plan_is_claim(owned->kind) || map_get(nodes->left, object))
		reconcile_changed(owned->reconcile, name);
	if (!after)
		free(map_remove(nodes->left, object));
	if (is)
		enqueue_if_gone(nodes, node_of(nodes, owned->kind, name, is));
}

void nodes_on_change(struct nodes *nodes, enum view_kind kind, const char *name,
		     const struct entry *before, const struct entry *after)
{
	if (kind < VIEW_OWNED) {
		change_owned(nodes, &nodes->owned[kind], name, before, after);
	} else if (kind == VIEW_NODE) {
		change_node(nodes, name, after);
	} else if (kind == VIEW_AGENT) {
		count_agent(nodes, after, 1);
		count_agent(nodes, before, -1);
	}
	show_count(nodes, false);
}

/* --- processing changed nodes --- */

/* Move the nodes whose state is settled to *@known and report them; returns the time until the
 * next one settles. */
static uint64_t settle_changed(struct nodes *nodes, struct map *known)
{
	uint64_t least_ms = UINT64_MAX;
	const char *key;
	size_t cursor = 0;

	while (map_next(nodes->changed, &cursor, &key, NULL)) {
		uint64_t wait;
		enum reach reach = node_index_reach(nodes->index, key, now_ms(nodes), &wait);

		if (wait > 0) {
			least_ms = wait < least_ms ? wait : least_ms;
			continue;
		}
		map_set(known, key, nodes);
		if (nodes->deps.on_reach)
			nodes->deps.on_reach(nodes->deps.arg, node_index_name(nodes->index, key),
					     reach == REACH_OK ||
						     !node_index_has(nodes->index, key));
		map_remove(nodes->changed, key);
	}
	return least_ms;
}

static void enqueue_claims(const struct nodes *nodes, const struct owned *owned,
			   const struct map *known)
{
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(nodes->deps.stores[owned->kind], &cursor))) {
		const struct view *view = entry->object;
		auto_free char *key = NULL;

		if (!view)
			continue;
		key = node_index_key(node_of(nodes, owned->kind, entry->name, view));
		if (map_get(known, key))
			reconcile_enqueue(owned->reconcile, entry->name);
	}
}

static void on_timer(void *arg)
{
	struct nodes *nodes = arg;
	struct map *known = map_new();
	uint64_t wait;

	nodes->due_ms = UINT64_MAX;
	wait = settle_changed(nodes, known);
	if (map_len(known) > 0) {
		enqueue_claims(nodes, &nodes->owned[VIEW_PCICLAIM], known);
		enqueue_claims(nodes, &nodes->owned[VIEW_USBCLAIM], known);
	}
	map_free(known);
	if (wait != UINT64_MAX)
		settle_after(nodes, wait);
}

void nodes_enqueue_all(struct nodes *nodes)
{
	const char *key;
	size_t cursor = 0;

	nodes->started = true;
	while ((key = node_index_next(nodes->index, &cursor))) {
		map_set(nodes->changed, key, nodes);
		enqueue_if_gone(nodes, key);
	}
	settle_after(nodes, SETTLE_MS);
}

/* --- the module's functions --- */

static void open_owned(struct nodes *nodes, enum view_kind kind)
{
	struct owned *owned = &nodes->owned[kind];
	const struct nodes_deps *deps = &nodes->deps;

	*owned = (struct owned){ .nodes = nodes, .kind = kind, .api = view_kind(kind) };
	owned->reconcile = reconcile_new(&(struct reconcile_spec){
		.name = owned->api.plural,
		.kind = &owned->api,
		.objects = deps->informers[kind],
		.field_manager = "hostdev-controller",
		.max_running = RUNS_AT_A_TIME,
		.is_ready = owned_is_ready,
		.leads = deps->leads,
		.leads_arg = deps->arg,
		.plan = plan_owned,
		.arg = owned,
		.client = deps->client,
		.clock = deps->clock,
		.metrics = deps->metrics,
	});
}

static struct reconcile *make_gone(struct nodes *nodes)
{
	const struct nodes_deps *deps = &nodes->deps;

	nodes->node_kind = view_kind(VIEW_NODE);
	return reconcile_new(&(struct reconcile_spec){
		.name = nodes->node_kind.plural,
		.kind = &nodes->node_kind,
		.objects = deps->informers[VIEW_NODE],
		.field_manager = "hostdev-controller",
		.max_running = 1,
		.is_ready = is_started,
		.leads = deps->leads,
		.leads_arg = deps->arg,
		.is_ours = is_any,
		.plan = plan_node,
		.act = sweep,
		.rested = forget_if_not_gone,
		.arg = nodes,
		.client = deps->client,
		.clock = deps->clock,
		.metrics = deps->metrics,
	});
}

struct nodes *nodes_new(const struct nodes_deps *deps)
{
	struct nodes *nodes = xcalloc(1, sizeof(*nodes));

	nodes->deps = *deps;
	nodes->index = node_index_new(deps->agents);
	for (int kind = 0; kind < VIEW_OWNED; kind++)
		open_owned(nodes, (enum view_kind)kind);
	nodes->gone = make_gone(nodes);
	nodes->swept = map_new();
	nodes->left = map_new();
	nodes->changed = map_new();
	nodes->timer = clock_timer_new(deps->clock, on_timer, nodes);
	nodes->due_ms = UINT64_MAX;
	nodes->count = metrics_family(deps->metrics, &count_desc);
	show_count(nodes, true);
	return nodes;
}

struct nodes *nodes_free(struct nodes *nodes)
{
	if (!nodes)
		return NULL;
	clock_timer_free(nodes->deps.clock, nodes->timer);
	for (int kind = 0; kind < VIEW_OWNED; kind++)
		reconcile_free(nodes->owned[kind].reconcile);
	reconcile_free(nodes->gone);
	node_index_free(nodes->index);
	map_free_with(nodes->swept, free);
	map_free_with(nodes->left, free);
	map_free(nodes->changed);
	free(nodes);
	return NULL;
}
