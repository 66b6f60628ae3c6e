#include "controller/cache/view_kinds.h"

#include "api/devicepool.h"
#include "api/hostdeviceconfig.h"
#include "api/json_map.h"
#include "api/mediateddevice.h"
#include "api/mediateddeviceparent.h"
#include "api/migconfiguration.h"
#include "api/names.h"
#include "api/node.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "api/virtualmachine.h"
#include "controller/cache/view.h"

/* --- rows --------------------------------------------------------------------------------------- */

#define S struct owned_spec
static const struct json_row claim_spec_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, user, "userName", JSON_OPTIONAL),
	JSON_BOOL(S, disable_resource_pooling, "disableResourcePooling", JSON_OPTIONAL),
	JSON_BOOL(S, include_iommu_group, "includeIOMMUGroup", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row card_spec_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, address, "address", JSON_OPTIONAL),
	JSON_STR(S, parent, "parentGPUDeviceAddress", JSON_OPTIONAL),
	JSON_BOOL(S, enabled, "enabled", JSON_OPTIONAL),
	JSON_INT(S, num_vfs, "numVFs", JSON_OPTIONAL),
	JSON_END,
};
#undef S

#define S struct owned_status
#define ALLOCATIONS                                                                          \
	JSON_LIST(S, allocations, "allocations", JSON_OPTIONAL, struct pcidevice_allocation, \
		  pcidevice_allocation_map)
static const struct json_row pci_status_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, resource_name, "resourceName", JSON_OPTIONAL),
	JSON_STR(S, address, "address", JSON_OPTIONAL),
	JSON_STR(S, group, "iommuGroup", JSON_OPTIONAL),
	JSON_STR(S, driver, "kernelDriverInUse", JSON_OPTIONAL),
	JSON_STR(S, parent, "physicalFunction", JSON_OPTIONAL),
	JSON_STR(S, class_id, "classId", JSON_OPTIONAL),
	JSON_STR(S, vendor_id, "vendorId", JSON_OPTIONAL),
	JSON_STR(S, device_id, "deviceId", JSON_OPTIONAL),
	JSON_INT(S, total_vfs, "totalVFs", JSON_OPTIONAL),
	JSON_STRS(S, members, "iommuGroupMembers", JSON_OPTIONAL),
	ALLOCATIONS,
	API_CONDITIONS(S),
	JSON_END,
};

static const struct json_row usb_status_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, resource_name, "resourceName", JSON_OPTIONAL),
	JSON_STR(S, address, "pciAddress", JSON_OPTIONAL),
	JSON_STR(S, port, "portPath", JSON_OPTIONAL),
	JSON_STR(S, usb_vendor_id, "vendorID", JSON_OPTIONAL),
	JSON_STR(S, usb_product_id, "productID", JSON_OPTIONAL),
	ALLOCATIONS,
	API_CONDITIONS(S),
	JSON_END,
};

static const struct json_row mediated_status_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, resource_name, "resourceName", JSON_OPTIONAL),
	JSON_STR(S, type_name, "typeName", JSON_OPTIONAL),
	JSON_STR(S, parent, "pciAddress", JSON_OPTIONAL),
	ALLOCATIONS,
	JSON_END,
};

static const struct json_row claim_status_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, address, "pciAddress", JSON_OPTIONAL),
	JSON_STR(S, port, "portPath", JSON_OPTIONAL),
	JSON_STR(S, usb_vendor_id, "vendorID", JSON_OPTIONAL),
	JSON_STR(S, usb_product_id, "productID", JSON_OPTIONAL),
	API_CONDITIONS(S),
	JSON_END,
};
#undef ALLOCATIONS
#undef S

#define STATUS(map_) \
	JSON_STRUCT(struct owned, status, "status", JSON_OPTIONAL, struct owned_status, map_)
#define SPEC(map_) JSON_STRUCT(struct owned, spec, "spec", JSON_OPTIONAL, struct owned_spec, map_)
static const struct json_row pci_map[] = {
	API_META(struct owned),
	STATUS(pci_status_map),
	JSON_END,
};

static const struct json_row usb_map[] = {
	API_META(struct owned),
	STATUS(usb_status_map),
	JSON_END,
};

static const struct json_row mediated_map[] = {
	API_META(struct owned),
	STATUS(mediated_status_map),
	JSON_END,
};

static const struct json_row card_map[] = {
	API_META(struct owned),
	SPEC(card_spec_map),
	JSON_END,
};

static const struct json_row claim_map[] = {
	API_META(struct owned),
	SPEC(claim_spec_map),
	STATUS(claim_status_map),
	JSON_END,
};
#undef SPEC
#undef STATUS

static const struct json_row seen_status_map[] = {
	API_CONDITIONS(struct seen_status),
	JSON_END,
};

