#include "cli/history.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/meta.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/client/device_events.h"
#include "cli/model/cluster.h"
#include "cli/print/out_json.h"
#include "text/table.h"

static const struct table_column columns[] = {
	{ .title = "TIME" },
	{ .title = "REASON" },
	{ .title = "COUNT", .spare = 1 },
	{ .title = "USER", .least = TABLE_NAME_LEAST, .spare = 2 },
	{ .title = "TYPE", .wide = true },
	{ .title = "ABOUT", .wide = true },
	{ .title = "FROM", .wide = true },
	{ .title = "MESSAGE", .wraps = true },
};

/* Between the clocks of controllers and API servers, and of times in whole seconds. */
enum { SKEW_MS = 2000 };

static int64_t ms_of(const char *time)
{
	int64_t ms = 0;

	(void)timefmt_parse(time ? time : "", &ms);
	return ms;
}

static bool is_reason(const struct event *event, const char *reason)
{
	return event->reason && strcmp(event->reason, reason) == 0;
}

static int64_t count_of(const struct event *event)
{
	return event->count > 0 ? event->count : 1;
}

static const char *first_of(const struct event *event)
{
	const char *first = event->first_timestamp;

	return count_of(event) > 1 && first ? first : device_event_time(event);
}

/* One occurrence of an event. The API keeps the first and the last one of equal events. */
struct occurrence {
	const struct event *event;
	const char *time;
	int64_t number; /* 1 for the first one */
	bool former; /* it ends a claim, and was recorded before a new claim of the same second */
	bool newest; /* it is the last one of all that tell of a new claim */
};

static bool is_last(const struct occurrence *o)
{
	return o->number == count_of(o->event);
}

/* Does it end a claim, or come before that end? */
static bool is_end(const struct event *event)
{
	return is_reason(event, "Freed") || is_reason(event, "Unclaimed") ||
	       is_reason(event, "Released");
}

/*
 * Events do not name users. The existing claim does, to users who may read it. Its user is shown
 * with events that have the claim's uid, with the one that tells of its creation, and with the
 * device's events at a time since then. Not with refused requests, which others sent, nor with the
 * end of a former claim.
 */
static const char *user_of(const struct cluster_device *device, const struct occurrence *o)
{
	const struct api_meta *claim = device->claim;
	const struct event *event = o->event;
	const char *uid = event->involved_object.uid;
	int64_t made_ms = claim ? ms_of(claim->creation_timestamp) : 0;
	int64_t at_ms = ms_of(o->time);
	bool its;

	if (!claim || !device->user[0])
		return "";
	if (device_event_of_claim(event))
		its = uid && claim->uid && strcmp(uid, claim->uid) == 0;
	else if (is_reason(event, "ClaimRefused") || is_reason(event, "LeftAlone"))
		its = false;
	else if (is_reason(event, "Unclaimed"))
		its = claim->deletion_timestamp && at_ms >= ms_of(claim->deletion_timestamp);
	else if (is_end(event))
		its = !o->former && at_ms > made_ms;
	else
		its = at_ms >= made_ms || (o->newest && at_ms >= made_ms - SKEW_MS);
	return its ? device->user : "";
}

static int oldest_first(const void *a, const void *b)
{
	const struct occurrence *x = a;
	const struct occurrence *y = b;
	int64_t x_ms = ms_of(x->time);
	int64_t y_ms = ms_of(y->time);
	size_t x_stage = device_event_stage(x->event);
	size_t y_stage = device_event_stage(y->event);

	if (x_ms != y_ms)
		return x_ms < y_ms ? -1 : 1;
	if (x->former != y->former)
		return x->former ? -1 : 1;
	if (x_stage != y_stage)
		return x_stage < y_stage ? -1 : 1;
	if (x->event != y->event)
		return -strcmp(x->event->meta.name, y->event->meta.name);
	return x->number < y->number ? -1 : 1;
}

static uint64_t version_of(const struct event *event)
{
	return strtoull(str_or_empty(event->meta.resource_version), NULL, 10);
}

