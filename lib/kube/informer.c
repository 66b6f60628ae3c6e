#include "kube/informer.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/kind.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/clock.h"
#include "kube/listwatch.h"
#include "kube/metrics.h"
#include "kube/reflector.h"
#include "kube/store.h"
#include "kube/url.h"

static void add_selectors(struct str *out, const struct informer_spec *spec,
			  struct url_query *query)
{
	query->label_selector = spec->label_selector;
	query->field_selector = spec->field_selector;
	url_object(out, spec->kind, NULL, NULL, NULL);
	url_add_query(out, query);
}

/* Append the path and query of the list or watch that @asked describes. */
static void informer_list_url(struct str *out, const struct informer_spec *spec,
			      const struct reflector_query *asked)
{
	struct url_query query = {
		.resource_version = asked->resource_version,
		.resource_version_match = asked->resource_version_match,
		.continue_token = asked->continue_,
		.limit = asked->limit,
	};

	add_selectors(out, spec, &query);
}

static void informer_watch_url(struct str *out, const struct informer_spec *spec,
			       const struct reflector_query *asked)
{
	struct url_query query = {
		.resource_version = asked->resource_version,
		.timeout_seconds = asked->timeout_s,
		.watch = true,
		.bookmarks = true,
	};

	add_selectors(out, spec, &query);
}

struct report {
	const char *resource; /* static text */
	bool optional;        /* do not warn if the kind is not installed */
	struct metric *troubles;
	struct metric *events;
	struct metric *objects;
	struct metric *unreadable;
	size_t len; /* current value of the gauge */
	size_t len_unreadable;
};

static const struct metric_desc troubles_desc = {
	.name = "hostdev_watch_troubles_total",
	.help = "Failed lists and watches by resource and reason.",
	.type = METRIC_COUNTER,
	.labels = { "resource", "reason" },
};

static const struct metric_desc events_desc = {
	.name = "hostdev_watch_events_total",
	.help = "Events received from watches.",
	.type = METRIC_COUNTER,
	.labels = { "resource" },
};

static const struct metric_desc objects_desc = {
	.name = "hostdev_store_objects",
	.help = "Objects in the cache.",
	.type = METRIC_GAUGE,
	.labels = { "resource" },
};

static const struct metric_desc unreadable_desc = {
	.name = "hostdev_store_unreadable_objects",
	.help = "Objects in the cache with fields of a wrong type.",
	.type = METRIC_GAUGE,
	.labels = { "resource" },
};

static void report_init(struct report *report, struct metrics *metrics, const char *resource)
{
	*report = (struct report){
		.resource = resource,
		.troubles = metrics_family(metrics, &troubles_desc),
		.events = metrics_family(metrics, &events_desc),
		.objects = metrics_family(metrics, &objects_desc),
		.unreadable = metrics_family(metrics, &unreadable_desc),
	};
	metric_show(report->events, &resource);
	metric_show(report->objects, &resource);
	metric_show(report->unreadable, &resource);
	for (enum reflector_event event = REFLECTOR_ENDED; event < REFLECTOR_NEVENTS; event++)
		metric_show(report->troubles,
			    (const char *const[]){ resource, reflector_event_text(event) });
}

/* A list or watch ended with @event, and @step follows. Logged above debug level only if the
 * failure is new. */
static void report_end(const struct report *report, enum reflector_event event,
		       const struct reflector_step *step, const struct err *err)
{
	const char *reason = reflector_event_text(event);
	const char *why = err->msg;
	enum log_level level = !step->news                                     ? LOG_DEBUG
			       : report->optional && event == REFLECTOR_ABSENT ? LOG_INFO
									       : LOG_WARN;

	if (event < REFLECTOR_FAILED && step->wait_ms == 0)
		return;
	if (event == REFLECTOR_TIMER || event == REFLECTOR_STARTED)
		return;
	metric_count(report->troubles, report->resource, reason);
	if (event == REFLECTOR_ENDED)
		why = "the watch ended at once";
	log_at_(level, "list or watch interrupted", log_str("resource", report->resource),
		log_str("reason", reason), log_int("wait_ms", step->wait_ms),
		log_str("error", why));
}

/* The watch received a line. */
static void report_line(const struct report *report)
{
	metric_count(report->events, report->resource);
}