static const struct json_row node_status_map[] = {
	API_CONDITIONS(struct seen_status),
	JSON_PAIRS(struct seen_status, allocatable, "allocatable", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row seen_node_map[] = {
	API_META(struct seen_node),
	JSON_STRUCT(struct seen_node, status, "status", JSON_OPTIONAL, struct seen_status,
		    node_status_map),
	JSON_END,
};

static const struct json_row seen_pod_spec_map[] = {
	JSON_STR(struct seen_pod_spec, node_name, "nodeName", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row seen_pod_map[] = {
	API_META(struct seen_pod),
	JSON_STRUCT(struct seen_pod, spec, "spec", JSON_OPTIONAL, struct seen_pod_spec,
		    seen_pod_spec_map),
	JSON_STRUCT(struct seen_pod, status, "status", JSON_OPTIONAL, struct seen_status,
		    seen_status_map),
	JSON_END,
};

/* --- kinds -------------------------------------------------------------------------------------- */

/* clang-format off */
#define OURS(kind_, plural_, map_, digest_)                                                 \
	{ .group = NAMES_GROUP, .version = NAMES_VERSION, .kind = (kind_), .plural = (plural_), \
	  .size = sizeof(struct owned), .map = (map_), .digest = (digest_) }
#define OWN(kind_, plural_, map_, digest_)                                                          \
	{ .group = NAMES_OWN_GROUP, .version = NAMES_OWN_VERSION, .kind = (kind_), .plural = (plural_), \
	  .size = sizeof(struct owned), .map = (map_), .digest = (digest_) }

static const struct api_kind kinds[VIEW_KINDS] = {
	[VIEW_PCIDEVICE] = OURS("PCIDevice", "pcidevices", pci_map, view_of_pcidevice),
	[VIEW_USBDEVICE] = OURS("USBDevice", "usbdevices", usb_map, view_of_device),
	[VIEW_MEDIATEDDEVICE] = OWN("MediatedDevice", "mediateddevices", mediated_map, view_of_device),
	[VIEW_PARENT] = OWN("MediatedDeviceParent", "mediateddeviceparents", mediated_map, view_of_owned),
	[VIEW_NIC] = OURS("SRIOVNetworkDevice", "sriovnetworkdevices", card_map, view_of_owned),
	[VIEW_GPU] = OURS("SRIOVGPUDevice", "sriovgpudevices", card_map, view_of_owned),
	[VIEW_VGPU] = OURS("VGPUDevice", "vgpudevices", card_map, view_of_owned),
	[VIEW_MIG] = OURS("MigConfiguration", "migconfigurations", card_map, view_of_owned),
	[VIEW_PCICLAIM] = OURS("PCIDeviceClaim", "pcideviceclaims", claim_map, view_of_pciclaim),
	[VIEW_USBCLAIM] = OURS("USBDeviceClaim", "usbdeviceclaims", claim_map, view_of_usbclaim),
	[VIEW_NODE] = { .group = "", .version = "v1", .kind = "Node", .plural = "nodes",
			.size = sizeof(struct seen_node), .map = seen_node_map, .digest = view_of_node },
	[VIEW_AGENT] = { .group = "", .version = "v1", .kind = "Pod", .plural = "pods", .ns = NAMES_NAMESPACE,
			 .size = sizeof(struct seen_pod), .map = seen_pod_map, .digest = view_of_agent },
	[VIEW_POOL] = { .group = NAMES_OWN_GROUP, .version = NAMES_OWN_VERSION, .kind = "DevicePool",
			.plural = "devicepools", .size = sizeof(struct devicepool), .digest = view_of_pool },
};
/* clang-format on */

static const struct api_kind *const whole[VIEW_KINDS] = {
	[VIEW_PCIDEVICE] = &pcidevice_kind,
	[VIEW_USBDEVICE] = &usbdevice_kind,
	[VIEW_MEDIATEDDEVICE] = &mediateddevice_kind,
	[VIEW_PARENT] = &mediateddeviceparent_kind,
	[VIEW_NIC] = &sriovnetworkdevice_kind,
	[VIEW_GPU] = &sriovgpudevice_kind,
	[VIEW_VGPU] = &vgpudevice_kind,
	[VIEW_MIG] = &migconfiguration_kind,
	[VIEW_PCICLAIM] = &pcideviceclaim_kind,
	[VIEW_USBCLAIM] = &usbdeviceclaim_kind,
	[VIEW_NODE] = &node_kind,
	[VIEW_POOL] = &devicepool_kind,
	[VIEW_CONFIG] = &hostdeviceconfig_kind,
	[VIEW_VM] = &virtualmachine_kind,
};

struct api_kind view_kind(enum view_kind kind)
{
	bool is_whole = kind == VIEW_VM || kind == VIEW_CONFIG;
	struct api_kind copy = is_whole ? *whole[kind] : kinds[kind];

	if (kind == VIEW_POOL)
		copy.map = devicepool_kind.map;
	return copy;
}

const struct api_kind *view_whole(enum view_kind kind)
{
	return whole[kind];
}
