/*
 * tree_roots: a node's devices that hang on no other, in the order of lspci -t, and the bridges that they are behind.
 * A part of tree.c, for nobody else. Pure.
 */
#pragma once

#include <stddef.h>

struct cluster_device;
struct cluster_node;

enum { TREE_BRIDGES_MAX = 32 }; /* of one function; further ones are not drawn */

struct tree_roots {
	const struct cluster_device **items; /* borrowed, in the order in which they are drawn */
	size_t len;
};

/* Those of @node; tree_roots_done() frees the list. */
void tree_roots_find(struct tree_roots *roots, const struct cluster_node *node);
void tree_roots_done(struct tree_roots *roots);

/* The bridges that a function is behind, from the root bus down, as far as they are drawn; borrowed. How many. */
size_t tree_bridges(const struct cluster_device *device, char *const **ret_bridges);

/* What a device stands under that hangs on no other: its root bus, or what it is. The caller frees it. */
char *tree_branch(const struct cluster_device *device);

/* The first behind those that stand under the same branch as the one @at. */
size_t tree_next_branch(const struct tree_roots *roots, size_t at);

/* The first before @end that is not behind the bridge that is step @level of the one @at, or is that one. */
size_t tree_next_way(const struct tree_roots *roots, size_t at, size_t end, size_t level);
