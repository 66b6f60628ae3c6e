#include "agent/gpu/gpu_task.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/gpu/gpu_cards.h"
#include "agent/node/this_node.h"
#include "agent/process/helper_run.h"
#include "api/json_values.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

/* What goes on with one card. */
struct task {
	struct gpu_tasks *tasks;
	char *key;
	char card[17];
	char *stuck; /* what it waits for, in words; NULL: it does not */
	gpu_task_end_fn *on_end;
	void *arg;

	/* The child. If it cannot start, on_end reports that from the loop, like every other end. */
	struct helper_run *run;
	uv_timer_t fail_timer;
	struct err failure;
	helper_end_fn *on_child_end;

	const char *tool; /* NULL: hostdev-helper */
	enum gpu_verb verb;
	struct gpu_lines lines;

	/* Of a look. */
	enum mig_question question;
	struct str answer;
	struct mig_look look;
};

struct slot {
	struct task *task;
};

struct gpu_tasks {
	const struct this_node *node;
	struct gpu_options options;
	gpu_free_fn *on_free;
	void *arg;
	ARRAY(struct slot) tasks;
};

static struct task *find_task(const struct gpu_tasks *tasks, const char *card)
{
	for (size_t i = 0; i < tasks->tasks.len; i++) {
		if (strcmp(tasks->tasks.items[i].task->card, card) == 0)
			return tasks->tasks.items[i].task;
	}
	return NULL;
}

bool gpu_tasks_is_busy(const struct gpu_tasks *tasks, const char *card)
{
	return find_task(tasks, card) != NULL;
}

