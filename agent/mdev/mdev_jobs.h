/*
 * mdev_jobs: runs hostdev-helper for the parents of mediated devices: one at a time for each parent, and
 * a few at a time in all.
 *
 * Owns the helpers under way, and how the last one of each parent went. A parent on which it went wrong
 * waits longer each time; the others do not. A helper that misses its deadline is left to end by itself,
 * and nothing else is started for its parent until then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/mdev/mdev_line.h"
#include "agent/process/helper_place.h"
#include "api/json_values.h"

struct clock;
struct mdev_jobs;
struct uv_loop_s;

enum {
	MDEV_JOBS_MAX = 4,      /* helpers at a time */
	MDEV_JOB_EACH_MS = 500, /* for each instance, beside the deadline */
	MDEV_RETRY_MS = 1000,
	MDEV_RETRY_MAX_MS = 60000,
};

/* Borrowed. */
struct mdev_jobs_deps {
	struct uv_loop_s *loop;
	struct clock *clock;
	struct helper_place helper;
	uint64_t deadline_ms; /* of a helper, to begin with */
	/* A helper of @parent has ended, or was found stuck: @outcome (valid during the call; NULL: a stuck
	 * one has ended after all). Never before mdev_jobs_start() has returned. */
	void (*ended)(void *arg, const char *parent, const struct mdev_outcome *outcome);
	void *arg;
};

struct mdev_jobs *mdev_jobs_new(const struct mdev_jobs_deps *deps);
/* Takes NULL, returns NULL. Helpers under way are abandoned; no callback runs. */
struct mdev_jobs *mdev_jobs_free(struct mdev_jobs *jobs);

/* What is to be done on one parent. */
struct mdev_job {
	const char *parent;
	const char *type; /* to make instances of it; NULL: remove them */
	const char *owner;
	const struct json_strs *uuids;
	const struct json_strs *more; /* NULL: no more */
};

/* May a job be started for @parent now, by what was seen at @seen_ms? If it is only too early,
 * *@ret_wait_ms says for how long (else UINT64_MAX: something has to change first). */
bool mdev_jobs_may_start(const struct mdev_jobs *jobs, const char *parent, uint64_t seen_ms,
			 uint64_t *ret_wait_ms);

/* mdev_jobs_may_start() has said so. */
void mdev_jobs_start(struct mdev_jobs *jobs, const struct mdev_job *job);

/* What the last job on @parent came to, if it went wrong; NULL: it went well, or there was none. */
const struct mdev_outcome *mdev_jobs_trouble(const struct mdev_jobs *jobs, const char *parent);

/* Is @uuid being removed? */
bool mdev_jobs_removing(const struct mdev_jobs *jobs, const char *uuid);
