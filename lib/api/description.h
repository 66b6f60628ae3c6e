/*
 * description: what a device is, in words, as Harvester writes it.
 *
 * Names come from pci.ids, usb.ids or the device itself and may hold any bytes (results are clean
 * UTF-8 of at most DESCRIPTION_MAX bytes); NULL or "" means that there is none. All results are the
 * caller's to free.
 */
#pragma once

#include <stdint.h>

enum { DESCRIPTION_MAX = 1024 }; /* as the CRDs have it; longer ones end in "..." */

struct description_pci {
	uint16_t vendor_id;
	uint16_t device_id;
	uint16_t class_id; /* class and subclass, 0x0302 */
	const char *vendor;
	const char *device;
	const char *class_;
	const char *subclass;
};

/* "<subclass or class>: <vendor> <device>", with "Class 0302", "Vendor 10de" or "Device 20b0" for
 * what has no name. */
char *description_pci(const struct description_pci *names);

struct description_usb {
	uint16_t vendor_id;
	uint16_t product_id;
	const char *vendor;         /* from usb.ids                */
	const char *product;        /* from usb.ids                */
	const char *product_string; /* the device's own, in sysfs  */
};

/* "<product> (<vendor>)", "Unknown (<vendor>)" or "Unknown 0951:1666", then " [<product string>]"
 * if there is one. */
char *description_usb(const struct description_usb *names);

/* Class in words: of the device, or of its first interface when @device_class is 0. "Unknown (0x42)" for one that
 * is not defined, "" where the class, or the interface that would say it, is not known (< 0). */
char *description_usb_class(int device_class, int interface_class);
