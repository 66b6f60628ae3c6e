#include "kube/backoff.h"

#include "unit/suite.h"

static struct backoff fresh(void)
{
	return (struct backoff){
		.first_ms = 800, .max_ms = 30000, .reset_after_ms = 120000, .jitter_percent = 100
	};
}

static void waits_double_up_to_the_ceiling(void **state)
{
	static const uint64_t waits[] = { 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000 };
	struct backoff b = fresh();

	for (size_t i = 0; i < ARRAY_LEN(waits); i++)
		assert_int_equal(backoff_next(&b, 1000 * i, 0), waits[i]);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(backoff_next(&b, 9000, 0), 30000);
}

static void jitter_spreads_over_its_range(void **state)
{
	uint64_t seed = 1;
	uint64_t low = UINT64_MAX;
	uint64_t high = 0;

	for (int i = 0; i < 10000; i++) {
		struct backoff b = fresh();
		uint64_t wait = backoff_next(&b, 0, suite_random(&seed));

		low = wait < low ? wait : low;
		high = wait > high ? wait : high;
	}
	assert_in_range(low, 800, 810);
	assert_in_range(high, 1590, 1600);
}

static void health_begins_it_anew(void **state)
{
	struct backoff b = fresh();

	backoff_next(&b, 1000, 0);
	assert_int_equal(backoff_next(&b, 1000 + 119999, 0), 1600);
	assert_int_equal(backoff_next(&b, 1000 + 119999 + 120000, 0), 800);
}

static void reset_begins_it_anew(void **state)
{
	struct backoff b = fresh();

	backoff_next(&b, 1000, 0);
	backoff_reset(&b);
	assert_int_equal(backoff_next(&b, 1001, 0), 800);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "waits double up to the ceiling", waits_double_up_to_the_ceiling, NULL);
	suite_add(&suite, "jitter spreads over its range", jitter_spreads_over_its_range, NULL);
	suite_add(&suite, "two minutes of health begin it anew", health_begins_it_anew, NULL);
	suite_add(&suite, "a reset begins it anew", reset_begins_it_anew, NULL);
	return suite_run(&suite, "backoff");
}
