/*
 * names: names of objects, labels, annotations and finalizers, identical to Harvester's.
 *
 * A node name may be as long as an object name. If a name made from it would be too long, the node
 * part is cut and followed by "-" and sixteen hex digits: the 64-bit FNV-1a hash of the whole node
 * name. So names stay unique and are the same in every version. A string that is not a valid node
 * name (names_valid_object) is treated in the same way, with '-' for each invalid byte.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	NAMES_OBJECT_MAX = 253,  /* DNS subdomain */
	NAMES_LABEL_MAX = 63,    /* label value; name part of a key */
	NAMES_ADDRESS_SIZE = 17, /* size of "ffffffff:ff:1f.7" with its NUL */
};

#define NAMES_GROUP   "devices.harvesterhci.io"
#define NAMES_VERSION "v1beta1"

/* API group of the kinds that Harvester does not have. */
#define NAMES_OWN_GROUP   "hostdev.io"
#define NAMES_OWN_VERSION "v1alpha1"

/* Namespace used by the manifests. */
#define NAMES_NAMESPACE "hostdev-system"

#define NAMES_LABEL_NODE       "nodename"
#define NAMES_LABEL_PARENT_NIC "harvesterhci.io/parent-sriov-network-device"
#define NAMES_LABEL_PARENT_GPU "harvesterhci.io/parentSRIOVGPUDevice"

/* The device's driver when its object was created. */
#define NAMES_ANNOTATION_DRIVER        "harvesterhci.io/pcideviceDriver"
#define NAMES_ANNOTATION_RESOURCE_NAME "pcidevice.harvesterhci.io/override-resource-name"
#define NAMES_ANNOTATION_SKIP_VFIO     "pcidevices.harvesterhci.io/skip-vfio-binding"

/* On an SRIOVNetworkDevice: its network interface (Harvester's spelling), and the number of
 * virtual functions that spec.numVFs follows because no user has set it. */
#define NAMES_ANNOTATION_INTERFACE "sriov.devices.harvesterhi.io/interface-name"
#define NAMES_ANNOTATION_FOUND_VFS "hostdev.io/found-vfs"

/* On an SRIOVGPUDevice or a MigConfiguration: do not change its MIG mode and instances. */
#define NAMES_ANNOTATION_SKIP_MIG "harvesterhci.io/skip-mig-configuration"

/* On a VirtualMachine: its allocated devices as {"hostdevices":{RESOURCE:[device
 * object,...]},"gpus":{...}}. */
#define NAMES_ANNOTATION_ALLOCATION "harvesterhci.io/deviceAllocationDetails"

/* On a claim, "true": hand out the device although the node needs it. Needs the RBAC verb
 * override. */
#define NAMES_ANNOTATION_OVERRIDE "hostdev.io/allow-host-critical"
/* On a claim, "true": identify the device by its address if nothing else distinguishes it from
 * another. */
#define NAMES_ANNOTATION_BY_ADDRESS "hostdev.io/identify-by-address"

#define NAMES_FINALIZER_HARVESTER_PCI "wrangler.cattle.io/PCIDeviceClaimOnRemove"
#define NAMES_FINALIZER_HARVESTER_USB "wrangler.cattle.io/usbClaimClient-device-claim-remove"

/* A DNS subdomain as required for object names: [a-z0-9.-], 1 to 253 characters, a letter or
 * digit before and after each dot. */
bool names_valid_object(const char *name);
/* A label value: empty, or up to 63 of [A-Za-z0-9._-] with a letter or digit at both ends. */
bool names_valid_label(const char *value);
/* A resource name: a DNS subdomain, '/', and a non-empty label value. */
bool names_valid_resource(const char *name);
/* A resource name that the kubelet accepts from a device plugin: no domain of kubernetes.io, and
 * room for the prefix "requests.". */
bool names_valid_offered_resource(const char *name);
/* The rule in words, to complete a sentence. */
#define NAMES_OFFERED_RESOURCE_FORM                                                             \
	"it must be DOMAIN/NAME, with a domain outside kubernetes.io that does not begin with " \
	"'requests.', and a name of at most 63 letters, digits, '.', '-' or '_'"
/* "devices.kubevirt.io/...": virt-handler offers these itself. */
bool names_kubevirts_resource(const char *name);

/* All results are valid names; the caller frees them. */

/* "<node>-<address without ':' and '.'>": "node1-000004000" for "0000:04:00.0". */
char *names_pcidevice(const char *node, const char *address);

/* The inverse: 0 with the address in @ret_address if names_pcidevice(@node, address) is exactly
 * @name; -EINVAL if @name is not a PCI function of that node. */
int names_pcidevice_address(const char *node, const char *name,
			    char ret_address[NAMES_ADDRESS_SIZE]);

/* "<node>-<vid4>-<pid4>-<bus3><dev3>": "node1-0951-1666-001002". */
char *names_usbdevice(const char *node, uint16_t vendor, uint16_t product, unsigned bus,
		      unsigned device);

/* "<node>-<interface>" in lower case: "node1-enp4s0f0". An interface with a dash gets a hash,
 * "node1-eth-1-5fc495ef8cc6a078", to avoid a conflict with another node's name. */
char *names_sriovnetworkdevice(const char *node, const char *interface);

/* "<node>-<uuid>". */
char *names_mediateddevice(const char *node, const char *uuid);

/* "<node>-<parent without ':' and '.'>"; for a PCI function the same as names_pcidevice(). */
char *names_mediateddeviceparent(const char *node, const char *parent);

/* The name of a device in a ResourceSlice: "pci-0000-3b-00-0" for @type "pci" and the PCI address;
 * "usb" and a port path, "mdev" and a UUID. NULL: it would be no DNS label. */
char *names_dra_device(const char *type, const char *id);

/* @text if it is a valid label value, else one derived from it. Used for the label `nodename`. */
char *names_label_value(const char *text);

/* The name of the DevicePool that counts the devices of @resource: the characters allowed in a
 * name, and a hash of the whole. */
char *names_devicepool(const char *resource);
