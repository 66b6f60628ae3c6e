#include "api/mediateddevice.h"

#include <string.h>

#include "api/names.h"

enum { UUID_LEN = 36 };

/* clang-format off */
#define S struct mediateddevice_status
const struct json_row mediateddevice_status_map[] = {
	JSON_STR (S, node_name,          "nodeName",         JSON_OPTIONAL),
	JSON_STR (S, uuid,               "uuid",             JSON_OPTIONAL),
	JSON_STR (S, type,               "type",             JSON_OPTIONAL),
	JSON_STR (S, type_name,          "typeName",         JSON_OPTIONAL),
	JSON_STR (S, device_api,         "deviceAPI",        JSON_OPTIONAL),
	JSON_STR (S, parent,             "parent",           JSON_OPTIONAL),
	JSON_STR (S, pci_address,        "pciAddress",       JSON_OPTIONAL),
	JSON_STR (S, iommu_group,        "iommuGroup",       JSON_OPTIONAL),
	JSON_INT_OR(S, numa_node,        "numaNode",         JSON_OPTIONAL, -1),
	JSON_BOOL(S, created_by_hostdev, "createdByHostdev", JSON_ALWAYS),
	JSON_STR (S, resource_name,      "resourceName",     JSON_OPTIONAL),
	JSON_LIST(S, allocations,        "allocations",      JSON_OPTIONAL,
		  struct pcidevice_allocation, pcidevice_allocation_map),
	JSON_END,
};
#undef S
/* clang-format on */

const char *mediateddevice_uuid_of_name(const char *name)
{
	size_t len = strlen(name);

	return len > UUID_LEN ? name + len - UUID_LEN : "";
}

static const struct json_row map[] = {
	API_META(struct mediateddevice),
	JSON_STRUCT(struct mediateddevice, status, "status", JSON_OPTIONAL,
		    struct mediateddevice_status, mediateddevice_status_map),
	JSON_END,
};

const struct api_kind mediateddevice_kind = {
	.group = NAMES_OWN_GROUP,
	.version = NAMES_OWN_VERSION,
	.kind = "MediatedDevice",
	.plural = "mediateddevices",
	.size = sizeof(struct mediateddevice),
	.map = map,
};
