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
struct kernel;

enum transition_verb {
	TRANSITION_BIND,
	TRANSITION_RELEASE,
	TRANSITION_PLAN_BIND,    /* says what BIND would do, and does nothing    */
	TRANSITION_PLAN_RELEASE, /* says what RELEASE would do, and does nothing */
};

/* Borrowed for the call. */
struct transition_options {
	int sysfs_fd;
	int proc_fd;
	int dev_fd;
	const char *state_dir;    /* made if its parent is there    */
	const char *node_address; /* NULL: not known                */
	const struct kernel *kernel;
	int out_fd;    /* gets the lines, see agent/helper/transition/transition_out.h */
	int cancel_fd; /* a bind stops before its first change if it is hung up; < 0: none */
};

/* Do @verb for @job. 0 however that ended, as the last line says; < 0 if lines could not be
 * written. */
int transition_run(enum transition_verb verb, const struct transition_options *options,
		   const struct job *job, struct err *err);
