#include "controller/nodes/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "controller/nodes/claim_reach.h"
#include "controller/nodes/cleanup.h"
#include "controller/nodes/node_book.h"
#include "controller/nodes/node_ties.h"
#include "controller/views/errand.h"
#include "kube/clock.h"
#include "kube/metrics.h"
#include "kube/store.h"

enum { LOOK_MS = 250 }; /* many nodes are looked at together */

static const struct metric_desc count_desc = {
	.name = "hostdev_cluster_nodes",
	.help = "Nodes with devices, claims or an agent's pod, by whether an agent can serve them.",
	.type = METRIC_GAUGE,
	.labels = { "reach" },
};

struct nodes {
	struct nodes_deps deps;
	struct metric *count;
	size_t shown[REACH_LEN];
	struct node_ties ties;
	struct errands errands;
	struct claim_reach *told;
	struct cleanup *cleanup;
	struct map *changed; /* keys of nodes to look at -> the nodes, for want of a value */
	struct clock_timer *timer;
	uint64_t due_ms; /* when the timer runs out; UINT64_MAX: it does not run */
	bool started;
};

static void on_timer(void *arg);

static void show_count(struct nodes *nodes, bool all)
{
	for (enum reach reach = REACH_OK; reach < REACH_LEN; reach++) {
		size_t n = node_book_count(nodes->ties.book, reach);

		if (!all && n == nodes->shown[reach])
			continue;
		nodes->shown[reach] = n;
		metric_set(nodes->count, (int64_t)n, (const char *const[]){ reach_reason(reach) });
	}
}

static bool leads(void *arg)
{
	const struct nodes *nodes = arg;

	return nodes->started && nodes->deps.leads(nodes->deps.arg);
}

struct nodes *nodes_new(const struct nodes_deps *deps)
{
	struct nodes *nodes = xcalloc(1, sizeof(*nodes));

	nodes->deps = *deps;
	nodes->ties = (struct node_ties){
		.client = deps->client,
		.clock = deps->clock,
		.metrics = deps->metrics,
		.stores = deps->stores,
		.book = node_book_new(deps->agents),
		.errands = &nodes->errands,
		.gone_ms = deps->gone_ms,
		.leads = leads,
		.arg = nodes,
	};
	nodes->told = claim_reach_new(&nodes->ties);
	nodes->cleanup = cleanup_new(&nodes->ties);
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
	errands_end(&nodes->errands);
	claim_reach_free(nodes->told);
	cleanup_free(nodes->cleanup);
	node_book_free(nodes->ties.book);
	map_free(nodes->changed);
	free(nodes);
	return NULL;
}

/* --- changes ------------------------------------------------------------------------------------ */

/* Look in @wait_ms, or earlier. */
static void look_in(struct nodes *nodes, uint64_t wait_ms)
{
	uint64_t due_ms = clock_now_ms(nodes->deps.clock) + wait_ms;

	if (!nodes->started || due_ms >= nodes->due_ms)
		return;
	nodes->due_ms = due_ms;
	clock_timer_start(nodes->deps.clock, nodes->timer, wait_ms);
}

static void touch(struct nodes *nodes, const char *name)
{
	auto_free char *key = node_book_key(name);

	map_set(nodes->changed, key, nodes);
	look_in(nodes, LOOK_MS);
}

/* An unreadable Node is there, and nobody can say that it is not well. */
static void hear_node(struct nodes *nodes, const char *name, const struct entry *after)
{
	const struct view_node *view = after ? after->object : NULL;

	node_book_set(nodes->ties.book, name, after, !view || view->ready,
		      clock_now_ms(nodes->deps.clock));
	touch(nodes, name);
	if (after)
		cleanup_back(nodes->cleanup, name);
	else if (nodes->started)
		cleanup_node(nodes->cleanup, name);
}

static void count_agent(struct nodes *nodes, const struct entry *entry, int sign)
{
	const struct view_agent *view = entry ? entry->object : NULL;
	uint64_t now_ms = clock_now_ms(nodes->deps.clock);

	if (!view || !view->node[0])
		return;
	node_book_pod(nodes->ties.book, view->node, sign, now_ms);
	if (view->running)
		node_book_agent(nodes->ties.book, view->node, sign, now_ms);
	if (view->running || !node_book_has(nodes->ties.book, view->node))
		touch(nodes, view->node);
}

