/*
 * hami_pod: the parts of a Pod that an Allocate call needs with HAMi's scheduler, and whether that
 * scheduler has bound the pod to this node. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/hami/hami_request.h"
#include "api/kind.h"
#include "api/meta.h"

struct err;

#define HAMI_PHASE      "hami.io/bind-phase"
#define HAMI_ALLOCATING "allocating"
#define HAMI_SUCCESS    "success"
#define HAMI_FAILED     "failed"

struct hami_pod_env {
	char *name;
	char *value; /* NULL: none, or a valueFrom */
};

struct hami_pod_resources {
	struct json_pairs limits; /* resource -> quantity */
};

struct hami_pod_container {
	char *name;
	struct hami_pod_resources resources;
	struct {
		struct hami_pod_env *items;
		size_t len, cap;
	} env;
};

struct hami_pod_containers {
	struct hami_pod_container *items;
	size_t len, cap;
};

struct hami_pod_spec {
	char *node_name;
	struct hami_pod_containers containers;
	struct hami_pod_containers init_containers;
};

struct hami_pod_status {
	char *phase; /* "Pending" */
};

struct hami_pod {
	struct api_meta meta;
	struct hami_pod_spec spec;
	struct hami_pod_status status;
};

extern const struct api_kind hami_pod_kind;

/* The same, for requests in the namespace @ns, which is borrowed. */
struct api_kind hami_pod_kind_in(const char *ns);

/* Pending: its containers have not started. */
bool hami_pod_is_pending(const struct hami_pod *pod);

/* 0 if HAMi's scheduler has bound @pod to @node and the pod waits for its GPUs; else ERR_INVALID
 * with the reason. */
int hami_pod_check(const struct hami_pod *pod, const char *node, struct err *err);

/* The pod's containers, init containers first, and how many of @resource each requests. The caller
 * frees the array of *@ret_len items; the names are the pod's. */
struct hami_requester *hami_pod_requesters(const struct hami_pod *pod, const char *resource,
					   size_t *ret_len);

/* The container of the item @i of that array. */
const struct hami_pod_container *hami_pod_container(const struct hami_pod *pod, size_t i);

/* Does the container set CUDA_DISABLE_CONTROL, so that HAMi-core is not loaded into it? */
bool hami_pod_declines(const struct hami_pod_container *container);
