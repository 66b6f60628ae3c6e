/* pcidevice: PCIDevice of devices.harvesterhci.io/v1beta1. The first nine status fields are
 * Harvester's; the others are ours and optional. */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

#define PCIDEVICE_ROLE_FUNCTION "Function"
#define PCIDEVICE_ROLE_PF       "PhysicalFunction"
#define PCIDEVICE_ROLE_VF       "VirtualFunction"

/* A container that has the device. */
struct pcidevice_allocation {
	char *namespace;
	char *pod;
	char *container;
	char *resource_claim; /* of the pod's namespace, by which it has it; NULL: by no claim */
};

struct pcidevice_allocations {
	struct pcidevice_allocation *items;
	size_t len;
	size_t cap;
};

extern const struct json_row pcidevice_allocation_map[];

struct pcidevice_status {
	char *address;     /* "0000:04:00.0" */
	char *vendor_id;   /* four lower-case hex digits */
	char *device_id;   /* likewise */
	char *class_id;    /* class and subclass, "0302" */
	char *iommu_group; /* decimal; NULL: none */
	char *node_name;
	char *resource_name;     /* resource_name.h */
	char *description;       /* description.h */
	char *short_description; /* likewise */
	char *kernel_driver_in_use;

	int numa_node; /* -1: unknown */
	char *subsystem_vendor_id;
	char *subsystem_device_id;
	char *revision;                       /* two hex digits */
	struct json_strs bridges;             /* addresses, root first */
	struct json_strs iommu_group_members; /* addresses, including its own, sorted */
	char *role;                           /* PCIDEVICE_ROLE_... */
	char *physical_function;              /* address of the physical function, for a VF */
	int total_vfs;
	int num_vfs;
	char *serial_number; /* PCIe DSN, "00-11-22-33-44-55-66-77" */
	struct json_strs reset_methods;
	bool boot_vga;
	struct pcidevice_allocations allocations;
	struct api_conditions conditions;
};

/* Initialise with api_object_new() or json_map_init(), because 0 is a valid NUMA node. */
struct pcidevice {
	struct api_meta meta;
	struct pcidevice_status status;
};

extern const struct json_row pcidevice_status_map[];
extern const struct api_kind pcidevice_kind;
