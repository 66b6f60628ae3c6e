#include "kube/workq_run.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/clock.h"
#include "kube/metrics.h"
#include "kube/workq.h"

enum { ASKED_MAX_MS = 5 * 60 * 1000 };

struct workq_run {
	struct workq_run_spec spec;
	struct workq *queue;
	struct clock_timer *timer;
	bool freed; /* freed by the owner; the last running key releases the memory */
	/* code of the last logged failure, to log it only once; 0 after a success */
	int logged_code;
	struct metric *results;
	struct metric *waiting;
	struct metric *waited;
	struct metric *adds;
	struct metric *retries;
	struct metric *duration;
	uint64_t added; /* adds already counted in the metric */
};

/* A running key. */
struct work {
	struct workq_run *run;
	const char *key;
	uint64_t start_ms;
};

static const struct metric_desc results_desc = {
	.name = "hostdev_reconciles_total",
	.help = "Reconciliations by queue and result.",
	.type = METRIC_COUNTER,
	.labels = { "queue", "result" },
};

static const struct metric_desc waiting_desc = {
	.name = "hostdev_queue_waiting",
	.help = "Keys that wait in the queue.",
	.type = METRIC_GAUGE,
	.labels = { "queue" },
};

static const struct metric_desc waited_desc = {
	.name = "hostdev_queue_duration_seconds",
	.help = "Time that a key waited in the queue.",
	.type = METRIC_SECONDS,
	.labels = { "queue" },
	.buckets_ms = { 1, 10, 100, 1000, 10000, 60000 },
};

static const struct metric_desc adds_desc = {
	.name = "hostdev_queue_adds_total",
	.help = "Keys added to the queue.",
	.type = METRIC_COUNTER,
	.labels = { "queue" },
};

static const struct metric_desc retries_desc = {
	.name = "hostdev_queue_retries_total",
	.help = "Reconciliations that failed and are retried.",
	.type = METRIC_COUNTER,
	.labels = { "queue" },
};

static const struct metric_desc duration_desc = {
	.name = "hostdev_reconcile_duration_seconds",
	.help = "Duration of one reconciliation.",
	.type = METRIC_SECONDS,
	.labels = { "queue" },
	.buckets_ms = { 1, 10, 100, 1000, 10000, 100000 },
};

static void on_timer(void *arg);

/* Show all series from the start. */
static void show_series(const struct workq_run *run)
{
	static const char *const results[] = { "done", "retry", "conflict", "invalid", "stuck" };

	for (size_t i = 0; i < ARRAY_LEN(results); i++)
		metric_show(run->results, (const char *const[]){ run->spec.name, results[i] });
	metric_show(run->waiting, &run->spec.name);
	metric_show(run->waited, &run->spec.name);
	metric_show(run->adds, &run->spec.name);
	metric_show(run->retries, &run->spec.name);
	metric_show(run->duration, &run->spec.name);
}

struct workq_run *workq_run_new(const struct workq_run_spec *spec)
{
	struct workq_run *run = xcalloc(1, sizeof(*run));

	run->spec = *spec;
	run->queue = workq_new();
	run->timer = clock_timer_new(spec->clock, on_timer, run);
	run->results = metrics_family(spec->metrics, &results_desc);
	run->waiting = metrics_family(spec->metrics, &waiting_desc);
	run->waited = metrics_family(spec->metrics, &waited_desc);
	run->adds = metrics_family(spec->metrics, &adds_desc);
	run->retries = metrics_family(spec->metrics, &retries_desc);
	run->duration = metrics_family(spec->metrics, &duration_desc);
	show_series(run);
	return run;
}

static void release_if_unused(struct workq_run *run)
{
	if (!run->freed || workq_running(run->queue) > 0)
		return;
	workq_free(run->queue);
	free(run);
}

struct workq_run *workq_run_free(struct workq_run *run)
{
	if (!run)
		return NULL;
	run->timer = clock_timer_free(run->spec.clock, run->timer);
	run->freed = true;
	release_if_unused(run);
	return NULL;
}

static void count_keys(struct workq_run *run)
{
	uint64_t added = workq_added(run->queue);

	metric_set(run->waiting, (int64_t)workq_waiting(run->queue), &run->spec.name);
	if (added == run->added)
		return;
	metric_add(run->adds, (int64_t)(added - run->added), &run->spec.name);
	run->added = added;
}

/* Start the timer for the next key. Called again when a key ends. */
static void schedule(struct workq_run *run)
{
	uint64_t due_ms = workq_due_ms(run->queue);
	uint64_t now_ms;

	if (run->freed)
		return;
	count_keys(run);
	if (due_ms == UINT64_MAX || workq_running(run->queue) >= run->spec.max_running) {
		clock_timer_stop(run->spec.clock, run->timer);
		return;
	}
	now_ms = clock_now_ms(run->spec.clock);
	clock_timer_start(run->spec.clock, run->timer, due_ms > now_ms ? due_ms - now_ms : 0);
}

