#include "agent/plugin/offer.h"

#include <stdlib.h>

#include "agent/plugin/device_list.h"
#include "agent/plugin/kubelet_watch.h"
#include "agent/plugin/plugin.h"
#include "agent/plugin/plugin_socket.h"
#include "agent/plugin/registration.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/backoff.h"
#include "kube/clock.h"
#include "kube/metrics.h"

struct offer {
	struct offer_settings s;
	char *resource;
	struct device_list *list;
	struct plugin *plugin; /* NULL: not served (yet) */
	struct registration *registration;
	struct kubelet_listener *listener;
	struct clock_timer *timer; /* to serve, or to report that it is withdrawn */
	struct backoff backoff;
	int trouble; /* the reported reason why it is not served; 0: it is */
	bool registered;
	uint64_t registered_ms;
	bool withdrawn;
	struct metric *devices;
	struct metric *allocations;
};

static const struct metric_desc devices_desc = {
	.name = "hostdev_plugin_devices",
	.help = "Devices in the lists for the kubelet, by resource and health.",
	.type = METRIC_GAUGE,
	.labels = { "resource", "health" },
};

static const struct metric_desc allocations_desc = {
	.name = "hostdev_plugin_allocations_total",
	.help = "Allocate requests for containers, by resource and result.",
	.type = METRIC_COUNTER,
	.labels = { "resource", "result" },
};

static void count_devices(const struct offer *offer)
{
	size_t len = offer->withdrawn ? 0 : offer->list->len;
	int64_t healthy = 0;

	for (size_t i = 0; i < len; i++)
		healthy += offer->list->items[i].healthy;
	metric_set(offer->devices, healthy, (const char *const[]){ offer->resource, "healthy" });
	metric_set(offer->devices, (int64_t)len - healthy,
		   (const char *const[]){ offer->resource, "unhealthy" });
}

void offer_show(const struct offer *offer)
{
	metric_show(offer->allocations, (const char *const[]){ offer->resource, "done" });
	metric_show(offer->allocations, (const char *const[]){ offer->resource, "refused" });
	count_devices(offer);
	if (offer->registration)
		registration_show(offer->registration);
	else
		registration_show_none(offer->s.deps, offer->resource);
}

/* Names come and go with the configuration: those that went would take the room of those that are
 * there. */
static void forget(const struct offer *offer)
{
	metric_forget(offer->devices, offer->resource);
	metric_forget(offer->allocations, offer->resource);
	registration_forget(offer->s.deps, offer->resource);
}

static void notify(const struct offer *offer, struct plugin_event event)
{
	event.type = offer->s.type->name;
	event.resource = offer->resource;
	offer->s.fn(offer->s.arg, &event);
}

static void on_allocated(void *arg, const struct json_strs *ids)
{
	const struct offer *offer = arg;

	metric_count(offer->allocations, offer->resource, "done");
	notify(offer, (struct plugin_event){ .kind = PLUGIN_ALLOCATED, .ids = ids });
}

static void on_refused(void *arg, const struct json_strs *ids, const struct err *err)
{
	const struct offer *offer = arg;

	metric_count(offer->allocations, offer->resource, "refused");
	notify(offer,
	       (struct plugin_event){ .kind = PLUGIN_NOT_ALLOCATED, .ids = ids, .err = err });
}

static void on_listed(void *arg)
{
	notify(arg, (struct plugin_event){ .kind = PLUGIN_LISTED });
}

/* --- registered, and again -------------------------------------------------------------------- */

static void on_registration(void *arg, enum registration_state state, const struct err *err)
{
	struct offer *offer = arg;

	offer->registered = state == REGISTRATION_DONE;
	offer->registered_ms = clock_now_ms(offer->s.deps->clock);
	notify(offer, (struct plugin_event){ .kind = offer->registered ? PLUGIN_REGISTERED
								       : PLUGIN_WAITING,
					     .err = err });
}

static void on_begins(void *arg)
{
	const struct offer *offer = arg;

	plugin_await_kubelet(offer->plugin);
}

/* A kubelet that lives on may have its stream: so many would use up the plugin's connections. */
static bool on_clear(void *arg)
{
	const struct offer *offer = arg;

	return plugin_hang_up(offer->plugin);
}

static const struct registration_ops registration_ops = { on_registration, on_begins, on_clear };

/* The kubelet never opens a stream again by itself. Streams of other clients do not matter. */
static void on_stream_closed(void *arg, size_t left, bool kubelets)
{
	struct offer *offer = arg;

	log_debug("kubelet closed its stream", log_str("resource", offer->resource),
		  log_int("left", left));
	if (left > 0 && !kubelets)
		return;
	offer->registered = false;
	registration_again(offer->registration);
}

static const struct plugin_ops plugin_ops = {
	.on_stream_closed = on_stream_closed,
	.on_allocated = on_allocated,
	.on_refused = on_refused,
	.on_kubelet = on_listed,
};

/* --- serving ---------------------------------------------------------------------------------- */

static void serve_no_more(struct offer *offer)
{
	offer->registered = false;
	offer->registration = registration_free(offer->registration);
	offer->listener = kubelet_listener_free(offer->listener);
	offer->plugin = plugin_free(offer->plugin);
}

static void on_kubelet(void *arg, enum kubelet_event event);

