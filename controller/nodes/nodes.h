/*
 * nodes: what the leader does about nodes that are not well: claims of them say so, and what a node that
 * is gone has left is removed.
 *
 * A node must be missing for deps.gone_ms, and then the API server is asked once more; a Node of that
 * name which comes back at any time ends it. What is left, or comes to be again, is removed a minute
 * later. Every replica counts; only the one that leads writes. Owns the book of nodes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/views/view.h"

struct clock;
struct entry;
struct informer;
struct kube_client;
struct metrics;
struct nodes;
struct store;

/* Borrowed, all of it outlives the nodes. */
struct nodes_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;           /* may be NULL                                      */
	const struct store *const *stores; /* by enum view_kind                                */
	const struct informer *const *informers; /* likewise                                */
	bool agents;              /* agents run as pods that the views show           */
	uint64_t gone_ms;         /* a node that is missing for so long is gone for good */
	bool (*leads)(void *arg); /* asked before each write                          */
	/* Devices of @node can be had, or not. May be NULL. */
	void (*on_reach)(void *arg, const char *node, bool reachable);
	void *arg;
};

struct nodes *nodes_new(const struct nodes_deps *deps);
/* Takes NULL, returns NULL. */
struct nodes *nodes_free(struct nodes *nodes);

/* An object of @kind changed; as informer_handlers has it. */
void nodes_on_change(struct nodes *nodes, enum view_kind kind, const char *name,
		     const struct entry *before, const struct entry *after);

/* Every store has had its list, or this replica leads now: look at all nodes. Before the first call
 * nothing is written. */
void nodes_enqueue_all(struct nodes *nodes);
