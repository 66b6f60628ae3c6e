/*
 * mediateddeviceparent: MediatedDeviceParent of hostdev.io/v1alpha1: a device of a node that
 * supports mediated devices, its types, and the state of the type manager for it.
 */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

struct mediateddeviceparent_type {
	char *id;   /* the kernel's id, "nvidia-222" */
	char *name; /* as in configuration files, "GRID_T4-1B"; the id if it has no name */
	char *description;
	char *device_api;
	int available_instances; /* that can be created now; -1: cannot be read */
	int instances;           /* existing instances */
};

struct mediateddeviceparent_types {
	struct mediateddeviceparent_type *items;
	size_t len;
	size_t cap;
};

struct mediateddeviceparent_status {
	char *node_name;
	char *parent;      /* "0000:3b:00.0", "mtty" */
	char *pci_address; /* of the PCI function that is this device or its ancestor; NULL: none */
	int numa_node;     /* -1: unknown */
	int instances;     /* of all types */
	struct mediateddeviceparent_types types;
	struct api_conditions conditions;
};

/* Initialise with api_object_new() or json_map_init(). */
struct mediateddeviceparent {
	struct api_meta meta;
	struct mediateddeviceparent_status status;
};

extern const struct json_row mediateddeviceparent_status_map[];
extern const struct api_kind mediateddeviceparent_kind;
