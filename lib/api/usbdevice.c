#include "api/usbdevice.h"

#include "api/names.h"

#define I struct usbdevice_interface
static const struct json_row interface_map[] = {
	JSON_STR(I, class_, "class", JSON_ALWAYS),
	JSON_STR(I, subclass, "subclass", JSON_ALWAYS),
	JSON_STR(I, protocol, "protocol", JSON_ALWAYS),
	JSON_STR(I, driver, "driver", JSON_OPTIONAL),
	JSON_END,
};
#undef I

/* clang-format off */
#define S struct usbdevice_status
const struct json_row usbdevice_status_map[] = {
	JSON_STR (S, vendor_id,     "vendorID",     JSON_ALWAYS),
	JSON_STR (S, product_id,    "productID",    JSON_ALWAYS),
	JSON_STR (S, node_name,     "nodeName",     JSON_ALWAYS),
	JSON_STR (S, resource_name, "resourceName", JSON_ALWAYS),
	JSON_STR (S, device_path,   "devicePath",   JSON_ALWAYS),
	JSON_STR (S, description,   "description",  JSON_ALWAYS),
	JSON_STR (S, pci_address,   "pciAddress",   JSON_ALWAYS),
	JSON_STR (S, class_type,    "classType",    JSON_ALWAYS),
	JSON_BOOL(S, enabled,       "enabled",      JSON_ALWAYS),
	JSON_STR (S, status,        "status",       JSON_OPTIONAL),
	JSON_STR (S, message,       "message",      JSON_OPTIONAL),

	JSON_STR (S, port_path,     "portPath",     JSON_OPTIONAL),
	JSON_STR (S, serial_number, "serialNumber", JSON_OPTIONAL),
	JSON_INT (S, speed_mbps,    "speedMbps",    JSON_OPTIONAL),
	JSON_BOOL(S, hub,           "hub",          JSON_OPTIONAL),
	JSON_LIST(S, interfaces,    "interfaces",   JSON_OPTIONAL, struct usbdevice_interface,
		  interface_map),
	JSON_STR (S, holder,        "holder",       JSON_OPTIONAL),
	JSON_LIST(S, allocations,   "allocations",  JSON_OPTIONAL, struct pcidevice_allocation,
		  pcidevice_allocation_map),
	API_CONDITIONS(S),
	JSON_END,
};
#undef S
/* clang-format on */

static const struct json_row map[] = {
	API_META(struct usbdevice),
	JSON_STRUCT(struct usbdevice, status, "status", JSON_OPTIONAL, struct usbdevice_status,
		    usbdevice_status_map),
	JSON_END,
};

const struct api_kind usbdevice_kind = {
	.group = NAMES_GROUP,
	.version = NAMES_VERSION,
	.kind = "USBDevice",
	.plural = "usbdevices",
	.size = sizeof(struct usbdevice),
	.map = map,
};