/* The store may have changed. */
static void report_store(struct report *report, const struct store *store)
{
	size_t len = store_len(store);
	size_t unreadable = store_unreadable(store);

	if (len != report->len)
		metric_set(report->objects, (int64_t)len, &report->resource);
	if (unreadable != report->len_unreadable)
		metric_set(report->unreadable, (int64_t)unreadable, &report->resource);
	report->len = len;
	report->len_unreadable = unreadable;
}

static void report_synced(const struct report *report, const struct store *store)
{
	log_info("synced", log_str("resource", report->resource),
		 log_int("objects", store_len(store)));
}

static void report_unreadable(const struct report *report, const struct err *err)
{
	log_warn("object unreadable", log_str("resource", report->resource),
		 log_str("error", err->msg));
}

enum {
	LIST_TIMEOUT_MS = 60 * 1000,
	OBJECTS_MAX = 500 * 1000, /* above the number of objects of one kind in a cluster */
};

struct informer {
	struct informer_deps deps;
	struct informer_spec spec; /* its selectors are the two below */
	char *label_selector;
	char *field_selector;
	struct reflector reflector;
	struct store *store;
	struct store *list; /* pages of the list in progress, NULL between lists */
	struct kube_call *call;
	struct clock_timer *timer; /* end of a wait, or timeout of a silent watch */
	uint64_t stall_ms;
	uint64_t received_ms; /* when the watch last received a line */
	struct listwatch listwatch;
	bool running;
	bool synced;
	bool busy;   /* one of our callbacks is on the stack */
	bool dying;  /* freed while busy: free it when the callback returns */
	bool denied; /* as last reported to the owner */
	struct str text;
	struct err last; /* the last failure */
	struct report report;
};

static void send_list(struct informer *inf);
static void send_watch(struct informer *inf);
static void on_timer(void *arg);
static void on_change(void *arg, const struct entry *before, const struct entry *after);
static void on_unreadable(void *arg, const struct err *err);

struct informer *informer_new(const struct informer_deps *deps, const struct informer_spec *spec)
{
	struct informer *inf = xcalloc(1, sizeof(*inf));

	inf->deps = *deps;
	inf->spec = *spec;
	inf->spec.label_selector = inf->label_selector = xstrdup_or_null(spec->label_selector);
	inf->spec.field_selector = inf->field_selector = xstrdup_or_null(spec->field_selector);
	inf->store = store_new(spec->kind);
	inf->timer = clock_timer_new(deps->clock, on_timer, inf);
	report_init(&inf->report, deps->metrics, spec->kind->plural);
	inf->report.optional = spec->optional;
	reflector_init(&inf->reflector);
	inf->listwatch = (struct listwatch){
		.kind = spec->kind,
		.store = inf->store,
		.reflector = &inf->reflector,
		.on_change = on_change,
		.on_unreadable = on_unreadable,
		.arg = inf,
	};
	return inf;
}

static void release(struct informer *inf)
{
	free(inf->label_selector);
	free(inf->field_selector);
	clock_timer_free(inf->deps.clock, inf->timer);
	store_free(inf->list);
	store_free(inf->store);
	reflector_done(&inf->reflector);
	str_done(&inf->text);
	free(inf);
}

struct informer *informer_free(struct informer *inf)
{
	if (!inf)
		return NULL;
	informer_stop(inf);
	if (inf->busy)
		inf->dying = true;
	else
		release(inf);
	return NULL;
}

void informer_stop(struct informer *inf)
{
	inf->running = false;
	clock_timer_stop(inf->deps.clock, inf->timer);
	if (inf->call)
		kube_call_cancel(inf->call);
	inf->call = NULL;
	inf->list = store_free(inf->list);
	reflector_stop(&inf->reflector);
}

const struct store *informer_store(const struct informer *inf)
{
	return inf->store;
}

bool informer_synced(const struct informer *inf)
{
	return inf->synced;
}

/* A complete list clears the failure REFLECTOR_ABSENT (reflector_seen, LISTED). */
bool informer_installed(const struct informer *inf)
{
	return inf->reflector.trouble != REFLECTOR_ABSENT;
}

static bool in_trouble(const struct informer *inf)
{
	const struct reflector *r = &inf->reflector;
	bool answered = r->state == REFLECTOR_STREAMING && inf->call && kube_call_begun(inf->call);

	return r->trouble != REFLECTOR_STARTED && !answered;
}

bool informer_denied(const struct informer *inf)
{
	return in_trouble(inf) && inf->reflector.trouble == REFLECTOR_DENIED;
}

