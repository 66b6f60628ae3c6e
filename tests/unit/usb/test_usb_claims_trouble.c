/* usb_claims: a USBDeviceClaim whose requests fail, or come too late. */
#include "agent/usb/usb_claims.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/usb/usb_claims_bench.h"

/* Its finalizer goes only when the write that takes it off has been made. */
static void a_conflict_at_the_release_is_tried_again(void **state)
{
	struct bench *b = *state;

	bench_delete(b);
	assert_true(bench_serve_one(b));
	fake_task_end(TASK_DONE, NULL);
	assert_true(bench_asks(b));
	fake_server_write(b->server, STICK, "{'spec':{'userName':'root'}}");
	assert_true(bench_serve_one(b));
	assert_non_null(fake_server_get(b->server, STICK));
	assert_events(b, "");
	fake_clock_advance(b->clock, 60000);
	bench_serve(b);
	assert_gone(b);
	assert_int_equal(fake_task.starts, 1);
	assert_events(b, "Normal Released of the device|Normal Released|");
}

/* It was deleted before the answer of its write came. */
static void a_claim_that_vanishes_is_forgotten(void **state)
{
	struct bench *b = *state;

	bench_list_all(b);
	bench_look(b, "1-2=5:A");
	bench_create(b);
	assert_true(bench_asks(b));
	fake_server_delete(b->server, STICK);
	assert_true(bench_serve_one(b));
	fake_clock_advance(b->clock, 600000);
	assert_false(bench_asks(b));
}

static void the_end_in_the_middle_of_a_write_leaves_nothing(void **state)
{
	struct bench *b = *state;

	bench_list_all(b);
	bench_look(b, "1-2=5:A");
	bench_create(b);
	assert_true(bench_asks(b));
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_fixture(&suite, &ready_fixture);
	suite_add(&suite, "harvester-api 2.5: a conflict at the release is tried again",
		  a_conflict_at_the_release_is_tried_again, NULL);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a claim that vanishes is forgotten", a_claim_that_vanishes_is_forgotten,
		  NULL);
	suite_add(&suite, "the end in the middle of a write leaves nothing",
		  the_end_in_the_middle_of_a_write_leaves_nothing, NULL);
	return suite_run(&suite, "usb_claims_trouble");
}
