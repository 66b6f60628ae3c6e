#include "controller/nodes/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/node.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "controller/nodes/node_book.h"
#include "controller/nodes/node_ties.h"
#include "controller/nodes/retire.h"
#include "controller/views/errand.h"
#include "kube/clock.h"
#include "kube/fetch.h"
#include "kube/store.h"
#include "kube/workq_run.h"

enum {
	AGAIN_MS = 60 * 1000, /* between two looks at what a gone node has left */
	WRITES_MAX = 8,       /* at a time                                      */
};

struct cleanup {
	struct node_ties *ties;
	struct map *swept;         /* key of a node that is gone for good -> when (struct sweep) */
	struct map *noted;         /* of claims that only their device knew the node of: kind and
				    * name as below -> the node's key, for the device may go first  */
	struct workq_run *nodes;   /* of keys of nodes                                           */
	struct workq_run *objects; /* of kind and name: "0/node1-000004000"                      */
};

struct sweep {
	uint64_t at_ms;
};

static void work_node(void *arg, const char *key, work_end_fn *end, void *end_arg);
static void work_object(void *arg, const char *key, work_end_fn *end, void *end_arg);

struct cleanup *cleanup_new(struct node_ties *ties)
{
	struct cleanup *cleanup = xcalloc(1, sizeof(*cleanup));
	struct workq_run_spec spec = {
		.name = "nodes that are gone",
		.max_running = 1,
		.work = work_node,
		.arg = cleanup,
		.clock = ties->clock,
		.metrics = ties->metrics,
	};

	cleanup->ties = ties;
	cleanup->swept = map_new();
	cleanup->noted = map_new();
	cleanup->nodes = workq_run_new(&spec);
	spec.name = "objects of gone nodes";
	spec.max_running = WRITES_MAX;
	spec.work = work_object;
	cleanup->objects = workq_run_new(&spec);
	return cleanup;
}

struct cleanup *cleanup_free(struct cleanup *cleanup)
{
	size_t cursor = 0;
	void *value;

	if (!cleanup)
		return NULL;
	workq_run_free(cleanup->nodes);
	workq_run_free(cleanup->objects);
	while (map_next(cleanup->swept, &cursor, NULL, &value))
		free(value);
	cursor = 0;
	while (map_next(cleanup->noted, &cursor, NULL, &value))
		free(value);
	map_free(cleanup->swept);
	map_free(cleanup->noted);
	free(cleanup);
	return NULL;
}

static uint64_t now_ms(const struct cleanup *cleanup)
{
	return clock_now_ms(cleanup->ties->clock);
}

/* How long until @node may be looked at; UINT64_MAX: never, it is not gone. */
static uint64_t wait_ms(const struct cleanup *cleanup, const char *node)
{
	auto_free char *key = node_book_key(node);
	const struct sweep *sweep = map_get(cleanup->swept, key);
	uint64_t due_ms;

	if (!node_book_gone(cleanup->ties->book, node, &due_ms))
		return UINT64_MAX;
	due_ms += cleanup->ties->gone_ms;
	if (sweep && sweep->at_ms + AGAIN_MS > due_ms)
		due_ms = sweep->at_ms + AGAIN_MS;
	return due_ms > now_ms(cleanup) ? due_ms - now_ms(cleanup) : 0;
}

void cleanup_node(struct cleanup *cleanup, const char *node)
{
	auto_free char *key = node_book_key(node);
	uint64_t wait = wait_ms(cleanup, node);

	if (wait != UINT64_MAX)
		workq_run_add_after(cleanup->nodes, key, wait);
}

static void forget(struct cleanup *cleanup, const char *key)
{
	size_t cursor = 0;
	const char *object;
	void *node;

	free(map_remove(cleanup->swept, key));
	while (map_next(cleanup->noted, &cursor, &object, &node)) {
		if (strcmp(node, key) == 0)
			free(map_remove(cleanup->noted, object));
	}
}

void cleanup_back(struct cleanup *cleanup, const char *node)
{
	auto_free char *key = node_book_key(node);

	forget(cleanup, key);
}

/* --- objects ------------------------------------------------------------------------------------ */

/* Of the node that is known by @node_key. */
static bool add_object(struct cleanup *cleanup, enum view_kind kind, const struct entry *entry,
		       const char *node_key)
{
	const struct view *view = entry->object;
	auto_free char *key = xasprintf("%d/%s", (int)kind, entry->name);

	if (retire_plan(kind, view) == RETIRE_NOTHING)
		return false;
	if (!view->node[0])
		free(map_set(cleanup->noted, key, xstrdup(node_key)));
	workq_run_add(cleanup->objects, key);
	return true;
}

/* Where the cluster does not say any more whose @object is, it is still who it was. */
static const char *noted_node(const struct cleanup *cleanup, const char *object, const char *node)
{
	const char *noted = node[0] ? NULL : map_get(cleanup->noted, object);

	return noted ? noted : node;
}

