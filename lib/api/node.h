/* node: the parts of core/v1 Node that we use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/kind.h"
#include "api/meta.h"

struct node_address {
	char *type; /* "InternalIP", "Hostname", ... */
	char *address;
};

/* Unlike our own kinds' conditions (api_condition), it has a heartbeat. */
struct node_condition {
	char *type;   /* "Ready", ... */
	char *status; /* "True", "False", "Unknown" */
	char *reason;
	char *message;
	char *last_transition_time;
	char *heartbeat; /* lastHeartbeatTime: last report of the kubelet */
};

struct node_info {
	char *kernel;  /* "6.1.0-25-amd64" */
	char *kubelet; /* "v1.31.0" */
	char *runtime; /* "containerd://2.2.9" */
};

struct node_spec {
	bool unschedulable;
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
	struct json_pairs allocatable; /* resource -> quantity, as strings */
	struct node_info info;
};

struct node {
	struct api_meta meta;
	struct node_spec spec;
	struct node_status status;
};

extern const struct api_kind node_kind;

/* The node's first InternalIP; NULL if it has none. */
const char *node_internal_ip(const struct node *node);

/* The condition Ready; NULL if no kubelet has reported yet. */
const struct node_condition *node_condition_ready(const struct node *node);

/* The heartbeat of the condition Ready, in ms of the wall clock; 0 if there is none. */
int64_t node_heartbeat_ms(const struct node *node);
