#include "agent/plugin/plugin.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/plugin/deferred.h"
#include "agent/plugin/device_list.h"
#include "agent/plugin/plugin_answer.h"
#include "agent/plugin/plugin_codec.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/uv_server.h"
#include "kube/clock.h"

enum {
	STOP_CHECK_MS = 10, /* between two checks of a stop whether connections are open */
	/* What hinders a start, such as the processes of a pod that was deleted by force, has ended
	 * within some seconds as a rule. A kubelet that is refused tries again only after 10 s or
	 * more; it waits for 30 s. */
	START_WAIT_MS = 8000,
	START_CHECK_MS = 250,
};

struct stream {
	struct plugin *plugin;
	struct grpc_call *call;
	struct stream *next;
	struct stream **link; /* what points to us */
};

/* A container that may start soon. */
struct start {
	struct plugin *plugin;
	struct grpc_call *call;
	struct str request;
	uint64_t until_ms;
	struct clock_timer *timer;
	struct start *next;
	struct start **link; /* what points to us */
};

struct plugin {
	struct clock *clock;
	char *resource;
	struct plugin_source source;
	struct device_list *list;
	struct deferred_calls *deferred; /* NULL: the type answers immediately */
	struct start *starts;
	const struct plugin_ops *ops;
	void *arg;
	struct grpc_service service;
	struct grpc_uv_server *server;
	struct stream *streams;
	size_t nstreams;
	const struct stream *kubelets; /* one of them, or NULL                      */
	bool awaited;                  /* it is about to come                       */
	bool guessed;                  /* `kubelets` is the first that came since   */
	uint64_t asker;                /* the connection that asked for the options */
	bool hanging_up;
	struct clock_timer *timer;
	void (*stopped)(void *arg);
	void *stopped_arg;
	uint64_t stop_by_ms;
	bool ending; /* no more callbacks about streams */
};

/* --- ListAndWatch ----------------------------------------------------------------------------- */

static void stream_forget(struct stream *stream)
{
	*stream->link = stream->next;
	if (stream->next)
		stream->next->link = stream->link;
	stream->plugin->nstreams--;
	if (stream->plugin->kubelets == stream)
		stream->plugin->kubelets = NULL;
	free(stream);
}

static void on_stream_cancelled(void *arg)
{
	struct stream *stream = arg;
	struct plugin *plugin = stream->plugin;
	bool kubelets = plugin->kubelets == stream;

	stream_forget(stream);
	if (!plugin->ending && !plugin->hanging_up)
		plugin->ops->on_stream_closed(plugin->arg, plugin->nstreams, kubelets);
}

/*
 * The kubelet asks for the options on its connection before it opens its stream there
 * (PluginConnected() of pkg/kubelet/cm/devicemanager/manager.go, 1.34). Until such a stream comes
 * the first one is taken for its.
 */
static void note_kubelet(struct plugin *plugin, const struct stream *stream)
{
	bool sure = grpc_call_connection(stream->call) == plugin->asker;

	if (!plugin->awaited || (!sure && plugin->guessed))
		return;
	plugin->kubelets = stream;
	plugin->guessed = true;
	plugin->awaited = !sure;
}

/* The list was made to fit. */
static void stream_send(const struct stream *stream, const struct str *message)
{
	const char *data = message->buf ? message->buf : "";
	struct err err = { 0 };

	if (grpc_call_send_latest(stream->call, data, message->len, &err) < 0)
		log_error("list not sent", log_str("resource", stream->plugin->resource),
			  log_str("why", err.msg));
}

static void handle_list_and_watch(void *arg, struct grpc_call *call, const char *request,
				  size_t len)
{
	struct plugin *plugin = arg;
	struct stream *stream;

	(void)request;
	(void)len;
	if (plugin->ending) {
		grpc_call_finish(call, GRPC_UNAVAILABLE, "the resource is withdrawn");
		return;
	}
	if (plugin->nstreams >= PLUGIN_STREAMS_MAX) {
		grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "too many open ListAndWatch calls");
		return;
	}
	stream = xcalloc(1, sizeof(*stream));
	stream->plugin = plugin;
	stream->call = call;
	stream->link = &plugin->streams;
	stream->next = plugin->streams;
	if (stream->next)
		stream->next->link = &stream->next;
	plugin->streams = stream;
	plugin->nstreams++;
	note_kubelet(plugin, stream);
	grpc_call_on_cancel(call, on_stream_cancelled, stream);
	stream_send(stream, &plugin->list->message);
	if (plugin->kubelets == stream && plugin->ops->on_kubelet)
		plugin->ops->on_kubelet(plugin->arg);
}

/* --- the other calls -------------------------------------------------------------------------- */

static void handle_options(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct plugin *plugin = arg;
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };
	enum grpc_status status = plugin_answer_options(&plugin->source, &out, &err);

	(void)request;
	(void)len;
	plugin->asker = grpc_call_connection(call);
	if (status == GRPC_OK)
		grpc_call_answer(call, str_cstr(&out), out.len);
	else
		grpc_call_finish(call, status, err.msg);
}