const char *gpu_tasks_stuck(const struct gpu_tasks *tasks, const char *card)
{
	const struct task *task = find_task(tasks, card);

	return task ? task->stuck : NULL;
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void task_release(struct task *task)
{
	helper_run_abandon(take_ptr(task->run));
	gpu_lines_done(&task->lines);
	mig_look_done(&task->look);
	str_done(&task->answer);
	free(task->key);
	free(task->stuck);
	uv_close((uv_handle_t *)&task->fail_timer, on_timer_closed);
}

/* The card is free again. */
static void task_free(struct task *task)
{
	struct gpu_tasks *tasks = task->tasks;

	for (size_t i = 0; i < tasks->tasks.len; i++) {
		if (tasks->tasks.items[i].task == task)
			tasks->tasks.items[i] = tasks->tasks.items[--tasks->tasks.len];
	}
	task_release(task);
}

static struct task *task_new(struct gpu_tasks *tasks, const char *key, const char *card,
			     gpu_task_end_fn *on_end, void *arg)
{
	struct task *task = xcalloc(1, sizeof(*task));

	assert(!gpu_tasks_is_busy(tasks, card));
	task->tasks = tasks;
	task->key = xstrdup(key);
	task->on_end = on_end;
	task->arg = arg;
	(void)snprintf(task->card, sizeof(task->card), "%s", card);
	uv_timer_init(tasks->node->loop, &task->fail_timer);
	task->fail_timer.data = task;
	array_add(&tasks->tasks)->task = task;
	return task;
}

/* The receiver may begin another task for the card, unless its child is stuck. */
static void task_end(struct task *task, const struct gpu_outcome *outcome, bool has_look)
{
	struct mig_look look = task->look;
	auto_free char *key = take_ptr(task->key);
	struct gpu_task_end end = {
		.key = key, .verb = task->verb, .outcome = outcome, .look = has_look ? &look : NULL
	};
	gpu_task_end_fn *on_end = task->on_end;
	void *arg = task->arg;
	char card[sizeof(task->card)];

	memcpy(card, task->card, sizeof(card));
	end.card = card;
	task->look = (struct mig_look){ 0 };
	if (!task->stuck)
		task_free(task);
	on_end(arg, &end);
	mig_look_done(&look);
}

/* --- the child -------------------------------------------------------------------------------- */

/* One that is stuck stays known until it has gone. */
static void on_run_end(void *arg, int result, const struct err *err)
{
	struct task *task = arg;

	if (result < 0 && err->kind == ERR_STUCK)
		task->stuck = xasprintf("%s (pid %d) does not end: it waits for the driver of %s",
					task->tool ? task->tool : "hostdev-helper",
					helper_run_pid(task->run), task->card);
	else
		task->run = NULL;
	task->on_child_end(task, result, err);
}

static void on_run_gone(void *arg, struct helper_run *run)
{
	struct task *task = arg;
	struct gpu_tasks *tasks = task->tasks;
	auto_free char *card = xstrdup(task->card);

	(void)run;
	log_info("a child that waited for a card's driver has ended", log_str("card", card));
	task->run = NULL;
	task_free(task);
	tasks->on_free(tasks->arg, card);
}

static void on_fail_timer(uv_timer_t *timer)
{
	struct task *task = timer->data;

	task->on_child_end(task, task->failure.code, &task->failure);
}

static void run_child(struct task *task, const char *const *args, line_fn *on_line,
		      helper_end_fn *on_end)
{
	const struct gpu_tasks *tasks = task->tasks;
	struct helper_spec spec = {
		.path = task->tool ? task->tool : tasks->node->helper.path,
		.args = args,
		.deadline_ms = tasks->options.deadline_ms,
		.metrics = tasks->node->metrics,
		.on_line = on_line,
		.on_end = on_run_end,
		.on_gone = on_run_gone,
		.arg = task,
	};

	task->on_child_end = on_end;
	if (helper_run_start(tasks->node->loop, &spec, &task->run, &task->failure) < 0)
		uv_timer_start(&task->fail_timer, on_fail_timer, 0, 0);
}

/* --- command lines ---------------------------------------------------------------------------- */

static void add_word(struct json_strs *words, const char *word)
{
	json_strs_add(words, word);
}

static void add_value(struct json_strs *words, const char *key, const char *value)
{
	auto_free char *word = xasprintf("%s=%s", key, value);

	add_word(words, word);
}

static void add_number(struct json_strs *words, const char *flag, int number)
{
	auto_free char *word = xasprintf("%d", number);

	add_word(words, flag);
	add_word(words, word);
}

static void begin_helper(const struct helper_place *helper, const char *verb,
			 struct json_strs *words)
{
	add_word(words, verb);
	helper_place_words(helper, NULL, words);
}

static const char *vfs_words(const struct helper_place *helper, const struct gpu_options *options,
			     const struct gpu_act *act, struct json_strs *words)
{
	auto_free char *count = xasprintf("%d", act->count);

	if (options->sriov_manage && *options->sriov_manage) {
		add_word(words, act->verb == GPU_ENABLE_VFS ? "-e" : "-d");
		add_word(words, act->address);
		return options->sriov_manage;
	}
	begin_helper(helper, "vfs", words);
	add_value(words, "address", act->address);
	add_value(words, "id", act->id);
	add_value(words, "count", count);
	return NULL;
}

static const char *mdev_words(const struct helper_place *helper, const struct gpu_act *act,
			      struct json_strs *words)
{
	bool make = act->verb == GPU_MAKE_MDEV;

	begin_helper(helper, make ? "mdev-create" : "mdev-remove", words);
	add_value(words, "parent", act->address);
	if (make)
		add_value(words, "type", act->type);
	add_value(words, "owner", GPU_MDEV_OWNER);
	add_value(words, "uuid", act->uuid);
	return NULL;
}

static const char *mig_words(const struct gpu_options *options, const struct gpu_act *act,
			     struct json_strs *words)
{
	if (act->verb != GPU_MIG_MODE_ON)
		add_word(words, "mig");
	add_word(words, "-i");
	add_word(words, act->address);
	if (act->verb == GPU_MIG_MODE_ON) {
		add_number(words, "-mig", 1);
	} else if (act->verb == GPU_MIG_CREATE) {
		add_number(words, "-cgi", act->profile);
		add_word(words, "-C");
	} else if (act->verb == GPU_MIG_REMOVE_COMPUTE) {
		add_word(words, "-dci");
		add_number(words, "-gi", act->instance);
		add_number(words, "-ci", act->compute);
	} else {
		add_word(words, "-dgi");
		add_number(words, "-gi", act->instance);
	}
	return options->nvidia_smi;
}

const char *gpu_task_words(const struct helper_place *helper, const struct gpu_options *options,
			   const struct gpu_act *act, struct json_strs *ret_words)
{
	switch (act->verb) {
	case GPU_ENABLE_VFS:
	case GPU_DISABLE_VFS:
		return vfs_words(helper, options, act, ret_words);
	case GPU_SET_TYPE:
		begin_helper(helper, "vgpu-set", ret_words);
		add_value(ret_words, "address", act->address);
		add_value(ret_words, "type", act->type);
		return NULL;
	case GPU_MAKE_MDEV:
	case GPU_REMOVE_MDEV:
		return mdev_words(helper, act, ret_words);
	case GPU_MIG_MODE_ON:
	case GPU_MIG_CREATE:
	case GPU_MIG_REMOVE_COMPUTE:
	case GPU_MIG_REMOVE:
		return mig_words(options, act, ret_words);
	}
	return NULL;
}

/* --- acts ------------------------------------------------------------------------------------- */

static int on_act_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct task *task = arg;

	(void)err;
	if (task->tool)
		gpu_lines_take_tool(&task->lines, line, len);
	else
		gpu_lines_take_helper(&task->lines, line, len);
	return 0;
}

