#include "api/devicepool.h"

#include "api/names.h"

static const struct json_row devicepool_spec_map[] = {
	JSON_STR(struct devicepool_spec, resource_name, "resourceName", JSON_ALWAYS),
	JSON_END,
};

/* clang-format off */
#define N struct devicepool_node
static const struct json_row node_map[] = {
	JSON_STR(N, node_name, "nodeName",  JSON_REQUIRED),
	JSON_INT(N, devices,   "devices",   JSON_ALWAYS),
	JSON_INT(N, claimed,   "claimed",   JSON_ALWAYS),
	JSON_INT(N, healthy,   "healthy",   JSON_ALWAYS),
	JSON_INT(N, allocated, "allocated", JSON_ALWAYS),
	JSON_END,
};
#undef N

#define S struct devicepool_status
const struct json_row devicepool_status_map[] = {
	JSON_INT (S, devices,   "devices",   JSON_ALWAYS),
	JSON_INT (S, claimed,   "claimed",   JSON_ALWAYS),
	JSON_INT (S, healthy,   "healthy",   JSON_ALWAYS),
	JSON_INT (S, allocated, "allocated", JSON_ALWAYS),
	JSON_INT (S, nodes,     "nodes",     JSON_ALWAYS),
	JSON_LIST(S, per_node,  "perNode",   JSON_ALWAYS, struct devicepool_node, node_map),
	JSON_END,
};
#undef S
/* clang-format on */

static const struct json_row map[] = {
	API_META(struct devicepool),
	JSON_STRUCT(struct devicepool, spec, "spec", JSON_OPTIONAL, struct devicepool_spec,
		    devicepool_spec_map),
	JSON_STRUCT(struct devicepool, status, "status", JSON_OPTIONAL, struct devicepool_status,
		    devicepool_status_map),
	JSON_END,
};

const struct api_kind devicepool_kind = {
	.group = NAMES_OWN_GROUP,
	.version = NAMES_OWN_VERSION,
	.kind = "DevicePool",
	.plural = "devicepools",
	.size = sizeof(struct devicepool),
	.map = map,
};