static const char *kind_text(int result, const struct err *err)
{
	if (result >= 0)
		return "done";
	switch (err->kind) {
	case ERR_NONE:
	case ERR_RETRY:
		return "retry";
	case ERR_CONFLICT:
		return "conflict";
	case ERR_INVALID:
		return "invalid";
	case ERR_STUCK:
		return "stuck";
	}
	return "retry";
}

/* Conflicts are normal: the next attempt sees the newer object. A failure that affects every key
 * is logged once, and so is one that a key repeats while others succeed. */
static enum log_level level_of(struct workq_run *run, const char *key, const struct err *err)
{
	if (err->kind == ERR_CONFLICT)
		return LOG_DEBUG;
	if (err->kind == ERR_RETRY &&
	    (run->logged_code == err->code || workq_failed_with(run->queue, key) == err->code))
		return LOG_DEBUG;
	run->logged_code = err->code;
	return LOG_WARN;
}

/* If the API server does not answer, the key is not at fault: the server may be back at any
 * time, and then the key must not wait for minutes. Missing permissions must be granted by a
 * person, so those retries are slow. */
static struct workq_pace pace_of(struct workq_run *run, const struct err *err)
{
	static const struct workq_pace server = { .first_ms = 200, .max_ms = 30000 };
	static const struct workq_pace rights = { .first_ms = 5000, .max_ms = 60000 };
	struct workq_pace pace = workq_usual_pace;
	uint64_t least_ms = err->wait_ms < ASKED_MAX_MS ? err->wait_ms : ASKED_MAX_MS;

	if (err->code == -EACCES)
		pace = rights;
	else if (err->code == -EAGAIN || err->code == -EREMOTEIO || err->code == -EIO ||
		 err->code == -EBADMSG || err->code == -ETIMEDOUT || err->code == -ENOENT)
		pace = server; /* also if the kind is gone: the watch will report that soon */
	if (least_ms > 0)      /* all clients got the same Retry-After: spread them */
		pace.least_ms = least_ms + clock_random(run->spec.clock) % (least_ms / 2 + 1);
	return pace;
}

static void retry(struct workq_run *run, const char *key, const struct err *err)
{
	struct workq_pace pace = pace_of(run, err);

	workq_retry(run->queue, key, err->code, &pace, clock_now_ms(run->spec.clock));
	metric_add(run->retries, 1, &run->spec.name);
}

static void handle_result(struct work *work, int result, const struct err *err)
{
	struct workq_run *run = work->run;

	if (result >= 0) {
		run->logged_code = 0;
		workq_forget(run->queue, work->key);
		return;
	}
	log_at_(level_of(run, work->key, err), "reconcile failed", log_str("queue", run->spec.name),
		log_str("key", work->key), log_str("kind", kind_text(result, err)),
		log_int("failures", workq_failures(run->queue, work->key) + 1),
		log_str("error", err->msg));
	if (err->kind == ERR_INVALID || err->kind == ERR_STUCK)
		workq_forget(run->queue, work->key);
	else
		retry(run, work->key, err);
}

static void on_work_end(void *arg, int result, const struct err *err)
{
	struct work *work = arg;
	struct workq_run *run = work->run;

	if (!run->freed) {
		metric_count(run->results, run->spec.name, kind_text(result, err));
		metric_observe(run->duration, clock_now_ms(run->spec.clock) - work->start_ms,
			       &run->spec.name);
		handle_result(work, result, err);
	}
	workq_end(run->queue, work->key);
	free(work);
	schedule(run);
	release_if_unused(run);
}

static void work_begin(struct workq_run *run, const char *key, uint64_t now_ms)
{
	struct work *work = xmalloc(sizeof(*work));

	*work = (struct work){ .run = run, .key = key, .start_ms = now_ms };
	run->spec.work(run->spec.arg, key, on_work_end, work);
}

/* One key per loop iteration, so that a long queue does not starve other handles. */
static void on_timer(void *arg)
{
	struct workq_run *run = arg;
	uint64_t now_ms = clock_now_ms(run->spec.clock);
	const char *key = workq_take(run->queue, now_ms);

	schedule(run);
	if (key)
		metric_observe(run->waited, workq_waited_ms(run->queue, key), &run->spec.name);
	if (key)
		work_begin(run, key, now_ms);
}

void workq_run_add(struct workq_run *run, const char *key)
{
	workq_add(run->queue, key, clock_now_ms(run->spec.clock));
	schedule(run);
}

void workq_run_add_after(struct workq_run *run, const char *key, uint64_t delay_ms)
{
	workq_add_at(run->queue, key, clock_now_ms(run->spec.clock) + delay_ms);
	schedule(run);
}

bool workq_run_idle(const struct workq_run *run)
{
	return workq_waiting(run->queue) + workq_running(run->queue) == 0;
}
