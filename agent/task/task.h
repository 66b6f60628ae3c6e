/*
 * task: one run of hostdev-helper for one key of a reconcile, which is its act, and for a set of
 * keys of what it changes.
 *
 * Owns the child until it has ended, and its lines. A helper past its deadline is stuck: it is not
 * killed (helper_run.h says why), and no other is to be started for any of its keys until it has
 * ended. What the run came to is the caller's to keep: attempt.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;
struct helper_place;
struct json_strs;
struct task;
struct task_outcome;
struct uv_loop_s;

/* Borrowed during the start, but for @arg. */
struct task_spec {
	struct uv_loop_s *loop;
	const struct helper_place *helper;
	const char *node_address; /* may be NULL */
	uint64_t deadline_ms;
	const char *verb;              /* static: "vfs"                              */
	const char *key;               /* of the reconcile; for the log              */
	const struct json_strs *keys;  /* exclusive beside @key; NULL: none          */
	const struct json_strs *words; /* of the command line, after verb and places */
	/* It has ended. What it came to may be taken over (it is empty then). The task is gone when
	 * this returns. NULL: it is stuck; then it stays until on_gone. */
	void (*on_end)(void *arg, struct task_outcome *outcome);
	/* One that was stuck has ended; it is gone when this returns. */
	void (*on_gone)(void *arg);
	void *arg;
};

/* on_end runs exactly once, never before this returns. NULL with @err: nothing was started. */
struct task *task_start(const struct task_spec *spec, struct err *err);

/* Nobody waits for it any more: no callback runs, and it ends by itself. Takes NULL, returns NULL. */
struct task *task_abandon(struct task *task);

/* Is @key one of its keys? They are its own until it is gone, also while it is stuck. */
bool task_has_key(const struct task *task, const char *key);

/* Has on_end said that it is stuck? */
bool task_is_stuck(const struct task *task);

/* "hostdev-helper (pid 7) is blocked in step Unbind": what a stuck one does, without its age, so that
 * the text stays the same. The caller frees. */
char *task_describe(const struct task *task);
