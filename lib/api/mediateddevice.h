/* mediateddevice: MediatedDevice of hostdev.io/v1alpha1: one instance on one node. */
#pragma once

#include "api/kind.h"
#include "api/meta.h"
#include "api/pcidevice.h"

struct mediateddevice_status {
	char *node_name;
	char *uuid;
	char *type;        /* the kernel's id, "nvidia-222" */
	char *type_name;   /* as in configuration files, "GRID_T4-1B"; the id if it has no name */
	char *device_api;  /* "vfio-pci" */
	char *parent;      /* "0000:3b:00.0", "mtty" */
	char *pci_address; /* of the parent's PCI function or PCI ancestor; NULL: none */
	char *iommu_group; /* decimal; NULL: none */
	int numa_node;     /* -1: unknown */
	bool created_by_hostdev;
	char *resource_name; /* offered as this resource; NULL: not offered */
	struct pcidevice_allocations allocations;
};

/* Initialise with api_object_new() or json_map_init(), because 0 is a valid NUMA node. */
struct mediateddevice {
	struct api_meta meta;
	struct mediateddevice_status status;
};

/* The UUID at the end of a MediatedDevice's name; "" if the name is too short. */
const char *mediateddevice_uuid_of_name(const char *name);

extern const struct json_row mediateddevice_status_map[];
extern const struct api_kind mediateddevice_kind;
