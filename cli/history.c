#include "cli/history.h"

#include <stdbool.h>
#include <string.h>

#include "api/json_map.h"
#include "api/meta.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "cli/ask/device_events.h"
#include "cli/model/cluster.h"
#include "cli/show/out.h"
#include "cli/show/table.h"

static const struct table_column columns[] = {
	{ .title = "TIME" },
	{ .title = "FIRST", .wide = true },
	{ .title = "REASON" },
	{ .title = "COUNT" },
	{ .title = "USER", .least = TABLE_NAME_LEAST },
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
 * with events that have the claim's uid, and with the device's events since the claim was created.
 * Not with refused requests, which others sent.
 */
static const char *user_of(const struct cluster_device *device, const struct event *event)
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
	return is_before(device_event_time(event), claim->creation_timestamp) ? "" : device->user;
}

static int64_t count_of(const struct event *event)
{
	return event->count > 0 ? event->count : 1;
}

static void add_row(struct table *table, const struct cluster_device *device,
		    const struct event *event)
{
	auto_free char *count = xasprintf("%lld", (long long)count_of(event));
	const char *first = event->first_timestamp;

	table_add(table, device_event_time(event));
	table_add(table, first ? first : device_event_time(event));
	table_add(table, event->reason);
	table_add(table, count);
	table_add(table, user_of(device, event));
	table_add(table, event->type);
	table_add(table, event->involved_object.kind);
	table_add(table, event->source.host);
	table_add(table, event->message);
}

static json_t *event_json(const struct cluster_device *device, const struct event *event)
{
	json_t *json = json_object();

	out_set_text(json, "time", device_event_time(event));
	out_set_text(json, "first", event->first_timestamp);
	out_set_text(json, "reason", event->reason);
	json_object_set_new(json, "count", json_integer(count_of(event)));
	out_set_text(json, "user", user_of(device, event));
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
	struct table table;

	table_init(&table, columns, ARRAY_LEN(columns));
	for (size_t i = events->len; i-- > 0;) {
		add_row(&table, device, events->items[i]);
		json_array_append_new(list, event_json(device, events->items[i]));
	}
	if (out_is_json(out))
		out_json(out, json);
	else if (table.len > 0)
		table_print(&table, out, true, &out->text);
	table_done(&table);
}
