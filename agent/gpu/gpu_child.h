/*
 * gpu_child: one program after the other as a child with a deadline; one that cannot be started is told from
 * the loop, like every other end.
 */
#pragma once

#include <stdint.h>

#include "agent/process/helper_run.h"

struct gpu_child;
struct metrics;
struct uv_loop_s;

/* The program that missed its deadline has ended after all. */
typedef void gpu_child_gone_fn(void *arg);

/* @arg is every callback's. @metrics (helper_meter) may be NULL. */
struct gpu_child *gpu_child_new(struct uv_loop_s *loop, struct metrics *metrics,
				gpu_child_gone_fn *on_gone, void *arg);
/* A program under way is abandoned. May be called by the callbacks. Takes NULL, returns NULL. */
struct gpu_child *gpu_child_free(struct gpu_child *child);

/* Run @path with @args (ends in NULL; copied by the kernel). @on_end runs exactly once, never before this
 * returns; after ERR_STUCK nothing more is run before on_gone. */
void gpu_child_run(struct gpu_child *child, const char *path, const char *const *args,
		   uint64_t deadline_ms, line_fn *on_line, helper_end_fn *on_end);

/* Of the program under way; 0: none. */
int gpu_child_pid(const struct gpu_child *child);
