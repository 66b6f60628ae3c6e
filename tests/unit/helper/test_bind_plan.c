/* bind_plan: the next step from every state. */
#include <stdbool.h>

#include "agent/helper/transition/bind_step.h"
#include "unit/suite.h"

/* clang-format off */
static struct plan_case {
	const char *name;
	enum bind_want want;
	enum bind_driver driver;
	enum bind_override override;
	enum bind_act act;
} cases[] = {
	{ "bind: a device on its native driver gets the override first",
	  WANT_VFIO, DRIVER_NATIVE, OVERRIDE_CLEAR, ACT_SET_OVERRIDE },
	{ "bind: with the override it is unbound", WANT_VFIO, DRIVER_NATIVE, OVERRIDE_OURS, ACT_UNBIND },
	{ "bind: so it is from a driver nobody spoke of", WANT_VFIO, DRIVER_OTHER, OVERRIDE_OURS, ACT_UNBIND },
	{ "bind: cut off between unbind and probe", WANT_VFIO, DRIVER_NONE, OVERRIDE_OURS, ACT_PROBE },
	{ "bind: a device without driver", WANT_VFIO, DRIVER_NONE, OVERRIDE_CLEAR, ACT_SET_OVERRIDE },
	{ "bind: a device that was bound by hand is made ours", WANT_VFIO, DRIVER_VFIO, OVERRIDE_CLEAR, ACT_SET_OVERRIDE },
	{ "bind: bound", WANT_VFIO, DRIVER_VFIO, OVERRIDE_OURS, ACT_DONE },
	{ "bind: somebody else's override, native", WANT_VFIO, DRIVER_NATIVE, OVERRIDE_OTHER, ACT_REFUSE },
	{ "bind: somebody else's override, no driver", WANT_VFIO, DRIVER_NONE, OVERRIDE_OTHER, ACT_REFUSE },
	{ "bind: somebody else's override, bound", WANT_VFIO, DRIVER_VFIO, OVERRIDE_OTHER, ACT_REFUSE },
	{ "bind: somebody else's override, another driver", WANT_VFIO, DRIVER_OTHER, OVERRIDE_OTHER, ACT_REFUSE },
	{ "release: the override goes first", WANT_NATIVE, DRIVER_VFIO, OVERRIDE_OURS, ACT_CLEAR_OVERRIDE },
	{ "release: then it is unbound", WANT_NATIVE, DRIVER_VFIO, OVERRIDE_CLEAR, ACT_UNBIND },
	{ "release: then the native driver gets it", WANT_NATIVE, DRIVER_NONE, OVERRIDE_CLEAR, ACT_BIND },
	{ "release: restored", WANT_NATIVE, DRIVER_NATIVE, OVERRIDE_CLEAR, ACT_DONE },
	{ "release: a bind that was cut off before the unbind", WANT_NATIVE, DRIVER_NATIVE, OVERRIDE_OURS, ACT_CLEAR_OVERRIDE },
	{ "release: somebody else has it now", WANT_NATIVE, DRIVER_OTHER, OVERRIDE_OTHER, ACT_DONE },
	{ "release: somebody else has it, with our override", WANT_NATIVE, DRIVER_OTHER, OVERRIDE_OURS, ACT_CLEAR_OVERRIDE },
	{ "release: somebody else's override on a bound device", WANT_NATIVE, DRIVER_VFIO, OVERRIDE_OTHER, ACT_REFUSE },
	{ "release: somebody else's override, no driver", WANT_NATIVE, DRIVER_NONE, OVERRIDE_OTHER, ACT_REFUSE },
	{ "release: an override of the native driver is offered to it", WANT_NATIVE, DRIVER_NONE, OVERRIDE_NATIVE, ACT_PROBE },
	{ "release: and cleared when that has it", WANT_NATIVE, DRIVER_NATIVE, OVERRIDE_NATIVE, ACT_CLEAR_OVERRIDE },
	{ "release: on a bound device it is somebody else's", WANT_NATIVE, DRIVER_VFIO, OVERRIDE_NATIVE, ACT_REFUSE },
	{ "bind: a release was cut off", WANT_VFIO, DRIVER_NATIVE, OVERRIDE_NATIVE, ACT_SET_OVERRIDE },
	{ "bind: likewise, before the native driver had it", WANT_VFIO, DRIVER_NONE, OVERRIDE_NATIVE, ACT_SET_OVERRIDE },
	{ "release: a device that had no driver is left without", WANT_NONE, DRIVER_NONE, OVERRIDE_CLEAR, ACT_DONE },
	{ "release: a native driver that is not known is the kernel's choice", WANT_ANY, DRIVER_NONE, OVERRIDE_CLEAR, ACT_PROBE },
	{ "release: what was on vfio-pci before stays there", WANT_PASSTHROUGH, DRIVER_VFIO, OVERRIDE_CLEAR, ACT_DONE },
	{ "release: without our override", WANT_PASSTHROUGH, DRIVER_VFIO, OVERRIDE_OURS, ACT_CLEAR_OVERRIDE },
	{ "release: but with one that was there", WANT_PASSTHROUGH, DRIVER_VFIO, OVERRIDE_OTHER, ACT_DONE },
	{ "release: and is not brought there from elsewhere", WANT_PASSTHROUGH, DRIVER_NONE, OVERRIDE_CLEAR, ACT_DONE },
	{ "release: whatever it chose", WANT_ANY, DRIVER_OTHER, OVERRIDE_CLEAR, ACT_DONE },
};
/* clang-format on */

