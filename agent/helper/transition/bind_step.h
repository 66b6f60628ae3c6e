/*
 * bind_step: carries out one step on one function, and looks at what came of it. That a write
 * succeeded proves nothing; that it failed does not prove that the effect is not there.
 */
#pragma once

#include <stdbool.h>

#include "agent/helper/sys/bind_look.h"
#include "agent/helper/transition/bind_plan.h"

struct err;
struct run;

/* Where one function is wanted. Borrowed texts. */
struct bind_target {
	const char *address;
	const char *driver; /* the passthrough driver                        */
	const char *native; /* "": it had no driver; NULL: that is not known */
	enum bind_want want;
	bool recorded;   /* there is a record of ours                           */
	bool overridden; /* its override named that driver before there was one */
};

/* Outcome of bind_step_run(): the write was taken, and nothing came of it. */
enum { BIND_NO_EFFECT = 1 };

/* Where a function goes that is given back. */
enum bind_want bind_step_back(const struct bind_target *target);

/* The next step for a function that is as @seen. */
enum bind_act bind_step_next(const struct bind_target *target, const struct bind_seen *seen);

/* What the driver and the override of @seen are to @target. */
enum bind_driver bind_step_driver(const struct bind_target *target, const struct bind_seen *seen);
enum bind_override bind_step_override(const struct bind_target *target,
				      const struct bind_seen *seen);

/*
 * Carry out @act (one that writes) and look again: *@seen is what the function is afterwards. 0: the
 * effect is there, or the function is gone. BIND_NO_EFFECT, or < 0 with the errno of the write: it
 * is not; @err says so in both cases.
 */
int bind_step_run(struct run *run, enum bind_act act, const struct bind_target *target,
		  struct bind_seen *seen, struct err *err);

/* Make @seen what it would be after @act if all goes well. */
void bind_step_pretend(enum bind_act act, const struct bind_target *target, struct bind_seen *seen);
