/*
 * listwatch: decodes what lists and watches return and puts it into a store. No I/O, and no tree in
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

struct err;

/* Everything is borrowed. */
struct listwatch {
	const struct api_kind *kind;
	struct store *store;
	struct reflector *reflector; /* gets the versions that are seen */
	store_change_fn *on_change;
	void (*on_unreadable)(void *arg, const struct err *err);
	void *arg;
	/* What the last line means for the watch as a whole; STARTED: nothing. The owner resets
	 * it. */
	enum reflector_event verdict;
	uint64_t retry_after_ms;
};

/* Apply one line of a watch. If the result is < 0, the watch must end, and the verdict says why. */
int listwatch_apply_line(struct listwatch *listwatch, const char *line, size_t len,
			 struct err *err);

/* Put one object of a list into @list, which later replaces the store's content
 * (store_replace()). */
void listwatch_add_item(struct listwatch *listwatch, struct store *list,
			const struct json_text *object);

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

/*
 * --- lists ---
 *
 * Reads one response to a list, object by object, without building a tree.
 */

/* The metadata of a page; the caller frees the strings with list_page_done(). */
struct list_page {
	char *version;
	char *next_page; /* the continue token; NULL: last page */
};

/* @item is called with each object before this returns, even if a later part of the page is
 * broken and the result is < 0. */
int list_page_read(const char *text, size_t len,
		   void (*item)(void *arg, const struct json_text *object), void *arg,
		   struct list_page *ret_page, struct err *err);

void list_page_done(struct list_page *page);
