/*
 * cluster: the cluster's devices in memory: the objects, and the devices that they describe
 * together.
 *
 * Owns the objects that it is given. Pure: the code that lists or watches objects puts them in
 * (lists.h for the commands). An object that is put in again replaces the earlier one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/kind.h"
#include "cli/model/node_fault.h"
#include "cli/model/state.h"

struct api_conditions;
struct api_meta;
struct pcidevice_allocations;
struct cluster;

enum cluster_kind {
	CLUSTER_PCIDEVICE,
	CLUSTER_PCICLAIM,
	CLUSTER_USBDEVICE,
	CLUSTER_USBCLAIM,
	CLUSTER_MDEV,
	CLUSTER_SRIOV, /* SRIOVNetworkDevice */
	CLUSTER_GPU,   /* SRIOVGPUDevice     */
	CLUSTER_VGPU,
	CLUSTER_MIG,
	CLUSTER_POOL,
	CLUSTER_NODE,
	CLUSTER_SLICE,         /* ResourceSlice of hostdev's driver      */
	CLUSTER_RESOURCECLAIM, /* its name here is "NAMESPACE/NAME"      */
	CLUSTER_DEVICECLASS,
	CLUSTER_KINDS,
};

enum { CLUSTER_DEPTH_MAX = 16 }; /* of devices below each other */

/* Sets of kinds. */
#define CLUSTER_SET(kind) (1u << (kind))
enum {
	CLUSTER_DEVICES = CLUSTER_SET(CLUSTER_PCIDEVICE) | CLUSTER_SET(CLUSTER_PCICLAIM) |
			  CLUSTER_SET(CLUSTER_USBDEVICE) | CLUSTER_SET(CLUSTER_USBCLAIM) |
			  CLUSTER_SET(CLUSTER_MDEV),
	CLUSTER_CLAIMS = CLUSTER_SET(CLUSTER_PCICLAIM) | CLUSTER_SET(CLUSTER_USBCLAIM),
	CLUSTER_CARDS = CLUSTER_SET(CLUSTER_SRIOV) | CLUSTER_SET(CLUSTER_GPU) |
			CLUSTER_SET(CLUSTER_VGPU) | CLUSTER_SET(CLUSTER_MIG),
};

const struct api_kind *cluster_kind(enum cluster_kind kind);

/* Who has a device by DRA, and which are offered by it. */
#define CLUSTER_DRA (CLUSTER_SET(CLUSTER_SLICE) | CLUSTER_SET(CLUSTER_RESOURCECLAIM))

enum device_type { DEVICE_PCI, DEVICE_USB, DEVICE_MDEV };

/* "PCI", "USB", "mdev". */
const char *device_type_word(enum device_type type);

/*
 * A device: its own object, its claim, and other objects about it. Texts and pointers are borrowed
 * from the objects and valid until the cluster changes. Texts are never NULL and not cleaned: clean
 * them before printing (str_add_clean).
 */
struct cluster_device {
	enum device_type type;
	bool is_there;       /* has an object of its own; otherwise only its claim exists */
	const char *name;    /* of the object and of the claim                           */
	const char *node;    /* "" if not known                                          */
	const char *address; /* "0000:04:00.0"; a USB port "1-2.3"; an mdev's UUID; or "" */
	const char *group;   /* IOMMU group, decimal, or ""                              */
	const char *driver;
	const char *description;
	const char *resource; /* under which it is, or would be, offered */
	const char *class_id; /* "0302"; of PCI functions                                 */
	const char *holder;   /* who uses it and blocks a claim or release, for people */
	int numa_node;        /* -1: unknown                                              */

	const void
		*object; /* struct pcidevice, usbdevice or mediateddevice; NULL if not is_there */
	const struct api_conditions *conditions;         /* the device's; NULL: it has none */
	const struct pcidevice_allocations *allocations; /* NULL: it has none */

	const struct api_meta *claim; /* NULL: none */
	const void *claim_object;     /* struct pcideviceclaim or usbdeviceclaim */
	const struct api_conditions *claim_conditions;
	const char *user; /* spec.userName of the claim, or "" */
	bool others;      /* that is not the caller (cluster_set_caller()) */
	/* there may be a claim that the caller may not read (cluster_hide_claims()) */
	bool claim_hidden;
	bool usb_hidden; /* likewise, of USB devices behind it; of USB controllers */

