/*
 * suite: cmocka tests from tables, one test per row, named by the row's sentence; and fixtures.
 *
 *	static struct sum_case { const char *name; int a, b, sum; } sums[] = { ... };
 *
 * A fixture opens what a test uses and closes it again, after a test that failed, too, so that the
 * next test begins as it should.
 *
 *	SUITE_FIXTURE(shop, struct shop, shop_open, shop_close);
 *
 *	static void the_sum_is_on_the_bill(void **state)
 *	{
 *		struct shop *shop = *state;
 *		const struct sum_case *c = suite_row(state);
 *		...
 *	}
 *
 *	int main(void)
 *	{
 *		struct suite suite = { 0 };
 *
 *		suite_rows(&suite, sums, sum_matches_table);
 *		suite_add(&suite, "sums do not depend on the order", order_does_not_matter, NULL);
 *		suite_fixture(&suite, &shop_fixture);
 *		suite_rows(&suite, sums, the_sum_is_on_the_bill);
 *		suite_add(&suite, "a shop is open", a_shop_is_open, NULL);
 *		return suite_run(&suite, "sum");
 *	}
 */
#pragma once

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "unit/leftovers.h"

enum { SUITE_MAX = 256 };

/* Opens what a test uses, and closes what the test got. */
struct suite_fixture {
	void *(*open)(void);
	void (*close)(void *it);
};

/*
 * Fixtures, named NAME_fixture. What they call takes a pointer to a zeroed @type; what SUITE_OBJECT
 * calls returns the object, and frees it. With SUITE_CLOSING a test opens the @type itself, because
 * each test opens it in its own way; @close has to take a zeroed one, too.
 */
#define SUITE_FIXTURE(name, type, open_it, close_it)                              \
	static inline void *name##_fixture_open(void)                             \
	{                                                                         \
		void *it_ = xcalloc(1, sizeof(type));                             \
                                                                                  \
		open_it(it_);                                                     \
		return it_;                                                       \
	}                                                                         \
	static inline void name##_fixture_close(void *it_)                        \
	{                                                                         \
		close_it((type *)it_);                                            \
		free(it_);                                                        \
	}                                                                         \
	static const struct suite_fixture name##_fixture = { name##_fixture_open, \
							     name##_fixture_close }

#define SUITE_CLOSING(name, type, close_it) SUITE_FIXTURE(name, type, (void), close_it)

#define SUITE_OBJECT(name, object, free_it)                                       \
	static inline void *name##_fixture_open(void)                             \
	{                                                                         \
		return object;                                                    \
	}                                                                         \
	static inline void name##_fixture_close(void *it_)                        \
	{                                                                         \
		free_it(it_);                                                     \
	}                                                                         \
	static const struct suite_fixture name##_fixture = { name##_fixture_open, \
							     name##_fixture_close }

/* One test. A test's state points to the first member. */
struct suite_test {
	void *state; /* the fixture's, or the row where there is no fixture */
	void *row;
	CMUnitTestFunction fn;
	const struct suite_fixture *fixture;
	bool open;
};

/* cmocka skips entries without a name, so the unused rest needs no care. */
struct suite {
	struct CMUnitTest tests[SUITE_MAX];
	size_t len;
	const struct suite_fixture *fixture;
};

/* The row of the test with this @state. */
static inline void *suite_row(void **state)
{
	return ((struct suite_test *)state)->row;
}

static inline void suite_close(struct suite_test *test)
{
	if (!test->open)
		return;
	test->open = false;
	test->fixture->close(test->state);
}

static inline void suite_test_run(void **state)
{
	struct suite_test *test = *state;

	if (test->fixture) {
		test->state = test->fixture->open();
		test->open = true;
	}
	test->fn(&test->state);
	suite_close(test);
}

/* A test that failed has not closed its fixture. */
static inline int suite_test_end(void **state)
{
	suite_close(*state);
	return leftovers_remove(state);
}

/* The tests added from now on have @fixture as *state; NULL for none. */
static inline void suite_fixture(struct suite *suite, const struct suite_fixture *fixture)
{
	suite->fixture = fixture;
}

/* @row becomes *state of @fn, or suite_row(state) where the fixture is *state. */
static inline void suite_add(struct suite *suite, const char *name, CMUnitTestFunction fn,
			     void *row)
{
	struct suite_test *test = xcalloc(1, sizeof(*test));

	assert(suite->len < SUITE_MAX);
	*test = (struct suite_test){
		.state = row, .row = row, .fn = fn, .fixture = suite->fixture
	};
	suite->tests[suite->len++] = (struct CMUnitTest){ .name = name,
							  .test_func = suite_test_run,
							  .teardown_func = suite_test_end,
							  .initial_state = test };
}

#define suite_rows(suite, rows, fn)                                             \
	do {                                                                    \
		for (size_t row_ = 0; row_ < ARRAY_LEN(rows); row_++)           \
			suite_add(suite, (rows)[row_].name, fn, &(rows)[row_]); \
	} while (0)

static bool suite_failed;

/* LeakSanitizer asks. A test that fails leaves its own variables at once, so what they own leaks,
 * and a report of that would hide why it failed. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return suite_failed;
}

/* The exit status of main(): 0 when every test passed. */
static inline int suite_run(struct suite *suite, const char *name)
{
	suite_failed = cmocka_run_group_tests_name(name, suite->tests, NULL, NULL) != 0;
	for (size_t i = 0; i < suite->len; i++)
		free(suite->tests[i].initial_state);
	return suite_failed ? 1 : 0;
}

/* Numbers for properties: the same ones in every run (splitmix64). */
static inline uint64_t suite_random(uint64_t *seed)
{
	uint64_t x = *seed += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}
