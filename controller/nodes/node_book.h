/*
 * node_book: which nodes there are, how well they are, and how many objects belong to each.
 *
 * Pure: the time is an argument. Owns what it is told. Nodes are told apart by their label value
 * (names_label_value), so that an object which has only the label is known to be of its node.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/views/reach.h"

struct node_book;

/* A node that is not well for less than this is left in peace: agents are restarted, nodes blink. */
enum { NODE_BOOK_HOLD_MS = 30 * 1000 };

/* @agents: does a node need a running agent to be well? */
struct node_book *node_book_new(bool agents);
/* Takes NULL, returns NULL. */
struct node_book *node_book_free(struct node_book *book);

/* There is a Node @name, and its Ready is so; or there is none. */
void node_book_set(struct node_book *book, const char *name, bool there, bool ready,
		   uint64_t now_ms);
/* One more pod (@sign 1) of the agent on @name that runs, or one less (-1). */
void node_book_agent(struct node_book *book, const char *name, int sign, uint64_t now_ms);
/* One more pod of the agent (@sign 1) is on @name, whether it runs or not, or one less. */
void node_book_pod(struct node_book *book, const char *name, int sign, uint64_t now_ms);
/* One more object belongs to @name (@sign 1), or one less. */
void node_book_object(struct node_book *book, const char *name, int sign, uint64_t now_ms);

/* How the node @name is; UNSAID while that may still be a blink: for another *@ret_wait_ms then, else 0. */
enum reach node_book_reach(const struct node_book *book, const char *name, uint64_t now_ms,
			   uint64_t *ret_wait_ms);

/* Is there no Node @name although objects belong to it? Since when, into @ret_since_ms. */
bool node_book_gone(const struct node_book *book, const char *name, uint64_t *ret_since_ms);

/* How many nodes that are to have an agent are so: those that objects belong to or that have a pod of the agent.
 * They are counted as they are right now. */
size_t node_book_count(const struct node_book *book, enum reach reach);

/* Is anything known of @name: that it is there, that something belongs to it? */
bool node_book_has(const struct node_book *book, const char *name);

/* The name of the Node as it is known best, for @key of the walk. */
const char *node_book_name(const struct node_book *book, const char *key);

/* Walk over the keys of all nodes, from *@cursor = 0; NULL at the end. */
const char *node_book_next(const struct node_book *book, size_t *cursor);
/* The key of @name; the caller frees. */
char *node_book_key(const char *name);
