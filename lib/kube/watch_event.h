/*
 * watch_event: parses one line of a watch without building a tree.
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
	WATCH_EVENT_BOOKMARK, /* the object has only a resourceVersion */
	WATCH_EVENT_ERROR,    /* the object is a Status (api/status.h), and the watch ends */
};

struct watch_event {
	enum watch_event_type type;
	struct json_text object;
};

/* Parse a line. @line must stay valid while the event is used. */
int watch_event_parse(const char *line, size_t len, struct watch_event *ret_event, struct err *err);

/* The metadata.resourceVersion of an object or list; the caller frees it. It is an error if it
 * is missing or unreasonably long. */
int watch_event_version(const struct json_text *object, char **ret_version, struct err *err);
