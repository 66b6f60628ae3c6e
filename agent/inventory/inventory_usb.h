/* inventory_usb: one USBDevice from what the scan found of one device. */
#pragma once

#include <stdint.h>

struct facts;
struct id_names;
struct usb_facts;
struct usbdevice;
struct verdict;

struct inventory_usb_source {
	const char *node_name;
	const struct usb_facts *usb;
	const struct facts *facts; /* for the uses of the device */
	const struct id_names *names;
	const struct verdict *verdict;
};

/* The caller frees with api_object_free. */
struct usbdevice *inventory_usb_object(const struct inventory_usb_source *source,
				       int64_t now_wall_ms);

/* Give it another name, and the resource that goes with it. */
void inventory_usb_rename(struct usbdevice *device, const char *name);
