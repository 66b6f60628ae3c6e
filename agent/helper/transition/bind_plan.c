#include "agent/helper/transition/bind_plan.h"

#include <assert.h>

/*
 * The override goes on first and comes off first: between unbind and probe a driver that is loaded
 * just then would take the function, and after a crash the override tells our functions from others.
 */
/* clang-format off */
static const enum bind_act next_act[BIND_NWANTS][BIND_NDRIVERS][BIND_NOVERRIDES] = {
	/* override:          CLEAR               OURS                NATIVE              OTHER      */
	[WANT_VFIO] = {
		[DRIVER_NONE]   = { ACT_SET_OVERRIDE, ACT_PROBE,          ACT_SET_OVERRIDE,   ACT_REFUSE },
		[DRIVER_NATIVE] = { ACT_SET_OVERRIDE, ACT_UNBIND,         ACT_SET_OVERRIDE,   ACT_REFUSE },
		[DRIVER_VFIO]   = { ACT_SET_OVERRIDE, ACT_DONE,           ACT_SET_OVERRIDE,   ACT_REFUSE },
		[DRIVER_OTHER]  = { ACT_SET_OVERRIDE, ACT_UNBIND,         ACT_SET_OVERRIDE,   ACT_REFUSE },
	},
	[WANT_NATIVE] = {
		[DRIVER_NONE]   = { ACT_BIND,         ACT_CLEAR_OVERRIDE, ACT_PROBE,          ACT_REFUSE },
		[DRIVER_NATIVE] = { ACT_DONE,         ACT_CLEAR_OVERRIDE, ACT_CLEAR_OVERRIDE, ACT_DONE   },
		[DRIVER_VFIO]   = { ACT_UNBIND,       ACT_CLEAR_OVERRIDE, ACT_REFUSE,         ACT_REFUSE },
		[DRIVER_OTHER]  = { ACT_DONE,         ACT_CLEAR_OVERRIDE, ACT_DONE,           ACT_DONE   },
	},
	[WANT_NONE] = {
		[DRIVER_NONE]   = { ACT_DONE,         ACT_CLEAR_OVERRIDE, ACT_REFUSE,         ACT_REFUSE },
		[DRIVER_NATIVE] = { ACT_DONE,         ACT_CLEAR_OVERRIDE, ACT_DONE,           ACT_DONE   },
		[DRIVER_VFIO]   = { ACT_UNBIND,       ACT_CLEAR_OVERRIDE, ACT_REFUSE,         ACT_REFUSE },
		[DRIVER_OTHER]  = { ACT_DONE,         ACT_CLEAR_OVERRIDE, ACT_DONE,           ACT_DONE   },
	},
	[WANT_ANY] = {
		[DRIVER_NONE]   = { ACT_PROBE,        ACT_CLEAR_OVERRIDE, ACT_REFUSE,         ACT_REFUSE },
		[DRIVER_NATIVE] = { ACT_DONE,         ACT_CLEAR_OVERRIDE, ACT_DONE,           ACT_DONE   },
		[DRIVER_VFIO]   = { ACT_UNBIND,       ACT_CLEAR_OVERRIDE, ACT_REFUSE,         ACT_REFUSE },
		[DRIVER_OTHER]  = { ACT_DONE,         ACT_CLEAR_OVERRIDE, ACT_DONE,           ACT_DONE   },
	},
	[WANT_LEFT] = {
		[DRIVER_NONE]   = { ACT_DONE,         ACT_CLEAR_OVERRIDE, ACT_DONE,           ACT_DONE   },
		[DRIVER_NATIVE] = { ACT_DONE,         ACT_CLEAR_OVERRIDE, ACT_DONE,           ACT_DONE   },
		[DRIVER_VFIO]   = { ACT_DONE,         ACT_CLEAR_OVERRIDE, ACT_DONE,           ACT_DONE   },
		[DRIVER_OTHER]  = { ACT_DONE,         ACT_CLEAR_OVERRIDE, ACT_DONE,           ACT_DONE   },
	},
};
/* clang-format on */

enum bind_act bind_plan_next(enum bind_want want, enum bind_driver driver,
			     enum bind_override override)
{
	assert(want < BIND_NWANTS && driver < BIND_NDRIVERS && override < BIND_NOVERRIDES);
	return next_act[want][driver][override];
}
