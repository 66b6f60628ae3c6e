#include "agent/task/task.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/process/helper_place.h"
#include "agent/process/helper_run.h"
#include "agent/task/task_line.h"
#include "api/json_map.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

struct task {
	const char *verb;
	char *key;
	struct json_strs keys;
	void (*on_end)(void *arg, struct task_outcome *outcome);
	void (*on_gone)(void *arg);
	void *arg;
	struct helper_run *run;
	struct task_lines lines;
	bool stuck;
};

static void release(struct task *task)
{
	task_lines_done(&task->lines);
	json_strs_done(&task->keys);
	free(task->key);
	free(task);
}

static int on_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct task *task = arg;

	(void)err;
	task_lines_take(&task->lines, line, len);
	return 0;
}

static void log_end(const struct task *task, const struct task_outcome *outcome)
{
	if (outcome->result == TASK_DONE)
		log_debug("helper done", log_str("verb", task->verb), log_str("key", task->key));
	else
		log_info("helper not done", log_str("verb", task->verb), log_str("key", task->key),
			 log_str("reason", outcome->reason), log_str("message", outcome->message));
}

static void on_end(void *arg, int result, const struct err *err)
{
	struct task *task = arg;
	struct task_outcome outcome = { 0 };
	bool late = result < 0 && err->kind == ERR_STUCK;

	/* One that has printed its result and only does not exit keeps nobody waiting. */
	if (late && !task->lines.ended) {
		log_warn("helper stuck", log_str("verb", task->verb), log_str("key", task->key),
			 log_int("pid", helper_run_pid(task->run)),
			 log_str("step", task->lines.step));
		task->stuck = true;
		task->on_end(task->arg, NULL);
		return;
	}
	if (late)
		helper_run_abandon(task->run);
	task_lines_end(&task->lines, task->verb, result, err, &outcome);
	log_end(task, &outcome);
	task->on_end(task->arg, &outcome);
	task_outcome_done(&outcome);
	release(task);
}

static void on_gone(void *arg, struct helper_run *run)
{
	struct task *task = arg;

	(void)run;
	log_info("stuck helper has ended", log_str("verb", task->verb), log_str("key", task->key));
	task->on_gone(task->arg);
	release(task);
}

/* The whole command line, without the program. */
static void add_line(const struct task_spec *spec, struct json_strs *line)
{
	json_strs_add(line, spec->verb);
	helper_place_words(spec->helper, spec->node_address, line);
	for (size_t i = 0; i < spec->words->len; i++)
		json_strs_add(line, spec->words->items[i]);
}

struct task *task_start(const struct task_spec *spec, struct err *err)
{
	struct task *task = xcalloc(1, sizeof(*task));
	struct json_strs line = { 0 };
	auto_free const char **args = NULL;
	struct helper_spec run = {
		.path = spec->helper->path,
		.deadline_ms = spec->deadline_ms,
		.patience = HELPER_PATIENCE,
		.metrics = spec->helper->metrics,
		.on_line = on_line,
		.on_end = on_end,
		.on_gone = on_gone,
		.arg = task,
	};
	int r;

	*task = (struct task){
		.verb = spec->verb,
		.key = xstrdup(spec->key),
		.on_end = spec->on_end,
		.on_gone = spec->on_gone,
		.arg = spec->arg,
	};
	for (size_t i = 0; spec->keys && i < spec->keys->len; i++)
		json_strs_add(&task->keys, spec->keys->items[i]);
	add_line(spec, &line);
	args = xcalloc(line.len + 1, sizeof(*args));
	for (size_t i = 0; i < line.len; i++)
		args[i] = line.items[i];
	run.args = args;
	r = helper_run_start(spec->loop, &run, &task->run, err);
	json_strs_done(&line);
	if (r == 0)
		return task;
	release(task);
	return NULL;
}

struct task *task_abandon(struct task *task)
{
	if (!task)
		return NULL;
	helper_run_abandon(task->run);
	release(task);
	return NULL;
}

bool task_has_key(const struct task *task, const char *key)
{
	return strcmp(task->key, key) == 0 || json_strs_has(&task->keys, key);
}

bool task_is_stuck(const struct task *task)
{
	return task->stuck;
}

char *task_describe(const struct task *task)
{
	return xasprintf("hostdev-helper (pid %d) is blocked in step %s", helper_run_pid(task->run),
			 task->lines.step ? task->lines.step : "(none)");
}
