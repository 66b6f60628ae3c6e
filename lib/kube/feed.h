/*
 * feed: decodes what lists and watches return and puts it into a store. No I/O.
 *
 * An object that cannot be decoded is reported and kept as an unreadable entry, so that it is not
 * treated as absent. Other objects are not affected.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

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
