#include "kube/backoff.h"

enum { DOUBLINGS_MAX = 32 };

static uint64_t base_ms(const struct backoff *b)
{
	unsigned n = b->failures < DOUBLINGS_MAX ? b->failures : DOUBLINGS_MAX;
	uint64_t ms = b->first_ms << n;

	return ms < b->max_ms ? ms : b->max_ms;
}

uint64_t backoff_next(struct backoff *b, uint64_t now_ms, uint64_t random)
{
	uint64_t base;
	uint64_t spread;

	if (b->reset_after_ms && b->failures && now_ms - b->failed_ms >= b->reset_after_ms)
		backoff_reset(b);

	base = base_ms(b);
	spread = base * b->jitter_percent / 100;
	if (b->failures < DOUBLINGS_MAX)
		b->failures++;
	b->failed_ms = now_ms;
	return base + random % (spread + 1);
}

void backoff_reset(struct backoff *b)
{
	b->failures = 0;
}
