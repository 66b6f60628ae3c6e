#include "api/sriovgpudevice.h"

#include "api/names.h"

#define S struct sriovgpudevice_spec
static const struct json_row spec_map[] = {
	JSON_STR(S, address, "address", JSON_OPTIONAL),
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_BOOL(S, enabled, "enabled", JSON_ALWAYS),
	JSON_END,
};
#undef S

#define S struct sriovgpudevice_status
const struct json_row sriovgpudevice_status_map[] = {
	JSON_STRS(S, vf_addresses, "vfAddresses", JSON_ALWAYS),
	JSON_STRS(S, vgpu_devices, "vGPUDevices", JSON_ALWAYS),
	JSON_INT(S, observed_generation, "observedGeneration", JSON_OPTIONAL),
	JSON_BOOL(S, managed, "managed", JSON_OPTIONAL),
	API_CONDITIONS(S),
	JSON_END,
};
#undef S

static const struct json_row map[] = {
	API_META(struct sriovgpudevice),
	JSON_STRUCT(struct sriovgpudevice, spec, "spec", JSON_OPTIONAL, struct sriovgpudevice_spec,
		    spec_map),
	JSON_STRUCT(struct sriovgpudevice, status, "status", JSON_OPTIONAL,
		    struct sriovgpudevice_status, sriovgpudevice_status_map),
	JSON_END,
};

const struct api_kind sriovgpudevice_kind = {
	.group = NAMES_GROUP,
	.version = NAMES_VERSION,
	.kind = "SRIOVGPUDevice",
	.plural = "sriovgpudevices",
	.size = sizeof(struct sriovgpudevice),
	.map = map,
};
