/*
 * bind_step: the steps that move a function to where it is wanted. A pure table has the next step:
 * no progress is kept, so an interrupted run is just another row. Each step is carried out and then
 * read back: a successful write does not prove the effect, and a failed write does not disprove it.
 */
#pragma once

#include <stdbool.h>

#include "agent/helper/sys/bind_state.h"

struct err;
struct run;

/* clang-format off */
enum bind_want {
	WANT_VFIO,   /* on the passthrough driver, held there by driver_override */
	WANT_NATIVE, /* back on the native driver                                */
	WANT_NONE,   /* back to no driver                                        */
	WANT_ANY,    /* back, with the native driver not known: the kernel picks */
	WANT_PASSTHROUGH, /* keep the passthrough driver that it had before, without override */
	BIND_NWANTS,
};

enum bind_driver {
	DRIVER_NONE,
	DRIVER_NATIVE,
	DRIVER_VFIO,  /* the passthrough driver of the job */
	DRIVER_OTHER,
	BIND_NDRIVERS,
};

enum bind_override {
	OVERRIDE_CLEAR,
	OVERRIDE_OURS,   /* names the passthrough driver of the job */
	OVERRIDE_NATIVE, /* names the native driver; before a bind only with a record of ours */
	OVERRIDE_OTHER,
	BIND_NOVERRIDES,
};

enum bind_act {
	ACT_DONE,
	ACT_REFUSE, /* driver_override is someone else's */
	ACT_SET_OVERRIDE,
	ACT_UNBIND,
	ACT_PROBE,
	ACT_CLEAR_OVERRIDE,
	ACT_BIND,
	ACT_SET_NATIVE, /* replaces BIND where the kernel needs an override; then PROBE */
	BIND_NACTS,
};
/* clang-format on */

/* The longest way from any state is five steps, and a module; one that needs more is going in
 * circles. */
enum { BIND_STEPS_MAX = 8 };

/*
 * The next step. WANT_ANY with neither driver nor override always gives ACT_PROBE: the caller
 * probes once and accepts the result.
 */
enum bind_act bind_plan_next(enum bind_want want, enum bind_driver driver,
			     enum bind_override override);

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

/* Where a released function goes. */
enum bind_want bind_step_back(const struct bind_target *target);

/* The next step for a function that is as @seen. */
enum bind_act bind_step_next(const struct bind_target *target, const struct bind_state *seen);

/* What the driver and the override of @seen are to @target. */
enum bind_driver bind_step_driver(const struct bind_target *target, const struct bind_state *seen);
enum bind_override bind_step_override(const struct bind_target *target,
				      const struct bind_state *seen);

/*
 * Carry out @act (one that writes) and read the state back into *@seen. 0: it had the effect, or
 * the function is gone. BIND_NO_EFFECT, or < 0 with the errno of the write: it had none; @err is
 * set in both cases.
 */
int bind_step_run(struct run *run, enum bind_act act, const struct bind_target *target,
		  struct bind_state *seen, struct err *err);

/* Make @seen what it would be after @act if all goes well. */
void bind_step_pretend(enum bind_act act, const struct bind_target *target,
		       struct bind_state *seen);
