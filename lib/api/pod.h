/* pod: the parts of core/v1 Pod that we use: its node and its containers' resource requests. */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

struct pod_resources {
	struct json_pairs limits; /* resource -> quantity, as strings */
};

struct pod_container {
	char *name;
	struct pod_resources resources;
};

struct pod_containers {
	struct pod_container *items;
	size_t len;
	size_t cap;
};

struct pod_spec {
	char *node_name;
	struct pod_containers containers;
	struct pod_containers init_containers;
};

struct pod {
	struct api_meta meta;
	struct pod_spec spec;
};

extern const struct api_kind pod_kind;
