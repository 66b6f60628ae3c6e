#include "cli/history.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/meta.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "cli/ask/device_events.h"
#include "cli/model/cluster.h"
#include "cli/show/out_json.h"
#include "text/table.h"

static const struct table_column columns[] = {
	{ .title = "TIME" },
	{ .title = "REASON" },
	{ .title = "COUNT" },
	{ .title = "USER", .least = SIZE_MAX }, /* hidden if empty, never cut */
	{ .title = "TYPE", .wide = true },
	{ .title = "ABOUT", .wide = true },
	{ .title = "FROM", .wide = true },
	{ .title = "MESSAGE", .wraps = true },
};

static bool is_before(const char *a, const char *b)
{
	int64_t a_ms = 0;
	int64_t b_ms = 0;

	(void)timefmt_parse(a, &a_ms);
	(void)timefmt_parse(b ? b : "", &b_ms);
	return a_ms < b_ms;
}

/*
 * Events do not name users. The existing claim does, to users who may read it. Its user is shown
 * with events that have the claim's uid, and with the device's events at a @time since the claim was
 * created. Not with refused requests, which others sent.
 */
static const char *user_of(const struct cluster_device *device, const struct event *event,
			   const char *time)
{
	const struct api_meta *claim = device->claim;
	const char *uid = event->involved_object.uid;
	bool of_claim = device_event_of_claim(event);

	if (!claim || !device->user[0])
		return "";
	if (of_claim)
		return uid && claim->uid && strcmp(uid, claim->uid) == 0 ? device->user : "";
	if (event->reason &&
	    (strcmp(event->reason, "ClaimRefused") == 0 || strcmp(event->reason, "LeftAlone") == 0))
		return "";
	return is_before(time, claim->creation_timestamp) ? "" : device->user;
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
};

static int oldest_first(const void *a, const void *b)
{
	const struct occurrence *x = a;
	const struct occurrence *y = b;
	size_t x_stage = device_event_stage(x->event);
	size_t y_stage = device_event_stage(y->event);

	if (is_before(x->time, y->time))
		return -1;
	if (is_before(y->time, x->time))
		return 1;
	if (x_stage != y_stage)
		return x_stage < y_stage ? -1 : 1;
	if (x->event != y->event)
		return -strcmp(x->event->meta.name, y->event->meta.name);
	return x->number < y->number ? -1 : 1;
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
			list[len++] = (struct occurrence){ event, first_of(event), 1 };
		list[len++] = (struct occurrence){ event, last, count_of(event) };
	}
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
	table_add(table, user_of(device, event, occurrence->time));
	table_add(table, event->type);
	table_add(table, event->involved_object.kind);
	table_add(table, event->source.host);
	table_add(table, event->message);
}

static void print_table(const struct cluster_device *device, const struct device_events *events,
			struct out *out)
{
	struct table table;
	size_t len;
	auto_free struct occurrence *list = list_occurrences(events, &len);

	table_init(&table, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < len; i++)
		add_row(&table, device, &list[i]);
	if (table.len > 0)
		table_print(&table, out, true, &out->text);
	table_done(&table);
}

/* The user is named only if all counted occurrences are that user's. */
static json_t *event_json(const struct cluster_device *device, const struct event *event)
{
	json_t *json = json_object();

	out_set_text(json, "time", device_event_time(event));
	out_set_text(json, "first", event->first_timestamp);
	out_set_text(json, "reason", event->reason);
	json_object_set_new(json, "count", json_integer(count_of(event)));
	out_set_text(json, "user", user_of(device, event, first_of(event)));
	out_set_text(json, "type", event->type);
	out_set_text(json, "about", event->involved_object.kind);
	out_set_text(json, "from", event->source.host);
	out_set_text(json, "message", event->message);
	return json;
}

void history_print(const struct cluster_device *device, const struct device_events *events,
		   struct out *out)
{
	json_t *list = json_array();
	auto_json json_t *json = json_pack("{ss,so}", "device", device->name, "events", list);

	if (!out_is_json(out)) {
		print_table(device, events, out);
		return;
	}
	for (size_t i = events->len; i-- > 0;)
		json_array_append_new(list, event_json(device, events->items[i]));
	out_json(out, json);
}
