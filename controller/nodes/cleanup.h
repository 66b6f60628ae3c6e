/*
 * cleanup: removes the objects of nodes that the cluster has no Node of any more.
 *
 * A node must be missing for as long as its ties say, and then the API server is asked once more; a Node
 * of that name which comes back at any time ends it. Whatever is left, or comes to be again, is looked
 * at again after a while. Owns its queues only.
 */
#pragma once

#include "controller/views/view.h"

struct cleanup;
struct node_ties;

struct cleanup *cleanup_new(struct node_ties *ties);
/* Takes NULL, returns NULL. */
struct cleanup *cleanup_free(struct cleanup *cleanup);

/* There is no Node @node, as far as the book knows. */
void cleanup_node(struct cleanup *cleanup, const char *node);

/* There is a Node @node, again or still. */
void cleanup_back(struct cleanup *cleanup, const char *node);

/* The object @name of @node is now as @view says. */
void cleanup_hear(struct cleanup *cleanup, enum view_kind kind, const char *name,
		  const struct view *view, const char *node);
