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
	int64_t observed_generation;
	struct api_conditions conditions;
};

struct usbdeviceclaim {
	struct api_meta meta;
	struct usbdeviceclaim_spec spec;
	struct usbdeviceclaim_status status;
};

extern const struct json_row usbdeviceclaim_status_map[];
extern const struct api_kind usbdeviceclaim_kind;
