/*
 * pool_book: how many devices of each resource name there are, kept up by their changes.
 *
 * Pure. Owns the counts, one set per pool and node; knows neither objects nor who writes them. A pool is
 * known by the name of its DevicePool.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct devicepool_status;
struct pool_book;

/* What one device adds to a pool. */
struct pool_share {
	const char *resource; /* NULL: nothing */
	const char *node;
	bool claimed;   /* it is to be lent                         */
	bool ready;     /* and pods can have it, if its node is well */
	bool allocated; /* containers have it                        */
};

/* @changed is told of each pool whose counts are not what they were, before the call that did it returns. */
struct pool_book *pool_book_new(void (*changed)(void *arg, const char *pool), void *arg);
/* Takes NULL, returns NULL. */
struct pool_book *pool_book_free(struct pool_book *book);

/* A device's share is @after now and was @before; either may be NULL. */
void pool_book_move(struct pool_book *book, const struct pool_share *before,
		    const struct pool_share *after);

/* Can anybody have devices of @node? Of a node that nothing was told of: yes. */
void pool_book_reach(struct pool_book *book, const char *node, bool reachable);

/* The resource of the pool @name, NULL if there is no device of it. Borrowed. */
const char *pool_book_resource(const struct pool_book *book, const char *name);

/* The counts of the pool @name, which there is; the caller releases them (devicepool_status_map). */
void pool_book_status(const struct pool_book *book, const char *name,
		      struct devicepool_status *ret_status);

/* Walk over the pools' names from *@cursor = 0; NULL at the end. */
const char *pool_book_next(const struct pool_book *book, size_t *cursor);
size_t pool_book_len(const struct pool_book *book);
