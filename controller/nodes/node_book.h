/*
 * node_book: the nodes, their state, and how many objects belong to each.
 *
 * Pure: the time is an argument. Owns its data. Nodes are identified by their label value
 * (names_label_value), because some objects have only the label.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/views/reach.h"

struct node_book;

/* A node is reported only if it is not OK for this long: agents restart, and nodes may be
 * NotReady for a moment. */
enum { NODE_BOOK_HOLD_MS = 30 * 1000 };

/* @agents: whether a node needs a running agent to be OK. */
struct node_book *node_book_new(bool agents);
/* Takes NULL, returns NULL. */
struct node_book *node_book_free(struct node_book *book);

/* The Node @name exists with this Ready condition, or does not exist. */
void node_book_set(struct node_book *book, const char *name, bool there, bool ready,
		   uint64_t now_ms);
/* A running agent pod on @name was added (@sign 1) or removed (-1). */
void node_book_agent(struct node_book *book, const char *name, int sign, uint64_t now_ms);
/* An agent pod on @name, running or not, was added (@sign 1) or removed (-1). */
void node_book_pod(struct node_book *book, const char *name, int sign, uint64_t now_ms);
/* An object that belongs to @name was added (@sign 1) or removed (-1). */
void node_book_object(struct node_book *book, const char *name, int sign, uint64_t now_ms);

/* The state of the node @name. UNSAID while the state is too recent; then *@ret_wait_ms is the
 * remaining time, else 0. */
enum reach node_book_reach(const struct node_book *book, const char *name, uint64_t now_ms,
			   uint64_t *ret_wait_ms);

/* True if there is no Node @name but objects belong to it; *@ret_since_ms is when it
 * disappeared. */
bool node_book_gone(const struct node_book *book, const char *name, uint64_t *ret_since_ms);

/* The number of nodes in this state, of those that should have an agent (they have objects or an
 * agent pod). Uses the current state without the delay. */
size_t node_book_count(const struct node_book *book, enum reach reach);

/* True if the Node @name exists or anything belongs to it. */
bool node_book_has(const struct node_book *book, const char *name);

/* The full name of the Node, as far as known, for a @key of the iteration. */
const char *node_book_name(const struct node_book *book, const char *key);

/* Iterate over the keys of all nodes, starting with *@cursor = 0; NULL at the end. */
const char *node_book_next(const struct node_book *book, size_t *cursor);
/* The key of @name; the caller frees it. */
char *node_book_key(const char *name);
