/* iommu_open: opens /dev/iommu as a QEMU without privileges needs it. */
#pragma once

struct err;

/* Open the node below @dev_root (NULL: /dev), which counts the memory that is pinned through it as its
 * process' own from then on, into *@ret_fd. */
int iommu_open(const char *dev_root, int *ret_fd, struct err *err);
