#include "agent/plugin/preferred.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_values.h"
#include "base/mem.h"
#include "base/str.h"

/* Of one node; of that and below one root; of that and in one group. */
enum { LEVELS = 3 };

/* A candidate, and how good what it is of is at each level: the less the better. */
struct ranked {
	const struct preferred_candidate *c;
	size_t place;
	size_t ranks[LEVELS];
};

static int compare_sizes(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int compare_nodes(const struct ranked *a, const struct ranked *b)
{
	return (a->c->numa_node > b->c->numa_node) - (a->c->numa_node < b->c->numa_node);
}

static int compare_roots(const struct ranked *a, const struct ranked *b)
{
	int order = compare_nodes(a, b);

	return order ? order : str_compare(a->c->root, b->c->root);
}

static int compare_groups(const struct ranked *a, const struct ranked *b)
{
	int order = compare_roots(a, b);

	return order ? order : str_compare(a->c->group, b->c->group);
}

static int (*const levels[LEVELS])(const struct ranked *a, const struct ranked *b) = {
	compare_nodes,
	compare_roots,
	compare_groups,
};

static int by_place(const void *a, const void *b)
{
	return levels[LEVELS - 1](a, b);
}

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a;
	const struct ranked *y = b;
	int order = compare_sizes(y->c->must, x->c->must);

	for (size_t i = 0; order == 0 && i < LEVELS; i++) {
		order = compare_sizes(x->ranks[i], y->ranks[i]);
		if (order == 0)
			order = levels[i](x, y);
	}
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

static void rank_level(struct ranked *all, size_t len, size_t level, size_t need)
{
	for (size_t from = 0, end; from < len; from = end) {
		size_t rank;

		for (end = from + 1; end < len && levels[level](&all[from], &all[end]) == 0;)
			end++;
		rank = rank_of(&all[from], end - from, need);
		for (size_t i = from; i < end; i++)
			all[i].ranks[level] = rank;
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
	for (size_t i = 0; i < LEVELS; i++)
		rank_level(all, len, i, size > musts ? size - musts : 0);
	qsort(all, len, sizeof(*all), by_rank);
	for (size_t i = 0; i < len && i < size; i++)
		json_strs_add(chosen, all[i].c->id);
}