/* Reported as one list: the containers do not matter any more. */
static void notify_refused(const struct plugin *plugin, const struct plugin_ids *asked,
			   const struct err *err)
{
	struct json_strs ids = { 0 };

	for (size_t i = 0; i < asked->len; i++) {
		for (size_t k = 0; k < asked->items[i].len; k++)
			json_strs_add(&ids, asked->items[i].items[k]);
	}
	plugin->ops->on_refused(plugin->arg, &ids, err);
	json_strs_done(&ids);
}

static void answer_allocate(void *arg, struct grpc_call *call, const struct plugin_ids *ids,
			    enum grpc_status status, struct str *out, const struct err *err)
{
	struct plugin *plugin = arg;

	if (status == GRPC_OK)
		grpc_call_answer(call, str_cstr(out), out->len);
	else
		grpc_call_finish(call, status, err->msg);
	for (size_t i = 0; status == GRPC_OK && i < ids->len; i++)
		plugin->ops->on_allocated(plugin->arg, &ids->items[i]);
	if (status != GRPC_OK && !plugin->ending)
		notify_refused(plugin, ids, err);
}

static void handle_allocate(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct plugin *plugin = arg;
	struct plugin_ids ids = { 0 };
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };
	enum grpc_status status;

	if (plugin->deferred) {
		deferred_calls_add(plugin->deferred, call, request, len);
		return;
	}
	status = plugin_answer_allocate(&plugin->source, request, len, &out, &ids, &err);
	answer_allocate(plugin, call, &ids, status, &out, &err);
	plugin_ids_done(&ids);
}

static void handle_preferred(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	const struct plugin *plugin = arg;
	auto_str struct str out = STR_INIT;

	plugin_answer_preferred(&plugin->source, request, len, &out);
	grpc_call_answer(call, str_cstr(&out), out.len);
}

/* --- PreStartContainer ------------------------------------------------------------------------ */

static void start_free(void *arg)
{
	struct start *start = arg;

	*start->link = start->next;
	if (start->next)
		start->next->link = start->link;
	clock_timer_free(start->plugin->clock, start->timer);
	str_done(&start->request);
	free(start);
}

static void refuse_start(const struct plugin *plugin, struct grpc_call *call,
			 enum grpc_status status, const struct err *err)
{
	log_warn("a container may not start", log_str("resource", plugin->resource),
		 log_str("reason", err->msg));
	grpc_call_finish(call, status, err->msg);
}

/* False: it may be answered later. */
static bool answer_start(const struct plugin *plugin, struct grpc_call *call, struct str *request,
			 bool last)
{
	struct err err = { 0 };
	enum grpc_status status =
		plugin_answer_start(&plugin->source, str_cstr(request), request->len, &err);

	if (status == GRPC_OK)
		grpc_call_answer(call, "", 0);
	else if (err.kind == ERR_RETRY && !last)
		return false;
	else
		refuse_start(plugin, call, status, &err);
	return true;
}

static void on_start_due(void *arg)
{
	struct start *start = arg;
	const struct plugin *plugin = start->plugin;
	bool last = clock_now_ms(plugin->clock) >= start->until_ms;

	if (answer_start(plugin, start->call, &start->request, last))
		start_free(start);
	else
		clock_timer_start(plugin->clock, start->timer, START_CHECK_MS);
}

static void handle_pre_start(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct plugin *plugin = arg;
	auto_str struct str copy = STR_INIT;
	struct start *start;

	str_add_mem(&copy, request, len);
	if (answer_start(plugin, call, &copy, false))
		return;
	start = xcalloc(1, sizeof(*start));
	*start = (struct start){ .plugin = plugin,
				 .call = call,
				 .request = copy,
				 .until_ms = clock_now_ms(plugin->clock) + START_WAIT_MS,
				 .next = plugin->starts,
				 .link = &plugin->starts };
	copy = STR_INIT;
	if (start->next)
		start->next->link = &start->next;
	plugin->starts = start;
	start->timer = clock_timer_new(plugin->clock, on_start_due, start);
	grpc_call_on_cancel(call, start_free, start);
	clock_timer_start(plugin->clock, start->timer, START_CHECK_MS);
}

static void refuse_starts(struct plugin *plugin, const struct err *err)
{
	struct start *next;

	for (struct start *start = plugin->starts; start; start = next) {
		next = start->next;
		refuse_start(plugin, start->call, GRPC_UNAVAILABLE, err);
		start_free(start);
	}
}

/* --- the methods ------------------------------------------------------------------------------ */

static const struct grpc_method methods[] = {
	{ "/v1beta1.DevicePlugin/GetDevicePluginOptions", handle_options },
	{ "/v1beta1.DevicePlugin/ListAndWatch", handle_list_and_watch },
	{ "/v1beta1.DevicePlugin/GetPreferredAllocation", handle_preferred },
	{ "/v1beta1.DevicePlugin/Allocate", handle_allocate },
	{ "/v1beta1.DevicePlugin/PreStartContainer", handle_pre_start },
};

/* --- life ------------------------------------------------------------------------------------- */

