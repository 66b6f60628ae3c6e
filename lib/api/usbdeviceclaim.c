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
