#include "agent/plugin/deferred.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "agent/plugin/device_type.h"
#include "agent/plugin/plugin_answer.h"
#include "agent/plugin/plugin_codec.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/server.h"
#include "kube/clock.h"

/* The type's; it may outlive its call. */
struct deferred {
	struct deferred_call *call; /* NULL: nobody waits any more */
	size_t container;
};

struct deferred_call {
	struct deferred_calls *all;
	struct grpc_call *call;
	struct plugin_ids ids;
	struct plugin_allocations response; /* of each container          */
	struct deferred **waiting;          /* likewise; NULL: not waiting */
	size_t nwaiting;
	struct clock_timer *deadline;
	bool beginning; /* not all containers are begun: it cannot end */
	bool refused;
	struct err err; /* why */
	struct deferred_call *next;
	struct deferred_call **link; /* what points to us */
};

struct deferred_calls {
	struct deferred_deps deps;
	struct deferred_call *first;
	struct map *ids; /* the call that waits for each */
};

/* --- one call --------------------------------------------------------------------------------- */

/* From here on neither the type nor the kubelet nor the clock ends it. */
static void call_detach(struct deferred_call *call)
{
	struct deferred_calls *all = call->all;

	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	call->deadline = clock_timer_free(all->deps.clock, call->deadline);
	for (size_t i = 0; i < call->ids.len; i++) {
		const struct json_strs *ids = &call->ids.items[i];

		for (size_t k = 0; k < ids->len; k++) {
			if (map_get(all->ids, ids->items[k]) == call)
				map_remove(all->ids, ids->items[k]);
		}
		if (call->waiting[i])
			call->waiting[i]->call = NULL;
	}
}

static void call_free(struct deferred_call *call)
{
	plugin_ids_done(&call->ids);
	plugin_allocations_done(&call->response);
	free(call->waiting);
	free(call);
}

static void on_cancelled(void *arg)
{
	struct deferred_call *call = arg;

	assert(!call->beginning);
	log_debug("Allocate ended by the kubelet",
		  log_str("resource", call->all->deps.source->resource));
	call_detach(call);
	call_free(call);
}

static int response_write(const struct deferred_call *call, struct str *out, struct err *err)
{
	int r = plugin_answer_check(call->all->deps.source, &call->ids, err);

	return r < 0 ? r : plugin_codec_write_allocations(&call->response, out, err);
}

/* The owner may change the list when it hears of the answer. */
static void call_end(struct deferred_call *call)
{
	const struct deferred_deps *deps = &call->all->deps;
	auto_str struct str out = STR_INIT;

	if (!call->refused)
		call->refused = response_write(call, &out, &call->err) < 0;
	call_detach(call);
	deps->answer(deps->arg, call->call, &call->ids,
		     call->refused ? plugin_answer_status(&call->err) : GRPC_OK, &out, &call->err);
	call_free(call);
}

static void call_end_if_done(struct deferred_call *call)
{
	if (!call->beginning && (call->refused || call->nwaiting == 0))
		call_end(call);
}

/* The first reason counts. */
static void call_refuse(struct deferred_call *call, const struct err *err)
{
	assert(err->code < 0);
	if (!call->refused)
		call->err = *err;
	call->refused = true;
	call_end_if_done(call);
}

static unsigned deadline_ms(const struct device_type *type)
{
	return type->later_ms > 0 ? type->later_ms : DEFERRED_MS;
}

static void on_deadline(void *arg)
{
	struct deferred_call *call = arg;
	const struct plugin_source *source = call->all->deps.source;
	struct err err = { 0 };
	size_t i = 0;

	while (!call->waiting[i])
		i++;
	err_set(&err, ERR_RETRY, -ETIMEDOUT,
		"%s: device type '%s' has not prepared device '%s' within %u ms", source->resource,
		source->type->name, call->ids.items[i].items[0], deadline_ms(source->type));
	call_refuse(call, &err);
}

/* --- the type's side -------------------------------------------------------------------------- */

/* Returns the call. NULL: it has ended, so there is nothing to answer. */
static struct deferred_call *deferred_take(struct deferred *deferred, size_t *ret_container)
{
	struct deferred_call *call = deferred->call;

	*ret_container = deferred->container;
	free(deferred);
	if (!call)
		return NULL;
	call->waiting[*ret_container] = NULL;
	call->nwaiting--;
	return call;
}

