/*
 * pools: keeps one DevicePool per resource name, while this replica leads.
 *
 * Counts as it hears of changes, on every replica; writes a pool a second after its first change, so that
 * many changes make one write, and nothing when the counts are what they were. Owns the counts.
 */
#pragma once

#include <stdbool.h>

#include "controller/views/view.h"

struct clock;
struct entry;
struct kube_client;
struct metrics;
struct pools;
struct store;

/* Borrowed, all of it outlives the pools. */
struct pools_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;           /* may be NULL                                     */
	const struct store *const *stores; /* by enum view_kind                               */
	bool (*leads)(void *arg);          /* asked before each write                         */
	void *arg;
};

struct pools *pools_new(const struct pools_deps *deps);
/* Takes NULL, returns NULL. */
struct pools *pools_free(struct pools *pools);

/* An object of @kind changed; as informer_handlers has it. */
void pools_hear(struct pools *pools, enum view_kind kind, const char *name,
		const struct entry *before, const struct entry *after);

/* Devices of @node can be had, or not. */
void pools_reach(struct pools *pools, const char *node, bool reachable);

/* Every store has had its list, or this replica leads now: look at all pools. Before the first call nothing
 * is written. */
void pools_look(struct pools *pools);
