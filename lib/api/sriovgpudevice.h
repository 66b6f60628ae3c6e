/* sriovgpudevice: SRIOVGPUDevice of devices.harvesterhci.io/v1beta1. The spec and the first two
 * status fields are Harvester's; the others are ours and optional. */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

struct sriovgpudevice_spec {
	char *address;
	char *node_name;
	bool enabled;
};

struct sriovgpudevice_status {
	struct json_strs vf_addresses;
	struct json_strs vgpu_devices; /* names of VGPUDevices */
	int64_t observed_generation;
	bool managed; /* we created or adopted the virtual functions */
	struct api_conditions conditions;
};

struct sriovgpudevice {
	struct api_meta meta;
	struct sriovgpudevice_spec spec;
	struct sriovgpudevice_status status;
};

extern const struct json_row sriovgpudevice_status_map[];
extern const struct api_kind sriovgpudevice_kind;
