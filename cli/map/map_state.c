#include "cli/map/map_state.h"

#include <string.h>

#include "cli/state.h"

static const char *const words[STATES] = {
	[STATE_UNKNOWN] = "unknown",     [STATE_FREE] = "free",       [STATE_REFUSED] = "refused",
	[STATE_PENDING] = "pending",     [STATE_READY] = "ready",     [STATE_USED] = "used",
	[STATE_RELEASING] = "releasing", [STATE_MISSING] = "missing",
};

const char *map_state_word(const struct state_verdict *verdict)
{
	if (strcmp(verdict->reason, "Stuck") == 0)
		return "stuck";
	return words[verdict->state];
}
