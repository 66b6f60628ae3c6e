/*
 * feed: decodes what lists and watches return and puts it into a store. No I/O, and no tree in
 * memory.
 *
 * An object that cannot be decoded is reported and kept as an unreadable entry, so that it is not
 * treated as absent. Other objects are not affected.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/json_read.h"
#include "kube/reflector.h"
#include "kube/store.h"

/* Everything is borrowed. */
struct feed {
	const struct api_kind *kind;
	struct store *store;
	struct reflector *reflector; /* gets the versions that are seen */
	store_change_fn *on_change;
	void (*on_unreadable)(void *arg, const struct err *err);
	void *arg;
	/* What a line said about the watch as a whole; STARTED: nothing. The owner resets it. */
	enum reflector_event verdict;
	uint64_t retry_after_ms;
};

/* Apply one line of a watch. If the result is < 0, the watch must end, and the verdict says why. */
int feed_line(struct feed *feed, const char *line, size_t len, struct err *err);

/* Put one object of a list into @list, which later replaces the store's content
 * (store_replace()). */
void feed_item(struct feed *feed, struct store *list, const struct json_text *object);

/* --- the lines alone --- */

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

/* Parse one line of a watch. The event points into @line. */
int watch_event_parse(const char *line, size_t len, struct watch_event *ret_event, struct err *err);

/* The metadata.resourceVersion of an object or list; the caller frees it. It is an error if it
 * is missing or unreasonably long. */
int watch_event_version(const struct json_text *object, char **ret_version, struct err *err);
