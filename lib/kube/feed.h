/*
 * feed: what lists and watches bring, on its way into a store. No I/O.
 *
 * An object that cannot be decoded is told of and kept as an unreadable entry, so that it is not
 * taken for absent, and hurts nothing else.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kube/reflector.h"
#include "kube/store.h"

/* Borrows all of it. */
struct feed {
	const struct api_kind *kind;
	struct store *store;
	struct reflector *reflector; /* learns the versions that go by */
	store_change_fn *on_change;
	void (*on_unreadable)(void *arg, const struct err *err);
	void *arg;
	/* What a line said of its watch as a whole; STARTED: nothing. The owner resets it. */
	enum reflector_event verdict;
	uint64_t retry_after_ms;
};

/* Apply one line of a watch. A result < 0 means that the watch is of no more use, and the verdict
 * says why. */
int feed_line(struct feed *feed, const char *line, size_t len, struct err *err);

/* Put one object of a list into @list, which store_replace() makes the store's content later. */
void feed_item(struct feed *feed, struct store *list, const struct json_text *object);
