/*
 * clock: time, timers and randomness behind one struct, so that tests can control them.
 *
 * All code below the main loop takes the time from here or as an argument.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clock;
struct clock_timer;
struct uv_loop_s;

typedef void clock_fn(void *arg);

struct clock_ops {
	uint64_t (*now_ms)(struct clock *clock); /* monotonic; for every timer and deadline */
	int64_t (*wall_ms)(struct clock *clock); /* since the epoch; for timestamps only */
	uint64_t (*random)(struct clock *clock); /* 64 random bits */
	struct clock_timer *(*timer_new)(struct clock *clock, clock_fn *fn, void *arg);
	void (*timer_start)(struct clock_timer *timer, uint64_t delay_ms);
	void (*timer_stop)(struct clock_timer *timer);
	void (*timer_free)(struct clock_timer *timer);
};

/* An implementation's struct starts with this one. */
struct clock {
	const struct clock_ops *ops;
};

/* The real implementation: libuv timers on @loop, getrandom() for randomness. @loop must outlive
 * it. */
struct clock *clock_new(struct uv_loop_s *loop);
/* Takes NULL, returns NULL. All its timers must be freed before. */
struct clock *clock_free(struct clock *clock);

static inline uint64_t clock_now_ms(struct clock *clock)
{
	return clock->ops->now_ms(clock);
}

static inline int64_t clock_wall_ms(struct clock *clock)
{
	return clock->ops->wall_ms(clock);
}

static inline uint64_t clock_random(struct clock *clock)
{
	return clock->ops->random(clock);
}

/* A stopped timer; each start calls @fn with @arg once, from the loop. */
static inline struct clock_timer *clock_timer_new(struct clock *clock, clock_fn *fn, void *arg)
{
	return clock->ops->timer_new(clock, fn, arg);
}

/* Takes NULL, returns NULL. The real implementation closes its loop handle; the loop must run
 * once more. */
static inline struct clock_timer *clock_timer_free(struct clock *clock, struct clock_timer *timer)
{
	if (timer)
		clock->ops->timer_free(timer);
	return NULL;
}

/* Start it, or restart it if it is running. */
static inline void clock_timer_start(struct clock *clock, struct clock_timer *timer,
				     uint64_t delay_ms)
{
	clock->ops->timer_start(timer, delay_ms);
}

static inline void clock_timer_stop(struct clock *clock, struct clock_timer *timer)
{
	clock->ops->timer_stop(timer);
}
