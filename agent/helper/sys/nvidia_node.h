/*
 * nvidia_node: which /dev/nvidia<minor> belongs to an NVIDIA card. The driver tells sysfs nothing
 * of these nodes, and an unbind while one is open may never end
 * (https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1119).
 *
 * /dev/nvidiactl, -uvm and -modeset are not a card's, nor is what lies in /dev/nvidia-caps: a
 * descriptor of these only proves a right (nv_cap_drv_open() of the driver's nv-caps.c), and who
 * uses a MIG instance has the card's node open beside it.
 */
#pragma once

#include <stdbool.h>

enum {
	NVIDIA_NODE_NONE =
		-1,           /* no card on that driver, or a virtual function, which has no node */
	NVIDIA_NODE_ANY = -2, /* the driver does not say which node: it may be any of them        */
};

/* The minor number of the function @address. @proc_fd -1: none. */
int nvidia_node_minor(int sysfs_fd, int proc_fd, const char *address);

/* Is the character device of these numbers the node of @minor? Its name is whatever the container
 * gave it. */
bool nvidia_node_has_number(unsigned major, unsigned minor_number, int minor);

/* Likewise, where only the name is seen: is @path, as /proc shows it of a descriptor, the node of
 * @minor? */
bool nvidia_node_is(const char *path, int minor);