static int serve_begin(struct offer *offer, struct err *err)
{
	const struct registration_deps *deps = offer->s.deps;
	struct plugin_settings settings = {
		.loop = deps->loop,
		.clock = deps->clock,
		.resource = offer->resource,
		.type = offer->s.type,
		.type_arg = offer->s.type_arg,
		.list = offer->list,
		.checkpoint = offer->s.checkpoint,
		.ops = &plugin_ops,
		.arg = offer,
	};
	auto_free char *path = NULL;
	int r = plugin_socket_path(offer->s.sockets, offer->resource, &path, err);

	if (r < 0)
		return r;
	settings.socket_path = path;
	r = plugin_new(&settings, &offer->plugin, err);
	if (r < 0)
		return r;
	kubelet_listener_free(offer->listener);
	offer->listener = kubelet_watch_listen(deps->watch, path, on_kubelet, offer);
	offer->registration =
		registration_new(deps, offer->resource, path, &registration_ops, offer);
	return 0;
}

/* Report the same trouble once. */
static void serve(struct offer *offer)
{
	struct clock *clock = offer->s.deps->clock;
	int before = offer->trouble;
	struct err err = { 0 };

	offer->trouble = serve_begin(offer, &err);
	if (offer->trouble >= 0)
		return;
	if (!offer->listener)
		offer->listener =
			kubelet_watch_listen(offer->s.deps->watch, NULL, on_kubelet, offer);
	clock_timer_start(clock, offer->timer,
			  backoff_next(&offer->backoff, clock_now_ms(clock), clock_random(clock)));
	if (offer->trouble != before)
		notify(offer, (struct plugin_event){ .kind = PLUGIN_WAITING, .err = &err });
}

static void serve_again(struct offer *offer)
{
	log_info("socket was removed, serving on another", log_str("resource", offer->resource));
	serve_no_more(offer);
	serve(offer);
}

/* The kubelet that took us some seconds ago and has no stream forgot us, or died. */
static void check_stream(struct offer *offer)
{
	uint64_t since_ms = clock_now_ms(offer->s.deps->clock) - offer->registered_ms;

	if (!offer->registered || plugin_has_kubelet(offer->plugin) || since_ms < KUBELET_POLL_MS)
		return;
	offer->registered = false;
	registration_again(offer->registration);
}

static void on_kubelet(void *arg, enum kubelet_event event)
{
	struct offer *offer = arg;

	switch (event) {
	case KUBELET_TOOK_OWN:
		serve_again(offer);
		return;
	case KUBELET_POLLED:
		check_stream(offer);
		return;
	case KUBELET_CAME:
		if (!offer->plugin)
			clock_timer_start(offer->s.deps->clock, offer->timer, 0);
		return;
	case KUBELET_WENT:
		return;
	}
}

/* --- life ------------------------------------------------------------------------------------- */

static void on_stopped(void *arg)
{
	struct offer *offer = arg;

	offer->s.withdrawn(offer->s.arg, offer);
}

static void on_timer(void *arg)
{
	struct offer *offer = arg;

	if (offer->withdrawn)
		on_stopped(offer);
	else
		serve(offer);
}

struct offer *offer_new(const struct offer_settings *settings)
{
	struct offer *offer = xcalloc(1, sizeof(*offer));
	struct clock *clock = settings->deps->clock;

	offer->s = *settings;
	offer->s.resource = NULL;
	offer->s.list = NULL;
	offer->resource = xstrdup(settings->resource);
	offer->list = device_list_ref(settings->list);
	offer->backoff = (struct backoff){
		.first_ms = 100, .max_ms = 10000, .reset_after_ms = 60000, .jitter_percent = 20
	};
	offer->devices = metrics_family(settings->deps->metrics, &devices_desc);
	offer->allocations = metrics_family(settings->deps->metrics, &allocations_desc);
	offer_show(offer);
	offer->timer = clock_timer_new(clock, on_timer, offer);
	clock_timer_start(clock, offer->timer, 0);
	return offer;
}

struct offer *offer_free(struct offer *offer)
{
	if (!offer)
		return NULL;
	serve_no_more(offer);
	clock_timer_free(offer->s.deps->clock, offer->timer);
	forget(offer);
	device_list_unref(offer->list);
	free(offer->resource);
	free(offer);
	return NULL;
}

void offer_update(struct offer *offer, struct device_list *list)
{
	struct device_list *old = offer->list;

	offer->list = device_list_ref(list);
	device_list_unref(old);
	if (offer->plugin)
		plugin_update(offer->plugin, list);
	count_devices(offer);
}

void offer_withdraw(struct offer *offer)
{
	struct clock *clock = offer->s.deps->clock;

	if (offer->withdrawn)
		return;
	offer->withdrawn = true;
	offer->registration = registration_free(offer->registration);
	offer->listener = kubelet_listener_free(offer->listener);
	clock_timer_stop(clock, offer->timer);
	if (offer->plugin)
		plugin_stop(offer->plugin, on_stopped, offer);
	else
		clock_timer_start(clock, offer->timer, 0);
}

bool offer_send_again(const struct offer *offer)
{
	return offer->plugin && !offer->withdrawn && plugin_send_again(offer->plugin);
}

const char *offer_resource(const struct offer *offer)
{
	return offer->resource;
}

const struct device_type *offer_type(const struct offer *offer)
{
	return offer->s.type;
}

bool offer_is_withdrawn(const struct offer *offer)
{
	return offer->withdrawn;
}

bool offer_lists(const struct offer *offer, const char *id)
{
	return offer->plugin && !offer->withdrawn && plugin_lists(offer->plugin, id);
}
