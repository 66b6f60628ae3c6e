#include "api/node.h"

#include <string.h>

static const struct json_row address_map[] = {
	JSON_STR(struct node_address, type, "type", JSON_OPTIONAL),
	JSON_STR(struct node_address, address, "address", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row status_map[] = {
	JSON_LIST(struct node_status, addresses, "addresses", JSON_OPTIONAL, struct node_address,
		  address_map),
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
