#include "agent/helper/transition/bind_step.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "agent/helper/frame/run.h"
#include "base/err.h"
#include "base/failpoint.h"
#include "base/mem.h"

/*
 * The override is set first and cleared last. Otherwise a driver that is loaded between unbind and
 * probe would bind the function. After a crash, the override also distinguishes our functions from
 * others.
 */
/* clang-format off */
#define ACTS(clear, ours, native, other) \
	{ ACT_##clear, ACT_##ours, ACT_##native, ACT_##other }

static const enum bind_act next_act[BIND_NWANTS][BIND_NDRIVERS][BIND_NOVERRIDES] = {
	/* override:                   CLEAR         OURS            NATIVE          OTHER */
	[WANT_VFIO] = {
		[DRIVER_NONE]   = ACTS(SET_OVERRIDE, PROBE,          SET_OVERRIDE,   REFUSE),
		[DRIVER_NATIVE] = ACTS(SET_OVERRIDE, UNBIND,         SET_OVERRIDE,   REFUSE),
		[DRIVER_VFIO]   = ACTS(SET_OVERRIDE, DONE,           SET_OVERRIDE,   REFUSE),
		[DRIVER_OTHER]  = ACTS(SET_OVERRIDE, UNBIND,         SET_OVERRIDE,   REFUSE),
	},
	[WANT_NATIVE] = {
		[DRIVER_NONE]   = ACTS(BIND,         CLEAR_OVERRIDE, PROBE,          REFUSE),
		[DRIVER_NATIVE] = ACTS(DONE,         CLEAR_OVERRIDE, CLEAR_OVERRIDE, DONE),
		[DRIVER_VFIO]   = ACTS(UNBIND,       CLEAR_OVERRIDE, REFUSE,         REFUSE),
		[DRIVER_OTHER]  = ACTS(DONE,         CLEAR_OVERRIDE, DONE,           DONE),
	},
	[WANT_NONE] = {
		[DRIVER_NONE]   = ACTS(DONE,         CLEAR_OVERRIDE, REFUSE,         REFUSE),
		[DRIVER_NATIVE] = ACTS(DONE,         CLEAR_OVERRIDE, DONE,           DONE),
		[DRIVER_VFIO]   = ACTS(UNBIND,       CLEAR_OVERRIDE, REFUSE,         REFUSE),
		[DRIVER_OTHER]  = ACTS(DONE,         CLEAR_OVERRIDE, DONE,           DONE),
	},
	[WANT_ANY] = {
		[DRIVER_NONE]   = ACTS(PROBE,        CLEAR_OVERRIDE, REFUSE,         REFUSE),
		[DRIVER_NATIVE] = ACTS(DONE,         CLEAR_OVERRIDE, DONE,           DONE),
		[DRIVER_VFIO]   = ACTS(UNBIND,       CLEAR_OVERRIDE, REFUSE,         REFUSE),
		[DRIVER_OTHER]  = ACTS(DONE,         CLEAR_OVERRIDE, DONE,           DONE),
	},
	[WANT_PASSTHROUGH] = {
		[DRIVER_NONE]   = ACTS(DONE,         CLEAR_OVERRIDE, DONE,           DONE),
		[DRIVER_NATIVE] = ACTS(DONE,         CLEAR_OVERRIDE, DONE,           DONE),
		[DRIVER_VFIO]   = ACTS(DONE,         CLEAR_OVERRIDE, DONE,           DONE),
		[DRIVER_OTHER]  = ACTS(DONE,         CLEAR_OVERRIDE, DONE,           DONE),
	},
};
#undef ACTS
/* clang-format on */

enum bind_act bind_plan_next(enum bind_want want, enum bind_driver driver,
			     enum bind_override override)
{
	assert(want < BIND_NWANTS && driver < BIND_NDRIVERS && override < BIND_NOVERRIDES);
	return next_act[want][driver][override];
}

/* clang-format off */
static const struct {
	const char *before; /* failpoints */
	const char *after;
} act_rows[BIND_NACTS] = {
	[ACT_SET_OVERRIDE]   = { "helper-override-before",       "helper-override-after" },
	[ACT_UNBIND]         = { "helper-unbind-before",         "helper-unbind-after" },
	[ACT_PROBE]          = { "helper-probe-before",          "helper-probe-after" },
	[ACT_CLEAR_OVERRIDE] = { "helper-clear-override-before", "helper-clear-override-after" },
	[ACT_BIND]           = { "helper-native-bind-before",    "helper-native-bind-after" },
	[ACT_SET_NATIVE]     = { "helper-native-bind-before",    "helper-native-bind-after" },
};
/* clang-format on */

enum bind_driver bind_step_driver(const struct bind_target *target, const struct bind_state *seen)
{
	if (!seen->driver[0])
		return DRIVER_NONE;
	if (strcmp(seen->driver, target->driver) == 0)
		return DRIVER_VFIO;
	if (target->native && strcmp(seen->driver, target->native) == 0)
		return DRIVER_NATIVE;
	return DRIVER_OTHER;
}

enum bind_override bind_step_override(const struct bind_target *target,
				      const struct bind_state *seen)
{
	if (!seen->override[0])
		return OVERRIDE_CLEAR;
	/* If both texts are equal, something else set the first and wants to keep it. */
	if (strcmp(seen->override, target->driver) == 0)
		return target->want == WANT_PASSTHROUGH && target->overridden ? OVERRIDE_OTHER
									      : OVERRIDE_OURS;
	/* A bind finds it after an interrupted release; without a record of ours something else set
	 * it. */
	if (target->want == WANT_VFIO && !target->recorded)
		return OVERRIDE_OTHER;
	return target->native && strcmp(seen->override, target->native) == 0 ? OVERRIDE_NATIVE
									     : OVERRIDE_OTHER;
}

enum bind_want bind_step_back(const struct bind_target *target)
{
	if (!target->native)
		return WANT_ANY;
	if (!target->native[0])
		return WANT_NONE;
	return strcmp(target->native, target->driver) == 0 ? WANT_PASSTHROUGH : WANT_NATIVE;
}

enum bind_act bind_step_next(const struct bind_target *target, const struct bind_state *seen)
{
	enum bind_act act = bind_plan_next(target->want, bind_step_driver(target, seen),
					   bind_step_override(target, seen));

	return act == ACT_BIND && seen->no_autoprobe ? ACT_SET_NATIVE : act;
}

/* Where @act writes what: *@ret_text is what. The caller frees the path. */
static char *write_path(enum bind_act act, const struct bind_target *target,
			const struct bind_state *seen, const char **ret_text)
{
	*ret_text = target->address;
	switch (act) {
	case ACT_SET_OVERRIDE:
	case ACT_SET_NATIVE:
	case ACT_CLEAR_OVERRIDE:
		/* A newline alone clears it (driver_set_override() in drivers/base/driver.c). */
		*ret_text = act == ACT_SET_OVERRIDE ? target->driver
			    : act == ACT_SET_NATIVE ? target->native
						    : "\n";
		return xasprintf("bus/pci/devices/%s/driver_override", target->address);
	case ACT_UNBIND:
		return xasprintf("bus/pci/drivers/%s/unbind", seen->driver);
	case ACT_PROBE:
		return xstrdup("bus/pci/drivers_probe");
	case ACT_BIND:
	case ACT_DONE:
	case ACT_REFUSE:
	case BIND_NACTS:
		break;
	}
	assert(act == ACT_BIND); /* the others write nothing */
	return xasprintf("bus/pci/drivers/%s/bind", target->native);
}

/* Has @act done to @now what it is for? @before is what the function was. */
static bool is_effective(enum bind_act act, const struct bind_target *target,
			 const struct bind_state *before, const struct bind_state *now)
{
	if (!now->present)
		return true;
	switch (act) {
	case ACT_SET_OVERRIDE:
		return bind_step_override(target, now) == OVERRIDE_OURS;
	case ACT_CLEAR_OVERRIDE:
		return bind_step_override(target, now) == OVERRIDE_CLEAR;
	case ACT_UNBIND:
		return strcmp(now->driver, before->driver) != 0;
	case ACT_SET_NATIVE:
		return bind_step_override(target, now) == OVERRIDE_NATIVE;
	case ACT_PROBE:
		return target->want == WANT_ANY ||
		       bind_step_driver(target, now) ==
			       (target->want == WANT_NATIVE ? DRIVER_NATIVE : DRIVER_VFIO);
	case ACT_BIND:
		return bind_step_driver(target, now) == DRIVER_NATIVE;
	case ACT_DONE:
	case ACT_REFUSE:
	case BIND_NACTS:
		break;
	}
	return true;
}

int bind_step_run(struct run *run, enum bind_act act, const struct bind_target *target,
		  struct bind_state *seen, struct err *err)
{
	const struct bind_state before = *seen;
	const char *text;
	auto_free char *path = write_path(act, target, seen, &text);
	int written;

	failpoint(act_rows[act].before);
	written = run_write(run, path, text);
	failpoint(act_rows[act].after);
	if (bind_state_read(run->options->sysfs_fd, target->address, seen, err) < 0)
		return err->code;
	if (is_effective(act, target, &before, seen))
		return 0;
	if (act == ACT_CLEAR_OVERRIDE)
		text = "nothing";
	if (written < 0)
		return err_set(err, ERR_RETRY, written, "write %s to '%s': %s", text, path,
			       strerror(-written));
	(void)err_set(err, ERR_RETRY, 0,
		      "the kernel accepted the write of %s for '%s', but nothing changed", text,
		      path);
	return BIND_NO_EFFECT;
}

void bind_step_pretend(enum bind_act act, const struct bind_target *target, struct bind_state *seen)
{
	if (act == ACT_SET_OVERRIDE)
		(void)snprintf(seen->override, sizeof(seen->override), "%s", target->driver);
	if (act == ACT_CLEAR_OVERRIDE)
		seen->override[0] = '\0';
	if (act == ACT_UNBIND)
		seen->driver[0] = '\0';
	if (act == ACT_PROBE && target->want == WANT_VFIO)
		(void)snprintf(seen->driver, sizeof(seen->driver), "%s", target->driver);
	if (act == ACT_SET_NATIVE)
		(void)snprintf(seen->override, sizeof(seen->override), "%s", target->native);
	if (act == ACT_BIND || (act == ACT_PROBE && target->want == WANT_NATIVE))
		(void)snprintf(seen->driver, sizeof(seen->driver), "%s", target->native);
}
