/*
 * pools: keeps one DevicePool per resource name, while this replica leads.
 *
 * Counts with each change, on every replica. Writes a pool a second after its first change, so that
 * many changes make one write, and not at all when the counts are what they were. Owns the counts.
 */
#pragma once

#include <stdbool.h>

#include "controller/pools/pool_book.h"
#include "controller/views/view.h"

struct clock;
struct entry;
struct informer;
struct kube_client;
struct metrics;
struct pools;
struct store;

/* Borrowed, all of it outlives the pools. */
struct pools_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;           /* may be NULL                     */
	const struct store *const *stores; /* by enum view_kind               */
	const struct informer *pools;      /* of the kind VIEW_POOL           */
	bool (*leads)(void *arg);          /* asked before each write         */
	void *arg;
};

struct pools *pools_new(const struct pools_deps *deps);
/* Takes NULL, returns NULL. */
struct pools *pools_free(struct pools *pools);

/* An object of @kind changed; as informer_handlers has it. */
void pools_on_change(struct pools *pools, enum view_kind kind, const char *name,
		     const struct entry *before, const struct entry *after);

/* Devices of @node can be had, or not. */
void pools_set_reachable(struct pools *pools, const char *node, bool reachable);

/* Every store has had its list, or this replica leads now: run all pools. Before the first call
 * nothing is written. */
void pools_enqueue_all(struct pools *pools);

/* What the device @name adds to a pool; @device and @claim, its views, may be NULL. Pure. What the
 * share's resource borrows from is in *@ret_text, which the caller frees. */
struct pool_share pools_share(enum view_kind kind, const char *name, const struct view *device,
			      const struct view *claim, char **ret_text);
