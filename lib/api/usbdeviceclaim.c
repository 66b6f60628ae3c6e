#include "api/usbdeviceclaim.h"

#include "api/names.h"

static const struct json_row spec_map[] = {
	JSON_STR(struct usbdeviceclaim_spec, user_name, "userName", JSON_OPTIONAL),
	JSON_END,
};

#define S struct usbdeviceclaim_status
const struct json_row usbdeviceclaim_status_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_ALWAYS),
	JSON_STR(S, pci_address, "pciAddress", JSON_ALWAYS),
	JSON_STR(S, port_path, "portPath", JSON_OPTIONAL),
	JSON_STR(S, vendor_id, "vendorID", JSON_OPTIONAL),
	JSON_STR(S, product_id, "productID", JSON_OPTIONAL),
	JSON_STR(S, serial_number, "serialNumber", JSON_OPTIONAL),
	JSON_STR(S, holder, "holder", JSON_OPTIONAL),
	JSON_INT(S, observed_generation, "observedGeneration", JSON_OPTIONAL),
	API_CONDITIONS(S),
	JSON_END,
};
#undef S

static const struct json_row map[] = {
	API_META(struct usbdeviceclaim),
	JSON_STRUCT(struct usbdeviceclaim, spec, "spec", JSON_OPTIONAL, struct usbdeviceclaim_spec,
		    spec_map),
	JSON_STRUCT(struct usbdeviceclaim, status, "status", JSON_OPTIONAL,
		    struct usbdeviceclaim_status, usbdeviceclaim_status_map),
	JSON_END,
};

const struct api_kind usbdeviceclaim_kind = {
	.group = NAMES_GROUP,
	.version = NAMES_VERSION,
	.kind = "USBDeviceClaim",
	.plural = "usbdeviceclaims",
	.size = sizeof(struct usbdeviceclaim),
	.map = map,
};

/* An accepted claim has its device, even if its finalizer was removed. */
bool usbdeviceclaim_waits(const struct usbdeviceclaim *claim)
{
	return claim->status.port_path &&
	       !api_meta_has_finalizer(&claim->meta, NAMES_FINALIZER_HARVESTER_USB) &&
	       api_conditions_status(&claim->status.conditions, "Accepted") != API_TRUE;
}

bool usbdeviceclaim_is_offered(const struct usbdeviceclaim *claim)
{
	return claim->status.node_name && claim->status.port_path &&
	       api_meta_has_finalizer(&claim->meta, NAMES_FINALIZER_HARVESTER_USB);
}
