/*
 * task: one run of hostdev-helper for one key of a reconcile, which is its act, and for a set of
 * keys of what it changes.
 *
 * Owns the child until it has ended, and its lines. A helper past its deadline is stuck: it is not
 * killed (helper_run.h says why), and no other is to be started for any of its keys until it has
 * ended. What the run came to is the caller's to keep: attempt.h.
 *
 * To be added for PCIDeviceClaim. Its task binds or releases all functions of an IOMMU group, for
 * one claim each, and may be stopped before it has changed anything:
 *
 *  busy      Who starts a task must know whether another one has one of its keys, whichever object
 *            that is for: a set of tasks by key (keys: the group and its functions), in which
 *            task_start() finds that one. Another helper may work on the group, too (of an agent
 *            before this one; the helper's result "Busy"). Both come to TASK_BUSY, with the pid of
 *            the helper in the message; attempt_backoff.busy_ms (250) holds the next one back.
 *            That is no failure: none is counted, and the pauses after failures do not start
 *            again. Today "Busy" is TASK_FAILED, and the mediated devices wait for it as for any
 *            failure.
 *  cancel    task_spec.cancellable, for binds; task_cancel() hangs up the helper's standard input.
 *            The task ends as ever: with "Busy", ClaimDeleted if the helper had changed nothing,
 *            else as it would have. task_abandon() cancels, too. A task has the claims that it is
 *            for, by name and uid; the kind's on_change cancels those tasks whose claim is gone, is
 *            being deleted or has another uid, and then calls reconcile_changed(). It must not
 *            leave that to plan(), which is not asked before the act has ended.
 *  wake      The object of a task may be gone when the task ends: reconcile_acted() asks plan()
 *            with no object, is_ours() says yes as long as the node has a record of a claim. The
 *            end enqueues the claims of all functions of the group, not only the one whose act it
 *            was. attempt_wake() lets the next one begin before its time: the process that held
 *            the device has ended (outcome.holder_pid), a pod has, or a scan shows the group other
 *            than the first scan after the end did. A stuck one that has ended is woken, too.
 *  late      on_late(): the step under way takes longer than the deadline, and is waited for. The
 *            claim's status must say so while the act goes on: reconcile_report(key) asks plan()
 *            with view.acting, which may decide on PATCH_STATUS and REST only; an end of the task
 *            that comes before the answer waits for it, so that the next write has its
 *            resourceVersion. Nothing else may run for the key meanwhile.
 *  deadline  Of each step, not of the whole: every line extends it; four times as long while all
 *            steps so far only look. The mediated devices and network cards keep theirs.
 *  outcome   Of the "end" line also step, address, error_name, holder and its pid, and times; the
 *            lines of one verb alone ("seen" of a transition, all lines of a plan) go to
 *            task_spec.on_line. Metrics of running and stuck tasks, and the age of the oldest, are
 *            those of the set of tasks.
 *  attempt   Kept for the group, and found by each of its functions; the next task that has one of
 *            them takes it over. attempt_object gets a direction: a bind that failed holds no
 *            release back, and the deletion of a claim raises its generation and is no new request
 *            to release. decision.failure reports a failure to the queue once.
 *
 * before() and after() of the reconcile keep the failpoints agent-bind-* and agent-release-*.
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

/* Nobody waits for it any more: no callback runs, and it ends by itself. Takes NULL, returns
 * NULL. */
struct task *task_abandon(struct task *task);

/* Is @key one of its keys? They are its own until it is gone, also while it is stuck. */
bool task_has_key(const struct task *task, const char *key);

/* Has on_end said that it is stuck? */
bool task_is_stuck(const struct task *task);

/* "hostdev-helper (pid 7) is blocked in step Unbind": what a stuck one does, without its age, so
 * that the text stays the same. The caller frees. */
char *task_describe(const struct task *task);
