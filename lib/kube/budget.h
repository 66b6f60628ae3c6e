/* budget: how many more there may be now, of something that others cause: some at once, then one in a while. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How many, and how long until there is one more. */
struct budget_bound {
	unsigned burst;
	uint64_t refill_ms;
};

/* Zeroed, it is full. */
struct budget {
	bool begun;
	unsigned tokens;
	uint64_t filled_ms; /* when the last token came */
};

/* May there be one more at @now_ms? Takes it from @budget if so. */
bool budget_take(struct budget *budget, const struct budget_bound *bound, uint64_t now_ms);
