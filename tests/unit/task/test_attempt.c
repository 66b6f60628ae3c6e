/* attempt: how long what a task came to matters. */
#include "agent/task/attempt.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "unit/suite.h"

static const struct attempt_object spec = { "u1", 3, 0 };
static const struct attempt_object edited = { "u1", 4, 0 };
static const struct attempt_object recreated = { "u2", 3, 0 };
static const struct attempt_object opposite = { "u1", 3, 1 };

static const struct attempt_backoff backoff = {
	.held_ms = 5000,
	.refused_ms = 30000,
	.busy_ms = 250,
	.first_ms = 1000,
	.max_ms = 50000,
};

static struct task_outcome outcome_of(enum task_result result)
{
	if (result == TASK_DONE)
		return (struct task_outcome){ .result = result, .message = xstrdup("") };
	return (struct task_outcome){ .result = result,
				      .reason = xstrdup("NumVFsFailed"),
				      .message = xstrdup("it did not work") };
}

/* One task of a second for @object that ends at @now. */
static bool run(struct attempt *attempt, const struct attempt_object *object,
		enum attempt_effect effect, enum task_result result, uint64_t now)
{
	struct task_outcome outcome = outcome_of(result);

	attempt_begin(attempt, object, effect, now - 1000);
	return attempt_end(attempt, &outcome, &backoff, now);
}

static struct retry_case {
	const char *name;
	enum task_result result;
	int times;
	uint64_t want_ms;
} retries[] = {
	{ "the first failure is repeated after a second", TASK_FAILED, 1, 1000 },
	{ "the second after two", TASK_FAILED, 2, 2000 },
	{ "the sixth after 32", TASK_FAILED, 6, 32000 },
	{ "the seventh after the longest pause", TASK_FAILED, 7, 50000 },
	{ "no pause is longer", TASK_FAILED, 400, 50000 },
	{ "what somebody holds is tried every five", TASK_HELD, 9, 5000 },
	{ "what is refused every thirty", TASK_REFUSED, 9, 30000 },
	{ "what another helper does every quarter of a second", TASK_BUSY, 9, 250 },
};

SUITE_CLOSING(attempt, struct attempt, attempt_done);

static void attempts_are_repeated(void **state)
{
	const struct retry_case *c = suite_row(state);
	struct attempt *attempt = *state;
	uint64_t hold_ms = 0;

	for (int i = 0; i < c->times; i++)
		(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, c->result, 100000);
	assert_non_null(attempt_failure(attempt, &spec, 100000, &hold_ms));
	assert_int_equal(hold_ms, c->want_ms);
	assert_non_null(attempt_failure(attempt, &spec, 100001, &hold_ms));
	assert_int_equal(hold_ms, c->want_ms - 1);
	assert_non_null(attempt_failure(attempt, &spec, 100001 + c->want_ms, &hold_ms));
	assert_int_equal(hold_ms, 0);
}

static void a_failure_is_of_one_state_of_one_object(void **state)
{
	struct attempt *attempt = *state;
	uint64_t hold_ms = 7;

	assert_null(attempt_failure(attempt, &spec, 5000, &hold_ms));
	(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_FAILED, 5000);
	assert_null(attempt_failure(attempt, &edited, 5000, &hold_ms));
	assert_null(attempt_failure(attempt, &recreated, 5000, &hold_ms));
	assert_null(attempt_failure(attempt, &opposite, 5000, &hold_ms));
	assert_int_equal(hold_ms, 7);
	assert_string_equal(attempt_failure(attempt, &spec, 5000, &hold_ms)->reason,
			    "NumVFsFailed");
	(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_DONE, 9000);
	assert_null(attempt_failure(attempt, &spec, 9000, &hold_ms));
	/* The next failure is the first again. */
	(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_FAILED, 20000);
	(void)attempt_failure(attempt, &spec, 20000, &hold_ms);
	assert_int_equal(hold_ms, 1000);
}

/* The text is there until its helper has ended; nothing has failed, and anything may have
 * changed. */
static void a_stuck_one_is_known_until_it_has_ended(void **state)
{
	struct attempt *attempt = *state;
	uint64_t hold_ms = 7;

	assert_true(run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_STUCK, 5000));
	assert_int_equal(attempt->outcome.result, TASK_STUCK);
	assert_string_equal(attempt->outcome.message, "it did not work");
	assert_null(attempt_failure(attempt, &spec, 5000, &hold_ms));
	assert_true(attempt_is_newer(attempt, 5000));
	assert_false(attempt_is_newer(attempt, 5001));
	attempt_end_unknown(attempt, 9000);
	assert_int_equal(attempt->outcome.result, TASK_NONE);
	assert_null(attempt->outcome.message);
	assert_true(attempt_is_newer(attempt, 9000));
	assert_int_equal(attempt->failures, 0);
	assert_int_equal(attempt->due_ms, 0);
}

