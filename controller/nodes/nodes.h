/*
 * nodes: the leader's handling of failed nodes: their claims say so, and objects of a deleted node
 * are removed.
 *
 * A node must be missing for deps.gone_ms, and then the API server is asked once more; if a Node of
 * that name comes back at any time, the cleanup stops. Objects that remain or are created later are
 * removed a minute later. Every replica keeps the counts; only the leader writes. Owns the node
 * index.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/cache/view.h"

struct clock;
struct entry;
struct informer;
struct kube_client;
struct metrics;
struct nodes;
struct store;

/* All borrowed; must outlive the nodes. */
struct nodes_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;                 /* may be NULL */
	const struct store *const *stores;       /* indexed by enum view_kind */
	const struct informer *const *informers; /* likewise */
	bool agents;                             /* agents run as pods and are watched */
	uint64_t gone_ms;         /* a node missing for this long is considered deleted */
	bool (*leads)(void *arg); /* checked before each write */
	/* Devices of @node became usable or unusable. May be NULL. */
	void (*on_reach)(void *arg, const char *node, bool reachable);
	void *arg;
};

struct nodes *nodes_new(const struct nodes_deps *deps);
/* Takes NULL, returns NULL. */
struct nodes *nodes_free(struct nodes *nodes);

/* An object of @kind changed; as in informer_handlers. */
void nodes_on_change(struct nodes *nodes, enum view_kind kind, const char *name,
		     const struct entry *before, const struct entry *after);

/* Every store has had its list, or this replica leads now: process all nodes. Nothing is written
 * before the first call. */
void nodes_enqueue_all(struct nodes *nodes);
