/* device_events: the events of a device, its claim and its card. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/event.h"

struct cluster_device;
struct err;
struct session;

enum { DEVICE_EVENTS_SHOWN = 10, DEVICE_EVENTS_MAX = 500 };

/* The latest first; owns its items. */
struct device_events {
	size_t max; /* how many are kept, at most DEVICE_EVENTS_MAX; 0: DEVICE_EVENTS_SHOWN */
	struct event **items;
	size_t len;
	size_t cap;
};

/* When an event was last recorded, as RFC 3339; "" if it does not say. */
const char *device_event_time(const struct event *event);

/* Is it about a claim? */
bool device_event_of_claim(const struct event *event);

/* Add the events of a list in JSON, the latest first, until there are @events->max. If the same
 * event is recorded on a device and on its claim or card, only that one is added. Pure. */
int device_events_add(struct device_events *events, const char *list, size_t len, struct err *err);

/* Read the events about the objects of @device from the API server. */
int device_events_read(struct session *session, const struct cluster_device *device,
		       struct device_events *events, struct err *err);

void device_events_done(struct device_events *events);
#define auto_events __attribute__((cleanup(device_events_done)))

/* Times of events are whole seconds. Events of the same second are sorted by this, the order of a
 * device's life. */
size_t device_event_stage(const struct event *event);