static void list_set(struct plugin *plugin, struct device_list *list)
{
	device_list_unref(plugin->list);
	plugin->list = list;
	plugin->source.list = list;
}

int plugin_new(const struct plugin_settings *settings, struct plugin **ret_plugin, struct err *err)
{
	struct plugin *plugin = xcalloc(1, sizeof(*plugin));
	struct grpc_uv_server_settings server = { .path = settings->socket_path,
						  .service = &plugin->service };
	struct deferred_deps deferred = { .clock = settings->clock, .answer = answer_allocate };
	int r;

	plugin->clock = settings->clock;
	plugin->resource = xstrdup(settings->resource);
	plugin->ops = settings->ops;
	plugin->arg = settings->arg;
	plugin->service = (struct grpc_service){ methods, ARRAY_LEN(methods), plugin };
	plugin->source = (struct plugin_source){ .resource = plugin->resource,
						 .type = settings->type,
						 .arg = settings->type_arg,
						 .checkpoint = settings->checkpoint };
	deferred.source = &plugin->source;
	deferred.arg = plugin;
	assert(!settings->type->allocate != !settings->type->allocate_later);
	if (settings->type->allocate_later)
		plugin->deferred = deferred_calls_new(&deferred);
	list_set(plugin, device_list_ref(settings->list));
	r = grpc_uv_server_new(settings->loop, &server, &plugin->server, err);
	if (r < 0) {
		plugin_free(plugin);
		return r;
	}
	*ret_plugin = plugin;
	return 0;
}

struct plugin *plugin_free(struct plugin *plugin)
{
	if (!plugin)
		return NULL;
	plugin->ending = true;
	grpc_uv_server_free(plugin->server);
	deferred_calls_free(plugin->deferred);
	clock_timer_free(plugin->clock, plugin->timer);
	device_list_unref(plugin->list);
	free(plugin->resource);
	free(plugin);
	return NULL;
}

void plugin_update(struct plugin *plugin, struct device_list *list)
{
	const struct str *was = &plugin->list->message;
	const struct str *is = &list->message;
	bool same =
		was->len == is->len && (is->len == 0 || memcmp(was->buf, is->buf, is->len) == 0);

	list_set(plugin, device_list_ref(list));
	for (const struct stream *s = plugin->streams; s && !same; s = s->next)
		stream_send(s, &plugin->list->message);
}

bool plugin_send_again(const struct plugin *plugin)
{
	if (!plugin->kubelets || plugin->ending)
		return false;
	stream_send(plugin->kubelets, &plugin->list->message);
	return true;
}

static void on_stop_due(void *arg)
{
	struct plugin *plugin = arg;

	if (grpc_uv_server_connections(plugin->server) > 0 &&
	    clock_now_ms(plugin->clock) < plugin->stop_by_ms)
		clock_timer_start(plugin->clock, plugin->timer, STOP_CHECK_MS);
	else
		plugin->stopped(plugin->stopped_arg);
}

static void refuse_nothing(void *arg, const char *id, const struct err *err)
{
	(void)arg;
	(void)id;
	(void)err;
}

void plugin_stop(struct plugin *plugin, void (*stopped)(void *arg), void *arg)
{
	struct stream *stream = plugin->streams;
	struct device_list *empty = NULL;
	struct err err = { 0 };

	plugin->ending = true;
	err_set(&err, ERR_RETRY, -ECANCELED, "resource '%s' is withdrawn", plugin->resource);
	deferred_calls_refuse(plugin->deferred, &err);
	refuse_starts(plugin, &err);
	plugin->stopped = stopped;
	plugin->stopped_arg = arg;
	plugin->stop_by_ms = clock_now_ms(plugin->clock) + PLUGIN_STOP_MS;
	(void)device_list_new(NULL, 0, refuse_nothing, NULL, &empty, NULL);
	plugin_update(plugin, empty);
	device_list_unref(empty);
	while (stream) {
		struct stream *next = stream->next;

		grpc_call_finish(stream->call, GRPC_OK, NULL);
		stream_forget(stream);
		stream = next;
	}
	grpc_uv_server_shutdown(plugin->server);
	plugin->timer = clock_timer_new(plugin->clock, on_stop_due, plugin);
	clock_timer_start(plugin->clock, plugin->timer, 0);
}

void plugin_await_kubelet(struct plugin *plugin)
{
	plugin->awaited = true;
	plugin->guessed = plugin->kubelets; /* that one stays until it is known better */
	plugin->asker = 0;
}

bool plugin_has_kubelet(const struct plugin *plugin)
{
	return plugin->kubelets;
}

/* Every change of the list is sent immediately. */
bool plugin_lists(const struct plugin *plugin, const char *id)
{
	const struct plugin_device *device = device_list_find(plugin->list, id);

	return plugin->kubelets && !plugin->ending && device && device->healthy;
}

bool plugin_hang_up(struct plugin *plugin)
{
	if (!plugin->kubelets)
		return false;
	plugin->hanging_up = true;
	grpc_uv_server_hang_up(plugin->server);
	plugin->hanging_up = false;
	return true;
}

size_t plugin_streams(const struct plugin *plugin)
{
	return plugin->nstreams;
}