void cleanup_hear(struct cleanup *cleanup, enum view_kind kind, const char *name,
		  const struct view *view, const char *node)
{
	auto_free char *object = xasprintf("%d/%s", (int)kind, name);
	auto_free char *key = node_book_key(noted_node(cleanup, object, node));

	if (map_get(cleanup->swept, key) && retire_plan(kind, view) == RETIRE_STRIP)
		workq_run_add(cleanup->objects, object);
	cleanup_node(cleanup, node);
}

/* Has the API server said that there is no such node, and is that so still? Of one that nothing else is left
 * of the book knows nothing. */
static bool is_gone_for_good(const struct cleanup *cleanup, const char *node)
{
	auto_free char *key = node_book_key(node);
	uint64_t since_ms;

	return map_get(cleanup->swept, key) &&
	       (node_book_gone(cleanup->ties->book, node, &since_ms) ||
		!node_book_has(cleanup->ties->book, node));
}

static void work_object(void *arg, const char *key, work_end_fn *end, void *end_arg)
{
	struct cleanup *cleanup = arg;
	struct node_ties *ties = cleanup->ties;
	enum view_kind kind = (enum view_kind)(key[0] - '0');
	const struct entry *entry = store_get(ties->stores[kind], key + 2);
	const struct view *view = entry ? entry->object : NULL;
	enum retire_step step = RETIRE_NOTHING;

	if (view && ties->leads(ties->arg) &&
	    is_gone_for_good(cleanup, noted_node(cleanup, key,
						 node_ties_node(ties, kind, entry->name, view))))
		step = retire_plan(kind, view);
	switch (step) {
	case RETIRE_NOTHING:
		end(end_arg, 0, NULL);
		return;
	case RETIRE_DELETE:
		retire_delete(ties, kind, entry, end, end_arg);
		return;
	case RETIRE_STRIP:
		retire_strip(ties, kind, entry->name, end, end_arg);
		return;
	}
}

/* --- nodes -------------------------------------------------------------------------------------- */

/* Claims first: their devices' objects are what they are known by. */
static size_t add_objects(struct cleanup *cleanup, const char *key)
{
	const struct node_ties *ties = cleanup->ties;
	const char *name = node_book_name(ties->book, key);
	size_t added = 0;

	for (int kind = VIEW_OWNED - 1; kind >= 0; kind--) {
		const struct entry *entry;
		size_t cursor = 0;

		while ((entry = store_next(ties->stores[kind], &cursor))) {
			const struct view *view = entry->object;
			const char *node;

			if (!view)
				continue;
			node = node_ties_node(ties, (enum view_kind)kind, entry->name, view);
			if (strcmp(node, name) == 0 || strcmp(node, key) == 0)
				added += add_object(cleanup, (enum view_kind)kind, entry, key);
		}
	}
	return added;
}

static void sweep(struct cleanup *cleanup, const char *key)
{
	struct sweep *done = map_get(cleanup->swept, key);
	size_t added;

	if (!done) {
		done = xcalloc(1, sizeof(*done));
		map_set(cleanup->swept, key, done);
	}
	done->at_ms = now_ms(cleanup);
	added = add_objects(cleanup, key);
	if (added > 0)
		log_info("node is gone, what it has left is removed",
			 log_str("node", node_book_name(cleanup->ties->book, key)),
			 log_int("objects", (int64_t)added));
}

/* A Node that is there all the same: the watch will tell of it. */
static void on_answer(void *arg, int result, const struct kube_response *response,
		      const struct err *err)
{
	struct errand *errand = arg;
	struct cleanup *cleanup = errand->owner;
	const struct node_ties *ties = cleanup->ties;
	uint64_t since_ms;

	(void)response;
	if (result == -ENOENT && ties->leads(ties->arg) &&
	    node_book_gone(ties->book, errand->name, &since_ms))
		sweep(cleanup, errand->name);
	if (result == 0 || result == -ENOENT)
		workq_run_add_after(cleanup->nodes, errand->name, AGAIN_MS);
	errand_end(errand, result, err);
}

static void work_node(void *arg, const char *key, work_end_fn *end, void *end_arg)
{
	struct cleanup *cleanup = arg;
	const struct node_ties *ties = cleanup->ties;
	uint64_t wait = wait_ms(cleanup, key);
	struct errand *errand;

	if (wait == UINT64_MAX)
		forget(cleanup, key);
	else if (wait > 0)
		workq_run_add_after(cleanup->nodes, key, wait);
	if (wait > 0 || !ties->leads(ties->arg)) {
		end(end_arg, 0, NULL);
		return;
	}
	errand = errand_new(ties->errands, cleanup, key, end, end_arg);
	errand->call = fetch_object(ties->client, &node_kind, node_book_name(ties->book, key),
				    on_answer, errand);
}
