#include "agent/plugin/podresources.h"

#include <errno.h>
#include <string.h>
#include <uv.h>

#include "agent/plugin/podresources_codec.h"
#include "base/err.h"
#include "base/mem.h"
#include "grpc/uv_client.h"
#include "kube/backoff.h"
#include "kube/clock.h"
#include "kube/metrics.h"

enum {
	RETRY_FIRST_MS = 1000,
	RETRY_MAX_MS = 30000,
	JITTER_PERCENT = 20,
	DEADLINE_MS = 20000, /* the deadline that the kubelet hears of; the timer is first */
	ASK_CALLS = 2,       /* that follow a request */
};

struct podresources {
	struct podresources_deps deps;
	char *socket_path;
	struct clock_timer *timer;     /* the next call, or the deadline of the one under way */
	uint64_t due_ms;               /* the next call; UINT64_MAX: none                     */
	struct grpc_uv_client *client; /* NULL: no call is under way                          */
	struct backoff backoff;
	uint64_t pause_ms;        /* not before                                        */
	uint64_t began_ms;        /* the last call                                     */
	uint64_t asked_ms;        /* the call that was answered last                   */
	unsigned owed;            /* calls that have to work, for requests             */
	bool asked;               /* while a call was under way                        */
	struct pod_devices fresh; /* the answer of this call ... */
	struct err unread;        /* ... or why that is nothing                        */
	struct pod_devices devices;
	struct err stale; /* ERR_NONE: it is not */
	struct metric *calls;
};

static const struct metric_desc calls_desc = {
	.name = "hostdev_podresources_calls_total",
	.help = "Calls of the kubelet's podresources API by result.",
	.type = METRIC_COUNTER,
	.labels = { "result" },
};

/* Unless it comes sooner. */
static void schedule(struct podresources *p, uint64_t delay_ms)
{
	uint64_t now_ms = clock_now_ms(p->deps.clock);
	uint64_t due_ms = now_ms + delay_ms > p->pause_ms ? now_ms + delay_ms : p->pause_ms;

	if (due_ms >= p->due_ms)
		return;
	p->due_ms = due_ms;
	clock_timer_start(p->deps.clock, p->timer, due_ms - now_ms);
}

/* --- a call's end ----------------------------------------------------------------------------- */

static void schedule_after_answer(struct podresources *p)
{
	backoff_reset(&p->backoff);
	if (p->asked)
		schedule(p, PODRESOURCES_SOON_MS);
	else if (p->owed > 0 && --p->owed > 0)
		schedule(p, PODRESOURCES_SECOND_MS);
	else if (p->devices.len > 0)
		schedule(p, PODRESOURCES_SLOW_MS);
}

/* Takes the fresh devices. Comes last: `changed` may free @p. */
static void answered(struct podresources *p)
{
	const struct podresources_deps deps = p->deps;
	bool same = p->stale.kind == ERR_NONE && pod_devices_same(&p->devices, &p->fresh);

	pod_devices_done(&p->devices);
	p->devices = p->fresh;
	p->fresh = (struct pod_devices){ 0 };
	p->stale = (struct err){ 0 };
	p->asked_ms = p->began_ms;
	metric_count(p->calls, "done");
	schedule_after_answer(p);
	if (!same)
		deps.changed(deps.arg);
	if (deps.answered)
		deps.answered(deps.arg);
}

static void failed(struct podresources *p, const struct err *err)
{
	bool same = strcmp(p->stale.msg, err->msg) == 0;

	p->stale = *err;
	metric_count(p->calls, "failed");
	schedule(p, backoff_next(&p->backoff, clock_now_ms(p->deps.clock),
				 clock_random(p->deps.clock)));
	if (!same)
		p->deps.changed(p->deps.arg);
}

static void call_ends(struct podresources *p, const struct err *err)
{
	clock_timer_stop(p->deps.clock, p->timer);
	p->client = grpc_uv_client_free(p->client);
	if (err)
		failed(p, err);
	else
		answered(p);
}

static void on_message(void *arg, const char *data, size_t len)
{
	struct podresources *p = arg;

	const struct podresources_wanted wanted = { p->deps.wants, p->deps.arg,
						    p->deps.dra_driver };

	podresources_unpack(data, len, &wanted, &p->fresh, &p->unread);
}

