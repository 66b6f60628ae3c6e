#include <stdlib.h>
#include <sys/random.h>

#include <uv.h>

#include "base/mem.h"
#include "base/timefmt.h"
#include "kube/clock.h"

struct clock_uv {
	struct clock clock; /* must be first: the pointer is cast */
	uv_loop_t *loop;
};

struct clock_timer {
	uv_timer_t handle;
	clock_fn *fn;
	void *arg;
};

static uint64_t now_ms(struct clock *clock)
{
	(void)clock;
	return timefmt_now_ms();
}

static int64_t wall_ms(struct clock *clock)
{
	(void)clock;
	return timefmt_wall_ms();
}

/* Called a few times a minute, so no user-space generator is needed. */
static uint64_t random64(struct clock *clock)
{
	uint64_t value = 0;

	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value))
		value = now_ms(clock) * 0x9e3779b97f4a7c15ULL;
	return value;
}

static struct clock_timer *timer_new(struct clock *clock, clock_fn *fn, void *arg)
{
	struct clock_uv *real = (struct clock_uv *)clock;
	struct clock_timer *timer = xcalloc(1, sizeof(*timer));

	uv_timer_init(real->loop, &timer->handle);
	timer->handle.data = timer;
	timer->fn = fn;
	timer->arg = arg;
	return timer;
}

static void on_timeout(uv_timer_t *handle)
{
	struct clock_timer *timer = handle->data;

	timer->fn(timer->arg);
}

/* libuv adds the timeout to the loop's cached time, which may be as old as this loop iteration. */
static void timer_start(struct clock_timer *timer, uint64_t delay_ms)
{
	uv_update_time(timer->handle.loop);
	uv_timer_start(&timer->handle, on_timeout, delay_ms, 0);
}

static void timer_stop(struct clock_timer *timer)
{
	uv_timer_stop(&timer->handle);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void timer_free(struct clock_timer *timer)
{
	uv_close((uv_handle_t *)&timer->handle, on_closed);
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

struct clock *clock_new(struct uv_loop_s *loop)
{
	struct clock_uv *real = xcalloc(1, sizeof(*real));

	real->clock.ops = &ops;
	real->loop = loop;
	return &real->clock;
}

struct clock *clock_free(struct clock *clock)
{
	free(clock);
	return NULL;
}
