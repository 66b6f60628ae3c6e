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
	/* Which device it is, however it was enumerated; NULL port_path: not known yet. */
	char *port_path; /* "1-2.3" */
	char *vendor_id;
	char *product_id;
	char *serial_number; /* NULL: it has none                 */
	char *holder;        /* who keeps it from being released  */
	int64_t observed_generation;
	struct api_conditions conditions;
};

struct usbdeviceclaim {
	struct api_meta meta;
	struct usbdeviceclaim_spec spec;
	struct usbdeviceclaim_status status;
};

/* Is its device lent to pods, well or not: is it known which one it is, and the claim marked as ours? */
bool usbdeviceclaim_lends(const struct usbdeviceclaim *claim);

/* Does it say which device it is for without having got it, since that was refused so far? */
bool usbdeviceclaim_waits(const struct usbdeviceclaim *claim);

extern const struct json_row usbdeviceclaim_status_map[];
extern const struct api_kind usbdeviceclaim_kind;
