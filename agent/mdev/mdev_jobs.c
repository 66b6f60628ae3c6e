#include "agent/mdev/mdev_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/process/helper_run.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/clock.h"

/* One parent for which there was a job. */
struct task {
	struct mdev_jobs *jobs;
	char *parent;
	struct helper_run *run; /* under way, or stuck; NULL: none */
	bool busy;              /* from the start to the end, also without a helper */
	bool stuck;
	bool removes;
	int pid;
	struct json_strs uuids;
	struct mdev_lines lines; /* of the job under way, or of the last one if that went wrong */
	struct clock_timer *unstarted;
	struct err failure;
	unsigned failures; /* in a row */
	bool ended;        /* one did, at ended_ms: what was seen before says nothing of it */
	uint64_t ended_ms;
	uint64_t not_before_ms;
};

struct mdev_jobs {
	struct mdev_jobs_deps deps;
	struct map *by_parent;
	size_t running;
};

struct mdev_jobs *mdev_jobs_new(const struct mdev_jobs_deps *deps)
{
	struct mdev_jobs *jobs = xcalloc(1, sizeof(*jobs));

	jobs->deps = *deps;
	jobs->by_parent = map_new();
	return jobs;
}

static void task_free(struct task *task)
{
	helper_run_abandon(task->run);
	clock_timer_free(task->jobs->deps.clock, task->unstarted);
	mdev_lines_done(&task->lines);
	json_strs_done(&task->uuids);
	free(task->parent);
	free(task);
}

struct mdev_jobs *mdev_jobs_free(struct mdev_jobs *jobs)
{
	size_t cursor = 0;
	void *task;

	if (!jobs)
		return NULL;
	while (map_next(jobs->by_parent, &cursor, NULL, &task))
		task_free(task);
	map_free(jobs->by_parent);
	free(jobs);
	return NULL;
}

/* --- the end of a job --------------------------------------------------------------------- */

static uint64_t backoff_ms(unsigned failures)
{
	uint64_t ms = MDEV_RETRY_MS;

	for (unsigned i = 1; i < failures && ms < MDEV_RETRY_MAX_MS; i++)
		ms *= 2;
	return ms < MDEV_RETRY_MAX_MS ? ms : MDEV_RETRY_MAX_MS;
}

static void tell_end(const struct task *task)
{
	const struct mdev_outcome *outcome = &task->lines.outcome;
	const char *what = task->removes ? "mediated devices removed" : "mediated devices made";

	if (outcome->done)
		log_info(what, log_str("parent", task->parent),
			 log_int("count", (int64_t)outcome->count));
	else
		log_warn(task->removes ? "mediated devices not removed"
				       : "cannot create mediated devices",
			 log_str("parent", task->parent), log_int("done", (int64_t)outcome->count),
			 log_str("reason", outcome->reason), log_str("message", outcome->message),
			 log_str("device", outcome->uuid));
}

static void finish(struct task *task, int result, const struct err *err)
{
	struct mdev_jobs *jobs = task->jobs;
	uint64_t now_ms = clock_now_ms(jobs->deps.clock);

	mdev_lines_end(&task->lines, task->pid, result, err);
	task->lines.outcome.removes = task->removes;
	task->stuck = result < 0 && err->kind == ERR_STUCK && !task->lines.ended;
	if (result < 0 && err->kind == ERR_STUCK && !task->stuck)
		task->run = helper_run_abandon(task->run); /* it has told its end: nobody waits */
	if (!task->stuck)
		task->run = NULL;
	task->busy = task->stuck;
	jobs->running--;
	task->ended = true;
	task->ended_ms = now_ms;
	task->failures = task->lines.outcome.done ? 0 : task->failures + 1;
	task->not_before_ms = now_ms + (task->failures ? backoff_ms(task->failures) : 0);
	if (!task->stuck)
		json_strs_done(&task->uuids);
	tell_end(task);
	jobs->deps.ended(jobs->deps.arg, task->parent, &task->lines.outcome);
}

static int on_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct task *task = arg;

	(void)err;
	mdev_lines_take(&task->lines, line, len);
	return 0;
}

static void on_end(void *arg, int result, const struct err *err)
{
	finish(arg, result, err);
}

static void on_gone(void *arg, struct helper_run *run)
{
	struct task *task = arg;
	struct mdev_jobs *jobs = task->jobs;

	(void)run;
	log_info("a helper that waited for the kernel has ended", log_str("parent", task->parent));
	task->run = NULL;
	task->busy = task->stuck = false;
	task->ended_ms = clock_now_ms(jobs->deps.clock);
	json_strs_done(&task->uuids);
	jobs->deps.ended(jobs->deps.arg, task->parent, NULL);
}