static void on_act_end(void *arg, int result, const struct err *err)
{
	struct task *task = arg;
	struct gpu_outcome outcome;

	gpu_lines_end(&task->lines, task->verb, task->tool, result, err, &outcome);
	task_end(task, &outcome, false);
	gpu_outcome_done(&outcome);
}

void gpu_tasks_act(struct gpu_tasks *tasks, const char *key, const struct gpu_act *act,
		   gpu_task_end_fn *on_end, void *arg)
{
	struct task *task = task_new(tasks, key, act->card, on_end, arg);
	auto_free const char **args = NULL;
	struct json_strs words = { 0 };

	task->verb = act->verb;
	task->tool = gpu_task_words(&tasks->node->helper, &tasks->options, act, &words);
	log_info("changing a card", log_str("card", act->card), log_str("address", act->address),
		 log_str("program", task->tool ? task->tool : "hostdev-helper"),
		 log_str("what", words.items[0]));
	args = xcalloc(words.len + 1, sizeof(*args));
	for (size_t i = 0; i < words.len; i++)
		args[i] = words.items[i];
	run_child(task, args, on_act_line, on_act_end);
	json_strs_done(&words);
}

/* --- looks ------------------------------------------------------------------------------------ */

static int on_look_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct task *task = arg;

	(void)err;
	if (task->answer.len + len + 1 > SMI_TEXT_MAX)
		return 0;
	str_add_mem(&task->answer, line, len);
	str_add_char(&task->answer, '\n');
	return 0;
}

static void ask(struct task *task);

/* The answer says more than the exit status, as far as there is one. */
static bool has_answer(const struct task *task, int result, const struct err *err)
{
	return result == 0 || (err->code == -EPIPE && task->answer.len > 0);
}

static void on_look_end(void *arg, int result, const struct err *err)
{
	struct task *task = arg;
	struct gpu_outcome outcome = { 0 };
	struct err cause = { 0 };

	if (!has_answer(task, result, err)) {
		gpu_lines_take_tool(&task->lines, str_cstr(&task->answer), task->answer.len);
		gpu_lines_end(&task->lines, GPU_MIG_CREATE, task->tool, result, err, &outcome);
	} else if (mig_look_take(&task->look, task->question, str_cstr(&task->answer),
				 task->answer.len, result < 0, &cause)) {
		task->question++;
		ask(task);
		return;
	} else if (!task->look.known) {
		outcome = (struct gpu_outcome){ .failed = true,
						.reason = xstrdup("ToolFailed"),
						.message = xstrdup(cause.msg) };
	}
	task_end(task, &outcome, !outcome.failed);
	gpu_outcome_done(&outcome);
}

static void ask(struct task *task)
{
	const char *args[MIG_ARGS_MAX];

	str_clear(&task->answer);
	mig_look_args(task->question, task->card, args);
	run_child(task, args, on_look_line, on_look_end);
}

void gpu_tasks_look(struct gpu_tasks *tasks, const char *key, const char *card,
		    gpu_task_end_fn *on_end, void *arg)
{
	struct task *task = task_new(tasks, key, card, on_end, arg);

	task->tool = tasks->options.nvidia_smi;
	ask(task);
}

/* --- the whole -------------------------------------------------------------------------------- */

struct gpu_tasks *gpu_tasks_new(const struct this_node *node, const struct gpu_options *options,
				gpu_free_fn *on_free, void *arg)
{
	struct gpu_tasks *tasks = xcalloc(1, sizeof(*tasks));

	tasks->node = node;
	tasks->options = *options;
	tasks->on_free = on_free;
	tasks->arg = arg;
	return tasks;
}

struct gpu_tasks *gpu_tasks_free(struct gpu_tasks *tasks)
{
	if (!tasks)
		return NULL;
	while (tasks->tasks.len > 0)
		task_release(tasks->tasks.items[--tasks->tasks.len].task);
	array_done(&tasks->tasks);
	free(tasks);
	return NULL;
}
