/*
 * map_state: the state of a device as the page shows it: that of `kubectl hostdev tree` (cli/state.h), of
 * which what is stuck stands out, because somebody has to look at the machine.
 */
#pragma once

struct state_verdict;

/* The page's word: "free", "refused", "pending", "ready", "used", "releasing", "stuck", "missing" or
 * "unknown". */
const char *map_state_word(const struct state_verdict *verdict);
