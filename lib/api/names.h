/*
 * names: the names of objects, labels, annotations and finalizers, Harvester's to the letter.
 *
 * A node name may be as long as an object name may be. Where a name made of it would pass its
 * limit, the node part is cut and gets "-" and sixteen hex digits: the FNV-1a hash (64 bits) of the
 * whole node name. So names stay different, and the same in every version. What is no node name
 * (names_valid_object) is treated likewise, with '-' for each byte that a name cannot have.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	NAMES_OBJECT_MAX = 253, /* DNS subdomain                    */
	NAMES_LABEL_MAX = 63,   /* label value; name part of a key  */
};

#define NAMES_GROUP   "devices.harvesterhci.io"
#define NAMES_VERSION "v1beta1"

/* Where the manifests put us. */
#define NAMES_NAMESPACE "hostdev-system"

#define NAMES_LABEL_NODE       "nodename"
#define NAMES_LABEL_PARENT_NIC "harvesterhci.io/parent-sriov-network-device"
#define NAMES_LABEL_PARENT_GPU "harvesterhci.io/parentSRIOVGPUDevice"

/* The driver that the device had when its object was created. */
#define NAMES_ANNOTATION_DRIVER        "harvesterhci.io/pcideviceDriver"
#define NAMES_ANNOTATION_RESOURCE_NAME "pcidevice.harvesterhci.io/override-resource-name"
#define NAMES_ANNOTATION_SKIP_VFIO     "pcidevices.harvesterhci.io/skip-vfio-binding"

#define NAMES_FINALIZER_HARVESTER_PCI "wrangler.cattle.io/PCIDeviceClaimOnRemove"
#define NAMES_FINALIZER_HARVESTER_USB "wrangler.cattle.io/usbClaimClient-device-claim-remove"

/* DNS subdomain as Kubernetes checks object names: [a-z0-9.-], 1 to 253, letters or digits around
 * each dot. */
bool names_valid_object(const char *name);
/* Label value: empty, or [A-Za-z0-9._-] with a letter or digit at both ends, up to 63. */
bool names_valid_label(const char *value);
/* Resource name: a DNS subdomain, '/', and a name part like a label value that is not empty. */
bool names_valid_resource(const char *name);

/* All results are valid names, and the caller's to free. */

/* "<node>-<address without ':' and '.'>": "node1-000004000" for "0000:04:00.0". */
char *names_pcidevice(const char *node, const char *address);

/* "<node>-<vid4>-<pid4>-<bus3><dev3>": "node1-0951-1666-001002". */
char *names_usbdevice(const char *node, uint16_t vendor, uint16_t product, unsigned bus,
		      unsigned device);

/* @text if it is a label value, else one made of it: the value of the label `nodename`. */
char *names_label_value(const char *text);
