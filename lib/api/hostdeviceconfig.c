#include "api/hostdeviceconfig.h"

#include "api/names.h"

#define DRA    struct hostdeviceconfig_dra
#define PCI    struct hostdeviceconfig_pci
#define SELECT struct hostdeviceconfig_usb_selector
#define USB    struct hostdeviceconfig_usb
#define MDEV   struct hostdeviceconfig_mdev
#define NTYPES struct hostdeviceconfig_node_types
#define TYPES  struct hostdeviceconfig_mdev_types
#define NODE   struct hostdeviceconfig_generic
#define OWNER  struct hostdeviceconfig_owner
#define SOCKET struct hostdeviceconfig_socket
#define FD     struct hostdeviceconfig_iommufd
#define NVIDIA struct hostdeviceconfig_nvidia
#define SPEC   struct hostdeviceconfig_spec
#define ENTRY  struct hostdeviceconfig_entry
#define NSTATE struct hostdeviceconfig_node
#define STATUS struct hostdeviceconfig_status

static const struct json_row dra_map[] = {
	JSON_STR(DRA, mode, "mode", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row pci_map[] = {
	JSON_STR(PCI, resource_name, "resourceName", JSON_ALWAYS),
	JSON_STR(PCI, pci_vendor_selector, "pciVendorSelector", JSON_ALWAYS),
	JSON_BOOL(PCI, external_resource_provider, "externalResourceProvider", JSON_OPTIONAL),
	JSON_STRUCT(PCI, dra, "dra", JSON_OPTIONAL, DRA, dra_map),
	JSON_END,
};

static const struct json_row selector_map[] = {
	JSON_STR(SELECT, vendor, "vendor", JSON_ALWAYS),
	JSON_STR(SELECT, product, "product", JSON_ALWAYS),
	JSON_STR(SELECT, serial, "serial", JSON_OPTIONAL),
	JSON_STR(SELECT, port_path, "portPath", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row usb_map[] = {
	JSON_STR(USB, resource_name, "resourceName", JSON_ALWAYS),
	JSON_LIST(USB, selectors, "selectors", JSON_ALWAYS, SELECT, selector_map),
	JSON_BOOL(USB, external_resource_provider, "externalResourceProvider", JSON_OPTIONAL),
	JSON_STRUCT(USB, dra, "dra", JSON_OPTIONAL, DRA, dra_map),
	JSON_END,
};

static const struct json_row mdev_map[] = {
	JSON_STR(MDEV, resource_name, "resourceName", JSON_ALWAYS),
	JSON_STR(MDEV, mdev_name_selector, "mdevNameSelector", JSON_ALWAYS),
	JSON_BOOL(MDEV, external_resource_provider, "externalResourceProvider", JSON_OPTIONAL),
	JSON_STRUCT(MDEV, dra, "dra", JSON_OPTIONAL, DRA, dra_map),
	JSON_END,
};

static const struct json_row node_types_map[] = {
	JSON_PAIRS(NTYPES, node_selector, "nodeSelector", JSON_OPTIONAL),
	JSON_STRS(NTYPES, types, "mediatedDeviceTypes", JSON_OPTIONAL),
	JSON_STRS(NTYPES, old_types, "mediatedDevicesTypes", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row types_map[] = {
	JSON_BOOL_ON(TYPES, enabled, "enabled", JSON_OPTIONAL),
	JSON_STRS(TYPES, types, "mediatedDeviceTypes", JSON_OPTIONAL),
	JSON_STRS(TYPES, old_types, "mediatedDevicesTypes", JSON_OPTIONAL),
	JSON_LIST(TYPES, nodes, "nodeMediatedDeviceTypes", JSON_OPTIONAL, NTYPES, node_types_map),
	JSON_END,
};

static const struct json_row generic_map[] = {
	JSON_STR(NODE, resource_name, "resourceName", JSON_ALWAYS),
	JSON_STR(NODE, path, "path", JSON_ALWAYS),
	JSON_STR(NODE, container_path, "containerPath", JSON_OPTIONAL),
	JSON_INT(NODE, count, "count", JSON_OPTIONAL),
	JSON_STR(NODE, permissions, "permissions", JSON_OPTIONAL),
	JSON_BOOL(NODE, pre_open, "preOpen", JSON_OPTIONAL),
	JSON_BOOL(NODE, allow_host_critical, "allowHostCritical", JSON_OPTIONAL),
	JSON_PAIRS(NODE, node_selector, "nodeSelector", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row owner_map[] = {
	JSON_INT_OR(OWNER, uid, "uid", JSON_OPTIONAL, -1),
	JSON_INT_OR(OWNER, gid, "gid", JSON_OPTIONAL, -1),
	JSON_END,
};

static const struct json_row socket_map[] = {
	JSON_STR(SOCKET, resource_name, "resourceName", JSON_ALWAYS),
	JSON_STR(SOCKET, socket_path, "socketPath", JSON_ALWAYS),
	JSON_INT(SOCKET, count, "count", JSON_OPTIONAL),
	JSON_STR(SOCKET, count_from_misc, "countFromMisc", JSON_OPTIONAL),
	JSON_BOOL(SOCKET, optional, "optional", JSON_OPTIONAL),
	JSON_STRUCT(SOCKET, owner, "owner", JSON_OPTIONAL, OWNER, owner_map),
	JSON_STR(SOCKET, selinux_label, "seLinuxLabel", JSON_OPTIONAL),
	JSON_PAIRS(SOCKET, node_selector, "nodeSelector", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row iommufd_map[] = {
	JSON_BOOL(FD, enabled, "enabled", JSON_OPTIONAL),
	JSON_STR(FD, resource_name, "resourceName", JSON_OPTIONAL),
	JSON_INT(FD, count, "count", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row nvidia_map[] = {
	JSON_STR(NVIDIA, config, "config", JSON_ALWAYS),
	JSON_PAIRS(NVIDIA, node_selector, "nodeSelector", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row spec_map[] = {
	JSON_LIST(SPEC, pci_host_devices, "pciHostDevices", JSON_OPTIONAL, PCI, pci_map),
	JSON_LIST(SPEC, usb, "usb", JSON_OPTIONAL, USB, usb_map),
	JSON_LIST(SPEC, mediated_devices, "mediatedDevices", JSON_OPTIONAL, MDEV, mdev_map),
	JSON_STRUCT(SPEC, mediated_devices_configuration, "mediatedDevicesConfiguration",
		    JSON_OPTIONAL, TYPES, types_map),
	JSON_LIST(SPEC, generic_devices, "genericDevices", JSON_OPTIONAL, NODE, generic_map),
	JSON_LIST(SPEC, socket_devices, "socketDevices", JSON_OPTIONAL, SOCKET, socket_map),
	JSON_STRUCT(SPEC, iommufd, "iommufd", JSON_OPTIONAL, FD, iommufd_map),
	JSON_LIST(SPEC, nvidia, "nvidia", JSON_OPTIONAL, NVIDIA, nvidia_map),
	JSON_END,
};

static const struct json_row entry_map[] = {
	JSON_STR(ENTRY, list, "list", JSON_OPTIONAL),
	JSON_INT_OR(ENTRY, index, "index", JSON_OPTIONAL, -1),
	JSON_STR(ENTRY, resource_name, "resourceName", JSON_OPTIONAL),
	JSON_STR(ENTRY, reason, "reason", JSON_OPTIONAL),
	JSON_STR(ENTRY, message, "message", JSON_OPTIONAL),
	JSON_END,
};

const struct json_row hostdeviceconfig_node_map[] = {
	JSON_STR(NSTATE, node, "node", JSON_ALWAYS),
	JSON_INT(NSTATE, observed_generation, "observedGeneration", JSON_OPTIONAL),
	JSON_LIST(NSTATE, entries, "entries", JSON_OPTIONAL, ENTRY, entry_map),
	JSON_END,
};

const struct json_row hostdeviceconfig_status_map[] = {
	JSON_INT(STATUS, observed_generation, "observedGeneration", JSON_OPTIONAL),
	JSON_LIST(STATUS, entries, "entries", JSON_OPTIONAL, ENTRY, entry_map),
	JSON_LIST(STATUS, nodes, "nodes", JSON_OPTIONAL, NSTATE, hostdeviceconfig_node_map),
	API_CONDITIONS(STATUS),
	JSON_END,
};

static const struct json_row map[] = {
	API_META(struct hostdeviceconfig),
	JSON_STRUCT(struct hostdeviceconfig, spec, "spec", JSON_OPTIONAL, SPEC, spec_map),
	JSON_STRUCT(struct hostdeviceconfig, status, "status", JSON_OPTIONAL, STATUS,
		    hostdeviceconfig_status_map),
	JSON_END,
};

const struct api_kind hostdeviceconfig_kind = {
	.group = NAMES_OWN_GROUP,
	.version = NAMES_OWN_VERSION,
	.kind = "HostDeviceConfig",
	.plural = "hostdeviceconfigs",
	.size = sizeof(struct hostdeviceconfig),
	.map = map,
};

const char *hostdeviceconfig_iommufd_resource(const struct hostdeviceconfig_iommufd *iommufd)
{
	return iommufd->resource_name ? iommufd->resource_name : "devices.kubevirt.io/iommufd";
}
