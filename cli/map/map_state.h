/* map_state: the state of a device as the page names it: that of `kubectl hostdev tree`, in one word. */
#pragma once

#include "cli/model/state.h"

/* "claimable", "refused", "pending", "available", "used", "releasing", "stuck", "missing" or "unknown". */
const char *map_state_word(enum device_state state);