/* An event that tells of a new claim divides the events of its second. API servers give out greater
 * versions later. */
static void mark(const struct device_events *events, struct occurrence *o)
{
	const struct event *newest = NULL;

	for (size_t i = 0; i < events->len && is_last(o); i++) {
		const struct event *other = events->items[i];

		if (!is_reason(other, "Claimed"))
			continue;
		if (!newest || version_of(other) > version_of(newest))
			newest = other;
		o->former |= is_end(o->event) &&
			     ms_of(device_event_time(other)) == ms_of(o->time) &&
			     version_of(other) > version_of(o->event);
	}
	o->newest = o->event == newest && is_last(o);
}

/* The caller frees the array. */
static struct occurrence *list_occurrences(const struct device_events *events, size_t *ret_len)
{
	struct occurrence *list = xcalloc(2 * events->len + 1, sizeof(*list));
	size_t len = 0;

	for (size_t i = 0; i < events->len; i++) {
		const struct event *event = events->items[i];
		const char *last = device_event_time(event);

		if (strcmp(first_of(event), last) != 0)
			list[len++] = (struct occurrence){ .event = event,
							   .time = first_of(event),
							   .number = 1 };
		list[len++] = (struct occurrence){ .event = event,
						   .time = last,
						   .number = count_of(event) };
	}
	for (size_t i = 0; i < len; i++)
		mark(events, &list[i]);
	if (len > 0)
		qsort(list, len, sizeof(*list), oldest_first);
	*ret_len = len;
	return list;
}

/* "1"; "1 of 3" and "3 of 3" for the first and the last occurrence of three. */
static char *count_text(const struct occurrence *occurrence)
{
	long long count = count_of(occurrence->event);

	if (count == 1)
		return xstrdup("1");
	return xasprintf("%lld of %lld", (long long)occurrence->number, count);
}

static void add_row(struct table *table, const struct cluster_device *device,
		    const struct occurrence *occurrence)
{
	const struct event *event = occurrence->event;
	auto_free char *count = count_text(occurrence);

	table_add(table, occurrence->time);
	table_add(table, event->reason);
	table_add(table, count);
	table_add(table, user_of(device, occurrence));
	table_add(table, event->type);
	table_add(table, event->involved_object.kind);
	table_add(table, event->source.host);
	table_add(table, event->message);
}

static void print_table(const struct cluster_device *device, const struct occurrence *list,
			size_t len, struct out *out)
{
	struct table table;

	table_init(&table, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < len; i++)
		add_row(&table, device, &list[i]);
	if (table.len > 0)
		table_print(&table, out, true, &out->text);
	table_done(&table);
}

/* The user is named only if all counted occurrences are that user's. */
static json_t *event_json(const struct cluster_device *device, const struct occurrence *o)
{
	const struct event *event = o->event;
	struct occurrence first = *o;
	json_t *json = json_object();

	first.time = first_of(event);
	out_set_text(json, "time", o->time);
	out_set_text(json, "first", event->first_timestamp);
	out_set_text(json, "reason", event->reason);
	json_object_set_new(json, "count", json_integer(count_of(event)));
	out_set_text(json, "user", user_of(device, &first));
	out_set_text(json, "type", event->type);
	out_set_text(json, "about", event->involved_object.kind);
	out_set_text(json, "from", event->source.host);
	out_set_text(json, "message", event->message);
	return json;
}

void history_print(const struct cluster_device *device, const struct device_events *events,
		   struct out *out)
{
	size_t len;
	auto_free struct occurrence *list = list_occurrences(events, &len);
	json_t *array = json_array();
	auto_json json_t *json = json_pack("{ss,so}", "device", device->name, "events", array);

	if (!out_is_json(out)) {
		print_table(device, list, len, out);
		return;
	}
	for (size_t i = 0; i < len; i++) {
		if (is_last(&list[i]))
			json_array_append_new(array, event_json(device, &list[i]));
	}
	out_json(out, json);
}
