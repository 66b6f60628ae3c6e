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
	JSON_STR(struct node_condition, heartbeat, "lastHeartbeatTime", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row status_map[] = {
	JSON_LIST(struct node_status, conditions, "conditions", JSON_OPTIONAL,
		  struct node_condition, condition_map),
	JSON_LIST(struct node_status, addresses, "addresses", JSON_OPTIONAL, struct node_address,
		  address_map),
	JSON_PAIRS(struct node_status, allocatable, "allocatable", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row map[] = {
	API_META(struct node),
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

int64_t node_heartbeat_ms(const struct node *node)
{
	for (size_t i = 0; i < node->status.conditions.len; i++) {
		const struct node_condition *condition = &node->status.conditions.items[i];
		int64_t wall_ms;

		if (condition->type && strcmp(condition->type, "Ready") == 0 &&
		    condition->heartbeat && timefmt_parse(condition->heartbeat, &wall_ms))
			return wall_ms;
	}
	return 0;
}
