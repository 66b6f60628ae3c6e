/*
 * hami_pod: the parts of a Pod that an allocation for HAMi's scheduler needs, and whether it is the
 * pod that the scheduler has bound to this node. Pure.
 */
#pragma once

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
	char *value; /* NULL: none, or from elsewhere */
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

/* Is it bound to @node by HAMi's scheduler, and waits for its GPUs? 0, or why not: ERR_INVALID. */
int hami_pod_check(const struct hami_pod *pod, const char *node, struct err *err);

/* Its containers, init containers first, and how many of @resource each asks for; the names stay the
 * pod's. The caller frees the array; *@ret_len items. */
struct hami_requester *hami_pod_requesters(const struct hami_pod *pod, const char *resource,
					   size_t *ret_len);

/* The container @i of these. */
const struct hami_pod_container *hami_pod_container(const struct hami_pod *pod, size_t i);

/* Does the container's variable CUDA_DISABLE_CONTROL say that HAMi-core is not to be loaded in it? */
bool hami_pod_declines(const struct hami_pod_container *container);

/* Whether @uid is safe in the name of a folder, as each UID of the API server is. */
bool hami_pod_has_plain_uid(const struct hami_pod *pod);
