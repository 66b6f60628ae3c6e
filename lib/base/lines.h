/*
 * lines: splits a byte stream into lines, independent of how the network split it into chunks.
 *
 * Holds at most one unfinished line, and never more than @max bytes of it.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct err;

struct lines {
	size_t max; /* longest line, without its newline */
	struct str part;
};

/* One line without its "\n", not NUL-terminated, valid during the call. Also called for empty
 * lines. A result < 0 (with @err filled) stops the feed, which returns it. */
typedef int line_fn(void *arg, const char *line, size_t len, struct err *err);

/* Pass every line completed by @data to @fn, in order, before returning. ERR_INVALID with
 * -EMSGSIZE if a line is longer than @max: then the stream cannot be used any more. */
int lines_feed(struct lines *l, const char *data, size_t len, line_fn *fn, void *arg,
	       struct err *err);

/* Drop the unfinished line and release its memory. The object may be used again. */
void lines_done(struct lines *l);
