#include "agent/plugin/allocatable.h"

#include <errno.h>
#include <stdlib.h>
#include <uv.h>

#include "agent/plugin/podresources.h"
#include "agent/plugin/podresources_codec.h"
#include "base/err.h"
#include "base/mem.h"
#include "grpc/uv_client.h"
#include "kube/clock.h"

enum { DEADLINE_MS = 2 * ALLOCATABLE_CALL_MS }; /* that the kubelet hears of; the timer is first */

struct allocatable {
	struct allocatable_deps deps;
	char *socket_path;
	struct clock_timer *timer;     /* the deadline of the call under way, or its failure */
	struct grpc_uv_client *client; /* NULL: no call is under way                         */
	struct pod_devices devices;    /* of the answer ... */
	struct err err;                /* ... or why there is none */
};

static void call_ends(struct allocatable *a)
{
	clock_timer_stop(a->deps.clock, a->timer);
	a->client = grpc_uv_client_free(a->client);
	if (a->err.kind == ERR_NONE) {
		a->deps.answered(a->deps.arg, &a->devices, NULL);
	} else {
		err_wrap(&a->err, "read the devices that pods can get from the kubelet at '%s'",
			 a->socket_path);
		a->deps.answered(a->deps.arg, NULL, &a->err);
	}
	pod_devices_done(&a->devices);
}

static void on_message(void *arg, const char *data, size_t len)
{
	struct allocatable *a = arg;

	pod_devices_done(&a->devices);
	(void)podresources_unpack_allocatable(data, len, &a->devices, &a->err);
}

static void on_end(void *arg, const struct grpc_result *result)
{
	struct allocatable *a = arg;

	if (result->status != GRPC_OK)
		err_set(&a->err, ERR_RETRY, -EIO, "%s: %s", grpc_status_name(result->status),
			result->message);
	call_ends(a);
}

static void on_timer(void *arg)
{
	struct allocatable *a = arg;

	if (a->err.kind == ERR_NONE)
		err_set(&a->err, ERR_RETRY, -ETIMEDOUT, "no answer within %d s",
			ALLOCATABLE_CALL_MS / 1000);
	call_ends(a);
}

void allocatable_ask(struct allocatable *a)
{
	const struct grpc_request request = { .path = PODRESOURCES_ALLOCATABLE_PATH,
					      .data = "",
					      .timeout_ms = DEADLINE_MS,
					      .on_message = on_message,
					      .on_end = on_end,
					      .arg = a };
	struct grpc_limits limits = GRPC_LIMITS;
	uint64_t wait_ms = ALLOCATABLE_CALL_MS;

	if (a->client)
		return;
	limits.message_max = PODRESOURCES_MESSAGE_MAX;
	limits.unfinished_max = PODRESOURCES_MESSAGE_MAX + (1 << 20);
	a->err = (struct err){ 0 };
	a->client = grpc_uv_client_new(a->deps.loop, a->socket_path, &limits);
	if (grpc_uv_client_call(a->client, &request, NULL, &a->err) < 0)
		wait_ms = 0;
	clock_timer_start(a->deps.clock, a->timer, wait_ms);
}

struct allocatable *allocatable_new(const struct allocatable_deps *deps)
{
	struct allocatable *a = xcalloc(1, sizeof(*a));

	a->deps = *deps;
	a->socket_path = xstrdup(deps->socket_path);
	a->timer = clock_timer_new(deps->clock, on_timer, a);
	return a;
}

struct allocatable *allocatable_free(struct allocatable *a)
{
	if (!a)
		return NULL;
	clock_timer_free(a->deps.clock, a->timer);
	grpc_uv_client_free(a->client);
	pod_devices_done(&a->devices);
	free(a->socket_path);
	free(a);
	return NULL;
}
