/* vgpudevice: VGPUDevice of devices.harvesterhci.io/v1beta1. The spec and the first four status
 * fields are Harvester's; the others are ours and optional. */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

#define VGPUDEVICE_CONFIGURED "vGPUConfigured"

struct vgpudevice_spec {
	char *type_name; /* "NVIDIA A2-4C" */
	char *address;
	bool enabled;
	char *node_name;
	char *parent_address; /* address of the card */
};

struct vgpudevice_status {
	char *status; /* VGPUDEVICE_CONFIGURED, or NULL */
	char *uuid;   /* UUID of the mediated device, or the type's number */
	char *type_name;
	struct json_pairs available_types; /* name -> id */
	int64_t observed_generation;
	char *managed_type; /* id of the type that we created or adopted; NULL: none */
	struct api_conditions conditions;
};

struct vgpudevice {
	struct api_meta meta;
	struct vgpudevice_spec spec;
	struct vgpudevice_status status;
};

extern const struct json_row vgpudevice_status_map[];
extern const struct api_kind vgpudevice_kind;
