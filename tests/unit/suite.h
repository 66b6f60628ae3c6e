/*
 * suite: cmocka tests from tables, one test per row, named by the row's sentence.
 *
 *	static struct sum_case { const char *name; int a, b, sum; } sums[] = { ... };
 *
 *	int main(void)
 *	{
 *		struct suite suite = { 0 };
 *
 *		suite_rows(&suite, sums, sum_matches_table);
 *		suite_add(&suite, "sums do not depend on the order", order_does_not_matter, NULL);
 *		return suite_run(&suite, "sum");
 *	}
 */
#pragma once

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "unit/leftovers.h"

enum { SUITE_MAX = 256 };

/* cmocka skips entries without a name, so the unused rest needs no care. */
struct suite {
	struct CMUnitTest tests[SUITE_MAX];
	size_t len;
};

/* @row becomes *state of @fn. */
static inline void suite_add(struct suite *suite, const char *name, CMUnitTestFunction fn,
			     void *row)
{
	assert(suite->len < SUITE_MAX);
	suite->tests[suite->len++] = (struct CMUnitTest){ .name = name,
							  .test_func = fn,
							  .teardown_func = leftovers_remove,
							  .initial_state = row };
}

#define suite_rows(suite, rows, fn)                                             \
	do {                                                                    \
		for (size_t row_ = 0; row_ < ARRAY_LEN(rows); row_++)           \
			suite_add(suite, (rows)[row_].name, fn, &(rows)[row_]); \
	} while (0)

/* The exit status of main(): 0 when every test passed. */
static inline int suite_run(const struct suite *suite, const char *name)
{
	return cmocka_run_group_tests_name(name, suite->tests, NULL, NULL) ? 1 : 0;
}

/* Numbers for properties: the same ones in every run (splitmix64). */
static inline uint64_t suite_random(uint64_t *seed)
{
	uint64_t x = *seed += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}
