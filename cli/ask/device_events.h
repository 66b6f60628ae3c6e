/* device_events: what events tell of a device, its claim and its card. */
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

/* When an event was told last, as RFC 3339; "" if it does not say. */
const char *device_event_time(const struct event *event);

/* Is it about a claim? */
bool device_event_of_claim(const struct event *event);

/* The objects of a list of events in JSON, the latest first, at most @events->max of them added to those that @events
 * has. What is told of a device and of its claim alike is there once, as the claim's. Pure. */
int device_events_add(struct device_events *events, const char *list, size_t len, struct err *err);

/* Ask for those about @device's objects. */
int device_events_read(struct session *session, const struct cluster_device *device,
		       struct device_events *events, struct err *err);

void device_events_done(struct device_events *events);
#define auto_events __attribute__((cleanup(device_events_done)))