/* Without pauses of their own, what is held or refused is repeated as a failure is. */
static void all_attempts_may_be_repeated_alike(void **state)
{
	const struct attempt_backoff growing = { .first_ms = 1000, .max_ms = 3000 };
	static const enum task_result results[] = { TASK_HELD, TASK_REFUSED, TASK_FAILED,
						    TASK_HELD };
	static const uint64_t want_ms[] = { 1000, 2000, 3000, 3000 };
	struct attempt *attempt = *state;
	uint64_t hold_ms = 0;

	for (size_t i = 0; i < ARRAY_LEN(results); i++) {
		struct task_outcome outcome = outcome_of(results[i]);

		attempt_begin(attempt, &spec, ATTEMPT_CHANGES_MANY, 5000);
		(void)attempt_end(attempt, &outcome, &growing, 6000);
		assert_non_null(attempt_failure(attempt, &spec, 6000, &hold_ms));
		assert_int_equal(hold_ms, want_ms[i]);
	}
}

/* Somebody else was at work: nothing has failed, and nothing has been done either. */
static void a_busy_one_is_no_failure(void **state)
{
	const struct attempt_backoff growing = { .first_ms = 1000, .max_ms = 9000 };
	struct attempt *attempt = *state;
	struct task_outcome outcome = outcome_of(TASK_BUSY);
	uint64_t hold_ms = 0;

	(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_FAILED, 5000);
	(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_FAILED, 5000);
	for (int i = 0; i < 3; i++)
		(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_BUSY, 9000);
	(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_FAILED, 9000);
	(void)attempt_failure(attempt, &spec, 9000, &hold_ms);
	assert_int_equal(hold_ms, 4000);
	/* Without a pause of its own it is repeated as a failure is. */
	attempt_begin(attempt, &spec, ATTEMPT_CHANGES_ONE, 9000);
	(void)attempt_end(attempt, &outcome, &growing, 9000);
	(void)attempt_failure(attempt, &spec, 9000, &hold_ms);
	assert_int_equal(hold_ms, 8000);
}

/* Who has held a device for an hour does not make the first failure after that a long one. */
static void what_has_a_pause_of_its_own_is_no_failure(void **state)
{
	static const enum task_result results[] = { TASK_HELD, TASK_REFUSED };
	struct attempt *attempt = *state;
	uint64_t hold_ms = 0;

	for (size_t i = 0; i < ARRAY_LEN(results); i++) {
		for (int j = 0; j < 9; j++)
			(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, results[i], 5000);
		(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_FAILED, 5000);
		(void)attempt_failure(attempt, &spec, 5000, &hold_ms);
		assert_int_equal(hold_ms, 1000);
	}
}

static void one_that_is_woken_begins_at_once(void **state)
{
	struct attempt *attempt = *state;
	uint64_t hold_ms = 7;

	attempt_wake(attempt); /* nothing has been tried */
	(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_FAILED, 5000);
	(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_FAILED, 5000);
	attempt_wake(attempt);
	assert_non_null(attempt_failure(attempt, &spec, 5000, &hold_ms));
	assert_int_equal(hold_ms, 0);
	/* The pauses after failures go on. */
	(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_FAILED, 5000);
	(void)attempt_failure(attempt, &spec, 5000, &hold_ms);
	assert_int_equal(hold_ms, 4000);
}

static void one_that_was_not_started_is_refused_and_changes_nothing(void **state)
{
	struct attempt *attempt = *state;
	const struct task_outcome *outcome;
	struct err err = { 0 };
	uint64_t hold_ms = 0;

	(void)err_set(&err, ERR_RETRY, -ENOENT, "start '/x'");
	attempt_begin(attempt, &spec, ATTEMPT_CHANGES_MANY, 4000);
	attempt_not_started(attempt, &spec, &backoff, &err, 5000);
	outcome = attempt_failure(attempt, &spec, 5000, &hold_ms);
	assert_int_equal(outcome->result, TASK_REFUSED);
	assert_string_equal(outcome->reason, "HelperFailed");
	assert_string_equal(outcome->message, "start '/x'");
	assert_int_equal(hold_ms, backoff.refused_ms);
	assert_null(attempt_failure(attempt, &edited, 5000, &hold_ms));
	assert_false(attempt_is_newer(attempt, 1));
}

/* Nothing is reported of the last one while the next runs. */
static void one_that_runs_has_not_failed(void **state)
{
	struct attempt *attempt = *state;
	uint64_t hold_ms = 0;

	(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_FAILED, 5000);
	attempt_begin(attempt, &spec, ATTEMPT_CHANGES_ONE, 6000);
	assert_null(attempt_failure(attempt, &spec, 6000, &hold_ms));
	attempt_end_unknown(attempt, 7000);
	assert_null(attempt_failure(attempt, &spec, 7000, &hold_ms));
	assert_true(attempt_is_newer(attempt, 7000));
	assert_false(attempt_is_newer(attempt, 7001));
}

static struct object_case {
	const char *name;
	const struct attempt_object *object;
} others[] = {
	{ "an edited spec is tried without a pause", &edited },
	{ "another object of the same name is tried without a pause", &recreated },
	{ "so is the opposite", &opposite },
};

