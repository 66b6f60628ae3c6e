/*
 * pick: chooses free devices of a resource, for `claim --resource`. Pure.
 *
 * The choice depends only on the objects, so that two callers try the same devices in the same
 * order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct cluster;
struct cluster_device;
struct map;

struct pick_want {
	const char *resource; /* status.resourceName of the devices */
	const char *node;     /* NULL: any */
	size_t count;         /* at least 1 */
	bool any_node;        /* they may be on different nodes */
	bool groups;          /* the claims take whole IOMMU groups */
	/* By pick_key(); NULL: none. */
	const struct map *refused; /* struct pick_refusal: not to be picked */
	const struct map *held;    /* anything: claimed by the caller just now */
};

/* Why a device that looks free is not picked. */
struct pick_refusal {
	const char *why; /* static: "claimed already" */
	char *message;   /* the API server's; NULL: none */
};

/* May a device be picked, or why not? */
enum pick_state {
	PICK_FREE,
	PICK_HELD,      /* it is among pick_want.held */
	PICK_RELEASING, /* its claim is being deleted */
	PICK_USED,      /* a pod has it */
	PICK_CLAIMED,
	PICK_REFUSED, /* it is among pick_want.refused */
	PICK_SHARED,  /* its IOMMU group has other functions, and the claims take no groups */
	PICK_GROUP,   /* another claim has its IOMMU group, and the claims take no groups */
	PICK_SIBLING, /* another function of its IOMMU group cannot be claimed now */
	PICK_OTHER,   /* its state is not claimable: see its verdict */
};

/* The key of a device in the maps. The caller frees. */
char *pick_key(const struct cluster_device *device);

/* Does @device have the resource, and is it on the node? */
bool pick_matches(const struct pick_want *want, const struct cluster_device *device);

/* Is @device free, but only together with other functions of its IOMMU group? */
bool pick_is_shared(const struct cluster_device *device);

enum pick_state pick_judge(struct cluster *cluster, const struct pick_want *want,
			   const struct cluster_device *device);

/*
 * The devices to claim, in the order in which to claim them; NULL: there are too few. The caller
 * frees the array, which has want->count items.
 *
 * All are on one node, unless want->any_node is set and no node has enough. Preferred are, in this
 * order: devices that the caller holds, nodes that are not cordoned, a single NUMA node, devices
 * that can be distinguished from others of their model, whole IOMMU groups, groups with few other
 * functions, and the order of nodes and addresses.
 */
struct cluster_device **pick_devices(struct cluster *cluster, const struct pick_want *want);
