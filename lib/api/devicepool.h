/* devicepool: DevicePool of hostdev.io/v1alpha1: the number of devices per resource name. */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

enum { DEVICEPOOL_NODES_MAX = 64 }; /* nodes listed individually */

struct devicepool_spec {
	char *resource_name;
};

struct devicepool_node {
	char *node_name;
	int devices;
	int claimed;
	int healthy;
	int allocated;
};

struct devicepool_nodes {
	struct devicepool_node *items;
	size_t len;
	size_t cap;
};

struct devicepool_status {
	int devices;
	int claimed;   /* number claimed for this resource */
	int healthy;   /* of these, the ones that pods can get */
	int allocated; /* of these, the ones in use by containers */
	int nodes;
	struct devicepool_nodes per_node; /* sorted by name, at most DEVICEPOOL_NODES_MAX */
};

struct devicepool {
	struct api_meta meta;
	struct devicepool_spec spec;
	struct devicepool_status status;
};

extern const struct json_row devicepool_status_map[];
extern const struct api_kind devicepool_kind;
