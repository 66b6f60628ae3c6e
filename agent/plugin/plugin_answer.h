/*
 * plugin_answer: what a device plugin answers to the calls that have one answer: bytes in, bytes
 * out.
 */
#pragma once

#include <stddef.h>

#include "grpc/status.h"

struct allocation;
struct device_list;
struct device_type;
struct err;
struct json_strs;
struct plugin_ids;
struct str;

/* The offered devices; borrowed. */
struct plugin_source {
	const char *resource;
	const struct device_type *type;
	void *arg; /* the type's */
	const struct device_list *list;
	struct checkpoint *checkpoint; /* the kubelet's; NULL: none */
};

/* Each appends the answer to @out and returns GRPC_OK; or another status, with @err saying why. */

enum grpc_status plugin_answer_options(const struct plugin_source *source, struct str *out,
				       struct err *err);

/* May the container start? The answer is empty. */
enum grpc_status plugin_answer_start(const struct plugin_source *source, const char *request,
				     size_t len, struct err *err);

/*
 * Allocate for each container of the request exactly the devices that it names, in that order. The
 * call fails as a whole if a device is not in the list, not healthy or named twice, or if the type
 * fails or has nothing to allocate. @ret_ids are the requested devices, also on failure: the caller
 * releases them.
 */
enum grpc_status plugin_answer_allocate(const struct plugin_source *source, const char *request,
					size_t len, struct str *out, struct plugin_ids *ret_ids,
					struct err *err);

/* The parts of it, for answers that come later (agent/plugin/deferred.h). < 0 with @err filled. */

/* The devices of @request are in the list, healthy, and none is named twice for one container. */
int plugin_answer_check(const struct plugin_source *source, const struct plugin_ids *request,
			struct err *err);
/* There is something in the @allocation for the devices @ids. */
int plugin_answer_check_allocation(const struct plugin_source *source, const struct json_strs *ids,
				   const struct allocation *allocation, struct err *err);
/* What the kubelet shows in the pod's message. */
enum grpc_status plugin_answer_status(const struct err *err);

/* Never fails, because that would fail the pod: a request that is not understood gets an empty
 * answer, which the kubelet takes for no preference. */
void plugin_answer_preferred(const struct plugin_source *source, const char *request, size_t len,
			     struct str *out);
