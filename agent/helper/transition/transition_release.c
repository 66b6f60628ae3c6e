#include "agent/helper/transition/transition_state.h"

/* A function that does not come back keeps its record; the others come back all the same. */
static void release_part(struct transition *t, struct transition_part *part)
{
	if (!part->stranger && part->moving && transition_move(t, part) < 0)
		return;
	if (part->has_file)
		(void)transition_remove_record(t, part);
}

int transition_release(struct transition *t)
{
	if (transition_look(t, false) < 0 || transition_check_holders(t, false) < 0)
		return RUN_STOPPED;
	for (size_t i = 0; i < t->job->len; i++)
		release_part(t, &t->parts[i]);
	return t->run.end.reason == REASON_NONE ? 0 : RUN_STOPPED;
}