/* A node that nothing is left of is to be forgotten. */
static void count_object(struct nodes *nodes, const struct view *view, int sign)
{
	if (!view || !view->node[0])
		return;
	node_book_object(nodes->ties.book, view->node, sign, clock_now_ms(nodes->deps.clock));
	if (!node_book_has(nodes->ties.book, view->node))
		touch(nodes, view->node);
}

static void hear_owned(struct nodes *nodes, enum view_kind kind, const char *name,
		       const struct entry *before, const struct entry *after)
{
	const struct view *was = before ? before->object : NULL;
	const struct view *is = after ? after->object : NULL;

	count_object(nodes, is, 1);
	count_object(nodes, was, -1);
	if (!nodes->started || !is)
		return;
	if (node_ties_is_claim(kind))
		claim_reach_touch(nodes->told, kind, name);
	cleanup_hear(nodes->cleanup, kind, name, is, node_ties_node(&nodes->ties, kind, name, is));
}

void nodes_hear(struct nodes *nodes, enum view_kind kind, const char *name,
		const struct entry *before, const struct entry *after)
{
	if (kind < VIEW_OWNED) {
		hear_owned(nodes, kind, name, before, after);
	} else if (kind == VIEW_NODE) {
		hear_node(nodes, name, after);
	} else if (kind == VIEW_AGENT) {
		count_agent(nodes, after, 1);
		count_agent(nodes, before, -1);
	}
	show_count(nodes, false);
}

/* --- looks -------------------------------------------------------------------------------------- */

/* Move the nodes of which it is known how they are to *@known, and tell; how long until the next is. */
static uint64_t settle(struct nodes *nodes, struct map *known)
{
	uint64_t now_ms = clock_now_ms(nodes->deps.clock);
	uint64_t least_ms = UINT64_MAX;
	const char *key;
	size_t cursor = 0;

	while (map_next(nodes->changed, &cursor, &key, NULL)) {
		uint64_t wait_ms;
		enum reach reach = node_book_reach(nodes->ties.book, key, now_ms, &wait_ms);

		if (wait_ms > 0) {
			least_ms = wait_ms < least_ms ? wait_ms : least_ms;
			continue;
		}
		map_set(known, key, nodes);
		if (nodes->deps.on_reach)
			nodes->deps.on_reach(nodes->deps.arg, node_book_name(nodes->ties.book, key),
					     reach == REACH_OK ||
						     !node_book_has(nodes->ties.book, key));
		map_remove(nodes->changed, key);
	}
	return least_ms;
}

static void touch_claims(struct nodes *nodes, enum view_kind kind, const struct map *known)
{
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(nodes->deps.stores[kind], &cursor))) {
		const struct view *view = entry->object;
		auto_free char *key = NULL;

		if (!view)
			continue;
		key = node_book_key(node_ties_node(&nodes->ties, kind, entry->name, view));
		if (map_get(known, key))
			claim_reach_touch(nodes->told, kind, entry->name);
	}
}

static void on_timer(void *arg)
{
	struct nodes *nodes = arg;
	struct map *known = map_new();
	uint64_t wait_ms;

	nodes->due_ms = UINT64_MAX;
	wait_ms = settle(nodes, known);
	if (map_len(known) > 0) {
		touch_claims(nodes, VIEW_PCICLAIM, known);
		touch_claims(nodes, VIEW_USBCLAIM, known);
	}
	map_free(known);
	if (wait_ms != UINT64_MAX)
		look_in(nodes, wait_ms);
}

void nodes_look(struct nodes *nodes)
{
	const char *key;
	size_t cursor = 0;

	nodes->started = true;
	while ((key = node_book_next(nodes->ties.book, &cursor))) {
		map_set(nodes->changed, key, nodes);
		cleanup_node(nodes->cleanup, key);
	}
	look_in(nodes, LOOK_MS);
}
