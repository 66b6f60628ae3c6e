/*
 * known: the cached cluster state that the rules read.
 *
 * Owns nothing and reads only, so that answers need no requests.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controller/cache/view.h"

struct resources;
struct store;
struct view_node;

/* Borrowed. */
struct known {
	const struct store *const *stores; /* indexed by enum view_kind */
	bool synced[VIEW_KINDS];           /* the store has its first list */
	const struct resources *resources; /* named by our objects or offered by nodes */
	bool refuse_pinned; /* refuse pods with spec.nodeName on a node without the resource */
};

/* NULL: it does not exist or is unreadable. Valid until the stores change. */
const struct view *known_pcidevice(const struct known *known, const char *name);
const struct view *known_usbdevice(const struct known *known, const char *name);
const struct view *known_pciclaim(const struct known *known, const char *name);
const struct view *known_usbclaim(const struct known *known, const char *name);
const struct view *known_gpu(const struct known *known, const char *name);
const struct view *known_vgpu(const struct known *known, const char *name);

/* The uid of the object of that kind and name; "" if it does not exist. */
const char *known_uid(const struct known *known, enum view_kind kind, const char *name);

/* NULL: there is no such node. */
const struct view_node *known_node(const struct known *known, const char *name);

/* True if there is no such node or it is being deleted; also for an empty name. */
bool known_node_gone(const struct known *known, const char *name);

/* Iterate over the readable objects, starting with *@cursor = 0; NULL at the end; arbitrary
 * order. Virtual machines are complete objects, all others are views. The name is in *@ret_name,
 * which may be NULL. */
const void *known_next(const struct known *known, enum view_kind kind, size_t *cursor,
		       const char **ret_name);

/* The device at that address of that node, and its claim with the claim's name in *@ret_name,
 * which may be NULL. */
const struct view *known_pci_at(const struct known *known, const char *node, const char *address);
const struct view *known_pciclaim_at(const struct known *known, const char *node,
				     const char *address, const char **ret_name);

/* Compares API strings: NULL equals "". */
bool known_same(const char *a, const char *b);
bool known_empty(const char *text);