static void others_start_over(void **state)
{
	const struct object_case *c = suite_row(state);
	struct attempt *attempt = *state;
	uint64_t hold_ms = 0;

	for (int i = 0; i < 5; i++)
		(void)run(attempt, &spec, ATTEMPT_CHANGES_ONE, TASK_FAILED, 5000);
	(void)run(attempt, c->object, ATTEMPT_CHANGES_ONE, TASK_FAILED, 7000);
	(void)attempt_failure(attempt, c->object, 7000, &hold_ms);
	assert_int_equal(hold_ms, 1000);
}

static struct change_case {
	const char *name;
	enum task_result result;
	enum attempt_effect effect;
	bool newer;
} changed[] = {
	{ "what was changed is seen by a later scan only", TASK_DONE, ATTEMPT_CHANGES_ONE, true },
	{ "what changes nothing that scans show leaves them true", TASK_DONE,
	  ATTEMPT_CHANGES_NOTHING, false },
	{ "a failure that changes nothing does, too", TASK_FAILED, ATTEMPT_CHANGES_NOTHING, false },
	{ "one that failed may have changed something", TASK_FAILED, ATTEMPT_CHANGES_ONE, true },
	{ "one that was refused has not", TASK_REFUSED, ATTEMPT_CHANGES_ONE, false },
	{ "one that found a holder has not", TASK_HELD, ATTEMPT_CHANGES_ONE, false },
	{ "nor has one that found another helper", TASK_BUSY, ATTEMPT_CHANGES_ONE, false },
	{ "of several devices, all may be changed", TASK_DONE, ATTEMPT_CHANGES_MANY, true },
	{ "of several devices, one may fail after another was changed", TASK_FAILED,
	  ATTEMPT_CHANGES_MANY, true },
	{ "or be refused", TASK_REFUSED, ATTEMPT_CHANGES_MANY, true },
	{ "or be held", TASK_HELD, ATTEMPT_CHANGES_MANY, true },
};

static void scans_before_a_change_are_old(void **state)
{
	const struct change_case *c = suite_row(state);
	struct attempt *attempt = *state;

	assert_false(attempt_is_newer(attempt, 0));
	assert_int_equal(run(attempt, &spec, c->effect, c->result, 5000), c->newer);
	assert_int_equal(attempt_is_newer(attempt, 5000), c->newer);
	assert_false(attempt_is_newer(attempt, 5001));
}

static void what_was_done_is_done_until_the_next_scan(void **state)
{
	struct attempt *attempt = *state;

	assert_false(attempt_is_done(attempt, &spec, 0));
	(void)run(attempt, &spec, ATTEMPT_CHANGES_NOTHING, TASK_DONE, 5000); /* from 4000 */
	assert_true(attempt_is_done(attempt, &spec, 4000));
	assert_false(attempt_is_done(attempt, &spec, 4001));
	assert_false(attempt_is_done(attempt, &edited, 4000));
	assert_false(attempt_is_done(attempt, &recreated, 4000));
}

/* The one before was done, and no scan has begun since. */
static void what_was_done_for_another_spec_is_not_done_for_this(void **state)
{
	struct attempt *attempt = *state;

	(void)run(attempt, &spec, ATTEMPT_CHANGES_NOTHING, TASK_DONE, 5000);
	(void)run(attempt, &edited, ATTEMPT_CHANGES_NOTHING, TASK_FAILED, 7000);
	assert_false(attempt_is_done(attempt, &edited, 4000));
	(void)run(attempt, &edited, ATTEMPT_CHANGES_NOTHING, TASK_DONE, 9000);
	assert_true(attempt_is_done(attempt, &edited, 4000));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &attempt_fixture);
	suite_rows(&suite, retries, attempts_are_repeated);
	suite_rows(&suite, others, others_start_over);
	suite_rows(&suite, changed, scans_before_a_change_are_old);
	suite_add(&suite, "a stuck one is known until it has ended",
		  a_stuck_one_is_known_until_it_has_ended, NULL);
	suite_add(&suite, "a failure is of one state of one object",
		  a_failure_is_of_one_state_of_one_object, NULL);
	suite_add(&suite, "all attempts may be repeated alike", all_attempts_may_be_repeated_alike,
		  NULL);
	suite_add(&suite, "a busy one is no failure", a_busy_one_is_no_failure, NULL);
	suite_add(&suite, "what has a pause of its own is no failure",
		  what_has_a_pause_of_its_own_is_no_failure, NULL);
	suite_add(&suite, "one that is woken begins at once", one_that_is_woken_begins_at_once,
		  NULL);
	suite_add(&suite, "one that was not started is refused, and changes nothing",
		  one_that_was_not_started_is_refused_and_changes_nothing, NULL);
	suite_add(&suite, "one that runs has not failed", one_that_runs_has_not_failed, NULL);
	suite_add(&suite, "what was done is done until the next scan",
		  what_was_done_is_done_until_the_next_scan, NULL);
	suite_add(&suite, "what was done for another spec is not done for this",
		  what_was_done_for_another_spec_is_not_done_for_this, NULL);
	return suite_run(&suite, "attempt");
}
