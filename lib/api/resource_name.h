/*
 * resource_name: the extended resource of a PCI device by Harvester's rule.
 *
 * The names come from pci.ids and may hold any bytes; NULL or "" means that pci.ids has no name. If
 * Harvester's rule gives a name that Kubernetes refuses, the closest valid one is returned
 * (names_valid_resource), so the result is always usable.
 */
#pragma once

#include <stdint.h>

/* "nvidia.com/GA100_A100_SXM4_40GB"; "<vendor>.com/20b0" if the product has no name or the name
 * does not fit into a socket path. The caller frees it. */
char *resource_name_pci(const char *vendor, const char *product, uint16_t device_id);

/* "kubevirt.io/<name of the USBDevice>"; a name over 63 bytes is cut as in names.h. The caller
 * frees it. */
char *resource_name_usb(const char *usbdevice_name);
