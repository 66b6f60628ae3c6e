/* usb_claims: a USBDeviceClaim whose requests fail, or come too late. */
#include "agent/usb/usb_claims.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/usb/usb_claims_bench.h"

static void somebody_writes(struct bench *b)
{
	json_object_set_new(b->claim, "spec", object_json("{'userName':'root'}"));
	bench_watch_event(b, "MODIFIED");
}

/* Its finalizer goes only when the write that takes it off has been made. */
static void a_conflict_at_the_release_is_tried_again(void **state)
{
	struct bench *b = *state;
	auto_free char *path = NULL;

	bench_delete(b);
	assert_true(bench_serve_one(b));
	fake_task_end(TASK_DONE, NULL);
	path = bench_next(b);
	assert_non_null(path);
	somebody_writes(b);
	fake_client_choose(b->client, path);
	fake_client_answer(b->client, 409, "{\"kind\":\"Status\"}");
	bench_settle(b);
	assert_non_null(b->claim);
	assert_events(b, "");
	fake_clock_advance(b->clock, 60000);
	bench_serve(b);
	assert_null(b->claim);
	assert_int_equal(fake_task.starts, 1);
	assert_events(b, "Normal Released of the device|Normal Released|");
}

static struct failure_case {
	const char *name;
	int status; /* < 0: no answer */
	const char *body;
} failures[] = {
	/* clang-format off */
	{ "a server in trouble", 500, "{\"kind\":\"Status\"}" },
	{ "too many requests", 429, "{\"kind\":\"Status\"}" },
	{ "no answer", -EIO, NULL },
	{ "an answer that is no claim", 200, "{}" },
	{ "an answer that is no JSON", 200, "<html>" },
	{ "a path that is not served says nothing of the claim", 404, "{\"kind\":\"Status\"}" },
	/* clang-format on */
};

/* At each request of the life, once. */
static void a_failure_is_outlived(void **state)
{
	const struct failure_case *row = *state;

	for (int at = 0; at < 4; at++) {
		struct bench b;
		int served = 0;

		bench_open(&b);
		bench_list_all(&b);
		bench_look(&b, "1-2=5:A");
		bench_create(&b);
		for (int i = 0; b.claim && i < 100; i++) {
			auto_free char *path = served == at ? bench_next(&b) : NULL;

			if (path && row->status < 0)
				fake_client_fail(b.client, row->status);
			else if (path)
				fake_client_answer(b.client, row->status, row->body);
			else if (!bench_serve_one(&b) &&
				 !object_meta_text(b.claim, "deletionTimestamp") &&
				 strstr(str_cstr(&b.log), TELL))
				bench_delete(&b);
			served = (int)(path ? 100 : served + 1);
			bench_settle(&b);
			if (fake_task.runs)
				fake_task_end(TASK_DONE, NULL);
			fake_clock_advance(b.clock, 60000);
		}
		assert_null(b.claim);
		bench_close(&b);
	}
}

/* It was deleted before the answer of its write came. */
static void a_claim_that_vanishes_is_forgotten(void **state)
{
	struct bench *b = *state;
	auto_free char *path = NULL;

	bench_list_all(b);
	bench_look(b, "1-2=5:A");
	bench_create(b);
	path = bench_next(b);
	assert_non_null(path);
	bench_watch_event(b, "DELETED");
	fake_client_choose(b->client, path);
	fake_client_answer(b->client, 404,
			   "{\"kind\":\"Status\",\"details\":{\"name\":\"" STICK "\"}}");
	bench_settle(b);
	fake_clock_advance(b->clock, 600000);
	assert_null(bench_next(b));
}

static void the_end_in_the_middle_of_a_write_leaves_nothing(void **state)
{
	struct bench *b = *state;
	auto_free char *path = NULL;

	bench_list_all(b);
	bench_look(b, "1-2=5:A");
	bench_create(b);
	path = bench_next(b);
	assert_non_null(path);
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_rows(&suite, failures, a_failure_is_outlived);
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
