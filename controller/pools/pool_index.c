#include "controller/pools/pool_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/devicepool.h"
#include "api/json_map.h"
#include "api/names.h"
#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"

struct pool_index {
	struct map *pools;       /* name -> struct pool */
	struct map *unreachable; /* node -> a non-NULL value */
	void (*changed)(void *arg, const char *pool);
	void *arg;
};

struct pool {
	char *resource;
	struct map *parts; /* node -> struct part */
};

/* One node's part of a pool. */
struct part {
	int devices;
	int claimed;
	int ready;
	int allocated;
};

struct pool_index *pool_index_new(void (*changed)(void *arg, const char *pool), void *arg)
{
	struct pool_index *index = xcalloc(1, sizeof(*index));

	index->pools = map_new();
	index->unreachable = map_new();
	index->changed = changed;
	index->arg = arg;
	return index;
}

static void pool_free(struct pool *pool)
{
	map_free_with(pool->parts, free);
	free(pool->resource);
	free(pool);
}

struct pool_index *pool_index_free(struct pool_index *index)
{
	size_t cursor = 0;
	void *pool;

	if (!index)
		return NULL;
	while (map_next(index->pools, &cursor, NULL, &pool))
		pool_free(pool);
	map_free(index->pools);
	map_free(index->unreachable);
	free(index);
	return NULL;
}

/* --- shares --- */

static struct pool *pool_of(struct pool_index *index, const char *name, const char *resource)
{
	struct pool *pool = map_get(index->pools, name);

	if (pool)
		return pool;
	pool = xcalloc(1, sizeof(*pool));
	pool->resource = xstrdup(resource);
	pool->parts = map_new();
	map_set(index->pools, name, pool);
	return pool;
}

static struct part *part_of(struct pool *pool, const char *node)
{
	struct part *part = map_get(pool->parts, node);

	if (part)
		return part;
	part = xcalloc(1, sizeof(*part));
	map_set(pool->parts, node, part);
	return part;
}

static void part_add(struct part *part, const struct pool_share *share, int sign)
{
	part->devices += sign;
	part->claimed += share->claimed ? sign : 0;
	part->ready += share->claimed && share->ready ? sign : 0;
	part->allocated += share->allocated ? sign : 0;
	assert(part->devices >= 0);
}

static void drop_if_empty(struct pool_index *index, const char *name, struct pool *pool,
			  const char *node)
{
	const struct part *part = map_get(pool->parts, node);

	if (part->devices > 0)
		return;
	free(map_remove(pool->parts, node));
	if (map_len(pool->parts) == 0)
		pool_free(map_remove(index->pools, name));
}

static void share_add(struct pool_index *index, const struct pool_share *share, int sign)
{
	auto_free char *name = names_devicepool(share->resource);
	struct pool *pool = pool_of(index, name, share->resource);

	part_add(part_of(pool, share->node), share, sign);
	drop_if_empty(index, name, pool, share->node);
	index->changed(index->arg, name);
}

static bool has_resource(const struct pool_share *share)
{
	return share && share->resource;
}

static bool is_same_share(const struct pool_share *a, const struct pool_share *b)
{
	return a->claimed == b->claimed && a->ready == b->ready && a->allocated == b->allocated &&
	       strcmp(a->resource, b->resource) == 0 && strcmp(a->node, b->node) == 0;
}

void pool_index_move(struct pool_index *index, const struct pool_share *before,
		     const struct pool_share *after)
{
	if (has_resource(before) && has_resource(after) && is_same_share(before, after))
		return;
	if (has_resource(after))
		share_add(index, after, 1);
	if (has_resource(before))
		share_add(index, before, -1);
}

void pool_index_reach(struct pool_index *index, const char *node, bool reachable)
{
	const char *name;
	void *value;
	size_t cursor = 0;

	if (reachable == !map_get(index->unreachable, node))
		return;
	if (reachable)
		map_remove(index->unreachable, node);
	else
		map_set(index->unreachable, node, index);
	while (map_next(index->pools, &cursor, &name, &value)) {
		const struct pool *pool = value;
		const struct part *part = map_get(pool->parts, node);

		if (part && part->ready > 0)
			index->changed(index->arg, name);
	}
}

/* --- results --- */

const char *pool_index_resource(const struct pool_index *index, const char *name)
{
	const struct pool *pool = map_get(index->pools, name);

	return pool ? pool->resource : NULL;
}

const char *pool_index_next(const struct pool_index *index, size_t *cursor)
{
	const char *name;

	return map_next(index->pools, cursor, &name, NULL) ? name : NULL;
}

size_t pool_index_len(const struct pool_index *index)
{
	return map_len(index->pools);
}

/* The first nodes by name, kept sorted during an iteration over all nodes. */
struct first {
	const char *names[DEVICEPOOL_NODES_MAX];
	size_t len;
};

static void first_add(struct first *first, const char *name)
{
	size_t at = first->len;

	if (at == DEVICEPOOL_NODES_MAX && strcmp(name, first->names[at - 1]) > 0)
		return;
	if (at == DEVICEPOOL_NODES_MAX)
		at--;
	else
		first->len++;
	for (; at > 0 && strcmp(name, first->names[at - 1]) < 0; at--)
		first->names[at] = first->names[at - 1];
	first->names[at] = name;
}

static int healthy_of(const struct pool_index *index, const struct part *part, const char *node)
{
	return map_get(index->unreachable, node) ? 0 : part->ready;
}

static void list_nodes(const struct pool_index *index, const struct pool *pool,
		       const struct first *first, struct devicepool_nodes *ret_nodes)
{
	for (size_t i = 0; i < first->len; i++) {
		const struct part *part = map_get(pool->parts, first->names[i]);

		*array_add(ret_nodes) = (struct devicepool_node){
			.node_name = xstrdup(first->names[i]),
			.devices = part->devices,
			.claimed = part->claimed,
			.healthy = healthy_of(index, part, first->names[i]),
			.allocated = part->allocated,
		};
	}
}

void pool_index_status(const struct pool_index *index, const char *name,
		       struct devicepool_status *ret_status)
{
	const struct pool *pool = map_get(index->pools, name);
	struct first first = { .len = 0 };
	const char *node;
	size_t cursor = 0;
	void *value;

	assert(pool);
	json_map_init(devicepool_status_map, ret_status);
	ret_status->nodes = (int)map_len(pool->parts);
	while (map_next(pool->parts, &cursor, &node, &value)) {
		const struct part *part = value;

		ret_status->devices += part->devices;
		ret_status->claimed += part->claimed;
		ret_status->healthy += healthy_of(index, part, node);
		ret_status->allocated += part->allocated;
		first_add(&first, node);
	}
	list_nodes(index, pool, &first, &ret_status->per_node);
}
