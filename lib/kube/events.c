#include "kube/events.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/event.h"
#include "api/names.h"
#include "api/object.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "kube/backoff.h"
#include "kube/budget.h"
#include "kube/client.h"
#include "kube/clock.h"
#include "kube/metrics.h"
#include "kube/url.h"

/* An Event that was sent before; the same event again raises its count. */
struct event_record {
	char *name; /* of the Event object; NULL: not created yet */
	int64_t count;
	int64_t first_wall_ms;
};

/* Remembers sent Events and the rate limit of each object. Bounded: when it is full, it forgets
 * everything and counts start at one again. */
struct event_cache {
	struct map *records;
	struct map *budgets;
	struct budget together;
};

static void event_record_free(void *value)
{
	struct event_record *record = value;

	free(record->name);
	free(record);
}

static void clear(struct map **map, void (*value_free)(void *value))
{
	size_t cursor = 0;
	void *value;

	while (*map && map_next(*map, &cursor, NULL, &value))
		value_free(value);
	map_free(*map);
	*map = NULL;
}

/* The value of @key; a new zeroed one of @size bytes if there was none. */
static void *get(struct map **map, const char *key, size_t size, void (*value_free)(void *value))
{
	void *value = *map ? map_get(*map, key) : NULL;

	if (value)
		return value;
	if (*map && map_len(*map) >= EVENTS_KNOWN)
		clear(map, value_free);
	if (!*map)
		*map = map_new();
	value = xcalloc(1, size);
	map_set(*map, key, value);
	return value;
}

static struct event_cache *event_cache_new(void)
{
	return xcalloc(1, sizeof(struct event_cache));
}

/* takes NULL, returns NULL */
static struct event_cache *event_cache_free(struct event_cache *cache)
{
	if (!cache)
		return NULL;
	clear(&cache->records, event_record_free);
	clear(&cache->budgets, free);
	free(cache);
	return NULL;
}

/* Rate limit for the object @uid: true if it may cause one more event now, which is then
 * counted. */
static bool event_cache_allow(struct event_cache *cache, const char *uid, uint64_t now_ms)
{
	static const struct budget_bound each = { EVENTS_BURST, EVENTS_REFILL_MS };

	return budget_take(get(&cache->budgets, uid, sizeof(struct budget), free), &each, now_ms);
}

/* Rate limit for all objects together: true if one more event is allowed now, which is then
 * counted. */
static bool event_cache_allow_together(struct event_cache *cache, uint64_t now_ms)
{
	static const struct budget_bound all = { EVENTS_TOGETHER_BURST, EVENTS_TOGETHER_REFILL_MS };

	return budget_take(&cache->together, &all, now_ms);
}

/* The record of events with identical content (@same); a new one has count 0. Valid until the
 * next call. */
static struct event_record *event_cache_find(struct event_cache *cache, const char *same)
{
	return get(&cache->records, same, sizeof(struct event_record), event_record_free);
}

enum {
	ATTEMPTS = 5,
	NAME_KEPT = NAMES_OBJECT_MAX - 17, /* room for "." and sixteen hex digits */
};

/* An Event that is queued or being sent. */
struct queued_event {
	struct queued_event *next;
	struct event event; /* as it will be created, without name and count */
	char *same;         /* key of its record */
	int64_t wall_ms;
	unsigned attempts;
};

struct events {
	struct events_deps deps; /* its strings are the two below */
	char *component;
	char *host;
	struct event_cache *cache;
	struct queued_event *head; /* the one being sent, then the queue */
	struct queued_event **tail;
	size_t len;
	struct kube_call *call;
	struct clock_timer *timer;
	struct backoff backoff;
	struct metric *outcomes;
};

static const struct metric_desc outcomes_desc = {
	.name = "hostdev_events_total",
	.help = "Kubernetes events by outcome: sent, limited or dropped.",
	.type = METRIC_COUNTER,
	.labels = { "outcome" },
};

static void send_head(void *arg);

struct events *events_new(const struct events_deps *deps)
{
	struct events *events = xcalloc(1, sizeof(*events));

	events->deps = *deps;
	events->deps.component = events->component = xstrdup(deps->component);
	events->deps.host = events->host = xstrdup(deps->host);
	events->cache = event_cache_new();
	events->tail = &events->head;
	events->timer = clock_timer_new(deps->clock, send_head, events);
	events->backoff = (struct backoff){
		.first_ms = 1000,
		.max_ms = 30000,
		.jitter_percent = 50,
	};
	events->outcomes = metrics_family(deps->metrics, &outcomes_desc);
	metric_show(events->outcomes, (const char *const[]){ "sent" });
	metric_show(events->outcomes, (const char *const[]){ "limited" });
	metric_show(events->outcomes, (const char *const[]){ "dropped" });
	return events;
}

