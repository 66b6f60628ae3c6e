/* map_state: the page's name of a device's state, which is that of `kubectl hostdev tree`. */
#pragma once

#include "cli/model/state.h"

/* "claimable", "refused", "pending", "available", "used", "releasing", "stuck", "missing" or "unknown". */
const char *map_state_word(enum device_state state);
