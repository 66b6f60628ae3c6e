/*
 * usb_type: offers USB devices to the kubelet: each claimed device as a resource of its own, and
 * the devices that the selectors of the HostDeviceConfig select.
 *
 * An ID is the device's port path, or those of a bundle joined by ','. It stays the same when the
 * kernel enumerates the device again. A claimed device is healthy while it is in its port, is
 * claimable, and its node exists; the node shows that it was unplugged. One that an entry of the
 * HostDeviceConfig has DRA offer is marked so, and is in no list of the kubelet.
 *
 * Allocate changes the owner of the node to QEMU's. The old owner is restored when no pod has the
 * device any more, according to the kubelet's list. A pod that was missing from the list for a
 * while gets its node again.
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

/* What exists now. All borrowed, and read at every update and every Allocate. */
struct usb_view {
	const struct this_node *node;       /* without an inventory nothing is offered */
	const struct store *claims;         /* USBDeviceClaims, of all nodes           */
	const struct config *config;        /* NULL: no selectors                      */
	struct offers *offers;              /* the holders of devices */
	const struct usb_node_calls *calls; /* NULL: the kernel's                      */
	const struct use_log *uses;         /* of the sockets; NULL: not asked         */
};

/* @view may be changed between two calls, and outlives the type. */
struct usb_type *usb_type_new(const struct usb_view *view);
/* Takes NULL, returns NULL. */
struct usb_type *usb_type_free(struct usb_type *type);

/* The view has a new inventory, which shows the device nodes of now. */
void usb_type_seen(struct usb_type *type);

/* Update the resources of @plugins to what the view shows, and the owners of nodes that pods have.
 * Entries of the config without a device are added to @troubles. True: the answer of
 * usb_type_selected() changed. */
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

/* Does DRA offer the claimed device in this port, as usb_type_offer() had it last, as healthy? */
bool usb_type_offers_by_dra(const struct usb_type *type, const char *port_path);

/* Restore the owners of nodes that no pod has any more. Call it after offers has the offer, when
 * the allocations of all offered devices are known. */
void usb_type_clear(struct usb_type *type);

/* Restore the owner of the node of the device in this port, if it was changed for a pod. */
void usb_type_restore_node(struct usb_type *type, const char *port_path);

/* Was the owner of any node changed for a pod? */
bool usb_type_has_changed_nodes(const struct usb_type *type);

/* Its `arg` is the struct usb_type. */
extern const struct device_type usb_device_type;
