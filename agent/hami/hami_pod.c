#include "agent/hami/hami_pod.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

#define PENDING "Pending"

enum { UID_MAX = 64 };

static const struct json_row env_map[] = {
	JSON_STR(struct hami_pod_env, name, "name", JSON_OPTIONAL),
	JSON_STR(struct hami_pod_env, value, "value", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row resources_map[] = {
	JSON_PAIRS(struct hami_pod_resources, limits, "limits", JSON_OPTIONAL),
	JSON_END,
};

#define S struct hami_pod_container
static const struct json_row container_map[] = {
	JSON_STR(S, name, "name", JSON_REQUIRED),
	JSON_STRUCT(S, resources, "resources", JSON_OPTIONAL, struct hami_pod_resources,
		    resources_map),
	JSON_LIST(S, env, "env", JSON_OPTIONAL, struct hami_pod_env, env_map),
	JSON_END,
};
#undef S

#define S struct hami_pod_spec
static const struct json_row spec_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_LIST(S, containers, "containers", JSON_OPTIONAL, struct hami_pod_container,
		  container_map),
	JSON_LIST(S, init_containers, "initContainers", JSON_OPTIONAL, struct hami_pod_container,
		  container_map),
	JSON_END,
};
#undef S

static const struct json_row status_map[] = {
	JSON_STR(struct hami_pod_status, phase, "phase", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row map[] = {
	API_META(struct hami_pod),
	JSON_STRUCT(struct hami_pod, spec, "spec", JSON_OPTIONAL, struct hami_pod_spec, spec_map),
	JSON_STRUCT(struct hami_pod, status, "status", JSON_OPTIONAL, struct hami_pod_status,
		    status_map),
	JSON_END,
};

const struct api_kind hami_pod_kind = {
	.group = "",
	.version = "v1",
	.kind = "Pod",
	.plural = "pods",
	.size = sizeof(struct hami_pod),
	.map = map,
};

struct api_kind hami_pod_kind_in(const char *ns)
{
	struct api_kind kind = hami_pod_kind;

	kind.ns = ns;
	return kind;
}

bool hami_pod_is_pending(const struct hami_pod *pod)
{
	return !pod->status.phase || strcmp(pod->status.phase, PENDING) == 0;
}

/* Is the UID safe in the name of a folder? Those of the API server are. */
static bool has_plain_uid(const struct hami_pod *pod)
{
	const char *uid = pod->meta.uid;

	return uid && *uid && strlen(uid) <= UID_MAX &&
	       uid[strspn(uid, "0123456789abcdefghijklmnopqrstuvwxyz-")] == '\0';
}

int hami_pod_check(const struct hami_pod *pod, const char *node, struct err *err)
{
	const char *phase = api_meta_annotation(&pod->meta, HAMI_PHASE);

	if (!str_match(pod->spec.node_name, node))
		return err_set(err, ERR_INVALID, -EINVAL, "it is not bound to the node '%s'", node);
	if (!hami_pod_is_pending(pod))
		return err_set(err, ERR_INVALID, -EINVAL, "its phase is %.32s", pod->status.phase);
	if (!str_match(phase, HAMI_ALLOCATING))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "its annotation " HAMI_PHASE " is '%.32s', not " HAMI_ALLOCATING,
			       str_or_empty(phase));
	if (!has_plain_uid(pod))
		return err_set(err, ERR_INVALID, -EINVAL, "its UID is none");
	return 0;
}

/* How many of @resource @container requests. A quantity that is not a plain number matches no call
 * of the kubelet. */
static uint64_t requests(const struct hami_pod_container *container, const char *resource)
{
	const char *text = json_pairs_get(&container->resources.limits, resource);
	uint64_t count;

	if (!text)
		return 0;
	return str_to_u64(text, &count) ? count : UINT64_MAX;
}

const struct hami_pod_container *hami_pod_container(const struct hami_pod *pod, size_t i)
{
	const struct hami_pod_spec *spec = &pod->spec;

	if (i < spec->init_containers.len)
		return &spec->init_containers.items[i];
	return &spec->containers.items[i - spec->init_containers.len];
}

struct hami_requester *hami_pod_requesters(const struct hami_pod *pod, const char *resource,
					   size_t *ret_len)
{
	size_t len = pod->spec.init_containers.len + pod->spec.containers.len;
	struct hami_requester *requesters = xcalloc(len + 1, sizeof(*requesters));

	for (size_t i = 0; i < len; i++) {
		const struct hami_pod_container *container = hami_pod_container(pod, i);

		requesters[i] =
			(struct hami_requester){ container->name, requests(container, resource) };
	}
	*ret_len = len;
	return requesters;
}

/* The same words as in HAMi's plugin count as true. */
bool hami_pod_declines(const struct hami_pod_container *container)
{
	static const char *const yes[] = { "1", "t", "T", "true", "TRUE", "True" };

	for (size_t i = 0; i < container->env.len; i++) {
		const struct hami_pod_env *env = &container->env.items[i];

		for (size_t k = 0; k < ARRAY_LEN(yes); k++) {
			if (str_match(env->name, "CUDA_DISABLE_CONTROL") &&
			    str_match(env->value, yes[k]))
				return true;
		}
	}
	return false;
}
