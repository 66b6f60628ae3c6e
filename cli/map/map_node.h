/* map_node: core/v1 Node, what of it the page shows. */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

struct map_node_info {
	char *kernel;  /* "6.1.0-25-amd64" */
	char *kubelet; /* "v1.31.0"        */
};

struct map_node_spec {
	bool unschedulable;
};

struct map_node_status {
	struct api_conditions conditions;
	struct map_node_info info;
};

struct map_node {
	struct api_meta meta;
	struct map_node_spec spec;
	struct map_node_status status;
};

extern const struct api_kind map_node_kind;
