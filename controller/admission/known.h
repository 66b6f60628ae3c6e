/*
 * known: what the controller has seen of the cluster, which is all that the rules look at.
 *
 * Owns nothing and reads only. An answer made of it needs no call to anybody.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controller/views/view.h"

struct resources;
struct store;
struct view_node;

/* Borrowed. */
struct known {
	const struct store *const *stores; /* by enum view_kind                               */
	bool synced[VIEW_KINDS];           /* the store has had a list                        */
	const struct resources *resources; /* that objects of ours name, or nodes offer       */
	bool refuse_pinned; /* pods that name a node which does not offer what they ask for   */
};

/* NULL: there is none, or it cannot be read. Valid until the stores change. */
const struct view *known_pcidevice(const struct known *known, const char *name);
const struct view *known_usbdevice(const struct known *known, const char *name);
const struct view *known_pciclaim(const struct known *known, const char *name);
const struct view *known_usbclaim(const struct known *known, const char *name);
const struct view *known_gpu(const struct known *known, const char *name);
const struct view *known_vgpu(const struct known *known, const char *name);

/* The uid of the object of that kind and name; "" if there is none. */
const char *known_uid(const struct known *known, enum view_kind kind, const char *name);

/* NULL: there is no such node. */
const struct view_node *known_node(const struct known *known, const char *name);

/* Is there no such node, or is it being deleted? Also true of no name at all. */
bool known_node_gone(const struct known *known, const char *name);

/* Walk over those that can be read: from *@cursor = 0 to NULL, in arbitrary order. A virtual machine is whole,
 * all else a view; its name is in *@ret_name, which may be NULL. */
const void *known_next(const struct known *known, enum view_kind kind, size_t *cursor,
		       const char **ret_name);

/* The device of that address on that node, and its claim with its name in *@ret_name, which may be NULL. */
const struct view *known_pci_at(const struct known *known, const char *node, const char *address);
const struct view *known_pciclaim_at(const struct known *known, const char *node,
				     const char *address, const char **ret_name);

/* Texts of the API: NULL is the empty one. */
bool known_same(const char *a, const char *b);
bool known_empty(const char *text);
