#include "agent/plugin/registration_fsm.h"

#include <assert.h>

enum { JITTER_PERCENT = 50, QUICK_MAX_MS = 32 };

/* clang-format off */
static const struct {
	enum registration_act act;
	enum registration_step next;
} table[REGISTRATION_NSTEPS][REGISTRATION_NEVENTS] = {
	[REGISTRATION_STEP_WAITING] = {
		[REGISTRATION_TIMER]  = { REGISTRATION_CALL,    REGISTRATION_STEP_CALLING    },
		[REGISTRATION_CAME]   = { REGISTRATION_CALL,    REGISTRATION_STEP_CALLING    },
		[REGISTRATION_AGAIN]  = { REGISTRATION_NOTHING, REGISTRATION_STEP_WAITING    },
	},
	[REGISTRATION_STEP_CALLING] = {
		/* it hangs */
		[REGISTRATION_TIMER]  = { REGISTRATION_WAIT,    REGISTRATION_STEP_WAITING    },
		/* at the new one */
		[REGISTRATION_CAME]   = { REGISTRATION_CALL,    REGISTRATION_STEP_CALLING    },
		[REGISTRATION_OK]     = { REGISTRATION_REPORT,    REGISTRATION_STEP_REGISTERED },
		[REGISTRATION_FAILED] = { REGISTRATION_WAIT,    REGISTRATION_STEP_WAITING    },
		/* of the one before */
		[REGISTRATION_AGAIN]  = { REGISTRATION_NOTHING, REGISTRATION_STEP_CALLING    },
		[REGISTRATION_CLEARED] = { REGISTRATION_WAIT,   REGISTRATION_STEP_CLEARING   },
	},
	[REGISTRATION_STEP_CLEARING] = {
		[REGISTRATION_TIMER]  = { REGISTRATION_CALL,    REGISTRATION_STEP_CALLING    },
		/* it is called then */
		[REGISTRATION_CAME]   = { REGISTRATION_NOTHING, REGISTRATION_STEP_CLEARING   },
		[REGISTRATION_AGAIN]  = { REGISTRATION_NOTHING, REGISTRATION_STEP_CLEARING   },
	},
	[REGISTRATION_STEP_REGISTERED] = {
		[REGISTRATION_CAME]   = { REGISTRATION_CALL,    REGISTRATION_STEP_CALLING    },
		[REGISTRATION_AGAIN]  = { REGISTRATION_WAIT,    REGISTRATION_STEP_WAITING    },
	},
};
/* clang-format on */

void registration_fsm_init(struct registration_fsm *fsm)
{
	*fsm = (struct registration_fsm){
		.step = REGISTRATION_STEP_WAITING,
		.backoff = { .first_ms = REGISTRATION_FIRST_MS,
			     .max_ms = REGISTRATION_MAX_MS,
			     .reset_after_ms = REGISTRATION_CALM_MS,
			     .jitter_percent = JITTER_PERCENT },
	};
}

void registration_fsm_hurry(struct registration_fsm *fsm)
{
	backoff_reset(&fsm->backoff);
	fsm->quick_ms = REGISTRATION_SOON_MS;
}

static uint64_t next_wait(struct registration_fsm *fsm, uint64_t now_ms, uint64_t random)
{
	uint64_t wait_ms = fsm->quick_ms;

	if (wait_ms == 0)
		return backoff_next(&fsm->backoff, now_ms, random);
	fsm->quick_ms = wait_ms < QUICK_MAX_MS ? wait_ms * 2 : 0;
	return wait_ms;
}

enum registration_act registration_fsm_next(struct registration_fsm *fsm,
					    enum registration_event event, uint64_t now_ms,
					    uint64_t random)
{
	enum registration_act act;

	assert(fsm->step < REGISTRATION_NSTEPS && event < REGISTRATION_NEVENTS);
	act = table[fsm->step][event].act;
	assert(act != REGISTRATION_ILLEGAL); /* value 0: every cell not written is illegal */
	fsm->step = table[fsm->step][event].next;
	if (event == REGISTRATION_CAME)
		registration_fsm_hurry(fsm);
	if (event == REGISTRATION_OK)
		fsm->quick_ms = 0;
	if (act == REGISTRATION_WAIT)
		fsm->wait_ms = event == REGISTRATION_CLEARED ? REGISTRATION_CLEAR_MS
							     : next_wait(fsm, now_ms, random);
	return act;
}