static void plan_matches_table(void **state)
{
	const struct plan_case *c = *state;

	assert_int_equal(bind_plan_next(c->want, c->driver, c->override), c->act);
}

/* What an obedient kernel makes of @act. */
static void obey(enum bind_act act, enum bind_want want, enum bind_driver *driver,
		 enum bind_override *override)
{
	switch (act) {
	case ACT_SET_OVERRIDE:
		*override = OVERRIDE_OURS;
		return;
	case ACT_SET_NATIVE:
		*override = OVERRIDE_NATIVE;
		return;
	case ACT_CLEAR_OVERRIDE:
		*override = OVERRIDE_CLEAR;
		return;
	case ACT_UNBIND:
		*driver = DRIVER_NONE;
		return;
	case ACT_PROBE:
		*driver = want == WANT_VFIO     ? DRIVER_VFIO
			  : want == WANT_NATIVE ? DRIVER_NATIVE
						: DRIVER_OTHER;
		return;
	case ACT_BIND:
		*driver = DRIVER_NATIVE;
		return;
	case ACT_DONE:
	case ACT_REFUSE:
	case BIND_NACTS:
		return;
	}
}

static bool has_arrived(enum bind_want want, enum bind_driver driver, enum bind_override override)
{
	if (want == WANT_VFIO)
		return driver == DRIVER_VFIO && override == OVERRIDE_OURS;
	if (driver == DRIVER_OTHER || want == WANT_PASSTHROUGH)
		return override != OVERRIDE_OURS;
	if (driver == DRIVER_NATIVE)
		return override != OVERRIDE_OURS;
	return want == WANT_NONE && driver == DRIVER_NONE && override == OVERRIDE_CLEAR;
}

/* From each of the 64 states the plan comes to rest within five steps, where it is wanted; and it
 * refuses only for the sake of an override that was there from the start. */
static void always_ends(bool no_autoprobe)
{
	for (unsigned i = 0; i < BIND_NWANTS * BIND_NDRIVERS * BIND_NOVERRIDES; i++) {
		enum bind_want want = i / (BIND_NDRIVERS * BIND_NOVERRIDES);
		enum bind_driver driver = i / BIND_NOVERRIDES % BIND_NDRIVERS;
		enum bind_override override = i % BIND_NOVERRIDES;
		bool foreign = override == OVERRIDE_OTHER;
		bool named = override == OVERRIDE_NATIVE;
		int steps = 0;
		enum bind_act act;

		while ((act = bind_plan_next(want, driver, override)) > ACT_REFUSE && steps < 6) {
			if (act == ACT_BIND && no_autoprobe)
				act = ACT_SET_NATIVE;
			assert_false(foreign);
			obey(act, want, &driver, &override);
			steps++;
		}
		assert_in_range(steps, 0, 5);
		assert_true(act == ACT_REFUSE ? foreign || named
					      : has_arrived(want, driver, override));
	}
}

static void plan_always_ends(void **state)
{
	always_ends(false);
	always_ends(true);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, plan_matches_table);
	suite_add(&suite, "the plan ends from every state", plan_always_ends, NULL);
	return suite_run(&suite, "bind_plan");
}
