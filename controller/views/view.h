/*
 * view: what the controller keeps of an object: the few facts that it counts and judges by, in one block
 * of memory, because a cluster may have hundreds of thousands of devices.
 *
 * The kinds below are those of lib/api with fewer rows and a digest; an entry's object is the digest. All
 * that looks at the cluster, pools, nodes and the rules of admission, looks at these.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/kind.h"
#include "controller/views/reach.h"

struct devicepool_status;

enum view_kind {
	VIEW_PCIDEVICE,
	VIEW_USBDEVICE,
	VIEW_MEDIATEDDEVICE,
	VIEW_PARENT, /* of mediated devices */
	VIEW_NIC,
	VIEW_GPU,
	VIEW_VGPU,
	VIEW_MIG,
	VIEW_PCICLAIM,
	VIEW_USBCLAIM,
	VIEW_OWNED, /* kinds of objects that belong to a node */

	VIEW_NODE = VIEW_OWNED,
	VIEW_AGENT, /* pods of the agents' DaemonSet */
	VIEW_POOL,
	VIEW_CONFIG, /* the HostDeviceConfig, whole (api/hostdeviceconfig.h) */
	VIEW_VM,     /* virtual machines, whole (api/virtualmachine.h), by "namespace/name" */
	VIEW_KINDS,
};

/* Of an object that belongs to a node. Behind it are its texts (view_text.h). */
struct view {
	const char *
		node; /* its node as far as it says, else its label `nodename`; "": it does not say */
	const char *
		resource; /* of a device: as which it is lent unless its claim says otherwise; of a claim: as
			 * which its annotation wants the device lent. NULL: none                     */
	const char *model;  /* of a device: "8086:10d3", or its mediated type; NULL: not said */
	const char *pod;    /* of a device: "namespace/name" of one that has it; NULL: nobody */
	bool fixed : 1;     /* a device: its own annotation says so, no claim changes it  */
	bool allocated : 1; /* a device: containers have it                               */
	bool bridge : 1;    /* a PCI device: a port, which stays with its driver          */
	bool alone : 1;     /* a claim: its device is lent under a name of its own        */
	bool lent : 1;      /* a PCI device: a HostDeviceConfig lends it                  */
	bool ready : 1;     /* a claim: its condition Ready is True; such a device: Offered is */
	bool marked : 1;    /* a claim: our finalizer is on it                            */
	bool group : 1;     /* a claim: it is for the whole IOMMU group                   */
	bool skipped : 1;   /* a claim: its annotation keeps the device on its driver     */
	bool enabled : 1;   /* a card or vGPU: its spec says so                           */
	bool deleting : 1;
	uint16_t vfs; /* a PCI device: how many it can make; a network card: how many it is to */
	enum reach reach; /* a claim: what NodeReachable says */
	uint32_t wish;    /* a claim: a hash of what it asks for, its spec and annotations */
};

struct view_node {
	bool ready; /* its condition Ready is True */
	bool deleting;
	char resources[]; /* names of what it offers, one after the other; the last is "" */
};

struct view_agent {
	bool running; /* and Ready, and not about to end */
	char node[];  /* "": not scheduled yet */
};

struct view_pool {
	unsigned long long hash; /* of its status */
	bool deleting;
	char resource[];
};

/* The kind for an informer, whose object is the view. Agents are in the namespace NAMES_NAMESPACE, unless the
 * caller changes that. */
struct api_kind view_kind(enum view_kind kind);
/* The same kind whole, to read and write objects of it. Not of agents. */
const struct api_kind *view_whole(enum view_kind kind);

/* Walk over the resources of @node: from *@at = 0 to NULL. */
const char *view_node_resource(const struct view_node *node, size_t *at);

/* As in struct view_pool. */
unsigned long long view_status_hash(const struct devicepool_status *status);

/* The resource as which the PCI device @name is lent, by @claim (NULL: it has none). The caller frees; NULL:
 * none. */
char *view_lent(const char *name, const struct view *device, const struct view *claim);
