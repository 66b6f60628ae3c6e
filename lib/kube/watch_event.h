/*
 * watch_event: one line of a watch, taken apart without building a tree of it.
 *
 * Owns nothing: the results point into the line.
 */
#pragma once

#include <stddef.h>

#include "base/json_read.h"

struct err;

enum watch_event_type {
	WATCH_EVENT_ADDED,
	WATCH_EVENT_MODIFIED,
	WATCH_EVENT_DELETED,
	WATCH_EVENT_BOOKMARK, /* the object has nothing but its resourceVersion        */
	WATCH_EVENT_ERROR,    /* the object is a Status (api/status.h), the watch ends */
};

struct watch_event {
	enum watch_event_type type;
	struct json_text object;
};

/* Take the line apart. @line is valid as long as the event is used. */
int watch_event_parse(const char *line, size_t len, struct watch_event *ret_event, struct err *err);

/* The metadata.resourceVersion of an object or a list; the caller frees. An error if there is none
 * or it is longer than a version can sensibly be. */
int watch_event_version(const struct json_text *object, char **ret_version, struct err *err);
