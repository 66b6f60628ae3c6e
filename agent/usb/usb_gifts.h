/*
 * usb_gifts: nodes of USB devices that are given to pods, and whose they were before.
 *
 * That is kept in the state directory (usb-nodes/<socket>.json) from before a node is given until it is
 * given back, so that it is also when the agent was started anew in between and offers the device no
 * more. A record is good for that very node, which the kernel makes anew with each boot and each plug. A
 * node that is QEMU's without a record is so by somebody else, a udev rule perhaps, and stays so.
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
