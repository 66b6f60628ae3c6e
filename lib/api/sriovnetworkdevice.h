/* sriovnetworkdevice: SRIOVNetworkDevice of devices.harvesterhci.io/v1beta1. The first three
 * spec fields and the first three status fields are Harvester's; the others are ours and
 * optional. */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

#define SRIOVNETWORKDEVICE_ENABLED  "sriovNetworkDeviceEnabled"
#define SRIOVNETWORKDEVICE_DISABLED "sriovNetworkDeviceDisabled"

/* Desired settings of one virtual function; -1 or NULL: leave unchanged. */
struct sriovnetworkdevice_vf {
	int index;
	char *mac_address;
	int vlan;
	int qos;
	char *trust;       /* "on", "off" */
	char *spoof_check; /* "on", "off" */
};

struct sriovnetworkdevice_vfs {
	struct sriovnetworkdevice_vf *items;
	size_t len;
	size_t cap;
};

struct sriovnetworkdevice_spec {
	char *address;
	char *node_name;
	int num_vfs;
	bool drivers_autoprobe; /* the node's own drivers bind the virtual functions */
	struct sriovnetworkdevice_vfs virtual_functions;
};

struct sriovnetworkdevice_status {
	struct json_strs vf_addresses; /* by index */
	struct json_strs vf_pci_devices;
	char *status;
	int64_t observed_generation;
	char *address; /* address at which the card was last seen */
	char *device;  /* "8086:10c9" */
	char *serial_number;
	struct api_conditions conditions;
};

struct sriovnetworkdevice {
	struct api_meta meta;
	struct sriovnetworkdevice_spec spec;
	struct sriovnetworkdevice_status status;
};

extern const struct json_row sriovnetworkdevice_status_map[];
extern const struct api_kind sriovnetworkdevice_kind;
