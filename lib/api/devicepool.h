/* devicepool: DevicePool of hostdev.io/v1alpha1: how many devices of one resource name there are. */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

enum { DEVICEPOOL_NODES_MAX = 64 }; /* listed one by one */

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
	int claimed;   /* are to be lent               */
	int healthy;   /* of these, pods can have them */
	int allocated; /* containers have them         */
	int nodes;
	struct devicepool_nodes per_node; /* by name, at most DEVICEPOOL_NODES_MAX */
};

struct devicepool {
	struct api_meta meta;
	struct devicepool_spec spec;
	struct devicepool_status status;
};

extern const struct json_row devicepool_spec_map[];
extern const struct json_row devicepool_status_map[];
extern const struct api_kind devicepool_kind;
