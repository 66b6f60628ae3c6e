/*
 * loop: opens libuv's loop with an error instead of an abort: libuv aborts the process if no file
 * descriptor is left for its first signal handle (uv__signal_global_init() in src/unix/signal.c).
 */
#pragma once

struct err;
struct uv_loop_s;

/* uv_loop_init(); the caller closes the loop with uv_loop_close(). On error there is nothing to
 * close. */
int loop_open(struct uv_loop_s *loop, struct err *err);
