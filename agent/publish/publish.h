/*
 * publish: keeps the API server's objects of this node equal to the inventory.
 *
 * A reconcile for each kind, in one queue; writes by server-side apply. Touches only objects that
 * carry this node's label, because its informers see no others.
 */
#pragma once

#include <stdbool.h>

#include "agent/inventory/inventory.h"

struct api_condition_value;
struct mediateddevice;
struct pcidevice_allocations;
struct publish;
struct publish_offer;
struct this_node;

/* What other parts know of the devices. */
struct publish_deps {
	/* Is the PCI device @name on its way from one driver to another? What the inventory says of
	 * it is not written then; the next inventory is asked for again. May be NULL. */
	bool (*moving)(void *arg, const char *name);
	/* The allocations of the device @name; NULL: not known now. Without this function: never
	 * any. */
	const struct pcidevice_allocations *(*allocations)(void *arg, enum inventory_kind kind,
							   const char *name);
	/* As what a pod has the PCI device @name, which keeps that name as long; NULL: none has it.
	 * May be NULL. */
	const char *(*held_as)(void *arg, const char *name);
	/* What the HostDeviceConfig offers of the PCI or USB device @name. May be NULL. */
	void (*offer)(void *arg, enum inventory_kind kind, const char *name,
		      struct publish_offer *ret_offer);
	/* The resource that offers @device; NULL: none. Without this function: always none. */
	const char *(*resource)(void *arg, const struct mediateddevice *device);
	/* How the parent @parent of mediated devices is; NULL: that is not known now. May be
	 * NULL. */
	const struct api_condition_value *(*condition)(void *arg, const char *parent);
	/* The label, its key in *@ret_key, that says whose virtual function the PCI device @name
	 * is; NULL: none. May be NULL. */
	const char *(*parent)(void *arg, const char *name, const char **ret_key);
	void *arg;
};

/* @node is borrowed; of a kind without a cache of its devices nothing is published. @deps is
 * copied. */
struct publish *publish_new(const struct this_node *node, const struct publish_deps *deps);
/* Takes NULL, returns NULL. */
struct publish *publish_free(struct publish *publish);

/* The object @name changed at the API server: enqueue it. */
void publish_changed(struct publish *publish, enum inventory_kind kind, const char *name);

/* Anything else that is known of @name changed, such as a claim of it: enqueue it. */
void publish_enqueue(struct publish *publish, enum inventory_kind kind, const char *name);

/* A list of objects or claims, or an inventory, is there: enqueue all objects. */
void publish_enqueue_all(struct publish *publish);

/* True when an inventory is there and every object is as it should be, as far as is known. */
bool publish_settled(const struct publish *publish);