static void drop_head(struct events *events)
{
	struct queued_event *queued = events->head;

	events->head = queued->next;
	if (!events->head)
		events->tail = &events->head;
	events->len--;
	json_map_done(event_kind.map, &queued->event);
	free(queued->same);
	free(queued);
}

struct events *events_free(struct events *events)
{
	if (!events)
		return NULL;
	if (events->call)
		kube_call_cancel(events->call);
	while (events->head)
		drop_head(events);
	clock_timer_free(events->deps.clock, events->timer);
	event_cache_free(events->cache);
	free(events->component);
	free(events->host);
	free(events);
	return NULL;
}

/* --- sending, one at a time --- */

static const char *event_ns(const struct queued_event *queued)
{
	return queued->event.meta.namespace_;
}

static char *timestamp(int64_t wall_ms)
{
	char text[TIMEFMT_MAX];

	return xstrdup(timefmt_rfc3339(wall_ms, text));
}

/* Like client-go: the object's name and a unique suffix. */
static char *new_name(struct events *events, const struct queued_event *queued)
{
	return xasprintf("%.*s.%016llx", NAME_KEPT, queued->event.involved_object.name,
			 (unsigned long long)clock_random(events->deps.clock));
}

static json_t *create_body(struct queued_event *queued, const struct event_record *record,
			   const char *name)
{
	struct event *event = &queued->event;

	free(event->meta.name);
	free(event->first_timestamp);
	free(event->last_timestamp);
	event->meta.name = xstrdup(name);
	event->count = record->count + 1;
	event->first_timestamp = timestamp(record->count ? record->first_wall_ms : queued->wall_ms);
	event->last_timestamp = timestamp(queued->wall_ms);
	return api_object_encode(&event_kind, event);
}

static json_t *count_body(const struct queued_event *queued, const struct event_record *record)
{
	auto_free char *last = timestamp(queued->wall_ms);
	json_int_t count = record->count + 1;
	json_t *body = json_pack("{s:I, s:s}", "count", count, "lastTimestamp", last);

	if (!body)
		abort();
	return body;
}

static void record_sent(struct event_record *record, const struct queued_event *queued)
{
	if (record->count == 0)
		record->first_wall_ms = queued->wall_ms;
	record->count++;
}

static bool is_retried(struct events *events, int result)
{
	return (result == -EAGAIN || result == -EREMOTEIO || result == -EIO ||
		result == -ETIMEDOUT) &&
	       ++events->head->attempts < ATTEMPTS;
}

static void on_done(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	struct events *events = arg;
	struct event_record *record = event_cache_find(events->cache, events->head->same);
	struct clock *clock = events->deps.clock;
	uint64_t wait_ms;

	(void)response;
	events->call = NULL;
	if (result == -ENOENT && record->name) {
		/* Events expire after an hour: the first one is gone, so create a new one. */
		free(take_ptr(record->name));
		send_head(events);
		return;
	}
	if (is_retried(events, result)) {
		if (record->count == 0)
			free(take_ptr(record->name));
		wait_ms = backoff_next(&events->backoff, clock_now_ms(clock), clock_random(clock));
		clock_timer_start(clock, events->timer, wait_ms);
		return;
	}
	if (result < 0)
		log_debug("event dropped", log_str("reason", events->head->event.reason),
			  log_str("error", err->msg));
	else
		record_sent(record, events->head);
	if (record->count == 0)
		free(take_ptr(record->name));
	metric_count(events->outcomes, result < 0 ? "dropped" : "sent");
	backoff_reset(&events->backoff);
	drop_head(events);
	send_head(events);
}

static void send_request(struct events *events, const struct queued_event *queued, const char *name,
			 const json_t *body)
{
	auto_str struct str path = STR_INIT;
	auto_free char *text = json_map_text(body);

	url_object(&path, &event_kind, event_ns(queued), name, NULL);
	events->call = kube_client_send(
		events->deps.client,
		&(struct kube_request){
			.verb = name ? "patch" : "create",
			.resource = event_kind.plural,
			.method = name ? "PATCH" : "POST",
			.path = str_cstr(&path),
			.content_type = name ? "application/merge-patch+json" : "application/json",
			.body = text,
			.body_len = strlen(text),
		},
		on_done, events);
}

static void send_head(void *arg)
{
	struct events *events = arg;
	struct queued_event *queued = events->head;
	struct event_record *record;
	auto_json json_t *body = NULL;

	if (!queued || events->call)
		return;
	record = event_cache_find(events->cache, queued->same);
	if (record->name) {
		body = count_body(queued, record);
		send_request(events, queued, record->name, body);
		return;
	}
	record->name = new_name(events, queued);
	body = create_body(queued, record, record->name);
	send_request(events, queued, NULL, body);
}

