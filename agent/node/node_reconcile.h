/*
 * node_reconcile: the reconciles of the agent of one node, and the Node itself as an object.
 */
#pragma once

struct node;
struct reconcile;
struct reconcile_spec;
struct this_node;

/* The Node in the cache; NULL: it is not there, or there is no cache of it. */
const struct node *node_reconcile_object(const struct this_node *node);

/* A reconcile of this agent: reconcile_new() with the node's client, clock, events and metrics. A
 * field_manager of NULL is "hostdev-agent". */
struct reconcile *node_reconcile_new(const struct this_node *node,
				     const struct reconcile_spec *spec);

/* The same for the Node itself, which must have a cache. @spec says what is written to it: name,
 * field_manager, plan, rested and arg. Its key is the node's name. */
struct reconcile *node_reconcile_self(const struct this_node *node,
				      const struct reconcile_spec *spec);
