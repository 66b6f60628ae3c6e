#include "api/mediateddeviceparent.h"

#include "api/names.h"

/* clang-format off */
#define T struct mediateddeviceparent_type
static const struct json_row type_map[] = {
	JSON_STR (T, id,                  "id",                 JSON_REQUIRED),
	JSON_STR (T, name,                "name",               JSON_OPTIONAL),
	JSON_STR (T, description,         "description",        JSON_OPTIONAL),
	JSON_STR (T, device_api,          "deviceAPI",          JSON_OPTIONAL),
	JSON_INT_OR(T, available_instances, "availableInstances", JSON_OPTIONAL, -1),
	JSON_INT (T, instances,           "instances",          JSON_ALWAYS),
	JSON_END,
};
#undef T

#define S struct mediateddeviceparent_status
const struct json_row mediateddeviceparent_status_map[] = {
	JSON_STR (S, node_name,   "nodeName",   JSON_OPTIONAL),
	JSON_STR (S, parent,      "parent",     JSON_OPTIONAL),
	JSON_STR (S, pci_address, "pciAddress", JSON_OPTIONAL),
	JSON_INT_OR(S, numa_node, "numaNode",   JSON_OPTIONAL, -1),
	JSON_INT (S, instances,   "instances",  JSON_ALWAYS),
	JSON_LIST(S, types,       "types",      JSON_OPTIONAL, struct mediateddeviceparent_type,
		  type_map),
	API_CONDITIONS(S),
	JSON_END,
};
#undef S
/* clang-format on */

static const struct json_row map[] = {
	API_META(struct mediateddeviceparent),
	JSON_STRUCT(struct mediateddeviceparent, status, "status", JSON_OPTIONAL,
		    struct mediateddeviceparent_status, mediateddeviceparent_status_map),
	JSON_END,
};

const struct api_kind mediateddeviceparent_kind = {
	.group = NAMES_OWN_GROUP,
	.version = NAMES_OWN_VERSION,
	.kind = "MediatedDeviceParent",
	.plural = "mediateddeviceparents",
	.size = sizeof(struct mediateddeviceparent),
	.map = map,
};