void deferred_answer(struct deferred *deferred, struct allocation *allocation)
{
	size_t container;
	struct deferred_call *call = deferred_take(deferred, &container);
	struct err err = { 0 };

	if (!call) {
		allocation_done(allocation);
		return;
	}
	call->response.items[container] = *allocation;
	*allocation = (struct allocation){ 0 };
	if (plugin_answer_check_allocation(call->all->deps.source, &call->ids.items[container],
					   &call->response.items[container], &err) < 0)
		call_refuse(call, &err);
	else
		call_end_if_done(call);
}

void deferred_refuse(struct deferred *deferred, const struct err *err)
{
	size_t container;
	struct deferred_call *call = deferred_take(deferred, &container);
	struct err why = *err;

	if (!call)
		return;
	err_wrap(&why, "%s", call->all->deps.source->resource);
	call_refuse(call, &why);
}

bool deferred_is_wanted(const struct deferred *deferred)
{
	return deferred->call;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* The containers of one call may share a device, those of two may not. */
static int ids_take(struct deferred_call *call, struct err *err)
{
	struct deferred_calls *all = call->all;

	for (size_t i = 0; i < call->ids.len; i++) {
		const struct json_strs *ids = &call->ids.items[i];

		for (size_t k = 0; k < ids->len; k++) {
			const void *other = map_get(all->ids, ids->items[k]);

			if (other && other != call)
				return err_set(err, ERR_RETRY, -EBUSY,
					       "device '%s' of '%s' is being allocated by another "
					       "request",
					       ids->items[k], all->deps.source->resource);
			map_set(all->ids, ids->items[k], call);
		}
	}
	return 0;
}

static int call_read(struct deferred_call *call, const char *request, size_t len, struct err *err)
{
	int r = plugin_codec_read_allocate(request, len, &call->ids, err);

	call->waiting = xcalloc(call->ids.len + 1, sizeof(void *));
	if (r >= 0)
		r = plugin_answer_check(call->all->deps.source, &call->ids, err);
	return r < 0 ? r : ids_take(call, err);
}

/* The type may answer immediately. */
static void call_begin(struct deferred_call *call)
{
	const struct plugin_source *source = call->all->deps.source;

	for (size_t i = 0; i < call->ids.len; i++)
		array_add(&call->response);
	for (size_t i = 0; i < call->ids.len && !call->refused; i++) {
		struct deferred *deferred = xcalloc(1, sizeof(*deferred));

		*deferred = (struct deferred){ call, i };
		call->waiting[i] = deferred;
		call->nwaiting++;
		source->type->allocate_later(source->arg, source->resource, &call->ids.items[i],
					     deferred);
	}
}

void deferred_calls_add(struct deferred_calls *calls, struct grpc_call *grpc_call,
			const char *request, size_t len)
{
	struct deferred_call *call = xcalloc(1, sizeof(*call));
	struct clock *clock = calls->deps.clock;

	call->all = calls;
	call->call = grpc_call;
	call->beginning = true;
	call->link = &calls->first;
	call->next = calls->first;
	if (call->next)
		call->next->link = &call->next;
	calls->first = call;
	grpc_call_on_cancel(grpc_call, on_cancelled, call);
	call->deadline = clock_timer_new(clock, on_deadline, call);
	clock_timer_start(clock, call->deadline, deadline_ms(calls->deps.source->type));
	call->refused = call_read(call, request, len, &call->err) < 0;
	if (!call->refused)
		call_begin(call);
	call->beginning = false;
	call_end_if_done(call);
}

void deferred_calls_refuse(struct deferred_calls *calls, const struct err *err)
{
	struct deferred_call *next;

	for (struct deferred_call *call = calls ? calls->first : NULL; call; call = next) {
		next = call->next;
		call_refuse(call, err);
	}
}

struct deferred_calls *deferred_calls_new(const struct deferred_deps *deps)
{
	struct deferred_calls *calls = xcalloc(1, sizeof(*calls));

	calls->deps = *deps;
	calls->ids = map_new();
	return calls;
}

struct deferred_calls *deferred_calls_free(struct deferred_calls *calls)
{
	if (!calls)
		return NULL;
	assert(!calls->first);
	map_free(calls->ids);
	free(calls);
	return NULL;
}
