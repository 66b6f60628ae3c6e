/*
 * pool_index: counts devices per resource name, updated with each change.
 *
 * Pure. Owns the counts, one set per pool and node; knows nothing of objects and writes. A pool is
 * identified by the name of its DevicePool.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct devicepool_status;
struct pool_index;

/* One device's contribution to a pool. */
struct pool_share {
	const char *resource; /* NULL: none */
	const char *node;
	bool claimed;   /* it is meant to be offered */
	bool ready;     /* and pods can get it, if its node is OK */
	bool allocated; /* in use by containers */
};

/* @changed is called for each pool whose counts change, before the call that changed them
 * returns. */
struct pool_index *pool_index_new(void (*changed)(void *arg, const char *pool), void *arg);
/* Takes NULL, returns NULL. */
struct pool_index *pool_index_free(struct pool_index *index);

/* A device's share changed from @before to @after; either may be NULL. */
void pool_index_move(struct pool_index *index, const struct pool_share *before,
		     const struct pool_share *after);

/* Set whether devices of @node can be used; default: true. */
void pool_index_reach(struct pool_index *index, const char *node, bool reachable);

/* The resource of the pool @name; NULL if it has no devices. Borrowed. */
const char *pool_index_resource(const struct pool_index *index, const char *name);

/* The counts of the existing pool @name; the caller releases them (devicepool_status_map). */
void pool_index_status(const struct pool_index *index, const char *name,
		       struct devicepool_status *ret_status);

/* Iterate over the pools' names, starting with *@cursor = 0; NULL at the end. */
const char *pool_index_next(const struct pool_index *index, size_t *cursor);
size_t pool_index_len(const struct pool_index *index);
