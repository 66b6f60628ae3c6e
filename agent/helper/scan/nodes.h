/* nodes: can a device be open at all, for a process to hold it? */
#pragma once

#include <stdbool.h>

/*
 * Does the PCI function @address, or a device below it, have a device number, and so a node in
 * /dev? The kernel adds the attribute "dev" together with the link in dev/char or dev/block
 * (device_add() in drivers/base/core.c). True if this cannot be read.
 */
bool nodes_below(int sysfs_fd, const char *address);

/* Is there a node of the IOMMU group @group ("-": none)? */
bool nodes_of_group(int sysfs_fd, int dev_fd, const char *group);
