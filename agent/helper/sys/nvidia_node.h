/*
 * nvidia_node: which /dev/nvidia<minor> belongs to an NVIDIA card. The driver tells sysfs nothing of
 * these nodes, and an unbind while one is open may never end
 * (https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1119).
 */
#pragma once

#include <stdbool.h>

enum {
	NVIDIA_NODE_NONE =
		-1,           /* no card on that driver, or a virtual function, which has no node */
	NVIDIA_NODE_ANY = -2, /* the driver does not say which: each may be it                    */
};

/* The minor number of the function @address. @proc_fd -1: none. */
int nvidia_node_minor(int sysfs_fd, int proc_fd, const char *address);

/* Is @path, as /proc shows it of a descriptor, the node of @minor? */
bool nvidia_node_is(const char *path, int minor);
