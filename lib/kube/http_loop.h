/*
 * http_loop: runs a libmicrohttpd daemon, started with MHD_USE_EPOLL and no thread, on a libuv
 * loop.
 */
#pragma once

#include <stddef.h>

#include <uv.h>

struct MHD_Connection;
struct MHD_Daemon;

/* Embedded in the daemon's owner, who frees it in @stopped. Zeroed: not started. */
struct http_loop {
	struct MHD_Daemon *daemon;
	uv_poll_t poll; /* of the daemon's epoll descriptor */
	uv_timer_t timer;
	uv_idle_t again;
	unsigned spins;   /* immediate runs since the last event or progress */
	unsigned handles; /* not closed yet */
	void (*stopped)(void *arg);
	void *arg;
};

/* The loop takes over @daemon and will stop it. */
void http_loop_start(struct http_loop *http, struct uv_loop_s *loop, struct MHD_Daemon *daemon);

/* Call from the daemon's callbacks when a request makes progress, so that the daemon may run
 * again at once. */
void http_loop_progress(struct http_loop *http);

/* Call after MHD_resume_connection(), outside of the daemon's callbacks: without its own thread
 * the daemon does not notice a resumed connection (0.9.75 has no descriptor for it then). */
void http_loop_wake(struct http_loop *http);

/* Stop the daemon and its connections at once; @stopped is called with @arg once the handles are
 * closed, for which the loop must run once more. */
void http_loop_stop(struct http_loop *http, void (*stopped)(void *arg), void *arg);

/*
 * --- a limit on connections ---
 *
 * A server's connections in the order in which they are closed when there are too many.
 *
 * Anybody can connect and send nothing. When the limit is exceeded, the connection that has been
 * silent the longest is closed, so idle connections cannot lock out active clients. The daemon's
 * own connection limit must be larger, because a closed connection counts there until the daemon
 * has processed it.
 */

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
