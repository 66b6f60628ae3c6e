/*
 * lines: cut a byte stream into lines, wherever the network cut it into chunks.
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

/* One line without its "\n"; not terminated by NUL, valid during the call. Empty lines come too.
 * A result < 0 (with @err filled) stops the feed, which returns it. */
typedef int line_fn(void *arg, const char *line, size_t len, struct err *err);

/* Hand every line that @data completes to @fn, in order, before returning. ERR_INVALID with
 * -EMSGSIZE when a line passes @max: the stream is of no more use then. */
int lines_feed(struct lines *l, const char *data, size_t len, line_fn *fn, void *arg,
	       struct err *err);

/* Forget the unfinished line and release its memory. The object may be used again. */
void lines_done(struct lines *l);
