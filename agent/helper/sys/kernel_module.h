/* kernel_module: what the kernel has of drivers and IOMMU backends, and modprobe for what it
 * lacks. */
#pragma once

#include <stdbool.h>

struct err;

/* Is the PCI driver @driver registered? */
bool kernel_module_has_driver(int sysfs_fd, const char *driver);

/* Can VFIO map memory for devices: is the type 1 or the sPAPR backend there, or iommufd? @dev_fd
 * may be -1. */
bool kernel_module_has_backend(int sysfs_fd, int dev_fd);

/* Let modprobe load @module (a module or an alias), and wait for it. The error says why it was not
 * loaded. */
int kernel_module_load(const char *module, struct err *err);
