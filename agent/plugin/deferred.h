/*
 * deferred: the Allocate calls of one plugin while its device type prepares the answers
 * (allocate_later of agent/plugin/device_type.h).
 *
 * A call ends when all of its containers are answered, when one of them is refused, at the type's
 * deadline, or when the kubelet ends it. The devices are then looked up in the list once more: they
 * may have been withdrawn meanwhile. Two calls never wait for the same device.
 */
#pragma once

#include <stddef.h>

#include "grpc/status.h"

struct clock;
struct deferred_calls;
struct err;
struct grpc_call;
struct plugin_ids;
struct plugin_source;
struct str;

/* Borrowed. */
struct deferred_deps {
	struct clock *clock;
	const struct plugin_source *source; /* its list is the current one */
	/* Answer @call: once for each call that the kubelet has not ended, also before
	 * deferred_calls_add() returns. With GRPC_OK @out is the response; otherwise @err says why
	 * there is none. @ids: the requested devices, as far as they could be read. Does not free
	 * the calls. */
	void (*answer)(void *arg, struct grpc_call *call, const struct plugin_ids *ids,
		       enum grpc_status status, struct str *out, const struct err *err);
	void *arg;
};

struct deferred_calls *deferred_calls_new(const struct deferred_deps *deps);
/* The kubelet must have no calls any more: end or cancel them before. Takes NULL, returns NULL. */
struct deferred_calls *deferred_calls_free(struct deferred_calls *calls);

/* Begin to answer an AllocateRequest of @len bytes. */
void deferred_calls_add(struct deferred_calls *calls, struct grpc_call *call, const char *request,
			size_t len);

/* Refuse all calls. Takes NULL. */
void deferred_calls_refuse(struct deferred_calls *calls, const struct err *err);
