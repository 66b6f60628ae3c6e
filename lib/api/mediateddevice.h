/* mediateddevice: MediatedDevice of hostdev.io/v1alpha1: one instance on one node. */
#pragma once

#include "api/kind.h"
#include "api/meta.h"
#include "api/pcidevice.h"

struct mediateddevice_status {
	char *node_name;
	char *uuid;
	char *type;        /* the kernel's id, "nvidia-222"                              */
	char *type_name;   /* as configuration has it, "GRID_T4-1B"; the id if it has none */
	char *device_api;  /* "vfio-pci"                                                 */
	char *parent;      /* "0000:3b:00.0", "mtty"                                     */
	char *pci_address; /* of the function that the parent is, or hangs on; NULL: none */
	char *iommu_group; /* decimal; NULL: none                                        */
	int numa_node;     /* -1: unknown                                                */
	bool created_by_hostdev;
	char *resource_name; /* as which it is lent; NULL: it is not */
	struct pcidevice_allocations allocations;
};

/* Start one with api_object_new() or json_map_init(): numa_node 0 is a node. */
struct mediateddevice {
	struct api_meta meta;
	struct mediateddevice_status status;
};

/* The UUID that the name of a MediatedDevice ends in; "" if it is too short for that. */
const char *mediateddevice_uuid_of_name(const char *name);

extern const struct json_row mediateddevice_status_map[];
extern const struct api_kind mediateddevice_kind;
