/*
 * description: a human-readable description of a device, in Harvester's format.
 *
 * Names come from pci.ids, usb.ids or the device and may hold any bytes; results are valid UTF-8 of
 * at most DESCRIPTION_MAX bytes. A name may be NULL or "". The caller frees all results.
 */
#pragma once

#include <stdint.h>

enum {
	DESCRIPTION_MAX = 1024, /* maxLength in the CRDs; longer ones end in "..." */
	DESCRIPTION_SHORT_MAX =
		72, /* likewise; leaves a terminal room for a table's other columns */
};

struct description_pci {
	uint16_t vendor_id;
	uint16_t device_id;
	uint16_t class_id; /* class and subclass, 0x0302 */
	const char *vendor;
	const char *device;
	const char *class_;
	const char *subclass;
};

/* "<subclass or class>: <vendor> <device>"; missing names become "Class 0302", "Vendor 10de" or
 * "Device 20b0". */
char *description_pci(const struct description_pci *names);

/* The same in at most DESCRIPTION_SHORT_MAX bytes. */
char *description_short(const char *description);

struct description_usb {
	uint16_t vendor_id;
	uint16_t product_id;
	const char *vendor;         /* from usb.ids */
	const char *product;        /* from usb.ids */
	const char *product_string; /* the device's own string, from sysfs */
};

/* "<product> (<vendor>)", "Unknown (<vendor>)" or "Unknown 0951:1666", then " [<product string>]"
 * if there is one. */
char *description_usb(const struct description_usb *names);

/* The class in words: the device's, or its first interface's if @device_class is 0. "Unknown
 * (0x42)" for an undefined class, "" if the class is not known (< 0). */
char *description_usb_class(int device_class, int interface_class);
