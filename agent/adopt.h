/*
 * adopt: gives the objects of this node that lack its label `nodename` that label, by which they
 * are seen.
 *
 * Harvester makes MigConfigurations without it, and people may make any object by hand without it.
 * Of the kinds whose objects are not made by the agents alone it lists, now and then, what has no
 * such label; what says this node is labelled, of graphics cards also what only has the name of one
 * of its functions. Objects of other nodes are left alone. What is in the way of an object that the
 * agent makes is found by its reconcile at once.
 */
#pragma once

struct adopt;
struct this_node;

/* Begins to list at once. @node is borrowed. */
struct adopt *adopt_new(const struct this_node *node);
/* Takes NULL, returns NULL. */
struct adopt *adopt_free(struct adopt *adopt);
