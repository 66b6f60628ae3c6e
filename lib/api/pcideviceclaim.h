/* pcideviceclaim: PCIDeviceClaim of devices.harvesterhci.io/v1beta1. */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

struct pcideviceclaim_spec {
	char *address;
	char *node_name;
	char *user_name;
	bool disable_resource_pooling;
};

struct pcideviceclaim_status {
	char *kernel_driver_to_unbind;
	bool passthrough_enabled;
	int64_t observed_generation;
	struct api_conditions conditions;
};

struct pcideviceclaim {
	struct api_meta meta;
	struct pcideviceclaim_spec spec;
	struct pcideviceclaim_status status;
};

extern const struct json_row pcideviceclaim_status_map[];
extern const struct api_kind pcideviceclaim_kind;
