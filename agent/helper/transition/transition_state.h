/* transition_state: what the parts of a transition (transition*.c, and nobody else) share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/helper/record/record.h"
#include "agent/helper/sys/job.h"
#include "agent/helper/sys/progress.h"
#include "agent/helper/transition/bind_step.h"
#include "agent/helper/transition/transition.h"
#include "agent/helper/transition/transition_out.h"
#include "base/array.h"
#include "base/str.h"

struct err;

/* One function of the job. */
struct transition_part {
	const struct job_function *word;
	struct record record;   /* as it was at the beginning                             */
	bool recorded;          /* there was one                                          */
	bool has_file;          /* ... or at least a file where it should be              */
	bool stranger;          /* gone, or another device than ours: nothing to restore  */
	bool moving;            /* it was not where it is wanted                          */
	struct bind_seen first; /* at the beginning                                     */
	struct bind_seen seen;  /* at last                                              */
	char serial[PCI_SERIAL_SIZE];
	struct str identity; /* base/device_identity.h */
	struct bind_target target;
	ARRAY(int) disks; /* descriptors that keep others from its disks until it is unbound */
};

struct transition {
	const struct transition_options *options;
	const struct job *job;
	struct transition_part *parts; /* one for each function of the job */
	int state_fd;                  /* -1: there is no state directory  */
	bool dry;                      /* nothing is changed               */
	bool changed;                  /* something may have been          */
	bool rolling_back;
	const char *address; /* what is being done, and to which function */
	enum transition_step step;
	struct bind_hands hands;
	struct progress out;
	struct transition_end end;
};

/* What transition_stop() returns. */
enum { TRANSITION_STOPPED = -1 };

/* Say that @step begins. */
void transition_step(struct transition *t, const char *address, enum transition_step step);

/* The transition ends here, for @reason; @code is the kernel's answer, if that was it. The first
 * cause stays. Returns TRANSITION_STOPPED. */
int transition_stop(struct transition *t, enum transition_reason reason, int code, const char *fmt,
		    ...) __attribute__((format(printf, 4, 5)));

/* The same for a record, or a lock, that cannot be read or written for @err. */
int transition_stop_state(struct transition *t, const struct err *err);

/*
 * Each of these does its part for the whole job, or for @part, and returns 0, or TRANSITION_STOPPED
 * after transition_stop().
 */

/* transition_look.c: what is there, and may it be touched? */
int transition_look(struct transition *t, bool binding);
int transition_check_members(struct transition *t, bool after);
/* Who uses the functions that @binding, or a release, would take away from somebody? */
int transition_check_holders(struct transition *t, bool binding);
/* Does somebody use functions that he has put on a driver for programs himself? */
int transition_check_lent(struct transition *t);
/* Is @part still free, now that other functions have been moved and its own unbind is next? */
int transition_check_again(struct transition *t, const struct transition_part *part);
struct transition_part *transition_find_part(const struct transition *t, const char *address);
/* Would the move take the function away from somebody? Releasing one that is driverless may: the
 * driver's link goes first, the one who holds it goes on. */
bool transition_may_be_held(const struct transition_part *part, bool binding);

/* transition_host.c: does the host itself use the functions of @taken, which are to be bound? Of their
 * disks it takes hold, where it may, until transition_drop_disks(); not @again. */
int transition_check_host(struct transition *t, const struct job *taken, bool again);
void transition_drop_disks(struct transition_part *part);

/* transition_move.c: one function, step by step. */
int transition_move(struct transition *t, struct transition_part *part);
int transition_write_record(struct transition *t, const struct transition_part *part);
int transition_remove_record(struct transition *t, struct transition_part *part);

/* transition_bind.c, transition_release.c */
int transition_bind(struct transition *t);
int transition_release(struct transition *t);
