/*
 * mediateddeviceparent: MediatedDeviceParent of hostdev.io/v1alpha1: one device of a node that can be
 * divided into mediated devices, with the types that it has, and how the type manager fares with it.
 */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

struct mediateddeviceparent_type {
	char *id;   /* the kernel's, "nvidia-222"                                     */
	char *name; /* as configuration has it, "GRID_T4-1B"; the id if it has none   */
	char *description;
	char *device_api;
	int available_instances; /* that could be made now; -1: cannot be read */
	int instances;           /* that there are                             */
};

struct mediateddeviceparent_types {
	struct mediateddeviceparent_type *items;
	size_t len;
	size_t cap;
};

struct mediateddeviceparent_status {
	char *node_name;
	char *parent;      /* "0000:3b:00.0", "mtty"                                     */
	char *pci_address; /* of the function that it is, or hangs on; NULL: none        */
	int numa_node;     /* -1: unknown                                                */
	int instances;     /* of all types                                               */
	struct mediateddeviceparent_types types;
	struct api_conditions conditions;
};

/* Start one with api_object_new() or json_map_init(). */
struct mediateddeviceparent {
	struct api_meta meta;
	struct mediateddeviceparent_status status;
};

extern const struct json_row mediateddeviceparent_status_map[];
extern const struct api_kind mediateddeviceparent_kind;
