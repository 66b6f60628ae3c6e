/* usbdeviceclaim: USBDeviceClaim of devices.harvesterhci.io/v1beta1. */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

struct usbdeviceclaim_spec {
	char *user_name;
};

struct usbdeviceclaim_status {
	char *node_name;
	char *pci_address;
	/* Identifies the device across re-enumeration; NULL port_path: not known yet. */
	char *port_path; /* "1-2.3" */
	char *vendor_id;
	char *product_id;
	char *serial_number; /* NULL: it has none */
	char *holder;        /* what prevents its release */
	int64_t observed_generation;
	struct api_conditions conditions;
};

struct usbdeviceclaim {
	struct api_meta meta;
	struct usbdeviceclaim_spec spec;
	struct usbdeviceclaim_status status;
};

/* True if the claim's device is offered to pods, even with problems: the device is identified
 * and the claim has our finalizer. */
bool usbdeviceclaim_is_offered(const struct usbdeviceclaim *claim);

/* True if the claim names a device but was refused so far. */
bool usbdeviceclaim_waits(const struct usbdeviceclaim *claim);

extern const struct json_row usbdeviceclaim_status_map[];
extern const struct api_kind usbdeviceclaim_kind;
