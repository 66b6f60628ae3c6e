#include "grpc/timeout.h"

#include "unit/suite.h"

static struct parse_case {
	const char *name;
	const char *text;
	bool ok;
	uint64_t ms;
} parses[] = {
	{ "milliseconds", "1500m", true, 1500 },
	{ "seconds", "2S", true, 2000 },
	{ "minutes", "3M", true, 180000 },
	{ "hours", "1H", true, 3600000 },
	{ "microseconds", "2000u", true, 2 },
	{ "part of a millisecond counts", "1u", true, 1 },
	{ "nanoseconds", "1500000n", true, 2 },
	{ "no time at all", "0m", true, 0 },
	{ "eight digits", "99999999H", true, 99999999ULL * 3600000 },
	{ "nine digits", "100000000m", false, 0 },
	{ "no digits", "m", false, 0 },
	{ "no unit", "100", false, 0 },
	{ "an unknown unit", "100s", false, 0 },
	{ "a sign", "-1m", false, 0 },
	{ "a blank", "1 m", false, 0 },
	{ "a fraction", "1.5S", false, 0 },
	{ "nothing", "", false, 0 },
};

static void parse_matches_table(void **state)
{
	const struct parse_case *c = *state;
	uint64_t ms = 12345;

	assert_int_equal(grpc_timeout_parse(c->text, &ms), c->ok);
	assert_true(ms == (c->ok ? c->ms : 12345));
}

static struct format_case {
	const char *name;
	uint64_t ms;
	const char *text;
} formats[] = {
	{ "a few milliseconds", 1, "1m" },
	{ "as many as fit", 99999999, "99999999m" },
	{ "one more, rounded up", 100000000, "100000S" },
	{ "beyond that, never shorter", 100000001, "100001S" },
	{ "minutes", 100000000ULL * 1000, "1666667M" },
	{ "hours", 100000000ULL * 60000, "1666667H" },
	{ "longer than can be said", UINT64_MAX, "99999999H" },
};

static void format_matches_table(void **state)
{
	const struct format_case *c = *state;
	char buf[GRPC_TIMEOUT_SIZE];

	assert_string_equal(grpc_timeout_format(c->ms, buf), c->text);
}

/* What is read is never shorter than what was meant, and at most one unit longer. */
static void timeouts_come_back(void **state)
{
	uint64_t seed = 1;

	for (int i = 0; i < 10000; i++) {
		uint64_t ms = suite_random(&seed) >> (20 + i % 44);
		char buf[GRPC_TIMEOUT_SIZE];
		uint64_t back = 0;

		assert_true(grpc_timeout_parse(grpc_timeout_format(ms, buf), &back));
		assert_true(back >= ms && back - ms < 3600000);
	}
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_rows(&suite, parses, parse_matches_table);
	suite_rows(&suite, formats, format_matches_table);
	suite_add(&suite, "timeouts come back", timeouts_come_back, NULL);
	return suite_run(&suite, "grpc timeout");
}
