/*
 * usb_type: offers USB devices to pods through the kubelet: claimed devices, each as a resource of
 * its own, and those that the selectors of the HostDeviceConfig name.
 *
 * An ID is the device's socket (port path), joined by ',' for a bundle: it stays the same when the
 * kernel enumerates the device again. A device is healthy while the claimed device itself is in its
 * socket, is claimable, and its node exists; a look at the nodes is enough to see that it was
 * unplugged.
 *
 * A node is QEMU's while a pod has it, from Allocate on, and its owner's again when no pod has it
 * any more. Who has it is what the kubelet lists: a pod that it left out for a while gets its node
 * back.
 */
#pragma once

#include <stdbool.h>

struct config;
struct config_troubles;
struct device_type;
struct offers;
struct plugins;
struct store;
struct this_node;
struct usb_node_calls;
struct usb_type;
struct use_log;

/* What there is now. All borrowed, and read at every look and every Allocate. */
struct usb_view {
	const struct this_node *node;       /* without an inventory nothing is offered */
	const struct store *claims;         /* USBDeviceClaims, of all nodes           */
	const struct config *config;        /* NULL: no selectors                      */
	struct offers *offers;              /* who has what                            */
	const struct usb_node_calls *calls; /* NULL: the kernel's                      */
	const struct use_log *uses;         /* of the sockets; NULL: not asked         */
};

/* @view may be changed between two calls, and outlives the type. */
struct usb_type *usb_type_new(const struct usb_view *view);
/* Takes NULL, returns NULL. */
struct usb_type *usb_type_free(struct usb_type *type);

/* The view's inventory is another one: its devices are those whose nodes are there now. */
void usb_type_seen(struct usb_type *type);

/* Make what @plugins offer what the view says, and the nodes QEMU's that pods have. Entries of the
 * config that nothing comes of are added to @troubles. True: usb_type_selected() has another answer
 * than before. */
bool usb_type_offer(struct usb_type *type, struct plugins *plugins,
		    struct config_troubles *troubles);

/* A device that the HostDeviceConfig selects, alone or in a bundle. */
struct usb_selected {
	char *port_path;
	char *resource;
	char *trouble; /* why it is listed as unhealthy; NULL: it is healthy */
};

/* The device in this socket, as usb_type_offer() offered it last; NULL: the HostDeviceConfig does
 * not select it. Borrowed until the next usb_type_offer(). */
const struct usb_selected *usb_type_selected(const struct usb_type *type, const char *port_path);

/* Restore the owners of nodes that no pod has any more. Call it after offers has the offer, when
 * the allocations of all offered devices are known. */
void usb_type_clear(struct usb_type *type);

/* Give the node of the device in this socket back if it was given to a pod. */
void usb_type_restore_node(struct usb_type *type, const char *port_path);

/* Is any node given to pods? */
bool usb_type_has_given_nodes(const struct usb_type *type);

/* Its `arg` is the struct usb_type. */
extern const struct device_type usb_device_type;
