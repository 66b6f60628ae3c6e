/* sriov: a card's object, and the number of its virtual functions, made by helpers that may fail. */
#include "agent/sriov/sriov.h"

#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/sriov/sriov_bench.h"

static void a_card_gets_an_object_and_then_nothing_is_written(void **state)
{
	struct bench *b = *state;

	bench_begin(b, NULL, none);
	assert_string_equal(str_cstr(&b->log), "POST PATCH status ");
	assert_ready(b, "True AsFound");
	for (int i = 0; i < 3; i++)
		bench_look(b, none);
	fake_clock_advance(b->clock, A_MINUTE);
	bench_settle(b);
	assert_int_equal(b->writes, 2);
	assert_int_equal(fake.starts, 0);
}

static void an_object_without_the_label_is_taken_up(void **state)
{
	struct bench *b = *state;

	b->object = scene_json(OBJECT_OF(NAME, "", "'numVFs':0", ""));
	b->hidden = true;
	bench_list(b, CARDS_PATH, "");
	bench_list(b, CLAIMS_PATH, "");
	bench_look(b, none);
	bench_settle(b);
	assert_string_equal(str_cstr(&b->log), "POST GET PATCH PATCH status ");
	assert_ready(b, "True Ready");
}

static void a_number_is_made_and_told_when_a_scan_has_seen_it(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("0"), none);
	bench_edit(b, "{'numVFs':2}");
	bench_settle(b);
	assert_true(fake.runs);
	assert_string_equal(str_cstr(&fake.words), JOB " count=2 autoprobe=0");
	assert_ready(b, "False Applying");
	bench_end_helper(b, (struct sriov_outcome){ .done = true });
	assert_int_equal(b->moves, 1);
	assert_ready(b, "False Applying");
	bench_look(b, two);
	bench_settle(b);
	assert_ready(b, "True Ready");
	assert_int_equal(fake.starts, 1);
	assert_string_equal(str_cstr(&b->events.said), "Applied ");
}

static void a_failure_is_told_and_tried_again(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("0"), none);
	bench_edit(b, "{'numVFs':2}");
	bench_settle(b);
	bench_fail_helper(b, "NumVFsFailed");
	bench_look(b, none);
	bench_settle(b);
	assert_ready(b, "False NumVFsFailed");
	assert_int_equal(fake.starts, 1);
	fake_clock_advance(b->clock, 1000);
	bench_settle(b);
	assert_int_equal(fake.starts, 2);
	bench_fail_helper(b, "NumVFsFailed");
	bench_look(b, none);
	fake_clock_advance(b->clock, 1900);
	assert_int_equal(fake.starts, 2);
	fake_clock_advance(b->clock, 200);
	bench_settle(b);
	assert_int_equal(fake.starts, 3);
	assert_string_equal(str_cstr(&b->events.said), "!NumVFsFailed ");
}

static void a_helper_that_cannot_be_started_is_told(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("0"), none);
	fake.refuses = true;
	bench_edit(b, "{'numVFs':2}");
	bench_settle(b);
	assert_ready(b, "False HelperFailed");
	fake.refuses = false;
	fake_clock_advance(b->clock, 30000);
	bench_settle(b);
	assert_int_equal(fake.starts, 1);
}

static void nothing_else_is_tried_while_the_helper_is_stuck(void **state)
{
	struct bench *b = *state;
	int writes;

	bench_begin(b, OBJECT_SEEN("0"), none);
	bench_edit(b, "{'numVFs':2}");
	bench_settle(b);
	fake.helper.spec.on_end(fake.helper.spec.arg, NULL);
	bench_settle(b);
	assert_ready(b, "False Stuck");
	writes = b->writes;
	for (int i = 0; i < 3; i++)
		bench_look(b, none);
	fake_clock_advance(b->clock, A_MINUTE);
	bench_settle(b);
	assert_int_equal(b->writes, writes);
	assert_int_equal(fake.starts, 1);

	fake.runs = false;
	fake.helper.spec.on_gone(fake.helper.spec.arg);
	assert_int_equal(b->moves, 1);
	bench_look(b, two);
	bench_settle(b);
	assert_ready(b, "True Ready");
}

static void a_helper_under_way_is_left_to_end_by_itself(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("2"), none);
	assert_true(fake.runs);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a card gets an object, and then nothing is written",
		  a_card_gets_an_object_and_then_nothing_is_written, NULL);
	suite_add(&suite, "a number is made, and told when a scan has seen it",
		  a_number_is_made_and_told_when_a_scan_has_seen_it, NULL);
	suite_add(&suite, "a failure is told and tried again", a_failure_is_told_and_tried_again,
		  NULL);
	suite_add(&suite, "a helper that cannot be started is told",
		  a_helper_that_cannot_be_started_is_told, NULL);
	suite_add(&suite, "nothing else is tried while the helper is stuck",
		  nothing_else_is_tried_while_the_helper_is_stuck, NULL);
	suite_add(&suite, "a helper under way is left to end by itself",
		  a_helper_under_way_is_left_to_end_by_itself, NULL);
	suite_add(&suite, "an object without the label is taken up",
		  an_object_without_the_label_is_taken_up, NULL);
	return suite_run(&suite, "sriov");
}
