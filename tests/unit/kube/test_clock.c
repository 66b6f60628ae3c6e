#include "kube/clock.h"

#include <uv.h>

#include "unit/suite.h"

struct bench {
	uv_loop_t loop;
	struct clock *clock;
	struct clock_timer *timer;
	int calls;
	int again; /* times that the timer starts itself again */
};

static void open_bench(struct bench *b, clock_fn *fn)
{
	*b = (struct bench){ 0 };
	assert_int_equal(uv_loop_init(&b->loop), 0);
	b->clock = clock_new(&b->loop);
	b->timer = clock_timer_new(b->clock, fn, b);
}

static void close_bench(struct bench *b)
{
	b->timer = clock_timer_free(b->clock, b->timer);
	assert_int_equal(uv_run(&b->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&b->loop), 0);
	b->clock = clock_free(b->clock);
}

SUITE_CLOSING(bench, struct bench, close_bench);

static void count(void *arg)
{
	struct bench *b = arg;

	b->calls++;
	if (b->again-- > 0)
		clock_timer_start(b->clock, b->timer, 0);
}

static void free_itself(void *arg)
{
	struct bench *b = arg;

	b->calls++;
	b->timer = clock_timer_free(b->clock, b->timer);
}

static void a_timer_calls_once_per_start(void **state)
{
	struct bench *b = *state;

	open_bench(b, count);
	clock_timer_start(b->clock, b->timer, 0);
	assert_int_equal(b->calls, 0);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(b->calls, 1);
	b->again = 2;
	clock_timer_start(b->clock, b->timer, 0);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(b->calls, 4);
}

static void a_stopped_timer_is_silent(void **state)
{
	struct bench *b = *state;

	open_bench(b, count);
	clock_timer_start(b->clock, b->timer, 0);
	clock_timer_stop(b->clock, b->timer);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(b->calls, 0);
}

static void a_timer_may_free_itself(void **state)
{
	struct bench *b = *state;

	open_bench(b, free_itself);
	clock_timer_start(b->clock, b->timer, 0);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(b->calls, 1);
}

static void clocks_go_on(void **state)
{
	struct bench *b = *state;
	uint64_t before_ms;

	open_bench(b, count);
	before_ms = clock_now_ms(b->clock);
	assert_true(clock_now_ms(b->clock) >= before_ms);
	/* After this was written, and numbers that differ. */
	assert_true(clock_wall_ms(b->clock) > 1700000000000);
	assert_true(clock_random(b->clock) != clock_random(b->clock));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a timer calls once per start", a_timer_calls_once_per_start, NULL);
	suite_add(&suite, "a stopped timer is silent", a_stopped_timer_is_silent, NULL);
	suite_add(&suite, "a timer may free itself", a_timer_may_free_itself, NULL);
	suite_add(&suite, "clocks go on", clocks_go_on, NULL);
	return suite_run(&suite, "clock");
}
