#include "cli/map/map_node.h"

#include "api/json_map.h"

static const struct json_row info_map[] = {
	JSON_STR(struct map_node_info, kernel, "kernelVersion", JSON_OPTIONAL),
	JSON_STR(struct map_node_info, kubelet, "kubeletVersion", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row spec_map[] = {
	JSON_BOOL(struct map_node_spec, unschedulable, "unschedulable", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row status_map[] = {
	API_CONDITIONS(struct map_node_status),
	JSON_STRUCT(struct map_node_status, info, "nodeInfo", JSON_OPTIONAL, struct map_node_info,
		    info_map),
	JSON_END,
};

static const struct json_row map[] = {
	API_META(struct map_node),
	JSON_STRUCT(struct map_node, spec, "spec", JSON_OPTIONAL, struct map_node_spec, spec_map),
	JSON_STRUCT(struct map_node, status, "status", JSON_OPTIONAL, struct map_node_status,
		    status_map),
	JSON_END,
};

const struct api_kind map_node_kind = {
	.group = "",
	.version = "v1",
	.kind = "Node",
	.plural = "nodes",
	.size = sizeof(struct map_node),
	.map = map,
};
