#include "agent/task/task.h"

#include <errno.h>
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
#include "base/str.h"
#include "base/timefmt.h"

/* As long as it only looks, a busy machine makes a helper slow, not the kernel. */
enum { LOOK_DEADLINES = 4 };

struct tasks {
	struct task *first; /* the youngest */
};

struct task {
	struct tasks *set; /* NULL: none, or it has left it */
	struct task *next; /* of the set                    */
	const char *verb;
	const char *tool;
	char *key;
	struct json_strs keys;
	struct json_pairs objects;
	void (*on_line)(void *arg, const char *line, size_t len);
	void (*on_late)(void *arg);
	void (*on_end)(void *arg, struct task_outcome *outcome);
	void (*on_gone)(void *arg);
	void *arg;
	uint64_t deadline_ms; /* of each step; 0: the whole has one */
	uint64_t began_ms;
	struct helper_run *run;
	struct task_lines lines;
	bool is_logged;
	bool late;
	bool stuck;
};

static void leave_set(struct task *task)
{
	struct task **at;

	if (!task->set)
		return;
	at = &task->set->first;
	while (*at != task)
		at = &(*at)->next;
	*at = task->next;
	task->set = NULL;
}

static void release(struct task *task)
{
	leave_set(task);
	task_lines_done(&task->lines);
	json_strs_done(&task->keys);
	json_pairs_done(&task->objects);
	free(task->key);
	free(task);
}

static uint64_t step_deadline_ms(const struct task *task)
{
	return task_lines_looks(&task->lines) ? task->deadline_ms * LOOK_DEADLINES
					      : task->deadline_ms;
}

/* What a helper says is progress. */
static int on_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct task *task = arg;
	bool counts = !task->lines.ended;

	(void)err;
	task->late = false;
	if (task->tool)
		task_lines_take_text(&task->lines, line, len);
	else
		task_lines_take(&task->lines, line, len);
	if (counts && task->on_line)
		task->on_line(task->arg, line, len);
	if (task->deadline_ms > 0)
		helper_run_extend(task->run, step_deadline_ms(task));
	return 0;
}

static void on_late(void *arg)
{
	struct task *task = arg;

	task->late = true;
	if (task->on_late)
		task->on_late(task->arg);
}

static void log_stuck(const struct task *task)
{
	if (!task->is_logged)
		log_warn("helper stuck", log_str("verb", task->verb), log_str("key", task->key),
			 log_int("pid", task_pid(task)), log_str("step", task->lines.step));
}

static void log_end(const struct task *task, const struct task_outcome *outcome)
{
	if (task->is_logged)
		return;
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

	/* A helper that has printed its result but does not exit has an outcome: do not wait for
	 * it. */
	if (late && !task->lines.ended) {
		log_stuck(task);
		task->stuck = true;
		task->on_end(task->arg, NULL);
		return;
	}
	if (late)
		helper_run_abandon(task->run);
	if (task->tool)
		task_lines_end_tool(&task->lines, task->tool, result, err, &outcome);
	else
		task_lines_end(&task->lines, task->verb, result, err, &outcome);
	log_end(task, &outcome);
	leave_set(task);
	task->on_end(task->arg, &outcome);
	task_outcome_done(&outcome);
	release(task);
}

static void on_gone(void *arg, struct helper_run *run)
{
	struct task *task = arg;

	(void)run;
	if (!task->is_logged)
		log_info("stuck helper has ended", log_str("verb", task->verb),
			 log_str("key", task->key));
	leave_set(task);
	task->on_gone(task->arg);
	release(task);
}

static void add_words(const struct json_strs *words, struct json_strs *line)
{
	for (size_t i = 0; words && i < words->len; i++)
		json_strs_add(line, words->items[i]);
}

/* The whole command line, without the program. */
static void add_line(const struct task_spec *spec, struct json_strs *line)
{
	if (spec->tool) {
		add_words(spec->words, line);
		return;
	}
	json_strs_add(line, spec->verb);
	add_words(spec->options, line);
	helper_place_words(spec->helper, spec->node_address, line);
	if (spec->cancellable) {
		json_strs_add(line, "--cancel-fd");
		json_strs_add(line, "0"); /* helper_run keeps its standard input open */
	}
	add_words(spec->words, line);
}

static struct task *new_task(const struct task_spec *spec)
{
	struct task *task = xcalloc(1, sizeof(*task));

	*task = (struct task){
		.verb = spec->verb,
		.tool = spec->tool,
		.key = xstrdup(spec->key),
		.on_line = spec->on_line,
		.on_late = spec->on_late,
		.on_end = spec->on_end,
		.on_gone = spec->on_gone,
		.arg = spec->arg,
		.deadline_ms = spec->deadline_of_step ? spec->deadline_ms : 0,
		.began_ms = timefmt_now_ms(),
		.is_logged = spec->is_logged,
	};
	add_words(spec->keys, &task->keys);
	for (size_t i = 0; spec->objects && i < spec->objects->len; i++)
		json_pairs_set(&task->objects, spec->objects->items[i].key,
			       spec->objects->items[i].value);
	return task;
}

