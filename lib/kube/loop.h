/*
 * loop: libuv's loop, or the reason why there is none. A program opens its loop here, because libuv ends the process
 * (uv__signal_global_init() in src/unix/signal.c) where it finds no descriptor for its first signal.
 */
#pragma once

struct err;
struct uv_loop_s;

/* uv_loop_init(); the caller closes the loop with uv_loop_close(). On an error there is nothing to close. */
int loop_open(struct uv_loop_s *loop, struct err *err);
