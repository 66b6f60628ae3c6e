/* transition_state: what the two parts of a transition share: transition.c, transition_check.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/helper/frame/run.h"
#include "agent/helper/record/record.h"
#include "agent/helper/sys/job.h"
#include "agent/helper/transition/bind_step.h"
#include "agent/helper/transition/transition.h"
#include "base/array.h"
#include "base/str.h"

/* One function of the job. */
struct transition_part {
	const struct job_function *word;
	struct device_record record; /* as it was at the beginning                             */
	bool recorded;               /* there was one                                          */
	bool has_file;               /* ... or at least a file where it should be              */
	bool replaced;               /* gone, or another device than ours: nothing to restore  */
	bool moving;                 /* it was not where it is wanted                          */
	struct bind_state first;     /* at the beginning                                     */
	struct bind_state seen;      /* at last                                              */
	char serial[PCI_SERIAL_SIZE];
	struct str identity; /* base/device_identity.h */
	struct bind_target target;
	ARRAY(int) disks; /* descriptors that keep others from its disks until it is unbound */
};

struct transition {
	struct run run;
	const struct run_options *options;
	int cancel_fd;
	const struct job *job;
	struct transition_part *parts; /* one for each function of the job */
	bool rolling_back;
};

/*
 * Each of these does its part for the whole job, or for @part, and returns 0, or RUN_STOPPED
 * after run_stop().
 */

/* transition_check.c: what is there, and may it be touched? */
int transition_check(struct transition *t, bool binding);
int transition_check_members(struct transition *t, bool after);
/* Refuse if a process holds a function that @binding, or a release, would take from it. */
int transition_check_holders(struct transition *t, bool binding);
/* Refuse if a process uses a function that something else bound to a passthrough driver. */
int transition_check_foreign(struct transition *t);
/* Is @part still free, now that other functions have been moved and its own unbind is next? */
int transition_check_again(struct transition *t, const struct transition_part *part);
/* Could the move take the function from a process? Releasing a function without a driver can: the
 * kernel removes the driver's link first, while its holder goes on. */
bool transition_may_be_held(const struct transition_part *part, bool binding);

/* Let go of the disks that the check has taken hold of, so that the host could not take them before
 * the unbind. */
void transition_drop_disks(struct transition_part *part);
