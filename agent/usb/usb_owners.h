/*
 * usb_owners: nodes of USB devices whose owner was changed for a pod, and their previous owners.
 *
 * The state directory has a record (usb-nodes/<socket>.json) from before the owner changes until it
 * is restored. So it is restored also after the agent has restarted and does not offer the device
 * any more. A record is valid only for that node; the kernel creates a new node at each boot and
 * each plug. A node that has QEMU's owner without a record got it from something else, such as a
 * udev rule, and keeps it.
 */
#pragma once

#include <stddef.h>

struct err;
struct json_strs;
struct usb_owners;
struct usb_node;
struct usb_view;
struct usbdevice_status;

/* Knows what processes before us gave. @view is borrowed; its state_dir, dev_root and calls are
 * used already. */
struct usb_owners *usb_owners_new(const struct usb_view *view);
/* The nodes stay given. Takes NULL, returns NULL. */
struct usb_owners *usb_owners_free(struct usb_owners *owners);

/* The node of @device, which is @node now, is about to be given; one that is QEMU's already is left
 * alone. Errors: its owner cannot be kept, so that it must not be given. */
int usb_owners_add(struct usb_owners *owners, const struct usbdevice_status *device,
		   const struct usb_node *node, struct err *err);

/* Give the node of the device in this socket back, if it was given. */
void usb_owners_restore(struct usb_owners *owners, const char *port_path);

/* Append the sockets whose nodes are given. */
void usb_owners_ports(const struct usb_owners *owners, struct json_strs *ret_ports);
size_t usb_owners_len(const struct usb_owners *owners);
