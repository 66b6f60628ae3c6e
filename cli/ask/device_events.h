/* device_events: what events tell of a device, its claim and its card. */
#pragma once

#include <stddef.h>

#include "api/event.h"

struct cluster_device;
struct err;
struct session;

enum { DEVICE_EVENTS_SHOWN = 10 };

/* The latest first; owns its items. */
struct device_events {
	struct event **items;
	size_t len;
	size_t cap;
};

/* When an event was told last, as RFC 3339; "" if it does not say. */
const char *device_event_time(const struct event *event);

/* The objects of a list of events in JSON, the latest first, at most DEVICE_EVENTS_SHOWN of them added to
 * those that @events has. Pure. */
int device_events_add(struct device_events *events, const char *list, size_t len, struct err *err);

/* Ask for those about @device's objects. */
int device_events_read(struct session *session, const struct cluster_device *device,
		       struct device_events *events, struct err *err);

void device_events_done(struct device_events *events);
#define auto_events __attribute__((cleanup(device_events_done)))
