/*
 * workq_run: works a queue off on the loop, several keys at a time, and decides by an error's kind
 * what becomes of its key. The only place that logs a reconcile's error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock;
struct err;
struct metrics;
struct workq_run;

/* How a key's work ended; @err is valid during the call. Result 0: done. < 0, by kind of @err:
 * RETRY and CONFLICT: again after its backoff, which is slower and ends sooner where the trouble is
 * the server's (no answer, 429, 5xx, 401, 403) and not the key's, and is @err's wait_ms at least;
 * INVALID and STUCK: not before something adds it. */
typedef void work_end_fn(void *arg, int result, const struct err *err);

/* Look at @key once. Calls @end exactly once, possibly before it returns. @key is valid until then. */
typedef void work_fn(void *arg, const char *key, work_end_fn *end, void *end_arg);

struct workq_run_spec {
	const char *name;   /* of the queue, in logs and metrics: "pcideviceclaims" */
	size_t max_running; /* keys at a time                                       */
	work_fn *work;      /* never called before the call that adds has returned  */
	void *arg;
	struct clock *clock;     /* borrowed              */
	struct metrics *metrics; /* borrowed, may be NULL */
};

struct workq_run *workq_run_new(const struct workq_run_spec *spec); /* copied */

/* Work that is under way may still end; that is all it does then. Takes NULL, returns NULL. */
struct workq_run *workq_run_free(struct workq_run *run);

void workq_run_add(struct workq_run *run, const char *key);
void workq_run_add_after(struct workq_run *run, const char *key, uint64_t delay_ms);

/* True when nothing runs and nothing waits to run now. */
bool workq_run_idle(const struct workq_run *run);