static void on_end(void *arg, const struct grpc_result *result)
{
	struct podresources *p = arg;
	struct err err = p->unread;

	if (result->status != GRPC_OK)
		err_set(&err, ERR_RETRY, -EIO, "%s: %s", grpc_status_name(result->status),
			result->message);
	if (err.kind != ERR_NONE)
		err_wrap(&err, "read device allocations from the kubelet at '%s'", p->socket_path);
	call_ends(p, err.kind == ERR_NONE ? NULL : &err);
}

/* --- a call ----------------------------------------------------------------------------------- */

static void call(struct podresources *p)
{
	const struct grpc_request request = { .path = PODRESOURCES_LIST_PATH,
					      .data = "",
					      .timeout_ms = DEADLINE_MS,
					      .on_message = on_message,
					      .on_end = on_end,
					      .arg = p };
	struct grpc_limits limits = GRPC_LIMITS;
	struct err err = { 0 };

	limits.message_max = PODRESOURCES_MESSAGE_MAX;
	limits.unfinished_max = PODRESOURCES_MESSAGE_MAX + (1 << 20);
	p->due_ms = UINT64_MAX;
	p->began_ms = clock_now_ms(p->deps.clock);
	p->pause_ms = p->began_ms + PODRESOURCES_PAUSE_MS;
	p->asked = false;
	p->unread = (struct err){ 0 };
	p->client = grpc_uv_client_new(p->deps.loop, p->socket_path, &limits);
	clock_timer_start(p->deps.clock, p->timer, PODRESOURCES_CALL_MS);
	if (grpc_uv_client_call(p->client, &request, NULL, &err) < 0)
		call_ends(p, &err);
}

static void on_timer(void *arg)
{
	struct podresources *p = arg;
	struct err err = { 0 };

	if (!p->client) {
		call(p);
		return;
	}
	err_set(&err, ERR_RETRY, -ETIMEDOUT,
		"the kubelet at '%s' has not reported device allocations for %d s", p->socket_path,
		PODRESOURCES_CALL_MS / 1000);
	call_ends(p, &err);
}

void podresources_ask(struct podresources *p)
{
	p->owed = ASK_CALLS;
	p->asked = true;
	if (!p->client)
		schedule(p, PODRESOURCES_SOON_MS);
}

/* --- what is known ---------------------------------------------------------------------------- */

const struct pod_devices *podresources_devices(const struct podresources *p)
{
	return &p->devices;
}

static int compare(const struct pod_device *item, const char *resource, const char *device)
{
	int order = strcmp(item->resource, resource);

	return order != 0 ? order : strcmp(item->device, device);
}

const struct pod_device *podresources_find(const struct podresources *p, const char *resource,
					   const char *device)
{
	size_t from = 0;
	size_t to = p->devices.len;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare(&p->devices.items[middle], resource, device) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	if (from < p->devices.len && compare(&p->devices.items[from], resource, device) == 0)
		return &p->devices.items[from];
	return NULL;
}

uint64_t podresources_asked_ms(const struct podresources *p)
{
	return p->asked_ms;
}

const struct err *podresources_stale(const struct podresources *p)
{
	return p->stale.kind == ERR_NONE ? NULL : &p->stale;
}

/* --- life ------------------------------------------------------------------------------------- */

struct podresources *podresources_new(const struct podresources_deps *deps)
{
	struct podresources *p = xcalloc(1, sizeof(*p));

	p->deps = *deps;
	p->socket_path = xstrdup(deps->socket_path);
	p->due_ms = UINT64_MAX;
	p->backoff = (struct backoff){ .first_ms = RETRY_FIRST_MS,
				       .max_ms = RETRY_MAX_MS,
				       .jitter_percent = JITTER_PERCENT };
	err_set(&p->stale, ERR_RETRY, -EAGAIN,
		"device allocations have not been read from the kubelet yet");
	p->calls = metrics_family(deps->metrics, &calls_desc);
	metric_show(p->calls, (const char *const[]){ "done" });
	metric_show(p->calls, (const char *const[]){ "failed" });
	p->timer = clock_timer_new(deps->clock, on_timer, p);
	return p;
}

struct podresources *podresources_free(struct podresources *p)
{
	if (!p)
		return NULL;
	clock_timer_free(p->deps.clock, p->timer);
	grpc_uv_client_free(p->client);
	pod_devices_done(&p->fresh);
	pod_devices_done(&p->devices);
	free(p->socket_path);
	free(p);
	return NULL;
}
