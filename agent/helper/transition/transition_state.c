#include "agent/helper/transition/transition_state.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

void transition_step(struct transition *t, const char *address, enum transition_step step)
{
	t->address = address;
	t->step = step;
	transition_out_step(&t->out, address, step);
}

int transition_stop(struct transition *t, enum transition_reason reason, int code, const char *fmt,
		    ...)
{
	struct transition_end *end = &t->end;
	va_list args;

	if (end->reason != REASON_NONE)
		return TRANSITION_STOPPED;
	end->reason = reason;
	end->step = t->step;
	end->address = t->address;
	end->code = code;
	end->changed = t->changed;
	va_start(args, fmt);
	(void)vsnprintf(end->message, sizeof(end->message), fmt, args);
	va_end(args);
	return TRANSITION_STOPPED;
}

int transition_stop_state(struct transition *t, const struct err *err)
{
	return transition_stop(t, REASON_STATE_NOT_WRITABLE, err->code,
			       "in the state directory '%s': %s", t->options->state_dir, err->msg);
}
