/* vfio_node: the device nodes through which a PCI function on a VFIO driver is used. */
#pragma once

#include <stdbool.h>

struct json_strs;

#define VFIO_CONTAINER_NODE "/dev/vfio/vfio"

/* The node of an IOMMU group, "/dev/vfio/12"; NULL if @group is no group's number. The caller
 * frees. */
char *vfio_group_node(const char *group);

/* Add the nodes through which the devices of an IOMMU group are used, once each: its own, and the
 * container's. */
void vfio_nodes_add(struct json_strs *nodes, const char *group);

/* Where the node (a path below /dev) is with the node's devices in @dev_root (NULL: /dev). The
 * caller frees. */
char *vfio_node_path(const char *dev_root, const char *node);

/* Is the node (a path below /dev) there, with the node's devices in @dev_root (NULL: /dev)? */
bool vfio_node_exists(const char *dev_root, const char *node);

/* The function's own node, "/dev/vfio/devices/vfio0", which kernels have since 6.6; NULL if there
 * is none. The caller frees. */
char *vfio_own_node(const char *sysfs_root, const char *dev_root, const char *address);

/* The same for the mediated device @uuid. */
char *vfio_mdev_node(const char *sysfs_root, const char *dev_root, const char *uuid);
