#include "fake/fake_clock.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

struct clock_timer {
	struct fake_clock *clock;
	struct clock_timer *next;
	clock_fn *fn;
	void *arg;
	bool running;
	uint64_t due_ms;
	uint64_t order; /* of two that are due together, the one started first */
};

struct fake_clock {
	struct clock clock; /* first: the two are one */
	uint64_t now_ms;
	uint64_t seed;
	bool fixed;
	uint64_t started;
	struct clock_timer *timers;
};

static uint64_t now_ms(struct clock *clock)
{
	return ((struct fake_clock *)clock)->now_ms;
}

/* 2026-01-02T03:04:05Z and what went by since the start. */
static int64_t wall_ms(struct clock *clock)
{
	return 1767323045000 + (int64_t)now_ms(clock) - 1000000;
}

static uint64_t random64(struct clock *clock)
{
	struct fake_clock *fake = (struct fake_clock *)clock;
	uint64_t x;

	if (fake->fixed)
		return fake->seed;
	x = fake->seed += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static struct clock_timer *timer_new(struct clock *clock, clock_fn *fn, void *arg)
{
	struct fake_clock *fake = (struct fake_clock *)clock;
	struct clock_timer *timer = xcalloc(1, sizeof(*timer));

	timer->clock = fake;
	timer->fn = fn;
	timer->arg = arg;
	timer->next = fake->timers;
	fake->timers = timer;
	return timer;
}

static void timer_start(struct clock_timer *timer, uint64_t delay_ms)
{
	timer->running = true;
	timer->due_ms = timer->clock->now_ms + delay_ms;
	timer->order = timer->clock->started++;
}

static void timer_stop(struct clock_timer *timer)
{
	timer->running = false;
}

static void timer_free(struct clock_timer *timer)
{
	struct clock_timer **at = &timer->clock->timers;

	while (*at != timer)
		at = &(*at)->next;
	*at = timer->next;
	free(timer);
}

static const struct clock_ops ops = {
	.now_ms = now_ms,
	.wall_ms = wall_ms,
	.random = random64,
	.timer_new = timer_new,
	.timer_start = timer_start,
	.timer_stop = timer_stop,
	.timer_free = timer_free,
};

struct fake_clock *fake_clock_new(void)
{
	struct fake_clock *fake = xcalloc(1, sizeof(*fake));

	fake->clock.ops = &ops;
	fake->now_ms = 1000000;
	return fake;
}

struct fake_clock *fake_clock_free(struct fake_clock *fake)
{
	assert(!fake->timers);
	free(fake);
	return NULL;
}

struct clock *fake_clock_as_clock(struct fake_clock *fake)
{
	return &fake->clock;
}

static bool before(const struct clock_timer *a, const struct clock_timer *b)
{
	return a->due_ms < b->due_ms || (a->due_ms == b->due_ms && a->order < b->order);
}

static struct clock_timer *first(const struct fake_clock *fake)
{
	struct clock_timer *found = NULL;

	for (struct clock_timer *t = fake->timers; t; t = t->next) {
		if (t->running && (!found || before(t, found)))
			found = t;
	}
	return found;
}

static void run_until(struct fake_clock *fake, uint64_t end_ms)
{
	struct clock_timer *timer;

	while ((timer = first(fake)) && timer->due_ms <= end_ms) {
		if (timer->due_ms > fake->now_ms)
			fake->now_ms = timer->due_ms;
		timer->running = false;
		timer->fn(timer->arg);
	}
}

void fake_clock_advance(struct fake_clock *fake, uint64_t ms)
{
	uint64_t end_ms = fake->now_ms + ms;

	run_until(fake, end_ms);
	fake->now_ms = end_ms;
}

void fake_clock_jump(struct fake_clock *fake, uint64_t ms)
{
	fake->now_ms += ms;
}

void fake_clock_settle(struct fake_clock *fake)
{
	run_until(fake, fake->now_ms);
}

uint64_t fake_clock_next(const struct fake_clock *fake)
{
	const struct clock_timer *timer = first(fake);

	if (!timer)
		return UINT64_MAX;
	return timer->due_ms > fake->now_ms ? timer->due_ms - fake->now_ms : 0;
}

void fake_clock_fix_random(struct fake_clock *fake, uint64_t value)
{
	fake->fixed = true;
	fake->seed = value;
}
