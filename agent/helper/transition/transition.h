/*
 * transition: moves the functions of a job, one IOMMU group or a part of it, to their passthrough
 * driver (bind) or back (release), as a whole or not at all.
 *
 * Looks before every step and remembers no progress: whatever a run that was cut off has left is
 * where the next one begins. The agent decides that a group may be moved; what is checked here is
 * what only a look at the kernel tells.
 */
#pragma once

struct err;
struct job;
struct run_options;

enum transition_verb {
	TRANSITION_BIND,
	TRANSITION_RELEASE,
	TRANSITION_PLAN_BIND,    /* says what BIND would do, and does nothing    */
	TRANSITION_PLAN_RELEASE, /* says what RELEASE would do, and does nothing */
};

/*
 * Do @verb for @job. A bind stops before its first change if @cancel_fd (< 0: none) is hung up. 0
 * however that ended, as the last line says; < 0 if lines could not be written.
 */
int transition_run(enum transition_verb verb, const struct run_options *options, int cancel_fd,
		   const struct job *job, struct err *err);
