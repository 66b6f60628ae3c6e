/*
 * transition: moves the functions of a job, one IOMMU group or a part of it, to their passthrough
 * driver (bind) or back (release), as a whole or not at all.
 *
 * Reads the state before every step and keeps no progress: a run continues where an interrupted run
 * ended. The agent decides whether a group may be moved; only what the kernel alone can show is
 * checked here.
 */
#pragma once

struct err;
struct job;
struct run_options;

enum transition_verb {
	TRANSITION_BIND,
	TRANSITION_RELEASE,
	TRANSITION_PLAN_BIND,    /* reports what BIND would do, and changes nothing */
	TRANSITION_PLAN_RELEASE, /* reports what RELEASE would do, and changes nothing */
};

/*
 * Do @verb for @job. A bind stops before its first change if @cancel_fd (< 0: none) is hung up.
 * Returns 0 for every result, which the last line reports; < 0 if lines could not be written.
 */
int transition_run(enum transition_verb verb, const struct run_options *options, int cancel_fd,
		   const struct job *job, struct err *err);
