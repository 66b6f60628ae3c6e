#include "agent/plugin/preferred.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_values.h"
#include "base/mem.h"

/* A candidate, and how good its node and its root are: the less the better. */
struct ranked {
	const struct preferred_candidate *c;
	size_t place;
	size_t node_rank;
	size_t root_rank;
};

static const char *root_of(const struct ranked *r)
{
	return r->c->root ? r->c->root : "";
}

static int compare_sizes(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int compare_nodes(const struct ranked *a, const struct ranked *b)
{
	return (a->c->numa_node > b->c->numa_node) - (a->c->numa_node < b->c->numa_node);
}

/* Who hangs below the same root stands together, within who is on the same node. */
static int by_place(const void *a, const void *b)
{
	const struct ranked *x = a;
	const struct ranked *y = b;
	int order = compare_nodes(x, y);

	if (order == 0)
		order = strcmp(root_of(x), root_of(y));
	return order;
}

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a;
	const struct ranked *y = b;
	int order = compare_sizes(y->c->must, x->c->must);

	if (order == 0)
		order = compare_sizes(x->node_rank, y->node_rank);
	if (order == 0)
		order = compare_nodes(x, y);
	if (order == 0)
		order = compare_sizes(x->root_rank, y->root_rank);
	if (order == 0)
		order = strcmp(root_of(x), root_of(y));
	return order == 0 ? compare_sizes(x->place, y->place) : order;
}

/* What is in use goes first, then what has enough, the smaller the better, then the larger. */
static size_t rank_of(const struct ranked *group, size_t len, size_t need)
{
	size_t musts = 0;
	size_t free_devices;

	for (size_t i = 0; i < len; i++)
		musts += group[i].c->must;
	free_devices = len - musts;
	if (musts > 0)
		return 0;
	return free_devices >= need ? 1 + free_devices : SIZE_MAX - free_devices;
}

/* The end of the group that begins at @from: of one node, or also of one root. */
static size_t group_end(const struct ranked *all, size_t from, size_t len, bool of_root)
{
	size_t end = from + 1;

	while (end < len && compare_nodes(&all[from], &all[end]) == 0 &&
	       (!of_root || strcmp(root_of(&all[from]), root_of(&all[end])) == 0))
		end++;
	return end;
}

static void rank_roots(struct ranked *node, size_t len, size_t need)
{
	for (size_t from = 0, end; from < len; from = end) {
		end = group_end(node, from, len, true);
		for (size_t i = from, rank = rank_of(&node[from], end - from, need); i < end; i++)
			node[i].root_rank = rank;
	}
}

static void rank_nodes(struct ranked *all, size_t len, size_t need)
{
	for (size_t from = 0, end; from < len; from = end) {
		end = group_end(all, from, len, false);
		for (size_t i = from, rank = rank_of(&all[from], end - from, need); i < end; i++)
			all[i].node_rank = rank;
		rank_roots(&all[from], end - from, need);
	}
}

void preferred_choose(const struct preferred_candidate *candidates, size_t len, size_t size,
		      struct json_strs *chosen)
{
	auto_free struct ranked *all = xcalloc(len + 1, sizeof(*all));
	size_t musts = 0;

	for (size_t i = 0; i < len; i++) {
		all[i] = (struct ranked){ .c = &candidates[i], .place = i };
		musts += candidates[i].must;
	}
	qsort(all, len, sizeof(*all), by_place);
	rank_nodes(all, len, size > musts ? size - musts : 0);
	qsort(all, len, sizeof(*all), by_rank);
	for (size_t i = 0; i < len && i < size; i++)
		json_strs_add(chosen, all[i].c->id);
}
