/*
 * tree: a node's devices as a tree: buses, functions, and the devices below them. Pure.
 */
#pragma once

#include <stdint.h>

struct cluster_view;
struct dra_waitings;
struct out;

/* Append the tree of every node of @view, or only of @node, to out->text, as out->format says, and
 * after it the ResourceClaims that wait for devices; NULL: none. */
void tree_print(const struct cluster_view *view, const struct dra_waitings *waitings,
		const char *node, int64_t now_wall_ms, struct out *out);
