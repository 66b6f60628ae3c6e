/*
 * usb_gifts: nodes of USB devices whose owner was changed for a pod, and their previous owners.
 *
 * The state directory has a record (usb-nodes/<socket>.json) from before the owner changes until it is
 * restored. So it is restored also after the agent has restarted and does not offer the device any more. A
 * record is valid only for that node; the kernel creates a new node at each boot and each plug. A node that
 * has QEMU's owner without a record got it from something else, such as a udev rule, and keeps it.
 */
#pragma once

#include <stddef.h>

struct err;
struct json_strs;
struct usb_gifts;
struct usb_node;
struct usb_view;
struct usbdevice_status;

/* Knows what processes before us gave. @view is borrowed; its state_dir, dev_root and calls are used already. */
struct usb_gifts *usb_gifts_new(const struct usb_view *view);
/* The nodes stay given. Takes NULL, returns NULL. */
struct usb_gifts *usb_gifts_free(struct usb_gifts *gifts);

/* The node of @device, which is @node now, is about to be given; one that is QEMU's already is left alone.
 * Errors: its owner cannot be kept, so that it must not be given. */
int usb_gifts_add(struct usb_gifts *gifts, const struct usbdevice_status *device,
		  const struct usb_node *node, struct err *err);

/* Give the node of the device in this socket back, if it was given. */
void usb_gifts_give_back(struct usb_gifts *gifts, const char *port_path);

/* Append the sockets whose nodes are given. */
void usb_gifts_ports(const struct usb_gifts *gifts, struct json_strs *ret_ports);
size_t usb_gifts_len(const struct usb_gifts *gifts);
