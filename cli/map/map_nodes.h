/*
 * map_nodes: what is wrong with the nodes, for the cards of their devices (cli/model/node_fault.h).
 *
 * Knows of nodes by the informer of Nodes, which it only borrows, and by what it is told of claims.
 */
#pragma once

#include <stdbool.h>

#include "cli/model/node_fault.h"

struct entry;
struct informer;
struct map_nodes;

/* @informer: of kind node_kind. */
struct map_nodes *map_nodes_new(const struct informer *informer);
/* Takes NULL, returns NULL. */
struct map_nodes *map_nodes_free(struct map_nodes *nodes);

/* Have Nodes been read? Else nothing is known of them but by claims. */
bool map_nodes_known(const struct map_nodes *nodes);

/* One more claim of @node says by its NodeReachable that its node is not well (@sign 1), or one less (-1). Reasons
 * that are none of a node's faults are not counted. */
void map_nodes_tell(struct map_nodes *nodes, const char *node, const char *reason, int sign);

/* What is wrong with @node; its reason is NULL: nothing that is known of. */
struct node_fault map_nodes_fault(const struct map_nodes *nodes, const char *node);

/* Does a Node that was @before (NULL: not there) have another fault @after? */
bool map_nodes_differ(const struct entry *before, const struct entry *after);
