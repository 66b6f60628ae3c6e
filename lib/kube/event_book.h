/*
 * event_book: what was already said of which object, and how much more may be said of it. Pure.
 *
 * Bounded: when it is full it forgets everything and counts from one again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event_book;

/* Something that was said before, and will be said again as one more of the same. */
struct event_said {
	char *name; /* of the Event object; NULL: it is yet to be created */
	int64_t count;
	int64_t first_wall_ms;
};

struct event_book *event_book_new(void);
struct event_book *event_book_free(struct event_book *book); /* takes NULL, returns NULL */

/* May the object @uid cause one more event now? Takes it from its budget if so. */
bool event_book_allow(struct event_book *book, const char *uid, uint64_t now_ms);

/* The page of what is the same in all its words (@same); a new one has count 0. Valid until the next
 * call. */
struct event_said *event_book_find(struct event_book *book, const char *same);