const char *informer_error(const struct informer *inf)
{
	return in_trouble(inf) ? inf->last.msg : "";
}

const char *informer_text(struct informer *inf)
{
	const struct reflector *r = &inf->reflector;

	str_clear(&inf->text);
	str_addf(&inf->text, "%s: %s", inf->spec.kind->plural, reflector_state_text(r->state));
	if (in_trouble(inf))
		str_addf(&inf->text, " (%s)", reflector_event_text(r->trouble));
	return str_cstr(&inf->text);
}

/* --- owner's callbacks --- */

static void on_change(void *arg, const struct entry *before, const struct entry *after)
{
	struct informer *inf = arg;
	const struct entry *either = after ? after : before;

	if (!inf->dying)
		inf->spec.handlers.on_change(inf->spec.arg, either->name, before, after);
}

static void notice_denied(struct informer *inf)
{
	bool denied = informer_denied(inf);

	if (inf->dying || inf->denied == denied)
		return;
	inf->denied = denied;
	if (inf->spec.handlers.on_denied)
		inf->spec.handlers.on_denied(inf->spec.arg);
}

static void on_unreadable(void *arg, const struct err *err)
{
	const struct informer *inf = arg;

	report_unreadable(&inf->report, err);
}

static void replace_content(struct informer *inf)
{
	struct store *list =
		take_ptr(inf->list); /* a handler may stop the informer, which frees inf->list */
	bool first = !inf->synced;

	store_replace(inf->store, list, on_change, inf);
	store_free(list);
	inf->synced = true;
	report_store(&inf->report, inf->store);
	if (!first)
		return;
	report_synced(&inf->report, inf->store);
	if (!inf->dying && inf->spec.handlers.on_synced)
		inf->spec.handlers.on_synced(inf->spec.arg);
}

/* --- actions --- */

static void do_step(struct informer *inf, const struct reflector_step *step)
{
	switch (step->act) {
	case REFLECTOR_DO_LIST_ANEW:
		inf->list = store_free(inf->list);
		send_list(inf);
		return;
	case REFLECTOR_DO_LIST:
		send_list(inf);
		return;
	case REFLECTOR_DO_SWAP:
		replace_content(inf);
		if (inf->running)
			send_watch(inf);
		return;
	case REFLECTOR_DO_STREAM:
		send_watch(inf);
		return;
	case REFLECTOR_DO_EMPTY_WAIT:
		inf->list = store_free(inf->list);
		replace_content(inf);
		if (inf->running)
			clock_timer_start(inf->deps.clock, inf->timer, step->wait_ms);
		return;
	case REFLECTOR_DO_WAIT:
		clock_timer_start(inf->deps.clock, inf->timer, step->wait_ms);
		return;
	}
}

static void handle_event(struct informer *inf, enum reflector_event event, uint64_t retry_after_ms,
			 const struct err *err)
{
	struct clock *clock = inf->deps.clock;
	struct reflector_step step = reflector_handle(&inf->reflector, event, retry_after_ms,
						      clock_now_ms(clock), clock_random(clock));

	inf->stall_ms = step.stall_ms;
	if (event >= REFLECTOR_ENDED)
		inf->last = *err;
	if (event == REFLECTOR_ENDED)
		err_set(&inf->last, ERR_RETRY, -EIO, "the watch ended at once");
	report_end(&inf->report, event, &step, err);
	do_step(inf, &step);
	notice_denied(inf);
}

void informer_start(struct informer *inf)
{
	assert(!inf->running && !inf->busy);
	inf->running = true;
	handle_event(inf, REFLECTOR_STARTED, 0, &(struct err){ 0 });
}

/* Called at the end of every callback; frees an informer that a handler has freed. */
static void callback_end(struct informer *inf)
{
	inf->busy = false;
	if (inf->dying)
		release(inf);
}

static void on_timer(void *arg)
{
	struct informer *inf = arg;
	struct clock *clock = inf->deps.clock;
	uint64_t silent_ms = clock_now_ms(clock) - inf->received_ms;
	struct err err = { 0 };

	if (inf->reflector.state != REFLECTOR_STREAMING) {
		handle_event(inf, REFLECTOR_TIMER, 0, &err);
		return;
	}
	if (silent_ms < inf->stall_ms) {
		clock_timer_start(clock, inf->timer, inf->stall_ms - silent_ms);
		return;
	}
	kube_call_cancel(inf->call);
	inf->call = NULL;
	err_set(&err, ERR_RETRY, -ETIMEDOUT, "no data for %llu s",
		(unsigned long long)silent_ms / 1000);
	handle_event(inf, REFLECTOR_STALLED, 0, &err);
}