static int start_helper(struct task *task, const struct task_spec *spec, struct err *err)
{
	struct json_strs line = { 0 };
	auto_free const char **args = NULL;
	struct helper_spec run = {
		.path = spec->tool ? spec->tool : spec->helper->path,
		.deadline_ms = spec->deadline_of_step ? step_deadline_ms(task) : spec->deadline_ms,
		.patience = HELPER_PATIENCE,
		.proc = spec->proc,
		.metrics = spec->helper->metrics,
		.on_line = on_line,
		.on_late = on_late,
		.on_end = on_end,
		.on_gone = on_gone,
		.cancellable = spec->cancellable,
		.arg = task,
	};
	int r;

	add_line(spec, &line);
	args = xcalloc(line.len + 1, sizeof(*args));
	for (size_t i = 0; i < line.len; i++)
		args[i] = line.items[i];
	run.args = args;
	r = helper_run_start(spec->loop, &run, &task->run, err);
	json_strs_done(&line);
	return r;
}

struct task *task_start(const struct task_spec *spec, struct err *err)
{
	const struct task *other =
		spec->set ? tasks_find_any(spec->set, spec->key, spec->keys) : NULL;
	struct task *task;

	if (other) {
		err_set(err, ERR_RETRY, -EBUSY, "another hostdev-helper (pid %d) runs for %s",
			task_pid(other), spec->key);
		return NULL;
	}
	task = new_task(spec);
	if (start_helper(task, spec, err) < 0) {
		release(task);
		return NULL;
	}
	if (spec->set) {
		task->set = spec->set;
		task->next = spec->set->first;
		spec->set->first = task;
	}
	return task;
}

struct task *task_abandon(struct task *task)
{
	if (!task)
		return NULL;
	helper_run_abandon(task->run);
	release(task);
	return NULL;
}

void task_cancel(struct task *task)
{
	helper_run_cancel(task->run);
}

bool task_has_key(const struct task *task, const char *key)
{
	return strcmp(task->key, key) == 0 || json_strs_has(&task->keys, key);
}

bool task_is_stuck(const struct task *task)
{
	return task->stuck;
}

bool task_is_late(const struct task *task)
{
	return task->late;
}

int task_pid(const struct task *task)
{
	return helper_run_pid(task->run);
}

uint64_t task_age_ms(const struct task *task)
{
	return timefmt_now_ms() - task->began_ms;
}

const char *task_step(const struct task *task)
{
	return str_or_empty(task->lines.step);
}

const char *task_address(const struct task *task)
{
	return str_or_empty(task->lines.address);
}

void *task_arg(const struct task *task)
{
	return task->arg;
}

char *task_describe(const struct task *task)
{
	if (task->tool)
		return xasprintf("%s (pid %d) does not end", task->tool, task_pid(task));
	return xasprintf("hostdev-helper (pid %d) is blocked in step %s", task_pid(task),
			 task->lines.step ? task->lines.step : "(none)");
}

struct tasks *tasks_new(void)
{
	return xcalloc(1, sizeof(struct tasks));
}

struct tasks *tasks_free(struct tasks *set)
{
	if (!set)
		return NULL;
	for (struct task *task = set->first, *next; task; task = next) {
		next = task->next;
		task->set = NULL;
		task_abandon(task);
	}
	free(set);
	return NULL;
}

struct task *tasks_find(const struct tasks *set, const char *key)
{
	struct task *task = set->first;

	while (task && !task_has_key(task, key))
		task = task->next;
	return task;
}

struct task *tasks_find_any(const struct tasks *set, const char *key, const struct json_strs *keys)
{
	struct task *task = tasks_find(set, key);

	for (size_t i = 0; !task && keys && i < keys->len; i++)
		task = tasks_find(set, keys->items[i]);
	return task;
}

void tasks_cancel(struct tasks *set, const char *name, const char *uid)
{
	for (struct task *task = set->first; task; task = task->next) {
		const char *begun = json_pairs_get(&task->objects, name);

		if (begun && (!uid || strcmp(begun, uid) != 0))
			task_cancel(task);
	}
}

struct tasks_count tasks_count(const struct tasks *set)
{
	struct tasks_count count = { 0 };

	/* The last one is the oldest. */
	for (const struct task *task = set->first; task; task = task->next) {
		count.running++;
		count.stuck += task->stuck;
		count.oldest_ms = task_age_ms(task);
	}
	return count;
}
