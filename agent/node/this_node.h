/*
 * this_node: what the parts of the agent of one node share.
 *
 * Owns the clock, the events and the inventory; borrows everything else. Each part keeps a const
 * pointer to it and reads it when it decides, so no part has an older copy. Only agent/node_agent
 * changes it: it sets the caches before it creates the parts, and the inventory after each scan.
 *
 * Nothing of an inventory changes, except that agent/usb names its USBDevices. It is borrowed until
 * the next one: that is announced to all parts, which then have nothing of the old one, and the old
 * one is freed. A part that must remember something for longer copies it, so inventories have no
 * reference count.
 */
#pragma once

#include <stdint.h>

#include "agent/inventory/inventory.h"
#include "agent/process/helper_place.h"
#include "api/json_map.h"

struct clock;
struct events;
struct informer;
struct kube_client;
struct metrics;
struct uv_loop_s;

/* Does the node's container runtime add CDI devices to containers? */
enum cdi_mode {
	CDI_AUTO, /* as its version says: agent/dra/runtime_cdi.h */
	CDI_ON,
	CDI_OFF,
};

/* What several parts are configured with. The texts are borrowed. */
struct this_node_options {
	struct helper_place helper;
	uint64_t deadline_ms;
	const char *kubelet_dir;
	const char *host_root;
	struct json_strs vfio_drivers;
	enum cdi_mode cdi;
};

struct this_node {
	const char *name;
	struct uv_loop_s *loop;
	struct kube_client *client;
	struct clock *clock;
	struct events *events;
	struct metrics *metrics; /* may be NULL */

	struct helper_place helper;
	uint64_t deadline_ms;          /* of one step of a helper that changes devices  */
	const char *kubelet_dir;       /* "/var/lib/kubelet"                            */
	const char *host_root;         /* NULL: /                                       */
	struct json_strs vfio_drivers; /* that claims may name beside vfio-pci          */
	enum cdi_mode cdi;

	/* The caches: the objects of this node's devices, and the claims of all nodes (NULL: the
	 * kind has no claims). */
	const struct informer *devices[INVENTORY_KINDS];
	const struct informer *claims[INVENTORY_KINDS];
	const struct informer *self; /* the Node; NULL: in tests that need none */

	const struct inventory *inventory; /* of the last scan that succeeded; NULL: none yet */
	struct inventory *owned;           /* the same, to free it                            */
};

/* All arguments outlive @node, but for @options, which is copied. @metrics may be NULL. */
void this_node_init(struct this_node *node, const char *name, struct uv_loop_s *loop,
		    struct kube_client *client, const struct this_node_options *options,
		    struct metrics *metrics);
/* Releases what it owns. The parts are gone. */
void this_node_done(struct this_node *node);

/* @inventory is what the node has from now on, and belongs to it. Returns the one before, or NULL:
 * the caller frees it once no part has anything of it. */
struct inventory *this_node_set_inventory(struct this_node *node, struct inventory *inventory);
