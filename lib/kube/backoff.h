/* backoff: how long to wait before the next attempt: first · 2^n up to a ceiling, with jitter. */
#pragma once

#include <stdint.h>

struct backoff {
	uint64_t first_ms;
	uint64_t max_ms;         /* upper limit, without jitter */
	uint64_t reset_after_ms; /* after this long without a failure, start over; 0: never */
	unsigned jitter_percent; /* random addition, in percent of the wait */
	/* Private; zero at first. */
	unsigned failures;
	uint64_t failed_ms;
};

/* An attempt failed at @now_ms: return the wait before the next one. @random: 64 random bits. */
uint64_t backoff_next(struct backoff *b, uint64_t now_ms, uint64_t random);

/* Reset the failure count. */
void backoff_reset(struct backoff *b);
