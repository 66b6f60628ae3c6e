#include "controller/pools/pool_book.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/devicepool.h"
#include "api/json_map.h"
#include "api/names.h"
#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"

struct pool_book {
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

struct pool_book *pool_book_new(void (*changed)(void *arg, const char *pool), void *arg)
{
	struct pool_book *book = xcalloc(1, sizeof(*book));

	book->pools = map_new();
	book->unreachable = map_new();
	book->changed = changed;
	book->arg = arg;
	return book;
}

static void pool_free(struct pool *pool)
{
	size_t cursor = 0;
	void *part;

	while (map_next(pool->parts, &cursor, NULL, &part))
		free(part);
	map_free(pool->parts);
	free(pool->resource);
	free(pool);
}

struct pool_book *pool_book_free(struct pool_book *book)
{
	size_t cursor = 0;
	void *pool;

	if (!book)
		return NULL;
	while (map_next(book->pools, &cursor, NULL, &pool))
		pool_free(pool);
	map_free(book->pools);
	map_free(book->unreachable);
	free(book);
	return NULL;
}

/* --- shares ------------------------------------------------------------------------------------- */

static struct pool *pool_of(struct pool_book *book, const char *name, const char *resource)
{
	struct pool *pool = map_get(book->pools, name);

	if (pool)
		return pool;
	pool = xcalloc(1, sizeof(*pool));
	pool->resource = xstrdup(resource);
	pool->parts = map_new();
	map_set(book->pools, name, pool);
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

static void drop_if_empty(struct pool_book *book, const char *name, struct pool *pool,
			  const char *node)
{
	const struct part *part = map_get(pool->parts, node);

	if (part->devices > 0)
		return;
	free(map_remove(pool->parts, node));
	if (map_len(pool->parts) == 0)
		pool_free(map_remove(book->pools, name));
}

static void share_add(struct pool_book *book, const struct pool_share *share, int sign)
{
	auto_free char *name = names_devicepool(share->resource);
	struct pool *pool = pool_of(book, name, share->resource);

	part_add(part_of(pool, share->node), share, sign);
	drop_if_empty(book, name, pool, share->node);
	book->changed(book->arg, name);
}

static bool adds(const struct pool_share *share)
{
	return share && share->resource;
}

static bool is_same_share(const struct pool_share *a, const struct pool_share *b)
{
	return a->claimed == b->claimed && a->ready == b->ready && a->allocated == b->allocated &&
	       strcmp(a->resource, b->resource) == 0 && strcmp(a->node, b->node) == 0;
}

void pool_book_move(struct pool_book *book, const struct pool_share *before,
		    const struct pool_share *after)
{
	if (adds(before) && adds(after) && is_same_share(before, after))
		return;
	if (adds(after))
		share_add(book, after, 1);
	if (adds(before))
		share_add(book, before, -1);
}

void pool_book_reach(struct pool_book *book, const char *node, bool reachable)
{
	const char *name;
	void *value;
	size_t cursor = 0;

	if (reachable == !map_get(book->unreachable, node))
		return;
	if (reachable)
		map_remove(book->unreachable, node);
	else
		map_set(book->unreachable, node, book);
	while (map_next(book->pools, &cursor, &name, &value)) {
		const struct pool *pool = value;
		const struct part *part = map_get(pool->parts, node);

		if (part && part->ready > 0)
			book->changed(book->arg, name);
	}
}

/* --- results
 * -------------------------------------------------------------------------------------- */

const char *pool_book_resource(const struct pool_book *book, const char *name)
{
	const struct pool *pool = map_get(book->pools, name);

	return pool ? pool->resource : NULL;
}

const char *pool_book_next(const struct pool_book *book, size_t *cursor)
{
	const char *name;

	return map_next(book->pools, cursor, &name, NULL) ? name : NULL;
}

size_t pool_book_len(const struct pool_book *book)
{
	return map_len(book->pools);
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

static int healthy_of(const struct pool_book *book, const struct part *part, const char *node)
{
	return map_get(book->unreachable, node) ? 0 : part->ready;
}

static void list_nodes(const struct pool_book *book, const struct pool *pool,
		       const struct first *first, struct devicepool_nodes *ret_nodes)
{
	for (size_t i = 0; i < first->len; i++) {
		const struct part *part = map_get(pool->parts, first->names[i]);

		*array_add(ret_nodes) = (struct devicepool_node){
			.node_name = xstrdup(first->names[i]),
			.devices = part->devices,
			.claimed = part->claimed,
			.healthy = healthy_of(book, part, first->names[i]),
			.allocated = part->allocated,
		};
	}
}

void pool_book_status(const struct pool_book *book, const char *name,
		      struct devicepool_status *ret_status)
{
	const struct pool *pool = map_get(book->pools, name);
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
		ret_status->healthy += healthy_of(book, part, node);
		ret_status->allocated += part->allocated;
		first_add(&first, node);
	}
	list_nodes(book, pool, &first, &ret_status->per_node);
}