/* --- list --- */

static void on_item(void *arg, const struct json_text *object)
{
	struct informer *inf = arg;

	listwatch_add_item(&inf->listwatch, inf->list, object);
}

static enum reflector_event end_page(struct informer *inf, const struct kube_response *response,
				     struct err *err)
{
	struct list_page page = { 0 };
	enum reflector_event event;

	if (!inf->list)
		inf->list = store_new(inf->spec.kind);
	if (list_page_read(response->body, response->body_len, on_item, inf, &page, err) < 0)
		return REFLECTOR_BROKEN;
	if (store_len(inf->list) > OBJECTS_MAX) {
		list_page_done(&page);
		err_set(err, ERR_INVALID, -EMSGSIZE, "more than %d objects", OBJECTS_MAX);
		return REFLECTOR_BROKEN;
	}
	reflector_listed(&inf->reflector, page.version, page.next_page);
	event = page.next_page ? REFLECTOR_MORE : REFLECTOR_LISTED;
	list_page_done(&page);
	return event;
}

static void on_list_done(void *arg, int result, const struct kube_response *response,
			 const struct err *err)
{
	struct informer *inf = arg;
	struct err cause = { 0 };
	enum reflector_event event;

	inf->call = NULL;
	inf->busy = true;
	if (result < 0) {
		cause = *err;
		event = reflector_classify(result, response, err);
	} else {
		event = end_page(inf, response, &cause);
	}
	handle_event(inf, event, response->retry_after_ms, &cause);
	callback_end(inf);
}

/* --- watch --- */

static int on_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct informer *inf = arg;
	int r;

	inf->received_ms = clock_now_ms(inf->deps.clock);
	inf->busy = true;
	r = listwatch_apply_line(&inf->listwatch, line, len, err);
	report_line(&inf->report);
	report_store(&inf->report, inf->store);
	notice_denied(inf);
	/* A handler stopped or freed the informer: cancel the call and ignore its other lines. */
	if (!inf->running)
		r = err_set(err, ERR_RETRY, -ECANCELED, "the informer was stopped");
	callback_end(inf);
	return r;
}

static void on_watch_done(void *arg, int result, const struct kube_response *response,
			  const struct err *err)
{
	struct informer *inf = arg;
	uint64_t retry_after_ms = response->retry_after_ms;
	enum reflector_event event = reflector_classify(result, response, err);

	inf->call = NULL;
	inf->busy = true;
	clock_timer_stop(inf->deps.clock, inf->timer);
	if (inf->listwatch.verdict != REFLECTOR_STARTED) {
		event = inf->listwatch.verdict;
		retry_after_ms = inf->listwatch.retry_after_ms;
	}
	handle_event(inf, event, retry_after_ms, err);
	callback_end(inf);
}

/* --- requests --- */

static void send_list(struct informer *inf)
{
	struct reflector_query asked = reflector_query(&inf->reflector);
	auto_str struct str path = STR_INIT;
	struct kube_request request = {
		.verb = "list",
		.resource = inf->spec.kind->plural,
		.method = "GET",
		.timeout_ms = LIST_TIMEOUT_MS,
	};

	informer_list_url(&path, &inf->spec, &asked);
	request.path = str_cstr(&path);
	inf->call = kube_client_send(inf->deps.client, &request, on_list_done, inf);
}

static void send_watch(struct informer *inf)
{
	struct reflector_query asked = reflector_query(&inf->reflector);
	auto_str struct str path = STR_INIT;
	struct kube_request request = {
		.verb = "watch",
		.resource = inf->spec.kind->plural,
		.method = "GET",
	};

	inf->listwatch.verdict = REFLECTOR_STARTED;
	inf->listwatch.retry_after_ms = 0;
	inf->received_ms = clock_now_ms(inf->deps.clock);
	clock_timer_start(inf->deps.clock, inf->timer, inf->stall_ms);
	informer_watch_url(&path, &inf->spec, &asked);
	request.path = str_cstr(&path);
	inf->call = kube_client_stream(inf->deps.client, &request, on_line, on_watch_done, inf);
}
