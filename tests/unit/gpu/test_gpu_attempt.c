#include "agent/gpu/gpu_attempt.h"

#include <string.h>

#include "base/mem.h"
#include "unit/suite.h"

#define KEY "v/node1-000008004"

static const struct gpu_act set = { .verb = GPU_SET_TYPE, .address = "0000:08:00.4", .type = "1" };
static const struct gpu_act create = { .verb = GPU_MIG_CREATE, .address = "0000:08:00.0" };

static void end(struct gpu_attempts *attempts, bool failed, bool busy, uint64_t now_ms)
{
	struct gpu_outcome outcome = { .failed = failed, .busy = busy };

	if (failed) {
		outcome.reason = xstrdup("WriteFailed");
		outcome.message = xstrdup("no");
	}
	gpu_attempts_end(attempts, KEY, &outcome, now_ms);
	gpu_outcome_done(&outcome);
}

static struct gpu_past past(const struct gpu_attempts *attempts, int64_t generation,
			    uint64_t facts_ms, uint64_t now_ms)
{
	struct gpu_past seen;

	gpu_attempts_last(attempts, KEY, generation, facts_ms, now_ms, &seen);
	return seen;
}

SUITE_OBJECT(gpu_attempts, gpu_attempts_new(), gpu_attempts_free);

static void an_act_counts_until_a_newer_scan(void **state)
{
	struct gpu_attempts *attempts = *state;

	assert_null(past(attempts, 1, 0, 0).act);
	gpu_attempts_begin(attempts, KEY, 1, &set);
	assert_true(past(attempts, 1, 500, 600).newer);
	end(attempts, false, false, 1000);
	assert_true(past(attempts, 1, 500, 1100).newer);
	assert_true(past(attempts, 1, 1000, 1100).newer);
	assert_false(past(attempts, 1, 1001, 1100).newer);
	assert_false(past(attempts, 1, 1001, 1100).failed);
}

/* What nvidia-smi does no scan shows. */
static void an_act_of_nvidia_smi_ends_with_itself(void **state)
{
	struct gpu_attempts *attempts = *state;

	gpu_attempts_begin(attempts, KEY, 1, &create);
	assert_true(past(attempts, 1, 500, 600).newer);
	end(attempts, false, false, 1000);
	assert_false(past(attempts, 1, 500, 1100).newer);
}

static void failures_are_spaced(void **state)
{
	static const uint64_t pauses[] = { 5000,   10000,  20000,  40000, 80000,
					   160000, 320000, 640000, 640000 };
	struct gpu_attempts *attempts = *state;
	uint64_t now = 1000;

	for (size_t i = 0; i < ARRAY_LEN(pauses); i++) {
		gpu_attempts_begin(attempts, KEY, 1, &set);
		end(attempts, true, false, now);
		assert_int_equal(past(attempts, 1, now + 1, now).wait_ms, pauses[i]);
		assert_true(gpu_past_holds(
			&(struct gpu_past){ .act = &set, .failed = true, .wait_ms = 1 }, &set));
		now += pauses[i];
		assert_int_equal(past(attempts, 1, now, now).wait_ms, 0);
	}
	/* Another act is not what failed. */
	assert_false(gpu_past_holds(&(struct gpu_past){ .act = &set, .failed = true, .wait_ms = 1 },
				    &create));
}

static void another_spec_waits_for_nothing(void **state)
{
	struct gpu_attempts *attempts = *state;

	gpu_attempts_begin(attempts, KEY, 1, &set);
	end(attempts, true, false, 1000);
	assert_int_not_equal(past(attempts, 1, 1001, 1100).wait_ms, 0);
	assert_int_equal(past(attempts, 2, 1001, 1100).wait_ms, 0);
}

static void who_is_in_the_way_is_asked_soon_again(void **state)
{
	struct gpu_attempts *attempts = *state;

	for (int i = 0; i < 9; i++) {
		gpu_attempts_begin(attempts, KEY, 1, &set);
		end(attempts, true, true, 1000);
		assert_int_equal(past(attempts, 1, 1001, 1000).wait_ms, 5000);
	}
}

