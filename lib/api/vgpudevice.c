#include "api/vgpudevice.h"

#include "api/names.h"

#define S struct vgpudevice_spec
static const struct json_row spec_map[] = {
	JSON_STR(S, type_name, "vGPUTypeName", JSON_OPTIONAL),
	JSON_STR(S, address, "address", JSON_OPTIONAL),
	JSON_BOOL(S, enabled, "enabled", JSON_ALWAYS),
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, parent_address, "parentGPUDeviceAddress", JSON_OPTIONAL),
	JSON_END,
};
#undef S

#define S struct vgpudevice_status
const struct json_row vgpudevice_status_map[] = {
	JSON_STR(S, status, "vGPUStatus", JSON_ALWAYS),
	JSON_STR(S, uuid, "uuid", JSON_ALWAYS),
	JSON_STR(S, type_name, "configureVGPUTypeName", JSON_ALWAYS),
	JSON_PAIRS(S, available_types, "availableTypes", JSON_OPTIONAL),
	JSON_INT(S, observed_generation, "observedGeneration", JSON_OPTIONAL),
	JSON_STR(S, managed_type, "managedType", JSON_OPTIONAL),
	API_CONDITIONS(S),
	JSON_END,
};
#undef S

static const struct json_row map[] = {
	API_META(struct vgpudevice),
	JSON_STRUCT(struct vgpudevice, spec, "spec", JSON_OPTIONAL, struct vgpudevice_spec,
		    spec_map),
	JSON_STRUCT(struct vgpudevice, status, "status", JSON_OPTIONAL, struct vgpudevice_status,
		    vgpudevice_status_map),
	JSON_END,
};

const struct api_kind vgpudevice_kind = {
	.group = NAMES_GROUP,
	.version = NAMES_VERSION,
	.kind = "VGPUDevice",
	.plural = "vgpudevices",
	.size = sizeof(struct vgpudevice),
	.map = map,
};
