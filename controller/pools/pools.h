/*
 * pools: keeps one DevicePool per resource name, while this replica leads.
 *
 * Counts every change in every replica. Writes a pool a second after its first change, so that many
 * changes make one write, and only if the counts differ. Owns the counts.
 */
#pragma once

#include <stdbool.h>

#include "controller/cache/view.h"
#include "controller/pools/pool_index.h"

struct clock;
struct entry;
struct informer;
struct kube_client;
struct metrics;
struct pools;
struct store;

/* All borrowed; must outlive the pools. */
struct pools_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;           /* may be NULL */
	const struct store *const *stores; /* indexed by enum view_kind */
	const struct informer *pools;      /* of kind VIEW_POOL */
	bool (*leads)(void *arg);          /* checked before each write */
	void *arg;
};

struct pools *pools_new(const struct pools_deps *deps);
/* Takes NULL, returns NULL. */
struct pools *pools_free(struct pools *pools);

/* An object of @kind changed; as in informer_handlers. */
void pools_on_change(struct pools *pools, enum view_kind kind, const char *name,
		     const struct entry *before, const struct entry *after);

/* Devices of @node became usable or unusable. */
void pools_set_reachable(struct pools *pools, const char *node, bool reachable);

/* Every store has had its list, or this replica leads now: enqueue all pools. Nothing is written
 * before the first call. */
void pools_enqueue_all(struct pools *pools);

/* The contribution of the device @name to a pool; @device and @claim, its views, may be NULL.
 * Pure. The share's resource may point into *@ret_text, which the caller frees. */
struct pool_share pools_share(enum view_kind kind, const char *name, const struct view *device,
			      const struct view *claim, char **ret_text);