	/* Objects about the same PCI function; NULL: none. */
	const struct sriovnetworkdevice *sriov;
	const struct sriovgpudevice *gpu;
	const struct vgpudevice *vgpu;
	const struct migconfiguration *mig;

	/* The ResourceSlice that lists it; NULL: none, or not known. */
	const struct dra_slice *slice;
	/* The first ResourceClaim to which it is allocated; NULL: likewise. */
	const struct resourceclaim *resource_claim;

	enum state_conflict conflict;
	const struct node_fault *fault; /* its node's; NULL: none is known */
	struct state_verdict verdict;

	/* The device above it: of a virtual function the physical one, of a USB device its hub
	 * or controller, of a mediated device its PCI function. NULL: not known, or not listed.
	 * The API does not say which bridge a PCI function is behind. */
	struct cluster_device *parent;
	struct cluster_device *first_child; /* in the order of the list */
	struct cluster_device *next;        /* child of the same parent  */
};

struct cluster_node {
	const char *name; /* "" for devices whose node is not known, which come last */
	struct cluster_device *devices;
	size_t len;
	size_t by_state[STATES];
	struct node_fault fault;
};

/* Nodes by name; devices by node, then PCI by address, USB by port, mediated devices by UUID. */
struct cluster_view {
	struct cluster_node *nodes;
	size_t nodes_len;
	struct cluster_device *devices;
	size_t len;
};

struct cluster *cluster_new(void);
/* Takes NULL, returns NULL. */
struct cluster *cluster_free(struct cluster *cluster);

/* Put @object (of api_object_new() or similar) in. The cluster owns it from now on. */
void cluster_put(struct cluster *cluster, enum cluster_kind kind, void *object);

/* Remove an object. Does nothing if no object has that name. */
void cluster_remove(struct cluster *cluster, enum cluster_kind kind, const char *name);

/* NULL if there is none. */
const void *cluster_get(const struct cluster *cluster, enum cluster_kind kind, const char *name);

/* All Nodes of the cluster have been put in: from now on a node without a Node is gone. */
void cluster_know_nodes(struct cluster *cluster);
bool cluster_nodes_known(const struct cluster *cluster);

/* The fault of the node @name, only by its Node; none while Nodes are not known. */
struct node_fault cluster_node_fault(const struct cluster *cluster, const char *name);

size_t cluster_count(const struct cluster *cluster, enum cluster_kind kind);

/* The user who asks; NULL: not known. Copied. Another user's claim in an IOMMU group refuses the
 * caller's. */
void cluster_set_caller(struct cluster *cluster, const char *user);

/* The caller may not read claims of @kinds, a set: whether a device is claimed whose claim is not
 * here is not known. Of @unlisted they may not be listed, so that this is not known of the USB
 * devices behind a controller. */
void cluster_hide_claims(struct cluster *cluster, unsigned kinds, unsigned unlisted);
bool cluster_hides_claims(const struct cluster *cluster, enum cluster_kind kind);
bool cluster_lists_claims(const struct cluster *cluster, enum cluster_kind kind);

/* Is @user, the owner of a claim, somebody else than the caller? False if the claim has no owner
 * (""), or the caller is not known. */
bool cluster_is_others(const struct cluster *cluster, const char *user);

/* The objects of @kind by name, in an array that the caller frees (not what it points to); it ends
 * in NULL. */
const void **cluster_objects(const struct cluster *cluster, enum cluster_kind kind,
			     size_t *ret_len);

/* The devices that the objects describe. Made again after changes, and valid until the next one. */
const struct cluster_view *cluster_view(struct cluster *cluster);

/* The device of @type and @name, NULL if there is none. */
struct cluster_device *cluster_device(struct cluster *cluster, enum device_type type,
				      const char *name);

/* Is a bridge at @address above the PCI function @device? Agents list such a bridge in the
 * function's IOMMU group, but not as a device. */
bool cluster_device_behind(const struct cluster_device *device, const char *address);

/* The PCI function, or USB port, of @node; NULL if there is none. */
struct cluster_device *cluster_device_at(struct cluster *cluster, const char *node,
					 const char *address);
