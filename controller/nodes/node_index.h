/*
 * node_index: the nodes, their state, and how many objects belong to each.
 *
 * Pure: the time is an argument. Owns its data. Nodes are identified by their label value
 * (names_label_value), because some objects have only the label.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/cache/reach.h"

struct node_index;

/* A node is reported only if it is not OK for this long: agents restart, and nodes may be
 * NotReady for a moment. */
enum { NODE_INDEX_HOLD_MS = 30 * 1000 };

/* @agents: whether a node needs a running agent to be OK. */
struct node_index *node_index_new(bool agents);
/* Takes NULL, returns NULL. */
struct node_index *node_index_free(struct node_index *index);

/* The Node @name exists with this Ready condition, or does not exist. */
void node_index_set(struct node_index *index, const char *name, bool there, bool ready,
		    uint64_t now_ms);
/* A running agent pod on @name was added (@sign 1) or removed (-1). */
void node_index_agent(struct node_index *index, const char *name, int sign, uint64_t now_ms);
/* An agent pod on @name, running or not, was added (@sign 1) or removed (-1). */
void node_index_pod(struct node_index *index, const char *name, int sign, uint64_t now_ms);
/* An object that belongs to @name was added (@sign 1) or removed (-1). */
void node_index_object(struct node_index *index, const char *name, int sign, uint64_t now_ms);

/* The state of the node @name. UNKNOWN while the state is too recent; then *@ret_wait_ms is the
 * remaining time, else 0. */
enum reach node_index_reach(const struct node_index *index, const char *name, uint64_t now_ms,
			    uint64_t *ret_wait_ms);

/* True if there is no Node @name but objects belong to it; *@ret_since_ms is when it
 * disappeared. */
bool node_index_gone(const struct node_index *index, const char *name, uint64_t *ret_since_ms);

/* The number of nodes in this state, of those that should have an agent (they have objects or an
 * agent pod). Uses the current state without the delay. */
size_t node_index_count(const struct node_index *index, enum reach reach);

/* True if the Node @name exists or anything belongs to it. */
bool node_index_has(const struct node_index *index, const char *name);

/* The full name of the Node, as far as known, for a @key of the iteration. */
const char *node_index_name(const struct node_index *index, const char *key);

/* Iterate over the keys of all nodes, starting with *@cursor = 0; NULL at the end. */
const char *node_index_next(const struct node_index *index, size_t *cursor);
/* The key of @name; the caller frees it. */
char *node_index_key(const char *name);
