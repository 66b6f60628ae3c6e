/* block_remote: the addresses of the servers behind a disk that the network brings (iSCSI, NVMe over
 * fabrics). */
#pragma once

#include "agent/helper/sys/sysfs.h"

/* Append to @addresses the addresses behind the disk at @path (of the device tree), below
 * @sysfs_fd. Appends none for local disks. */
void block_remote_addresses(int sysfs_fd, const char *path, struct sysfs_names *addresses);
