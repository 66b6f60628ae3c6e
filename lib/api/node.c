#include "api/node.h"

#include <string.h>

#include "base/timefmt.h"

static const struct json_row address_map[] = {
	JSON_STR(struct node_address, type, "type", JSON_OPTIONAL),
	JSON_STR(struct node_address, address, "address", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row condition_map[] = {
	JSON_STR(struct node_condition, type, "type", JSON_OPTIONAL),
	JSON_STR(struct node_condition, status, "status", JSON_OPTIONAL),
	JSON_STR(struct node_condition, reason, "reason", JSON_OPTIONAL),
	JSON_STR(struct node_condition, message, "message", JSON_OPTIONAL),
	JSON_STR(struct node_condition, last_transition_time, "lastTransitionTime", JSON_OPTIONAL),
	JSON_STR(struct node_condition, heartbeat, "lastHeartbeatTime", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row info_map[] = {
	JSON_STR(struct node_info, kernel, "kernelVersion", JSON_OPTIONAL),
	JSON_STR(struct node_info, kubelet, "kubeletVersion", JSON_OPTIONAL),
	JSON_STR(struct node_info, runtime, "containerRuntimeVersion", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row spec_map[] = {
	JSON_BOOL(struct node_spec, unschedulable, "unschedulable", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row status_map[] = {
	JSON_LIST(struct node_status, conditions, "conditions", JSON_OPTIONAL,
		  struct node_condition, condition_map),
	JSON_LIST(struct node_status, addresses, "addresses", JSON_OPTIONAL, struct node_address,
		  address_map),
	JSON_PAIRS(struct node_status, allocatable, "allocatable", JSON_OPTIONAL),
	JSON_STRUCT(struct node_status, info, "nodeInfo", JSON_OPTIONAL, struct node_info,
		    info_map),
	JSON_END,
};

static const struct json_row map[] = {
	API_META(struct node),
	JSON_STRUCT(struct node, spec, "spec", JSON_OPTIONAL, struct node_spec, spec_map),
	JSON_STRUCT(struct node, status, "status", JSON_OPTIONAL, struct node_status, status_map),
	JSON_END,
};

const struct api_kind node_kind = {
	.group = "",
	.version = "v1",
	.kind = "Node",
	.plural = "nodes",
	.size = sizeof(struct node),
	.map = map,
};

const char *node_internal_ip(const struct node *node)
{
	for (size_t i = 0; i < node->status.addresses.len; i++) {
		const struct node_address *address = &node->status.addresses.items[i];

		if (address->type && strcmp(address->type, "InternalIP") == 0)
			return address->address;
	}
	return NULL;
}

const struct node_condition *node_condition_ready(const struct node *node)
{
	for (size_t i = 0; i < node->status.conditions.len; i++) {
		const struct node_condition *condition = &node->status.conditions.items[i];

		if (condition->type && strcmp(condition->type, "Ready") == 0)
			return condition;
	}
	return NULL;
}

int64_t node_heartbeat_ms(const struct node *node)
{
	const struct node_condition *ready = node_condition_ready(node);
	int64_t wall_ms;

	return ready && ready->heartbeat && timefmt_parse(ready->heartbeat, &wall_ms) ? wall_ms : 0;
}
