/*
 * view: the few fields of an object that the controller keeps, in a single memory block, because a
 * cluster may have hundreds of thousands of devices.
 *
 * The kinds below are those of lib/api with fewer rows and a digest; an entry's object is the
 * digest. Pools, nodes and the admission rules all read these views.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/kind.h"
#include "controller/cache/reach.h"

struct devicepool_status;

enum view_kind {
	VIEW_PCIDEVICE,
	VIEW_USBDEVICE,
	VIEW_MEDIATEDDEVICE,
	VIEW_PARENT, /* parents of mediated devices */
	VIEW_NIC,
	VIEW_GPU,
	VIEW_VGPU,
	VIEW_MIG,
	VIEW_PCICLAIM,
	VIEW_USBCLAIM,
	VIEW_OWNED, /* number of kinds whose objects belong to a node */

	VIEW_NODE = VIEW_OWNED,
	VIEW_AGENT, /* pods of the agents' DaemonSet */
	VIEW_POOL,
	VIEW_CONFIG, /* the HostDeviceConfig, complete (api/hostdeviceconfig.h) */
	VIEW_VM,     /* virtual machines, complete (api/virtualmachine.h), by "namespace/name" */
	VIEW_KINDS,
};

/* Is it a kind of devices? */
static inline bool view_is_device(enum view_kind kind)
{
	return kind == VIEW_PCIDEVICE || kind == VIEW_USBDEVICE || kind == VIEW_MEDIATEDDEVICE;
}

/* An object that belongs to a node. Its strings follow it in memory (enum view_text). */
struct view {
	const char *node; /* of its spec or status, else its label `nodename`; "": none */
	/* device: the resource it is offered as, unless its claim overrides that; claim: the
	 * resource in its annotation. NULL: none */
	const char *resource;
	const char *model;  /* device: "8086:10d3", or its mediated type; NULL: unknown */
	const char *pod;    /* device: "namespace/name" of a pod that uses it; NULL: none */
	bool fixed : 1;     /* device: its annotation sets the resource, no claim overrides it */
	bool allocated : 1; /* device: in use by containers */
	bool bridge : 1;    /* PCI device: a bridge, which keeps its driver */
	bool alone : 1;     /* claim: its device has a resource of its own */
	bool offered : 1;   /* PCI device: offered by a HostDeviceConfig */
	bool ready : 1;     /* claim: its condition Ready is True; such a device: Offered is */
	bool has_finalizer : 1; /* claim: ours */
	bool group : 1;         /* claim: for the whole IOMMU group */
	bool skipped : 1;       /* claim: its annotation keeps the device on its driver */
	bool lifted : 1;        /* claim: its annotation allows a device that the node needs */
	bool enabled : 1;       /* card or vGPU: enabled in its spec */
	bool deleting : 1;
	uint16_t vfs;       /* PCI device: maximum number of VFs; network card: requested number */
	enum reach reach;   /* claim: value of NodeReachable */
	uint32_t spec_hash; /* claim: a hash of its spec and annotations */
};

struct view_node {
	bool ready; /* its condition Ready is True */
	bool deleting;
	char resources[]; /* names of what it offers, each NUL-terminated; "" ends the list */
};

struct view_agent {
	bool running; /* running, Ready and not being deleted */
	char node[];  /* "": not scheduled yet */
};

struct view_pool {
	unsigned long long hash; /* of its status */
	bool deleting;
	char resource[];
};

/* The kind for an informer whose objects are views. Agents are in the namespace NAMES_NAMESPACE,
 * unless the caller changes that. */
struct api_kind view_kind(enum view_kind kind);
/* The complete kind, to read and write objects. Not for agents. */
const struct api_kind *view_whole(enum view_kind kind);

/* Iterate over the resources of @node, starting with *@at = 0; NULL at the end. */
const char *view_node_resource(const struct view_node *node, size_t *at);

/* As in struct view_pool. */
unsigned long long view_status_hash(const struct devicepool_status *status);

/* The resource under which the PCI device @name is offered with @claim (NULL: no claim). The
 * caller frees it; NULL: none. */
char *view_resource(const char *name, const struct view *device, const struct view *claim);

/*
 * Further strings of a view, for the admission rules.
 *
 * They follow the view in its memory block: for each string, a byte with its type and the text; 0
 * after the last. Most objects have few of them, so this needs less memory than an offset for each.
 * A view that is not in a store has none and must not be passed here.
 */
enum view_text {
	VIEW_TEXT_NODE = 1, /* from its status or spec */
	VIEW_TEXT_NODE_LABEL,
	VIEW_TEXT_RESOURCE, /* from its status */
	VIEW_TEXT_OVERRIDE, /* from its annotation */
	VIEW_TEXT_ADDRESS,  /* of a USB device or its claim: address of its controller */
	VIEW_TEXT_GROUP,
	VIEW_TEXT_DRIVER,
	VIEW_TEXT_NATIVE, /* the driver to restore */
	VIEW_TEXT_PARENT, /* address of the card of a virtual function, vGPU or mdev */
	VIEW_TEXT_CARD,   /* of a vGPU: its label with the name of the card */
	VIEW_TEXT_PORT,   /* port of a USB device or its claim */
	VIEW_TEXT_REASON, /* of the condition Claimable if False */
	VIEW_TEXT_MESSAGE,
	VIEW_TEXT_MODEL, /* "8086:10d3" of a PCI or USB device, or the type of a mediated one */
	VIEW_TEXT_POD,
	VIEW_TEXT_USER,       /* user of a claim */
	VIEW_TEXT_FINALIZERS, /* "a.b/c, d.e/f" of an object that is being deleted */
	VIEW_TEXT_MEMBER,     /* address of a function in its group; omitted if it is alone in it */
};

/* "" if there is none. */
const char *view_text(const struct view *view, enum view_text text);

/* The number of functions in its IOMMU group, including itself; 0 if it is alone. */
size_t view_members(const struct view *view);
/* The address of one of them; "" if @i is too large. */
const char *view_member(const struct view *view, size_t i);
bool view_has_member(const struct view *view, const char *address);
