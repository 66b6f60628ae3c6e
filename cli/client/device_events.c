#include "cli/client/device_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map_read.h"
#include "api/migconfiguration.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/client/session.h"
#include "cli/model/cluster.h"
#include "kube/listwatch.h"
#include "kube/url.h"

const char *device_event_time(const struct event *event)
{
	if (event->last_timestamp)
		return event->last_timestamp;
	if (event->event_time)
		return event->event_time;
	return event->meta.creation_timestamp ? event->meta.creation_timestamp : "";
}

static int64_t wall_ms(const struct event *event)
{
	int64_t ms = 0;

	(void)timefmt_parse(device_event_time(event), &ms);
	return ms;
}

size_t device_event_stage(const struct event *event)
{
	static const char *const stages[] = { "LeftAlone", "Claimed", "ClaimChanged", NULL,
					      "Bound",     "Offered", "Allocated",    "Freed",
					      "Unclaimed", "Released" };
	size_t other = 0;

	for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
		if (!stages[i])
			other = i;
		else if (event->reason && strcmp(event->reason, stages[i]) == 0)
			return i;
	}
	return other;
}

static int latest_first(const void *a, const void *b)
{
	const struct event *const *x = a;
	const struct event *const *y = b;
	int64_t difference = wall_ms(*y) - wall_ms(*x);

	if (difference == 0 && device_event_stage(*x) != device_event_stage(*y))
		return device_event_stage(*x) < device_event_stage(*y) ? 1 : -1;
	if (difference == 0)
		return strcmp((*x)->meta.name, (*y)->meta.name);
	return difference > 0 ? 1 : -1;
}

static void take_event(void *arg, const struct json_text *text)
{
	struct device_events *events = arg;
	struct event *event = xmalloc(event_kind.size);

	if (json_map_read(event_kind.map, text->text, text->len, event, NULL) < 0) {
		free(event);
		return;
	}
	events->items =
		array_room_(events->items, events->len, &events->cap, sizeof(struct event *));
	events->items[events->len++] = event;
}

bool device_event_of_claim(const struct event *event)
{
	const char *kind = event->involved_object.kind;

	return str_equal(kind, pcideviceclaim_kind.kind) ||
	       str_equal(kind, usbdeviceclaim_kind.kind);
}

static bool is_of_device(const struct event *event)
{
	const char *kind = event->involved_object.kind;

	return str_equal(kind, pcidevice_kind.kind) || str_equal(kind, usbdevice_kind.kind);
}

/* Is the same event of a device also recorded on its claim or card? Then that one is kept: a
 * claim's uid identifies the claim. */
static bool is_double(const struct device_events *events, const struct event *event)
{
	for (size_t i = 0; i < events->len && is_of_device(event); i++) {
		const struct event *other = events->items[i];

		if (!is_of_device(other) && str_equal(other->reason, event->reason) &&
		    str_equal(other->message, event->message))
			return true;
	}
	return false;
}

static void drop_doubles(struct device_events *events)
{
	size_t i = 0;

	while (i < events->len) {
		struct event *event = events->items[i];

		if (!is_double(events, event)) {
			i++;
			continue;
		}
		events->len--;
		memmove(events->items + i, events->items + i + 1,
			(events->len - i) * sizeof(struct event *));
		api_object_free(&event_kind, event);
	}
}

int device_events_add(struct device_events *events, const char *list, size_t len, struct err *err)
{
	struct list_page page = { 0 };
	size_t max = events->max ? events->max : DEVICE_EVENTS_SHOWN;
	int r = list_page_read(list, len, take_event, events, &page, err);

	list_page_done(&page);
	qsort(events->items, events->len, sizeof(struct event *), latest_first);
	drop_doubles(events);
	while (events->len > max)
		api_object_free(&event_kind, events->items[--events->len]);
	return r;
}

static int read_about(struct session *session, const char *name, struct device_events *events,
		      struct err *err)
{
	auto_str struct str path = STR_INIT;
	auto_free char *selector = xasprintf("involvedObject.name=%s", name);
	auto_answer struct session_answer answer = { 0 };
	int r;

	url_object(&path, &event_kind, NULL, NULL, NULL);
	url_add_query(&path, &(struct url_query){
				     .field_selector = selector,
				     .limit = DEVICE_EVENTS_MAX,
			     });
	r = session_ask(session,
			&(struct kube_request){
				.verb = "list",
				.resource = "events",
				.method = "GET",
				.path = str_cstr(&path),
			},
			&answer, err);
	return r < 0 ? r : device_events_add(events, answer.body, answer.len, err);
}

int device_events_read(struct session *session, const struct cluster_device *device,
		       struct device_events *events, struct err *err)
{
	const char *names[] = {
		device->name,
		device->sriov ? device->sriov->meta.name : NULL,
		device->gpu ? device->gpu->meta.name : NULL,
		device->mig ? device->mig->meta.name : NULL,
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(names) && r == 0; i++) {
		bool seen = !names[i];

		for (size_t j = 0; j < i && !seen; j++)
			seen = names[j] && strcmp(names[i], names[j]) == 0;
		if (!seen)
			r = read_about(session, names[i], events, err);
	}
	return r;
}

void device_events_done(struct device_events *events)
{
	for (size_t i = 0; i < events->len; i++)
		api_object_free(&event_kind, events->items[i]);
	array_done(events);
}
