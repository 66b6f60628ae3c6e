#include "grpc/head.h"

#include <string.h>

#include "unit/suite.h"

static void add(struct grpc_head *head, const char *name, const char *value)
{
	grpc_head_add(head, 200, name, value, strlen(value));
}

static void headers_of_ours_are_kept(void **state)
{
	struct grpc_head head = { .size = 0 };

	add(&head, ":path", "/a.B/C");
	add(&head, "grpc-status", "5");
	add(&head, "grpc-status", "6");
	add(&head, "x-other", "y");
	assert_string_equal(head.path, "/a.B/C");
	assert_string_equal(head.status, "5");
	assert_null(head.message);
	assert_int_equal(head.size, (5 + 6 + 32) + 2 * (11 + 1 + 32) + (7 + 1 + 32));
	assert_false(head.too_large);
	grpc_head_done(&head);
	assert_null(head.path);
	assert_int_equal(head.size, 0);
}

SUITE_CLOSING(grpc_head, struct grpc_head, grpc_head_done);

/* What is dropped counts as what is kept. */
static void size_is_bounded(void **state)
{
	struct grpc_head *head = *state;
	char value[200] = "";

	memset(value, 'x', 161);
	add(head, "x-other", value); /* 200 in all */
	assert_false(head->too_large);
	add(head, ":path", "/");
	assert_true(head->too_large);
	assert_null(head->path);
}

static struct type_case {
	const char *name;
	const char *type; /* NULL: none */
	bool grpc;
} types[] = {
	{ "the type alone", "application/grpc", true },
	{ "the type with an encoding", "application/grpc+proto", true },
	{ "the type with a parameter", "application/grpc;charset=utf-8", true },
	{ "a longer word", "application/grpc-web", false },
	{ "a shorter word", "application/grp", false },
	{ "another type", "application/json", false },
	{ "no type", NULL, false },
};

static void type_matches_table(void **state)
{
	const struct type_case *c = suite_row(state);
	struct grpc_head *head = *state;

	if (c->type)
		add(head, "content-type", c->type);
	assert_int_equal(grpc_head_is_grpc(head), c->grpc);
}

static void encodings_are_told_apart(void **state)
{
	struct grpc_head head = { .size = 0 };

	assert_true(grpc_head_is_plain(&head));
	add(&head, "grpc-encoding", "identity");
	assert_true(grpc_head_is_plain(&head));
	grpc_head_done(&head);
	add(&head, "grpc-encoding", "gzip");
	assert_false(grpc_head_is_plain(&head));
	grpc_head_done(&head);
}

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
	suite_add(&suite, "headers of ours are kept", headers_of_ours_are_kept, NULL);
	suite_add(&suite, "encodings are told apart", encodings_are_told_apart, NULL);
	suite_fixture(&suite, &grpc_head_fixture);
	suite_add(&suite, "the size is bounded", size_is_bounded, NULL);
	suite_rows(&suite, types, type_matches_table);
	return suite_run(&suite, "grpc head");
}
