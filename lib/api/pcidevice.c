#include "api/pcidevice.h"

#include "api/names.h"

/* clang-format off */
#define S struct pcidevice_allocation
const struct json_row pcidevice_allocation_map[] = {
	JSON_STR (S, namespace,            "namespace",          JSON_OPTIONAL),
	JSON_STR (S, pod,                  "pod",                JSON_OPTIONAL),
	JSON_STR (S, container,            "container",          JSON_OPTIONAL),
	JSON_STR (S, resource_claim,       "resourceClaim",      JSON_OPTIONAL),
	JSON_END,
};
#undef S

#define S struct pcidevice_status
const struct json_row pcidevice_status_map[] = {
	JSON_STR (S, address,              "address",            JSON_ALWAYS),
	JSON_STR (S, vendor_id,            "vendorId",           JSON_ALWAYS),
	JSON_STR (S, device_id,            "deviceId",           JSON_ALWAYS),
	JSON_STR (S, class_id,             "classId",            JSON_ALWAYS),
	JSON_STR (S, iommu_group,          "iommuGroup",         JSON_ALWAYS),
	JSON_STR (S, node_name,            "nodeName",           JSON_ALWAYS),
	JSON_STR (S, resource_name,        "resourceName",       JSON_ALWAYS),
	JSON_STR (S, description,          "description",        JSON_ALWAYS),
	JSON_STR (S, kernel_driver_in_use, "kernelDriverInUse",  JSON_OPTIONAL),

	JSON_STR (S, short_description,    "shortDescription",   JSON_OPTIONAL),
	JSON_INT_OR(S, numa_node,          "numaNode",           JSON_OPTIONAL, -1),
	JSON_STR (S, subsystem_vendor_id,  "subsystemVendorId",  JSON_OPTIONAL),
	JSON_STR (S, subsystem_device_id,  "subsystemDeviceId",  JSON_OPTIONAL),
	JSON_STR (S, revision,             "revision",           JSON_OPTIONAL),
	JSON_STRS(S, bridges,              "bridges",            JSON_OPTIONAL),
	JSON_STRS(S, iommu_group_members,  "iommuGroupMembers",  JSON_OPTIONAL),
	JSON_STR (S, role,                 "role",               JSON_OPTIONAL),
	JSON_STR (S, physical_function,    "physicalFunction",   JSON_OPTIONAL),
	JSON_INT (S, total_vfs,            "totalVFs",           JSON_OPTIONAL),
	JSON_INT (S, num_vfs,              "numVFs",             JSON_OPTIONAL),
	JSON_STR (S, serial_number,        "serialNumber",       JSON_OPTIONAL),
	JSON_STRS(S, reset_methods,        "resetMethods",       JSON_OPTIONAL),
	JSON_BOOL(S, boot_vga,             "bootVGA",            JSON_OPTIONAL),
	JSON_LIST(S, allocations,          "allocations",        JSON_OPTIONAL,
		  struct pcidevice_allocation, pcidevice_allocation_map),
	API_CONDITIONS(S),
	JSON_END,
};
#undef S
/* clang-format on */

static const struct json_row map[] = {
	API_META(struct pcidevice),
	JSON_STRUCT(struct pcidevice, status, "status", JSON_OPTIONAL, struct pcidevice_status,
		    pcidevice_status_map),
	JSON_END,
};

const struct api_kind pcidevice_kind = {
	.group = NAMES_GROUP,
	.version = NAMES_VERSION,
	.kind = "PCIDevice",
	.plural = "pcidevices",
	.size = sizeof(struct pcidevice),
	.map = map,
};
