/*
 * callers: the connections to a server of ours, or those that have not yet shown who they are, in the order in
 * which they go when there are too many.
 *
 * Anybody can connect, and need not say anything. One too many ends the connection of the one that has been
 * silent the longest, so that who has something to say always gets to say it. The daemon's own limit must be
 * larger: a connection that was ended counts there until the daemon looks at it again.
 */
#pragma once

#include <stddef.h>

struct MHD_Connection;

/* A part of what a server keeps of a connection. Zeroed: in no row. */
struct caller {
	struct callers *row;
	struct caller *older;
	struct caller *newer;
	int fd; /* the daemon's */
};

/* Zeroed but for @max: nobody. */
struct callers {
	size_t max;
	size_t len;
	struct caller *oldest;
	struct caller *newest;
};

/* The last in the row from now on; it leaves the one that it is in, which may be the same. */
void callers_put(struct callers *callers, struct caller *caller, struct MHD_Connection *connection);

/* Out of the row that it is in, if any: at the end of a connection at the latest. */
void callers_take_out(struct caller *caller);

/* The same, and its connection ends. It is in a row. */
void callers_show_out(struct caller *caller);