static void what_is_under_way_is_not_forgotten(void **state)
{
	struct gpu_attempts *attempts = *state;

	gpu_attempts_begin(attempts, KEY, 1, &set);
	gpu_attempts_forget(attempts, KEY);
	assert_non_null(past(attempts, 1, 0, 0).act);
	end(attempts, false, false, 10);
	gpu_attempts_forget(attempts, KEY);
	assert_null(past(attempts, 1, 0, 0).act);
}

static void answers_grow_old(void **state)
{
	struct gpu_attempts *attempts = *state;
	struct mig_look look = { .known = true, .mode = SMI_MODE_NONE };
	struct gpu_outcome failed = { .failed = true,
				      .reason = xstrdup("ToolMissing"),
				      .message = xstrdup("no") };
	struct gpu_said said;

	gpu_attempts_look(attempts, "a", 0, 100, &said);
	assert_null(said.look);
	assert_null(said.trouble);
	gpu_attempts_keep_look(attempts, "a", &look, NULL, 1000);
	gpu_attempts_look(attempts, "a", 1099, 100, &said);
	assert_non_null(said.look);
	gpu_attempts_look(attempts, "a", 1100, 100, &said);
	assert_null(said.look);
	gpu_attempts_keep_look(attempts, "a", NULL, &failed, 2000);
	gpu_attempts_look(attempts, "a", 2000, 100, &said);
	assert_null(said.look);
	assert_string_equal(said.reason, "ToolMissing");
	gpu_attempts_change_card(attempts, "a", 2100);
	gpu_attempts_look(attempts, "a", 2000, 100, &said);
	assert_null(said.reason);
	gpu_outcome_done(&failed);
}

static void what_was_scanned_before_a_task_ended_is_outdated(void **state)
{
	struct gpu_attempts *attempts = *state;
	struct mig_look look = { .known = true, .mode = SMI_MODE_NONE };
	struct gpu_said said;

	assert_false(gpu_attempts_is_outdated(attempts, "a", 1000));
	gpu_attempts_keep_look(attempts, "a", &look, NULL, 1000);
	assert_false(gpu_attempts_is_outdated(attempts, "a", 0));
	gpu_attempts_change_card(attempts, "a", 2000);
	assert_true(gpu_attempts_is_outdated(attempts, "a", 2000));
	assert_false(gpu_attempts_is_outdated(attempts, "a", 2001));
	assert_false(gpu_attempts_is_outdated(attempts, "b", 1000));
	/* What no scan shows leaves it as it is, and nvidia-smi is asked again. */
	gpu_attempts_keep_look(attempts, "a", &look, NULL, 2500);
	gpu_attempts_change_card(attempts, "a", 0);
	assert_false(gpu_attempts_is_outdated(attempts, "a", 2001));
	assert_true(gpu_attempts_is_outdated(attempts, "a", 1999));
	gpu_attempts_look(attempts, "a", 2500, 100, &said);
	assert_null(said.look);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &gpu_attempts_fixture);
	suite_add(&suite, "an act counts until a newer scan", an_act_counts_until_a_newer_scan,
		  NULL);
	suite_add(&suite, "an act of nvidia-smi ends with itself",
		  an_act_of_nvidia_smi_ends_with_itself, NULL);
	suite_add(&suite, "failures are spaced", failures_are_spaced, NULL);
	suite_add(&suite, "another spec waits for nothing", another_spec_waits_for_nothing, NULL);
	suite_add(&suite, "who is in the way is asked soon again",
		  who_is_in_the_way_is_asked_soon_again, NULL);
	suite_add(&suite, "what is under way is not forgotten", what_is_under_way_is_not_forgotten,
		  NULL);
	suite_add(&suite, "what was scanned before a task ended is outdated",
		  what_was_scanned_before_a_task_ended_is_outdated, NULL);
	suite_add(&suite, "answers grow old", answers_grow_old, NULL);
	return suite_run(&suite, "gpu_attempt");
}
