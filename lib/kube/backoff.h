/* backoff: how long to wait before the next attempt: first · 2^n up to a ceiling, with jitter. */
#pragma once

#include <stdint.h>

struct backoff {
	uint64_t first_ms;
	uint64_t max_ms;         /* of the part without jitter                       */
	uint64_t reset_after_ms; /* this long without a failure: begin anew; 0 never */
	unsigned jitter_percent; /* added at random, of the part without jitter      */
	/* Private; zero at first. */
	unsigned failures;
	uint64_t failed_ms;
};

/* An attempt failed at @now_ms: the wait before the next one. @random: 64 random bits. */
uint64_t backoff_next(struct backoff *b, uint64_t now_ms, uint64_t random);

/* The next failure counts as the first. */
void backoff_reset(struct backoff *b);
