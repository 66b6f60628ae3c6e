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
	NAMES_OBJECT_MAX = 253,  /* DNS subdomain                   */
	NAMES_LABEL_MAX = 63,    /* label value; name part of a key */
	NAMES_ADDRESS_SIZE = 17, /* "ffffffff:ff:1f.7" and its end  */
};

#define NAMES_GROUP   "devices.harvesterhci.io"
#define NAMES_VERSION "v1beta1"

/* Of the kinds that Harvester does not have. */
#define NAMES_OWN_GROUP   "hostdev.io"
#define NAMES_OWN_VERSION "v1alpha1"

/* Where the manifests put us. */
#define NAMES_NAMESPACE "hostdev-system"

#define NAMES_LABEL_NODE       "nodename"
#define NAMES_LABEL_PARENT_NIC "harvesterhci.io/parent-sriov-network-device"
#define NAMES_LABEL_PARENT_GPU "harvesterhci.io/parentSRIOVGPUDevice"

/* The driver that the device had when its object was created. */
#define NAMES_ANNOTATION_DRIVER        "harvesterhci.io/pcideviceDriver"
#define NAMES_ANNOTATION_RESOURCE_NAME "pcidevice.harvesterhci.io/override-resource-name"
#define NAMES_ANNOTATION_SKIP_VFIO     "pcidevices.harvesterhci.io/skip-vfio-binding"

/* Of an SRIOVNetworkDevice: its network interface (Harvester's spelling), and the number of virtual
 * functions that spec.numVFs follows because nobody has set it. */
#define NAMES_ANNOTATION_INTERFACE "sriov.devices.harvesterhi.io/interface-name"
#define NAMES_ANNOTATION_FOUND_VFS "hostdev.io/found-vfs"

/* Of an SRIOVGPUDevice or a MigConfiguration: its MIG mode and instances are left alone. */
#define NAMES_ANNOTATION_SKIP_MIG "harvesterhci.io/skip-mig-configuration"

/* Of a VirtualMachine: {"hostdevices":{RESOURCE:[device object,...]},"gpus":{...}}, what it was given. */
#define NAMES_ANNOTATION_ALLOCATION "harvesterhci.io/deviceAllocationDetails"

/* Of a claim, "true": lend the device although the node needs it. Its own RBAC verb (override). */
#define NAMES_ANNOTATION_OVERRIDE "hostdev.io/allow-host-critical"
/* On a claim, "true": the device is the one at its address, also where nothing else tells it from another. */
#define NAMES_ANNOTATION_BY_ADDRESS "hostdev.io/identify-by-address"

#define NAMES_FINALIZER_HARVESTER_PCI "wrangler.cattle.io/PCIDeviceClaimOnRemove"
#define NAMES_FINALIZER_HARVESTER_USB "wrangler.cattle.io/usbClaimClient-device-claim-remove"

/* DNS subdomain as Kubernetes checks object names: [a-z0-9.-], 1 to 253, letters or digits around
 * each dot. */
bool names_valid_object(const char *name);
/* Label value: empty, or [A-Za-z0-9._-] with a letter or digit at both ends, up to 63. */
bool names_valid_label(const char *value);
/* Resource name: a DNS subdomain, '/', and a name part like a label value that is not empty. */
bool names_valid_resource(const char *name);
/* The same as a kubelet's Register takes it from a plugin: no domain of kubernetes.io, and room for
 * "requests." in front. */
bool names_valid_lent_resource(const char *name);
/* The same in words, which go on a sentence. */
#define NAMES_LENT_RESOURCE_FORM                                                                \
	"it must be DOMAIN/NAME, with a domain outside kubernetes.io that does not begin with " \
	"'requests.', and a name of at most 63 letters, digits, '.', '-' or '_'"
/* "devices.kubevirt.io/...": virt-handler offers those itself. */
bool names_kubevirts_resource(const char *name);

/* All results are valid names, and the caller's to free. */

/* "<node>-<address without ':' and '.'>": "node1-000004000" for "0000:04:00.0". */
char *names_pcidevice(const char *node, const char *address);

/* The other way: 0 with the address in @ret_address if names_pcidevice(@node, that address) is exactly
 * @name; -EINVAL if it is no name of a PCI function of that node. */
int names_pcidevice_address(const char *node, const char *name,
			    char ret_address[NAMES_ADDRESS_SIZE]);

/* "<node>-<vid4>-<pid4>-<bus3><dev3>": "node1-0951-1666-001002". */
char *names_usbdevice(const char *node, uint16_t vendor, uint16_t product, unsigned bus,
		      unsigned device);

/* "<node>-<interface>" in lower case: "node1-enp4s0f0"; one with a dash gets a hash, "node1-eth-1-5fc495ef8cc6a078", so that
 * it has no name of another node's. */
char *names_sriovnetworkdevice(const char *node, const char *interface);

/* "<node>-<uuid>". */
char *names_mediateddevice(const char *node, const char *uuid);

/* "<node>-<parent without ':' and '.'>", which for a PCI function is names_pcidevice(). */
char *names_mediateddeviceparent(const char *node, const char *parent);

/* @text if it is a label value, else one made of it: the value of the label `nodename`. */
char *names_label_value(const char *text);

/* Of the DevicePool that counts the devices of @resource: what can stand in a name of it, and the hash of
 * the whole. */
char *names_devicepool(const char *resource);
