/* node: core/v1 Node, what of it we use. */
#pragma once

#include <stdint.h>

#include "api/kind.h"
#include "api/meta.h"

struct node_address {
	char *type; /* "InternalIP", "Hostname", ... */
	char *address;
};

struct node_condition {
	char *type;      /* "Ready", ... */
	char *heartbeat; /* lastHeartbeatTime: when the kubelet said so last */
};

struct node_status {
	struct {
		struct node_condition *items;
		size_t len;
		size_t cap;
	} conditions;
	struct {
		struct node_address *items;
		size_t len;
		size_t cap;
	} addresses;
	struct json_pairs allocatable; /* resource -> quantity, as text */
};

struct node {
	struct api_meta meta;
	struct node_status status;
};

extern const struct api_kind node_kind;

/* The node's first InternalIP, NULL if it has none. */
const char *node_internal_ip(const struct node *node);

/* When the kubelet told the condition Ready last, in ms of the wall clock; 0: there is none. */
int64_t node_heartbeat_ms(const struct node *node);
