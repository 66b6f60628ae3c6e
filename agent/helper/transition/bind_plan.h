/*
 * bind_plan: the next single step that brings a function to where it is wanted. A pure table: nothing
 * is remembered, so a run that was cut off anywhere is another row of it.
 */
#pragma once

/* clang-format off */
enum bind_want {
	WANT_VFIO,   /* on the passthrough driver, held there by driver_override */
	WANT_NATIVE, /* back on the native driver                                */
	WANT_NONE,   /* back to no driver                                        */
	WANT_ANY,    /* back, with the native driver not known: the kernel picks */
	WANT_LEFT,   /* back on the passthrough driver, which it had before: it stays, without our override */
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
	OVERRIDE_NATIVE, /* names the native driver, put there by a release; before a bind only if there is a record of ours */
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
	ACT_SET_NATIVE, /* in place of BIND, where the kernel lets an override alone pass: then PROBE */
	BIND_NACTS,
};
/* clang-format on */

/* The longest way from any state is five steps, and a module; one that needs more is going in circles. */
enum { BIND_STEPS_MAX = 8 };

/*
 * What to do next. WANT_ANY with neither driver nor override says ACT_PROBE whenever it is asked:
 * the caller probes once and takes what comes.
 */
enum bind_act bind_plan_next(enum bind_want want, enum bind_driver driver,
			     enum bind_override override);
