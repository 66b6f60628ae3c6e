#include "cli/map/map_state.h"

#include "cli/model/state.h"

static const char *const words[STATES] = {
	[STATE_UNKNOWN] = "unknown",     [STATE_CLAIMABLE] = "claimable",
	[STATE_REFUSED] = "refused",     [STATE_PENDING] = "pending",
	[STATE_AVAILABLE] = "available", [STATE_USED] = "used",
	[STATE_RELEASING] = "releasing", [STATE_MISSING] = "missing",
	[STATE_STUCK] = "stuck",
};

const char *map_state_word(enum device_state state)
{
	return words[state];
}
