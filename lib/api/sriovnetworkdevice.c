#include "api/sriovnetworkdevice.h"

#include "api/names.h"

#define V struct sriovnetworkdevice_vf
static const struct json_row vf_map[] = {
	JSON_INT(V, index, "index", JSON_REQUIRED),
	JSON_STR(V, mac_address, "macAddress", JSON_OPTIONAL),
	JSON_INT_OR(V, vlan, "vlan", JSON_OPTIONAL, -1),
	JSON_INT_OR(V, qos, "qos", JSON_OPTIONAL, -1),
	JSON_STR(V, trust, "trust", JSON_OPTIONAL),
	JSON_STR(V, spoof_check, "spoofCheck", JSON_OPTIONAL),
	JSON_END,
};
#undef V

#define S struct sriovnetworkdevice_spec
static const struct json_row spec_map[] = {
	JSON_STR(S, address, "address", JSON_OPTIONAL),
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_INT(S, num_vfs, "numVFs", JSON_ALWAYS),
	JSON_BOOL(S, drivers_autoprobe, "driversAutoprobe", JSON_OPTIONAL),
	JSON_LIST(S, virtual_functions, "virtualFunctions", JSON_OPTIONAL,
		  struct sriovnetworkdevice_vf, vf_map),
	JSON_END,
};
#undef S

#define S struct sriovnetworkdevice_status
const struct json_row sriovnetworkdevice_status_map[] = {
	JSON_STRS(S, vf_addresses, "vfAddresses", JSON_OPTIONAL),
	JSON_STRS(S, vf_pci_devices, "vfPCIDevices", JSON_OPTIONAL),
	JSON_STR(S, status, "status", JSON_ALWAYS),
	JSON_INT(S, observed_generation, "observedGeneration", JSON_OPTIONAL),
	JSON_STR(S, address, "address", JSON_OPTIONAL),
	JSON_STR(S, device, "device", JSON_OPTIONAL),
	JSON_STR(S, serial_number, "serialNumber", JSON_OPTIONAL),
	API_CONDITIONS(S),
	JSON_END,
};
#undef S

static const struct json_row map[] = {
	API_META(struct sriovnetworkdevice),
	JSON_STRUCT(struct sriovnetworkdevice, spec, "spec", JSON_OPTIONAL,
		    struct sriovnetworkdevice_spec, spec_map),
	JSON_STRUCT(struct sriovnetworkdevice, status, "status", JSON_OPTIONAL,
		    struct sriovnetworkdevice_status, sriovnetworkdevice_status_map),
	JSON_END,
};

const struct api_kind sriovnetworkdevice_kind = {
	.group = NAMES_GROUP,
	.version = NAMES_VERSION,
	.kind = "SRIOVNetworkDevice",
	.plural = "sriovnetworkdevices",
	.size = sizeof(struct sriovnetworkdevice),
	.map = map,
};
