/*
 * http_loop: lets a libmicrohttpd daemon, started with MHD_USE_EPOLL and no thread, live on a libuv
 * loop.
 */
#pragma once

#include <uv.h>

struct MHD_Daemon;

/* A part of the daemon's owner, who releases it from @stopped. Zeroed: not started. */
struct http_loop {
	struct MHD_Daemon *daemon;
	uv_poll_t poll; /* of the daemon's epoll descriptor */
	uv_timer_t timer;
	uv_idle_t again;
	unsigned spins;   /* turns without a wait since something was ready or went on */
	unsigned handles; /* not closed yet */
	void (*stopped)(void *arg);
	void *arg;
};

/* @daemon is the loop's to stop from now on. */
void http_loop_start(struct http_loop *http, struct uv_loop_s *loop, struct MHD_Daemon *daemon);

/* To be called by the daemon's callbacks: a request goes on, so that it is worth another turn. */
void http_loop_progress(struct http_loop *http);

/* To be called after MHD_resume_connection(), outside of the daemon's callbacks: without a thread of its own
 * the daemon does not notice by itself (0.9.75 has no descriptor for it then). */
void http_loop_wake(struct http_loop *http);

/* Stop the daemon at once, with its connections; @stopped is called with @arg once the handles are
 * closed, for which the loop must run once more. */
void http_loop_stop(struct http_loop *http, void (*stopped)(void *arg), void *arg);
