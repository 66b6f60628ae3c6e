/*
 * workq_run: processes a queue on the loop, several keys at a time, and decides by the error's kind
 * whether to retry a key. The only place that logs a reconcile error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock;
struct err;
struct metrics;
struct workq_run;

/* The result for a key; @err is valid during the call. 0: success. < 0, by the kind of @err:
 * RETRY and CONFLICT are retried with backoff. The backoff starts slower and has a lower maximum
 * if the server, not the key, is at fault (no response, 429, 5xx, 401, 403), and it is at least
 * @err's wait_ms. INVALID and STUCK are not retried until the key is added again. */
typedef void work_end_fn(void *arg, int result, const struct err *err);

/* Process @key once. Calls @end exactly once, possibly before it returns. @key is valid until
 * then. */
typedef void work_fn(void *arg, const char *key, work_end_fn *end, void *end_arg);

struct workq_run_spec {
	const char *name;   /* queue name in logs and metrics: "pcideviceclaims" */
	size_t max_running; /* keys at a time */
	work_fn *work;      /* never called before workq_run_add() has returned */
	void *arg;
	struct clock *clock;     /* borrowed */
	struct metrics *metrics; /* borrowed, may be NULL */
};

struct workq_run *workq_run_new(const struct workq_run_spec *spec); /* copied */

/* Keys still running may end, but have no further effect. Takes NULL, returns NULL. */
struct workq_run *workq_run_free(struct workq_run *run);

void workq_run_add(struct workq_run *run, const char *key);
void workq_run_add_after(struct workq_run *run, const char *key, uint64_t delay_ms);

/* True if no key is running or waiting. Delayed keys are not considered. */
bool workq_run_idle(const struct workq_run *run);
