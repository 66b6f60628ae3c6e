/* sriov_past: how long what a run came to matters. */
#include "agent/sriov/sriov_past.h"

#include <string.h>

#include "unit/suite.h"

enum { SPEC = 3 };

static struct sriov_outcome failed(bool refused, bool held)
{
	return (struct sriov_outcome){ .refused = refused,
				       .held = held,
				       .reason = xstrdup("NumVFsFailed"),
				       .message = xstrdup("it did not work") };
}

/* One run of a second, for @counted, that ends at @now. */
static bool run(struct sriov_past *past, struct sriov_outcome outcome, bool counted, uint64_t now)
{
	sriov_past_begin(past, SPEC, counted, now - 1000);
	return sriov_past_end(past, &outcome, now);
}

static struct retry_case {
	const char *name;
	bool refused, held;
	int times;
	uint64_t want_ms;
} retries[] = {
	{ "the first try is repeated after a second", false, false, 1, 1000 },
	{ "the second after two", false, false, 2, 2000 },
	{ "the seventh after 64", false, false, 7, 64000 },
	{ "none waits longer", false, false, 40, 64000 },
	{ "what somebody holds is tried every five", false, true, 9, 5000 },
	{ "what is refused every thirty", true, false, 9, 30000 },
};

SUITE_CLOSING(sriov_past, struct sriov_past, sriov_past_done);

static void tries_are_repeated(void **state)
{
	const struct retry_case *c = suite_row(state);
	struct sriov_past *past = *state;
	uint64_t hold_ms = 0;

	for (int i = 0; i < c->times; i++)
		(void)run(past, failed(c->refused, c->held), true, 100000);
	assert_non_null(sriov_past_failure(past, SPEC, 100000, &hold_ms));
	assert_int_equal(hold_ms, c->want_ms);
	assert_non_null(sriov_past_failure(past, SPEC, 100000 + c->want_ms, &hold_ms));
	assert_int_equal(hold_ms, 0);
}

static void a_failure_is_of_one_spec(void **state)
{
	struct sriov_past *past = *state;
	uint64_t hold_ms = 7;

	(void)run(past, failed(false, false), true, 5000);
	assert_null(sriov_past_failure(past, SPEC + 1, 5000, &hold_ms));
	assert_string_equal(sriov_past_failure(past, SPEC, 5000, &hold_ms)->reason, "NumVFsFailed");
	(void)run(past, (struct sriov_outcome){ .done = true }, true, 9000);
	assert_null(sriov_past_failure(past, SPEC, 9000, &hold_ms));
	/* The next failure is the first again. */
	(void)run(past, failed(false, false), true, 20000);
	(void)sriov_past_failure(past, SPEC, 20000, &hold_ms);
	assert_int_equal(hold_ms, 1000);
}

static void another_spec_is_tried_at_once(void **state)
{
	struct sriov_past *past = *state;
	struct sriov_outcome again = failed(false, false);
	uint64_t hold_ms = 0;

	for (int i = 0; i < 5; i++)
		(void)run(past, failed(false, false), true, 5000);
	sriov_past_begin(past, SPEC + 1, true, 6000);
	(void)sriov_past_end(past, &again, 7000);
	(void)sriov_past_failure(past, SPEC + 1, 7000, &hold_ms);
	assert_int_equal(hold_ms, 1000);
}

static struct moved_case {
	const char *name;
	struct sriov_outcome outcome;
	bool counted;
	bool moved;
} moves[] = {
	{ "a number that was changed is seen by a later scan only", { .done = true }, true, true },
	{ "settings change no number", { .done = true }, false, false },
	{ "one that failed may have changed it", { .message = NULL }, true, true },
	{ "one that was refused has not", { .refused = true }, true, false },
	{ "one that found a holder has not", { .held = true }, true, false },
};

static void moves_are_known(void **state)
{
	const struct moved_case *c = suite_row(state);
	struct sriov_past *past = *state;

	assert_int_equal(run(past, c->outcome, c->counted, 5000), c->moved);
	assert_int_equal(sriov_past_is_unsure(past, 5000), c->moved);
	assert_false(sriov_past_is_unsure(past, 5001));
}

static void settings_are_looked_at_after_every_scan(void **state)
{
	struct sriov_past *past = *state;

	assert_false(sriov_past_is_verified(past, 0, 0));
	(void)run(past, (struct sriov_outcome){ .done = true }, false, 5000); /* from 4000 */
	assert_true(sriov_past_is_verified(past, SPEC, 4000));
	assert_false(sriov_past_is_verified(past, SPEC, 4001));
	assert_false(sriov_past_is_verified(past, SPEC + 1, 4000));
	sriov_past_forget(past);
	assert_false(sriov_past_is_verified(past, SPEC, 4000));
	sriov_past_lose(past, 6000);
	assert_true(sriov_past_is_unsure(past, 6000));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &sriov_past_fixture);
	suite_rows(&suite, retries, tries_are_repeated);
	suite_rows(&suite, moves, moves_are_known);
	suite_add(&suite, "a failure is of one spec", a_failure_is_of_one_spec, NULL);
	suite_add(&suite, "another spec is tried at once", another_spec_is_tried_at_once, NULL);
	suite_add(&suite, "settings are looked at after every scan",
		  settings_are_looked_at_after_every_scan, NULL);
	return suite_run(&suite, "sriov_past");
}
