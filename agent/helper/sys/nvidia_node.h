/*
 * nvidia_node: which /dev/nvidia<minor> belongs to an NVIDIA card. The driver does not show these
 * nodes in sysfs, and an unbind while one is open may never end
 * (https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1119).
 *
 * /dev/nvidiactl, -uvm and -modeset belong to no card. Neither do the nodes in /dev/nvidia-caps:
 * their descriptors only prove a right (nv_cap_drv_open() of the driver's nv-caps.c), and a user of
 * a MIG instance also has the card's node open.
 */
#pragma once

#include <stdbool.h>

enum {
	NVIDIA_NODE_NONE =
		-1,           /* no card on that driver, or a virtual function, which has no node */
	NVIDIA_NODE_ANY = -2, /* the driver does not show which node: it may be any of them */
};

/* The minor number of the function @address. @proc_fd -1: none. */
int nvidia_node_minor(int sysfs_fd, int proc_fd, const char *address);

/* Is the character device with these numbers the node of @minor? A container may use any name for
 * it. */
bool nvidia_node_has_number(unsigned major, unsigned minor_number, int minor);

/* Likewise, where only the name is seen: is @path, as /proc shows it of a descriptor, the node of
 * @minor? */
bool nvidia_node_is(const char *path, int minor);