/* --- recording --- */

static void fill_object(struct event_object *object, const struct events_about *about)
{
	*object = (struct event_object){
		.api_version = api_kind_api_version(about->kind),
		.kind = xstrdup(about->kind->kind),
		.name = xstrdup(about->meta->name),
		.namespace_ = xstrdup_or_null(about->meta->namespace_),
		.uid = xstrdup_or_null(about->meta->uid),
		.resource_version = xstrdup_or_null(about->meta->resource_version),
	};
}

static void fill_event(struct event *event, const struct events *events,
		       const struct events_about *about)
{
	const char *ns = about->meta->namespace_;

	json_map_init(event_kind.map, event);
	fill_object(&event->involved_object, about);
	event->meta.namespace_ = xstrdup(ns ? ns : event_kind.ns);
	event->source.component = xstrdup(events->deps.component);
	event->source.host = xstrdup(events->deps.host);
	event->reporting_component = xstrdup(events->deps.component);
	event->reporting_instance = xstrdup(events->deps.host);
}

/* Cut to the API's limit, at a character boundary. */
static void cut_message(struct str *text)
{
	size_t len = EVENTS_MESSAGE_MAX - 3;

	if (text->len <= EVENTS_MESSAGE_MAX)
		return;
	while (len > 0 && ((unsigned char)text->buf[len] & 0xc0) == 0x80)
		len--;
	memcpy(text->buf + len, "...", 4);
	text->len = len + 3;
}

/* The length of "pod NAMESPACE/NAME" at the beginning of @text; 0 if it is not there. */
static size_t pod_len(const char *text)
{
	static const char word[] = "pod ";
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
	size_t len = sizeof(word) - 1;
	size_t ns;
	size_t name;

	if (strncmp(text, word, len) != 0)
		return 0;
	ns = strspn(text + len, letters);
	name = text[len + ns] == '/' ? strspn(text + len + ns + 1, letters) : 0;
	return ns > 0 && name > 0 ? len + ns + 1 + name : 0;
}

static void hide_pods(struct str *to, const char *text)
{
	bool begins = true; /* at the start of a word */

	while (*text) {
		size_t len = begins ? pod_len(text) : 0;

		begins = *text == ' ' || *text == '(';
		if (len > 0)
			str_add(to, "a pod");
		else
			str_add_char(to, *text);
		text += len > 0 ? len : 1;
	}
}

__attribute__((format(printf, 2, 0))) static char *clean_message(bool hide, const char *fmt,
								 va_list ap)
{
	char text[EVENTS_MESSAGE_MAX +
		  2]; /* one more than the limit, so that cut_message() notices */
	auto_str struct str hidden = STR_INIT;
	struct str clean = STR_INIT;

	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		return xstrdup("");
	if (hide)
		hide_pods(&hidden, text);
	else
		str_add(&hidden, text);
	str_add_clean(&clean, str_cstr(&hidden), hidden.len);
	cut_message(&clean);
	return str_detach(&clean);
}

static char *record_key(const struct event *event)
{
	return xasprintf("%s\n%s\n%s\n%s\n%s", event->involved_object.kind,
			 event->involved_object.uid ? event->involved_object.uid
						    : event->involved_object.name,
			 event->type, event->reason, event->message);
}

static void queue_append(struct events *events, struct queued_event *queued)
{
	*events->tail = queued;
	events->tail = &queued->next;
	events->len++;
	/* From the loop: no callback may run before events_record() has returned. */
	if (events->len == 1)
		clock_timer_start(events->deps.clock, events->timer, 0);
}

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	const char *uid = about->meta->uid ? about->meta->uid : about->meta->name;
	uint64_t now_ms = clock_now_ms(events->deps.clock);
	struct queued_event *queued;
	va_list ap;

	if (!event_cache_allow(events->cache, uid, now_ms) ||
	    (events->deps.together && !event_cache_allow_together(events->cache, now_ms))) {
		metric_count(events->outcomes, "limited");
		return;
	}
	if (events->len == EVENTS_QUEUE) {
		metric_count(events->outcomes, "dropped");
		return;
	}
	queued = xcalloc(1, sizeof(*queued));
	fill_event(&queued->event, events, about);
	queued->event.type = xstrdup(type == EVENTS_WARNING ? "Warning" : "Normal");
	queued->event.reason = xstrdup(reason);
	va_start(ap, fmt);
	queued->event.message = clean_message(!about->meta->namespace_, fmt, ap);
	va_end(ap);
	queued->same = record_key(&queued->event);
	queued->wall_ms = clock_wall_ms(events->deps.clock);
	queue_append(events, queued);
}
