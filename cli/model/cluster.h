/*
 * cluster: the cluster's devices in memory: objects as they came, and what they mean together.
 *
 * Owns the objects that it is given. Pure: who lists or watches them puts them in (lists.h does for the
 * commands). Of an object that is put in again the latest counts.
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
	CLUSTER_KINDS,
};

enum { CLUSTER_DEPTH_MAX = 16 }; /* of devices that hang on each other */

/* Sets of kinds. */
#define CLUSTER_SET(kind) (1u << (kind))
enum {
	CLUSTER_DEVICES = CLUSTER_SET(CLUSTER_PCIDEVICE) | CLUSTER_SET(CLUSTER_PCICLAIM) |
			  CLUSTER_SET(CLUSTER_USBDEVICE) | CLUSTER_SET(CLUSTER_USBCLAIM) |
			  CLUSTER_SET(CLUSTER_MDEV),
	CLUSTER_CARDS = CLUSTER_SET(CLUSTER_SRIOV) | CLUSTER_SET(CLUSTER_GPU) |
			CLUSTER_SET(CLUSTER_VGPU) | CLUSTER_SET(CLUSTER_MIG),
};

const struct api_kind *cluster_kind(enum cluster_kind kind);

enum device_type { DEVICE_PCI, DEVICE_USB, DEVICE_MDEV };

/* "PCI", "USB", "mdev". */
const char *device_type_word(enum device_type type);

/*
 * A device: its own object, its claim, and what else there is about it. Texts and pointers are borrowed
 * from the objects and valid until the cluster changes; texts are never NULL, and as they came: whoever
 * prints them cleans them (str_add_clean).
 */
struct cluster_device {
	enum device_type type;
	bool is_there;       /* has an object of its own; else there is its claim alone */
	const char *name;    /* of the object and of the claim                           */
	const char *node;    /* "" if not known                                          */
	const char *address; /* "0000:04:00.0"; a USB port "1-2.3"; an mdev's UUID; or "" */
	const char *group;   /* IOMMU group, decimal, or ""                              */
	const char *driver;
	const char *description;
	const char *resource; /* under which it is, or would be, lent                     */
	const char *class_id; /* "0302"; of PCI functions                                 */
	const char *holder;   /* who stands in the way of a claim or release, for people  */
	int numa_node;        /* -1: unknown                                              */

	const void
		*object; /* struct pcidevice, usbdevice or mediateddevice; NULL if not is_there */
	const struct api_conditions *conditions;         /* the device's; NULL: it has none */
	const struct pcidevice_allocations *allocations; /* NULL: it has none */

	const struct api_meta *claim; /* NULL: none */
	const void *claim_object;     /* struct pcideviceclaim or usbdeviceclaim */
	const struct api_conditions *claim_conditions;
	const char *user; /* spec.userName of the claim, or "" */

	/* Objects about the same PCI function; NULL: none. */
	const struct sriovnetworkdevice *sriov;
	const struct sriovgpudevice *gpu;
	const struct vgpudevice *vgpu;
	const struct migconfiguration *mig;

	enum state_conflict conflict;
	const struct node_fault *fault; /* its node's; NULL: none that is known of */
	struct state_verdict verdict;

	/* What it hangs on: a virtual function on its physical one, a USB device on its hub or controller, a
	 * mediated device on its PCI function. NULL: not known, or not listed. Of PCI functions the API does
	 * not say which bridge they are behind. */
	struct cluster_device *parent;
	struct cluster_device *first_child; /* in the order of the list */
	struct cluster_device *next;        /* child of the same parent  */
};

struct cluster_node {
	const char *name; /* "" for devices whose node is not known; that one comes last */
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

/* @object (api_object_new() and the like) is the cluster's from now on. */
void cluster_put(struct cluster *cluster, enum cluster_kind kind, void *object);

/* Nothing happens if there is none of that name. */
void cluster_remove(struct cluster *cluster, enum cluster_kind kind, const char *name);

/* NULL if there is none. */
const void *cluster_get(const struct cluster *cluster, enum cluster_kind kind, const char *name);

/* All Nodes that the devices can be of are put in: one that is not there is gone. */
void cluster_know_nodes(struct cluster *cluster);
bool cluster_nodes_known(const struct cluster *cluster);

/* What is wrong with the node @name, by its Node alone; nothing while Nodes are not known. */
struct node_fault cluster_node_fault(const struct cluster *cluster, const char *name);

size_t cluster_count(const struct cluster *cluster, enum cluster_kind kind);

/* The objects of @kind by name, in an array that the caller frees (not what it points to); it ends in
 * NULL. */
const void **cluster_objects(const struct cluster *cluster, enum cluster_kind kind,
			     size_t *ret_len);

/* What the objects mean together; made anew after changes, and valid until the next one. */
const struct cluster_view *cluster_view(struct cluster *cluster);

/* The device of @type and @name, NULL if there is none. */
struct cluster_device *cluster_device(struct cluster *cluster, enum device_type type,
				      const char *name);

/* The PCI function, or USB port, of @node; NULL if there is none. */
struct cluster_device *cluster_device_at(struct cluster *cluster, const char *node,
					 const char *address);
