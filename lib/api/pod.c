#include "api/pod.h"

static const struct json_row resources_map[] = {
	JSON_PAIRS(struct pod_resources, limits, "limits", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row container_map[] = {
	JSON_STR(struct pod_container, name, "name", JSON_OPTIONAL),
	JSON_STRUCT(struct pod_container, resources, "resources", JSON_OPTIONAL,
		    struct pod_resources, resources_map),
	JSON_END,
};

#define S struct pod_spec
static const struct json_row spec_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_LIST(S, containers, "containers", JSON_OPTIONAL, struct pod_container, container_map),
	JSON_LIST(S, init_containers, "initContainers", JSON_OPTIONAL, struct pod_container,
		  container_map),
	JSON_END,
};
#undef S

static const struct json_row map[] = {
	API_META(struct pod),
	JSON_STRUCT(struct pod, spec, "spec", JSON_OPTIONAL, struct pod_spec, spec_map),
	JSON_END,
};

const struct api_kind pod_kind = {
	.group = "",
	.version = "v1",
	.kind = "Pod",
	.plural = "pods",
	.size = sizeof(struct pod),
	.map = map,
};
