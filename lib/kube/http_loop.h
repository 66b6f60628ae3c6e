/*
 * http_loop: runs a libmicrohttpd daemon, started with MHD_USE_EPOLL and no thread, on a libuv
 * loop.
 */
#pragma once

#include <uv.h>

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