/* A failure to start is told from the loop, as every other end. */
static void on_unstarted(void *arg)
{
	struct task *task = arg;

	finish(task, task->failure.code, &task->failure);
}

/* --- the start of one ------------------------------------------------------------------------ */

static struct task *task_of(struct mdev_jobs *jobs, const char *parent)
{
	struct task *task = map_get(jobs->by_parent, parent);

	if (task)
		return task;
	task = xcalloc(1, sizeof(*task));
	task->jobs = jobs;
	task->parent = xstrdup(parent);
	task->unstarted = clock_timer_new(jobs->deps.clock, on_unstarted, task);
	map_set(jobs->by_parent, parent, task);
	return task;
}

bool mdev_jobs_may_start(const struct mdev_jobs *jobs, const char *parent, uint64_t seen_ms,
			 uint64_t *ret_wait_ms)
{
	const struct task *task = map_get(jobs->by_parent, parent);
	uint64_t now_ms = clock_now_ms(jobs->deps.clock);

	*ret_wait_ms = UINT64_MAX;
	if (jobs->running >= MDEV_JOBS_MAX)
		return false; /* one that ends is told */
	if (!task)
		return true;
	if (task->busy || (task->ended && seen_ms <= task->ended_ms))
		return false;
	if (now_ms < task->not_before_ms)
		*ret_wait_ms = task->not_before_ms - now_ms;
	return now_ms >= task->not_before_ms;
}

static void add_word(struct json_strs *words, const char *key, const char *value)
{
	auto_free char *word = xasprintf("%s=%s", key, value);

	json_strs_add(words, word);
}

static void add_uuids(struct task *task, const struct json_strs *uuids, struct json_strs *words)
{
	for (size_t i = 0; uuids && i < uuids->len; i++) {
		add_word(words, "uuid", uuids->items[i]);
		json_strs_add(&task->uuids, uuids->items[i]);
	}
}

static void make_words(struct task *task, const struct mdev_job *job, struct json_strs *words)
{
	json_strs_add(words, job->type ? "mdev-create" : "mdev-remove");
	helper_place_words(&task->jobs->deps.helper, NULL, words);
	add_word(words, "parent", job->parent);
	add_word(words, "owner", job->owner);
	if (job->type)
		add_word(words, "type", job->type);
	add_uuids(task, job->uuids, words);
	add_uuids(task, job->more, words);
}

void mdev_jobs_start(struct mdev_jobs *jobs, const struct mdev_job *job)
{
	struct task *task = task_of(jobs, job->parent);
	struct json_strs words = { 0 };
	auto_free const char **args = NULL;
	struct helper_spec spec = {
		.path = jobs->deps.helper.path,
		.metrics = jobs->deps.helper.metrics,
		.on_line = on_line,
		.on_end = on_end,
		.on_gone = on_gone,
		.arg = task,
	};

	mdev_lines_done(&task->lines);
	json_strs_done(&task->uuids);
	task->removes = job->type == NULL;
	task->busy = true;
	task->pid = 0;
	jobs->running++;
	make_words(task, job, &words);
	spec.deadline_ms = jobs->deps.deadline_ms + task->uuids.len * MDEV_JOB_EACH_MS;
	args = xcalloc(words.len + 1, sizeof(*args));
	for (size_t i = 0; i < words.len; i++)
		args[i] = words.items[i];
	spec.args = args;
	task->failure = (struct err){ 0 };
	if (helper_run_start(jobs->deps.loop, &spec, &task->run, &task->failure) == 0)
		task->pid = helper_run_pid(task->run);
	else
		clock_timer_start(jobs->deps.clock, task->unstarted, 0);
	json_strs_done(&words);
}

/* --- what is known of them -------------------------------------------------------------------- */

const struct mdev_outcome *mdev_jobs_trouble(const struct mdev_jobs *jobs, const char *parent)
{
	const struct task *task = map_get(jobs->by_parent, parent);

	return task && task->failures > 0 && task->lines.outcome.reason ? &task->lines.outcome
									: NULL;
}

bool mdev_jobs_removing(const struct mdev_jobs *jobs, const char *uuid)
{
	size_t cursor = 0;
	void *value;

	while (map_next(jobs->by_parent, &cursor, NULL, &value)) {
		const struct task *task = value;

		if (task->busy && task->removes && json_strs_has(&task->uuids, uuid))
			return true;
	}
	return false;
}
