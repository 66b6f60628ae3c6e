#include "agent/gpu/gpu_acts.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu_child.h"
#include "agent/gpu/gpu_words.h"
#include "api/json_values.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

/* What goes on with one card. */
struct task {
	struct gpu_acts *acts;
	char card[17];
	struct gpu_child *child;
	char *stuck; /* what it waits for, in words; NULL: it does not */
	void *arg;

	const char *tool; /* NULL: hostdev-helper */
	enum gpu_verb verb;
	struct gpu_lines lines;
	gpu_act_end_fn *end;

	enum mig_question question;
	struct str answer;
	struct mig_look look;
	gpu_look_end_fn *look_end;
};

struct slot {
	struct task *task;
};

struct gpu_acts {
	struct uv_loop_s *loop;
	struct gpu_options options;
	gpu_free_fn *on_free;
	void *arg;
	ARRAY(struct slot) tasks;
};

static struct task *find(const struct gpu_acts *acts, const char *card)
{
	for (size_t i = 0; i < acts->tasks.len; i++) {
		if (strcmp(acts->tasks.items[i].task->card, card) == 0)
			return acts->tasks.items[i].task;
	}
	return NULL;
}

bool gpu_acts_busy(const struct gpu_acts *acts, const char *card)
{
	return find(acts, card) != NULL;
}

const char *gpu_acts_stuck(const struct gpu_acts *acts, const char *card)
{
	const struct task *task = find(acts, card);

	return task ? task->stuck : NULL;
}

static void task_release(struct task *task)
{
	gpu_child_free(task->child);
	gpu_lines_done(&task->lines);
	mig_look_done(&task->look);
	str_done(&task->answer);
	free(task->stuck);
	free(task);
}

/* The card is free again. */
static void task_free(struct task *task)
{
	struct gpu_acts *acts = task->acts;

	for (size_t i = 0; i < acts->tasks.len; i++) {
		if (acts->tasks.items[i].task == task)
			acts->tasks.items[i] = acts->tasks.items[--acts->tasks.len];
	}
	task_release(task);
}

static void on_gone(void *arg)
{
	struct task *task = arg;
	struct gpu_acts *acts = task->acts;
	auto_free char *card = xstrdup(task->card);

	log_info("a child that waited for a card's driver has ended", log_str("card", card));
	task_free(task);
	acts->on_free(acts->arg, card);
}

static struct task *task_new(struct gpu_acts *acts, const char *card, void *arg)
{
	struct task *task = xcalloc(1, sizeof(*task));

	assert(!gpu_acts_busy(acts, card));
	task->acts = acts;
	task->arg = arg;
	(void)snprintf(task->card, sizeof(task->card), "%s", card);
	task->child = gpu_child_new(acts->loop, acts->options.helper.metrics, on_gone, task);
	array_add(&acts->tasks)->task = task;
	return task;
}

/* True if the child is left to end by itself: then the task stays, too. */
static bool keep_if_stuck(struct task *task, int result, const struct err *err)
{
	if (result == 0 || err->kind != ERR_STUCK)
		return false;
	task->stuck = xasprintf("%s (pid %d) does not end: it waits for the driver of %s",
				task->tool ? task->tool : "hostdev-helper",
				gpu_child_pid(task->child), task->card);
	return true;
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
	gpu_act_end_fn *end = task->end;
	void *end_arg = task->arg;
	struct gpu_outcome outcome;

	gpu_lines_end(&task->lines, task->verb, task->tool, result, err, &outcome);
	if (!keep_if_stuck(task, result, err))
		task_free(task);
	end(end_arg, &outcome);
	gpu_outcome_done(&outcome);
}

static void run_words(struct task *task, const char *path, const struct json_strs *words,
		      line_fn *on_line, helper_end_fn *on_end)
{
	auto_free const char **args = xcalloc(words->len + 1, sizeof(*args));

	for (size_t i = 0; i < words->len; i++)
		args[i] = words->items[i];
	gpu_child_run(task->child, path, args, task->acts->options.deadline_ms, on_line, on_end);
}

void gpu_acts_start(struct gpu_acts *acts, const struct gpu_act *act, gpu_act_end_fn *end,
		    void *arg)
{
	struct task *task = task_new(acts, act->card, arg);
	struct json_strs words = { 0 };

	task->verb = act->verb;
	task->end = end;
	task->tool = gpu_words(&acts->options, act, &words);
	log_info("changing a card", log_str("card", act->card), log_str("address", act->address),
		 log_str("program", task->tool ? task->tool : "hostdev-helper"),
		 log_str("what", words.items[0]));
	run_words(task, task->tool ? task->tool : acts->options.helper.path, &words, on_act_line,
		  on_act_end);
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

static void end_look(struct task *task, bool stuck, struct gpu_outcome *outcome)
{
	gpu_look_end_fn *end = task->look_end;
	struct mig_look look = task->look;
	void *arg = task->arg;

	task->look = (struct mig_look){ 0 };
	if (!stuck)
		task_free(task);
	end(arg, outcome->failed ? NULL : &look, outcome);
	mig_look_done(&look);
	gpu_outcome_done(outcome);
}

static void on_look_end(void *arg, int result, const struct err *err)
{
	struct task *task = arg;
	bool stuck = keep_if_stuck(task, result, err);
	struct gpu_outcome outcome = { 0 };
	struct err cause = { 0 };

	if (!has_answer(task, result, err)) {
		gpu_lines_take_tool(&task->lines, str_cstr(&task->answer), task->answer.len);
		gpu_lines_end(&task->lines, GPU_MIG_CREATE, task->tool, result, err, &outcome);
		end_look(task, stuck, &outcome);
		return;
	}
	if (mig_look_take(&task->look, task->question, str_cstr(&task->answer), task->answer.len,
			  result < 0, &cause)) {
		task->question++;
		ask(task);
		return;
	}
	if (!task->look.known)
		outcome = (struct gpu_outcome){ .failed = true,
						.reason = xstrdup("ToolFailed"),
						.message = xstrdup(cause.msg) };
	end_look(task, false, &outcome);
}

static void ask(struct task *task)
{
	const char *args[MIG_ARGS_MAX];

	str_clear(&task->answer);
	mig_look_args(task->question, task->card, args);
	gpu_child_run(task->child, task->tool, args, task->acts->options.deadline_ms, on_look_line,
		      on_look_end);
}

void gpu_acts_look(struct gpu_acts *acts, const char *card, gpu_look_end_fn *end, void *arg)
{
	struct task *task = task_new(acts, card, arg);

	task->look_end = end;
	task->tool = acts->options.nvidia_smi;
	ask(task);
}

/* --- the whole -------------------------------------------------------------------------------- */

struct gpu_acts *gpu_acts_new(struct uv_loop_s *loop, const struct gpu_options *options,
			      gpu_free_fn *on_free, void *arg)
{
	struct gpu_acts *acts = xcalloc(1, sizeof(*acts));

	acts->loop = loop;
	acts->options = *options;
	acts->on_free = on_free;
	acts->arg = arg;
	return acts;
}

struct gpu_acts *gpu_acts_free(struct gpu_acts *acts)
{
	if (!acts)
		return NULL;
	while (acts->tasks.len > 0)
		task_release(acts->tasks.items[--acts->tasks.len].task);
	array_done(&acts->tasks);
	free(acts);
	return NULL;
}
