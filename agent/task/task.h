/*
 * task: one run of hostdev-helper, or of a vendor's command, for one key of a reconcile, which is
 * its act, and for a set of keys of what it changes.
 *
 * Owns the child until it has ended, and its lines. A helper past its deadline is stuck: it is not
 * killed (helper_run.h says why), and no other is to be started for any of its keys until it has
 * ended. What the run came to is the caller's to keep: attempt.h.
 *
 * Tasks of one set (struct tasks) exclude each other: none is started while another one, for
 * whichever object, has one of its keys. A task that binds devices can be cancelled: its helper
 * stops if it has changed nothing yet, and the task ends as ever.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct helper_place;
struct json_pairs;
struct json_strs;
struct task;
struct task_outcome;
struct tasks;
struct uv_loop_s;

/* Borrowed during the start, but for @arg. */
struct task_spec {
	struct uv_loop_s *loop;
	struct tasks *set; /* that it is one of; NULL: none */
	const struct helper_place *helper;
	const char *node_address; /* may be NULL */
	const char *proc;         /* where processes are seen, outlives the task; NULL: /proc */
	uint64_t deadline_ms;
	bool deadline_of_step; /* of each step, four times as long while that only looks; else of
				  the whole */
	bool cancellable;      /* by task_cancel(); the helper gets the option               */
	bool is_logged;        /* by the caller: the task logs no end                         */
	const char *verb;      /* static: "vfs"                              */
	/* Path of a vendor's command, which runs in place of the helper, with @words alone;
	 * outlives the task. NULL: none */
	const char *tool;
	const char *key;                  /* of the reconcile; for the log              */
	const struct json_strs *keys;     /* exclusive beside @key; NULL: none          */
	const struct json_strs *options;  /* of the command line, after the verb; NULL: none    */
	const struct json_strs *words;    /* of the command line, after options and places      */
	const struct json_pairs *objects; /* name -> uid of all that it is for: tasks_cancel();
					     NULL: none */
	/* A line of the helper, up to its end, for what one verb alone prints. May be NULL. */
	void (*on_line)(void *arg, const char *line, size_t len);
	/* The step under way takes longer than the deadline, and is waited for. May be NULL. */
	void (*on_late)(void *arg);
	/* It has ended. What it came to may be taken over (it is empty then). The task is gone when
	 * this returns. NULL: it is stuck; then it stays until on_gone. */
	void (*on_end)(void *arg, struct task_outcome *outcome);
	/* One that was stuck has ended; it is gone when this returns. */
	void (*on_gone)(void *arg);
	void *arg;
};

/* The tasks of a set that are under way, also those that are stuck. */
struct tasks_count {
	size_t running;
	size_t stuck;
	uint64_t oldest_ms; /* 0: none runs */
};

struct tasks *tasks_new(void);
/* Abandons all tasks of the set. Takes NULL, returns NULL. */
struct tasks *tasks_free(struct tasks *set);

/* The task that has @key; NULL: none. */
struct task *tasks_find(const struct tasks *set, const char *key);

/* The task that has @key or one of @keys (NULL: none beside), and so is in the way of another one
 * of these; NULL: none. */
struct task *tasks_find_any(const struct tasks *set, const char *key, const struct json_strs *keys);

/* Of the object @name only the one with @uid is there (NULL: none, or it is being deleted): cancel
 * the tasks that are for another one of that name. */
void tasks_cancel(struct tasks *set, const char *name, const char *uid);

struct tasks_count tasks_count(const struct tasks *set);

/* on_end runs exactly once, never before this returns. NULL with @err: nothing was started; -EBUSY:
 * another task of the set has one of the keys. The task has left its set when on_end or on_gone
 * runs, unless it is stuck: then either may start the next one, or free the set. */
struct task *task_start(const struct task_spec *spec, struct err *err);

/* Give up the task: no callback runs any more, and it ends by itself. A cancellable task is
 * cancelled. Takes NULL, returns NULL. */
struct task *task_abandon(struct task *task);

/* Have its helper stop, if it is cancellable and has not begun to change anything. */
void task_cancel(struct task *task);

/* Is @key one of its keys? They are its own until it is gone, also while it is stuck. */
bool task_has_key(const struct task *task, const char *key);

/* Has on_end said that it is stuck? */
bool task_is_stuck(const struct task *task);

/* Has on_late been called for the step under way? */
bool task_is_late(const struct task *task);

/* Of the helper. */
int task_pid(const struct task *task);
uint64_t task_age_ms(const struct task *task);

/* What its helper does now, and the PCI function that it does it to; "" if not known. Valid until
 * the loop goes on. */
const char *task_step(const struct task *task);
const char *task_address(const struct task *task);

/* task_spec.arg */
void *task_arg(const struct task *task);

/* "hostdev-helper (pid 7) is blocked in step Unbind", "nvidia-smi (pid 7) does not end": what a
 * stuck one does, without its age, so that the text stays the same. The caller frees. */
char *task_describe(const struct task *task);
