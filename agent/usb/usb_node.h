/*
 * usb_node: the device node of a USB device, and its owner.
 *
 * Nodes are only opened with O_PATH, and no link is followed. Before anything is changed, the file
 * is checked to be the character device with that bus and device number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct stat;

/* Who runs QEMU in KubeVirt's pods. */
enum { USB_NODE_UID = 107, USB_NODE_GID = 107 };

/* What is asked of the kernel about an open node; tests have others. */
struct usb_node_calls {
	int (*stat)(int fd, struct stat *ret_stat);
	int (*chown)(int fd, uid_t uid, gid_t gid);
	bool (*may_chown)(int fd); /* could chown() succeed? */
};

struct usb_node {
	uint64_t inode; /* another one each time the node is made */
	uid_t uid;
	gid_t gid;
	bool fixed; /* this process cannot change the owner: no CAP_CHOWN, or a read-only /dev */
};

/* All borrowed. */
struct usb_node_at {
	const char *dev_root;               /* NULL: /dev */
	const char *device_path;            /* "/dev/bus/usb/001/002" */
	const struct usb_node_calls *calls; /* NULL: the kernel's     */
};

/* Is it QEMU's? */
bool usb_node_is_for_qemu(const struct usb_node *node);

/* Is it not QEMU's, and cannot be made so? */
bool usb_node_is_out_of_reach(const struct usb_node *node);

/* What to do about such a node; the caller frees. */
char *usb_node_advice(const char *device_path);

/* -ENOENT: it is not there; -ENODEV: it is something else. */
int usb_node_read(const struct usb_node_at *at, struct usb_node *ret_node, struct err *err);

/* Make it @owner's if it is still the node with @owner->inode; -ESTALE if not. */
int usb_node_set_owner(const struct usb_node_at *at, const struct usb_node *owner, struct err *err);

/* Bus and device number of "/dev/bus/usb/001/002"; -EINVAL for anything else. */
int usb_node_numbers(const char *device_path, unsigned *ret_bus, unsigned *ret_device);
