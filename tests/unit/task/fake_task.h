/*
 * fake_task: agent/task/task.h without a process: a test says when the task ends, and how. There is
 * one task at a time.
 */
#pragma once

#include <errno.h>

#include "agent/task/task.h"
#include "agent/task/task_line.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "unit/suite.h"

struct task {
	struct task_spec spec;
	bool stuck;
};

static struct {
	struct task task;
	bool runs;        /* also: is stuck */
	char *verb, *key; /* of the last */
	struct str words; /* likewise, as "a=1 b=2" */
	int starts;
	bool refuses; /* none can be started */
} fake_task;

struct task *task_start(const struct task_spec *spec, struct err *err)
{
	if (fake_task.refuses) {
		err_set(err, ERR_RETRY, -ENOENT, "start the helper: no such file");
		return NULL;
	}
	assert_false(fake_task.runs);
	fake_task.task = (struct task){ .spec = *spec };
	fake_task.runs = true;
	fake_task.starts++;
	free(fake_task.verb);
	free(fake_task.key);
	fake_task.verb = xstrdup(spec->verb);
	fake_task.key = xstrdup(spec->key);
	str_clear(&fake_task.words);
	for (size_t i = 0; i < spec->words->len; i++)
		str_addf(&fake_task.words, "%s%s", i ? " " : "", spec->words->items[i]);
	return &fake_task.task;
}

struct task *task_abandon(struct task *task)
{
	if (task)
		fake_task.runs = false;
	return NULL;
}

bool task_is_stuck(const struct task *task)
{
	return task->stuck;
}

char *task_describe(const struct task *task)
{
	assert_ptr_equal(task, &fake_task.task);
	return xstrdup("hostdev-helper does not come back");
}

/* Before a test, and after it. */
static inline void fake_task_reset(void)
{
	str_done(&fake_task.words);
	free(take_ptr(fake_task.verb));
	free(take_ptr(fake_task.key));
	fake_task.starts = 0;
	fake_task.runs = fake_task.refuses = false;
}

/* The task ends; @reason: NULL if it is done. */
static inline void fake_task_end(enum task_result result, const char *reason)
{
	struct task_outcome outcome = { .result = result,
					.reason = xstrdup_or_null(reason),
					.message = xstrdup("so it was") };

	assert_true(fake_task.runs);
	fake_task.runs = false;
	fake_task.task.spec.on_end(fake_task.task.spec.arg, &outcome);
	task_outcome_done(&outcome);
}

/* The task misses its deadline. */
static inline void fake_task_get_stuck(void)
{
	assert_true(fake_task.runs);
	fake_task.task.stuck = true;
	fake_task.task.spec.on_end(fake_task.task.spec.arg, NULL);
}

/* One that was stuck has ended. */
static inline void fake_task_go(void)
{
	assert_true(fake_task.task.stuck);
	fake_task.runs = false;
	fake_task.task.spec.on_gone(fake_task.task.spec.arg);
}
