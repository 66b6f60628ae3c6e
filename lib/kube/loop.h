/*
 * loop: opens libuv's loop with an error instead of an abort, and closes it though a child still
 * runs.
 *
 * libuv aborts the process if no file descriptor is left for its first signal handle
 * (uv__signal_global_init() in src/unix/signal.c). A loop that a child keeps open is not closed,
 * and its handle stays in the list that libuv's handler of SIGCHLD reads (uv__signal_handler()):
 * when the child ends after the loop's memory has been released, the process crashes.
 */
#pragma once

struct err;
struct uv_loop_s;

/* uv_loop_init(); the caller closes the loop with loop_close(). On error there is nothing to
 * close. */
int loop_open(struct uv_loop_s *loop, struct err *err);

/* The process needs no loop any more: run the callbacks of what was closed, and release what can
 * be. Children of the loop that still run are left to end by themselves. */
void loop_close(struct uv_loop_s *loop);
