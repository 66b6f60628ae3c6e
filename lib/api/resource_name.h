/*
 * resource_name: the extended resource that a PCI device counts as, by Harvester's rule.
 *
 * The names come from pci.ids and may hold any bytes; NULL or "" means that pci.ids has none. Where
 * Harvester's rule would give a name that Kubernetes refuses, the nearest valid one comes out
 * (names_valid_resource), so the result is always usable.
 */
#pragma once

#include <stdint.h>

/* "nvidia.com/GA100_A100_SXM4_40GB"; "<vendor>.com/20b0" for a product without a name, or with one
 * that would not fit into a socket path. The caller frees. */
char *resource_name_pci(const char *vendor, const char *product, uint16_t device_id);

/* "kubevirt.io/<name of the USBDevice>", where a name over 63 bytes is cut as in names.h. The
 * caller frees. */
char *resource_name_usb(const char *usbdevice_name);
