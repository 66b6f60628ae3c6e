/* node: core/v1 Node, what of it we use. */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

struct node_address {
	char *type; /* "InternalIP", "Hostname", ... */
	char *address;
};

struct node_status {
	struct {
		struct node_address *items;
		size_t len;
		size_t cap;
	} addresses;
};

struct node {
	struct api_meta meta;
	struct node_status status;
};

extern const struct api_kind node_kind;

/* The node's first InternalIP, NULL if it has none. */
const char *node_internal_ip(const struct node *node);
