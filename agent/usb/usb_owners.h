/*
 * usb_owners: nodes of USB devices whose owner was changed for a pod, and their previous owners.
 *
 * A record in the state directory (usb-nodes/<port path>.json) exists from before the owner changes
 * until it is restored. So the owner is also restored after the agent has restarted and no longer
 * offers the device. A record is valid only for that node; the kernel creates a new node at each
 * boot and each plug. A node that has QEMU's owner without a record got it from something else,
 * such as a udev rule, and keeps it.
 */
#pragma once

#include <stddef.h>

struct err;
struct json_strs;
struct usb_owners;
struct usb_node;
struct usb_view;
struct usbdevice_status;

/* Reads the records of earlier agents. @view is borrowed; its state_dir, dev_root and calls are
 * used already. */
struct usb_owners *usb_owners_new(const struct usb_view *view);
/* Does not restore owners. Takes NULL, returns NULL. */
struct usb_owners *usb_owners_free(struct usb_owners *owners);

/* Keep the owner of @node, the node of @device, before it is changed. A node that has QEMU's owner
 * already is skipped. On an error nothing was kept, and the owner must not be changed. */
int usb_owners_add(struct usb_owners *owners, const struct usbdevice_status *device,
		   const struct usb_node *node, struct err *err);

/* Restore the owner of the node of the device in this port, if it was changed. */
void usb_owners_restore(struct usb_owners *owners, const char *port_path);

/* Append the ports whose nodes have a changed owner. */
void usb_owners_ports(const struct usb_owners *owners, struct json_strs *ret_ports);
size_t usb_owners_len(const struct usb_owners *owners);
