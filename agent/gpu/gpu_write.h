/*
 * gpu_write: one write of a decision to the API server.
 *
 * Owns the call under way. What the server answered is known to the echoes before anybody hears of the end,
 * so that nothing is decided on a store that is behind.
 */
#pragma once

#include "agent/gpu/gpu_view.h"

struct echoes;
struct err;
struct gpu_write;

/* How it ended; @result < 0 with @err. The write is gone when this returns. */
typedef void gpu_write_end_fn(void *arg, struct gpu_write *write, int result,
			      const struct err *err);

/* The decision on the object @key; its step is one that writes, its body is borrowed for the call. @end runs exactly once, never
 * before this returns. */
struct gpu_write *gpu_write_start(const struct gpu_world *world, struct echoes *echoes,
				  const char *key, const struct gpu_decision *decision,
				  gpu_write_end_fn *end, void *arg);
/* Give up: @end does not run. Takes NULL, returns NULL. */
struct gpu_write *gpu_write_free(struct gpu_write *write);

/* The echoes' key of the claim @name. The caller frees. */
char *gpu_write_claim_key(const char *name);
