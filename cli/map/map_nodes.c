#include "cli/map/map_nodes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "kube/informer.h"
#include "kube/store.h"

/* In the order in which they count. Of a Node that was read only the last is of interest. */
static const char *const told[][2] = {
	{ "NodeGone", "a claim says that the cluster has no such node" },
	{ "NodeNotReady", "a claim says that the node is not Ready" },
	{ "AgentNotRunning", "a claim says that no pod of hostdev-agent runs on the node" },
};
enum { TOLD = ARRAY_LEN(told) };

struct map_nodes {
	const struct informer *nodes;
	struct map *counts; /* node -> size_t[TOLD]: how many claims say so */
};

struct map_nodes *map_nodes_new(const struct informer *informer)
{
	struct map_nodes *nodes = xcalloc(1, sizeof(*nodes));

	nodes->nodes = informer;
	nodes->counts = map_new();
	return nodes;
}

struct map_nodes *map_nodes_free(struct map_nodes *nodes)
{
	size_t cursor = 0;
	void *counts;

	if (!nodes)
		return NULL;
	while (map_next(nodes->counts, &cursor, NULL, &counts))
		free(counts);
	map_free(nodes->counts);
	free(nodes);
	return NULL;
}

bool map_nodes_known(const struct map_nodes *nodes)
{
	return informer_synced(nodes->nodes) && informer_installed(nodes->nodes);
}

static void count(size_t *number, int sign)
{
	assert(sign > 0 || *number > 0);
	*number = sign > 0 ? *number + 1 : *number - 1;
}

void map_nodes_tell(struct map_nodes *nodes, const char *node, const char *reason, int sign)
{
	size_t *counts = map_get(nodes->counts, node);

	if (!counts) {
		counts = xcalloc(TOLD, sizeof(*counts));
		map_set(nodes->counts, node, counts);
	}
	for (size_t i = 0; i < TOLD; i++) {
		if (strcmp(reason, told[i][0]) == 0)
			count(&counts[i], sign);
	}
}

/* An unreadable Node is there, and nobody can say that it is not well. */
static struct node_fault fault_of(const struct entry *entry)
{
	if (entry && !entry->object)
		return (struct node_fault){ 0 };
	return node_judge(entry ? entry->object : NULL);
}

struct node_fault map_nodes_fault(const struct map_nodes *nodes, const char *node)
{
	bool known = map_nodes_known(nodes);
	const size_t *counts = map_get(nodes->counts, node);
	struct node_fault fault = { 0 };

	if (known)
		fault = fault_of(store_get(informer_store(nodes->nodes), node));
	for (size_t i = known ? TOLD - 1 : 0; counts && i < TOLD && !fault.reason; i++) {
		if (counts[i] > 0)
			fault = (struct node_fault){ told[i][0], "", told[i][1], "" };
	}
	return fault;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool map_nodes_differ(const struct entry *before, const struct entry *after)
{
	struct node_fault was = fault_of(before);
	struct node_fault is = fault_of(after);

	return !same(was.reason, is.reason) || !same(was.why, is.why) ||
	       !same(was.message, is.message) || !same(was.since, is.since);
}
