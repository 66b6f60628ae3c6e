/*
 * gpu_writes: the decisions of several objects that are being written side by side, with the events that go
 * with them.
 */
#pragma once

#include "agent/gpu/gpu_view.h"
#include "kube/workq_run.h"

struct echoes;
struct gpu_writes;

/* All borrowed. */
struct gpu_writes *gpu_writes_new(const struct gpu_world *world, struct echoes *echoes);
/* Gives up what is under way; each end runs. Takes NULL, returns NULL. */
struct gpu_writes *gpu_writes_free(struct gpu_writes *writes);

/* Write @decision, which it takes, for the queue's @key, which is borrowed until @end; that runs exactly once,
 * never before this returns. */
void gpu_writes_start(struct gpu_writes *writes, const char *key, struct gpu_decision *decision,
		      work_end_fn *end, void *end_arg);
