/* usbdevice: USBDevice of devices.harvesterhci.io/v1beta1. The fields up to message are
 * Harvester's; the others are ours and optional. */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"
#include "api/pcidevice.h"

struct usbdevice_interface {
	char *class_; /* two lower-case hex digits, like the next two */
	char *subclass;
	char *protocol;
	char *driver;
};

struct usbdevice_interfaces {
	struct usbdevice_interface *items;
	size_t len;
	size_t cap;
};

struct usbdevice_status {
	char *vendor_id; /* four lower-case hex digits; "vendorID" in JSON */
	char *product_id;
	char *node_name;
	char *resource_name; /* "kubevirt.io/<object name>" */
	char *device_path;   /* "/dev/bus/usb/001/002" */
	char *description;   /* description.h */
	char *pci_address;   /* of the controller */
	char *class_type;    /* description.h */
	bool enabled;
	char *status; /* NULL or "orphaned" */
	char *message;

	char *port_path; /* "1-2.3" */
	char *serial_number;
	int speed_mbps;
	bool hub;
	struct usbdevice_interfaces interfaces;
	char *holder; /* what uses it, in words */
	struct pcidevice_allocations allocations;
	struct api_conditions conditions;
};

struct usbdevice {
	struct api_meta meta;
	struct usbdevice_status status;
};

extern const struct json_row usbdevice_status_map[];
extern const struct api_kind usbdevice_kind;
