/*
 * helper_run: runs hostdev-helper, hostdev-names or hostdev-nvml once and hands over the lines that
 * it prints.
 *
 * Owns the child until it has ended. A child that misses its deadline is abandoned, not killed: one
 * that waits inside the kernel does not die of SIGKILL before the kernel lets it go, and nothing
 * would be won. It is still reaped when it ends. Whoever runs a program that can hang in a library
 * instead kills it (helper_run_kill). The program ignores SIGPIPE if it writes to a child.
 *
 * With patience, a child has missed its deadline only if it did not run in the latter half of it
 * while the machine had a processor free, or when that many deadlines have passed. On a busy
 * machine the kernel's own threads, for which a child waits, are slow as well.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/lines.h"

struct err;
struct helper_run;
struct metrics;
struct uv_loop_s;

enum {
	HELPER_LINE_MAX = 64 << 10,
	HELPER_OUTPUT_MAX = 32 << 20,
	HELPER_INPUT_MAX = 16 << 10, /* a pipe takes so much at once */
	HELPER_PATIENCE = 8,         /* deadlines, for a step of a transition */
};

/* How it ended: 0 when it exited with status 0 and every line was taken; else < 0 with @err:
 * ERR_STUCK -ETIMEDOUT past the deadline, else what failed (its exit status, a line refused). */
typedef void helper_end_fn(void *arg, int result, const struct err *err);

/* A child that missed its deadline has ended after all; the run is gone when this returns. */
typedef void helper_gone_fn(void *arg, struct helper_run *run);

/* Borrowed during the start, except @path and @args, which are copied by the kernel. */
struct helper_spec {
	const char *path;        /* of the program                   */
	const char *const *args; /* without its name; NULL ends      */
	uint64_t deadline_ms;
	unsigned patience;       /* 0 for one deadline and no more */
	const char *proc;        /* where processes are seen; NULL: /proc; outlives the run */
	struct metrics *metrics; /* may be NULL, outlives the run or is abandoned first */
	line_fn *on_line;
	helper_end_fn *on_end;
	helper_gone_fn *on_gone;    /* may be NULL */
	void (*on_late)(void *arg); /* its deadline is over, and it is waited for; may be NULL */
	bool cancellable;  /* its standard input stays open until helper_run_cancel() or our end */
	const char *input; /* written to its standard input, which then ends unless it is
			      cancellable; NULL: nothing */
	bool endless;      /* it prints for as long as it runs: HELPER_OUTPUT_MAX is no limit */
	void *arg;
};

/*
 * Start the helper. @on_end runs exactly once and never before this returns, @on_line never after
 * @on_end. The run is gone when @on_end returns, but for ERR_STUCK: then when @on_gone does.
 * Errors: -ENOENT and the other errnos of spawning, with nothing started.
 */
int helper_run_start(struct uv_loop_s *loop, const struct helper_spec *spec,
		     struct helper_run **ret_run, struct err *err);

int helper_run_pid(const struct helper_run *run);

/* Hang up its standard input, if it is cancellable and was not cancelled before: the helper stops
 * unless it has begun to change something. on_end runs as ever. */
void helper_run_cancel(struct helper_run *run);

/* The deadline is @deadline_ms from now, with all its patience, unless it has passed already. */
void helper_run_extend(struct helper_run *run, uint64_t deadline_ms);

/* Kill the child. on_end runs as ever, or has run already because the deadline was missed. */
void helper_run_kill(struct helper_run *run);

/* Give up the run: no callback runs after this. A cancellable helper is cancelled. Takes NULL,
 * returns NULL. */
struct helper_run *helper_run_abandon(struct helper_run *run);

/* Where hostdev-helper lies: beside this program (/proc/self/exe), the caller frees. */
char *helper_run_default_path(void);

/* Where hostdev-names and hostdev-nvml lie: beside the hostdev-helper at @helper, the caller
 * frees. */
char *helper_run_names_path(const char *helper);
char *helper_run_nvml_path(const char *helper);

/* What can run is shown as 0 from now on. @metrics may be NULL. */
void helper_meter_show(struct metrics *metrics);
