/*
 * callers: a server's connections in the order in which they are closed when there are too many.
 *
 * Anybody can connect and send nothing. When the limit is exceeded, the connection that has been
 * silent the longest is closed, so idle connections cannot lock out active clients. The daemon's
 * own connection limit must be larger, because a closed connection counts there until the daemon
 * has processed it.
 */
#pragma once

#include <stddef.h>

struct MHD_Connection;

/* Embedded in the server's data for a connection. Zeroed: not in a list. */
struct caller {
	struct callers *row;
	struct caller *older;
	struct caller *newer;
	int fd; /* owned by the daemon */
};

/* Zeroed except for @max: empty list. */
struct callers {
	size_t max;
	size_t len;
	struct caller *oldest;
	struct caller *newest;
};

/* Move the caller to the end of the list. It may already be in this or another list. */
void callers_append(struct callers *callers, struct caller *caller,
		    struct MHD_Connection *connection);

/* Remove the caller from its list, if any. Must be called before the connection ends. */
void callers_remove(struct caller *caller);

/* Remove the caller from its list and close its connection. It must be in a list. */
void callers_close(struct caller *caller);
