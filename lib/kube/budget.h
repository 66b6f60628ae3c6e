/* budget: a token bucket that limits how often others can cause something. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The size of the bucket and the time to gain one token. */
struct budget_bound {
	unsigned burst;
	uint64_t refill_ms;
};

/* Zeroed: full. */
struct budget {
	bool begun;
	unsigned tokens;
	uint64_t filled_ms; /* when the last token was added */
};

/* Take a token at @now_ms; false if there is none. */
bool budget_take(struct budget *budget, const struct budget_bound *bound, uint64_t now_ms);
