/* claims: what goes wrong in the life of a claim: requests, helpers, holders, deletions in
 * between. */
#include "agent/claim/claims.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "unit/agent/claims_nic.h"

#define EDIT "{'metadata':{'labels':{'a':'b'}}}"

/* Somebody edits between our look and our write. */
static void a_conflict_waits_for_the_newer_claim(void **state)
{
	struct bench *b = *state;

	bench_create(b, NAME, CLAIM);
	bench_lag(b);
	fake_server_write(b->server, NAME, EDIT);
	bench_serve_one(b);
	bench_logged(b, "PATCH " NAME "\n");
	bench_advance(b, 2000);
	assert_int_equal(bench_asking(b), 0);
	bench_catch_up(b);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
}

static void a_watch_that_stays_behind_is_believed_again(void **state)
{
	struct bench *b = *state;

	bench_create(b, NAME, CLAIM);
	bench_lag(b);
	fake_server_write(b->server, NAME, EDIT);
	bench_serve_one(b);
	bench_advance(b, 2900);
	assert_int_equal(bench_asking(b), 0);
	bench_advance(b, 200);
	assert_int_equal(bench_asking(b), 1);
}

static void a_claim_deleted_before_the_mark_leaves_nothing(void **state)
{
	struct bench *b = *state;

	bench_create(b, NAME, CLAIM);
	assert_int_equal(bench_asking(b), 1);
	bench_delete(b, NAME);
	bench_serve_one(b);
	bench_advance(b, 10000);
	assert_int_equal(bench_asking(b), 0);
	assert_int_equal(fake.binder->started, 0);
}

static void a_claim_deleted_while_it_is_bound_is_given_back(void **state)
{
	struct bench *b = *state;

	bench_delete(b, NAME);
	assert_int_equal(bench_asking(b), 0);
	bench_end(b, BOUND);
	bench_serve(b);
	bench_advance(b, 100);
	bench_serve(b);
	bench_look(b, bound_nic);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text, RETURN);
	bench_end(b, RETURNED);
	bench_serve(b);
	bench_has_none(b);
}

static void a_held_device_waits_for_its_holder(void **state)
{
	struct bench *b = *state;

	bench_end(b, HELD);
	bench_serve(b);
	bench_logged(b, "PATCH " NAME "/status\n");
	bench_has(b, NAME, "\"holder\":\"process 123 (qemu)\"");
	bench_said(b, "Warning Held of the device\nWarning Held\n");
	assert_non_null(fake.watch);
	assert_int_equal(fake.watch->pid, 123);
	bench_advance(b, 4000);
	assert_int_equal(bench_asking(b) + fake.binder->jobs.len, 0);
	fake.watch->fn(fake.watch->arg);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
	bench_end(b, RETURNED);
	bench_serve(b);
	bench_has_none(b);
}

/* A process of another pid namespace looks ended at once: no watch on it a second time. */
static void a_holder_that_stays_is_looked_for_every_5_s(void **state)
{
	struct bench *b = *state;

	bench_end(b, HELD);
	bench_serve(b);
	fake.watch->fn(fake.watch->arg);
	bench_serve(b);
	str_clear(&b->log);
	for (int i = 0; i < 3; i++) {
		bench_end(b, HELD);
		assert_int_equal(bench_asking(b), 0);
		bench_advance(b, 4900);
		assert_int_equal(bench_asking(b), 0);
		bench_advance(b, 200);
		bench_serve(b);
		bench_logged(b, "GET " NAME "\n");
		assert_int_equal(fake.binder->jobs.len, 1);
	}
	assert_int_equal(fake.watches, 1);
	bench_said(b, "Warning Held of the device\nWarning Held\n");
}

static void a_failure_is_told_once_and_tried_again_with_backoff(void **state)
{
	struct bench *b = *state;
	uint64_t hold_ms = 1000;

	for (int i = 0; i < 4; i++) {
		bench_end(b, OUTCOME(TASK_FAILED, "UnbindFailed"));
		bench_serve(b);
		bench_has(b, NAME, "\"reason\":\"UnbindFailed\"");
		bench_look(b, free_nic);
		bench_advance(b, hold_ms - 100);
		assert_int_equal(bench_asking(b) + fake.binder->jobs.len, 0);
		bench_advance(b, 200);
		bench_serve(b);
		assert_int_equal(fake.binder->jobs.len, 1);
		hold_ms *= 2;
	}
	bench_said(b, "Warning UnbindFailed of the device\nWarning UnbindFailed\n");
	bench_end(b, BOUND);
	bench_serve(b);
	bench_has(b, NAME, "\"passthroughEnabled\":true");
}

static void a_refusal_waits_for_a_change(void **state)
{
	static const char *const other_driver[] = { NIC("igb"), NULL };
	struct bench *b = *state;

	bench_end(b, OUTCOME(TASK_REFUSED, "OverrideOwned"));
	bench_serve(b);
	bench_has(b, NAME, "\"reason\":\"OverrideOwned\"");
	bench_look(b, free_nic);
	bench_look(b, free_nic);
	bench_advance(b, 20000);
	assert_int_equal(bench_asking(b) + fake.binder->jobs.len, 0);
	bench_look(b, other_driver);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
}

/* The first scan after the refusal shows it. */
static void a_change_during_a_try_is_seen(void **state)
{
	static const char *const other_driver[] = { NIC("igb"), NULL };
	struct bench *b = *state;

	bench_end(b, OUTCOME(TASK_REFUSED, "OverrideOwned"));
	bench_serve(b);
	bench_look(b, other_driver);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
}

/* What the first scan after it shows is the helper's own doing. */
static void a_failure_waits_whatever_the_first_scan_shows(void **state)
{
	static const char *const other_driver[] = { NIC("igb"), NULL };
	struct bench *b = *state;

	bench_end(b, OUTCOME(TASK_FAILED, "UnbindFailed"));
	bench_serve(b);
	bench_look(b, other_driver);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 0);
}

static void a_refusal_is_tried_again_after_30_s(void **state)
{
	struct bench *b = *state;

	bench_end(b, OUTCOME(TASK_REFUSED, "OverrideOwned"));
	bench_serve(b);
	bench_advance(b, 29000);
	assert_int_equal(bench_asking(b) + fake.binder->jobs.len, 0);
	bench_advance(b, 2000);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
}

static const char *const used[] = { NIC("e1000e"),
				    "{\"kind\":\"use\",\"pci\":\"0000:01:00.0\","
				    "\"reason\":\"InterfaceUp\",\"detail\":\"eth1\"}",
				    NULL };

/* Nothing is bound @early_ms from now, and it is @late_ms from now. */
static void bench_binds_between(struct bench *b, uint64_t early_ms, uint64_t late_ms)
{
	bench_advance(b, early_ms);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 0);
	bench_advance(b, late_ms - early_ms);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
	bench_end(b, BOUND);
	bench_serve(b);
}

/* Its interface has no address for 20 ms, again and again. */
static void what_ends_for_a_moment_is_not_taken(void **state)
{
	struct bench *b = *state;

	bench_look(b, used);
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	bench_has(b, NAME, "\"reason\":\"InUse\"");
	for (int i = 0; i < 20; i++) {
		bench_look(b, free_nic);
		bench_serve(b);
		bench_advance(b, i < 10 ? 20 : 4900);
		bench_serve(b);
		bench_look(b, used);
		bench_serve(b);
	}
	assert_int_equal(b->writes, 1);
	assert_int_equal(fake.binder->started, 0);
	bench_look(b, free_nic);
	bench_binds_between(b, 4900, 5100);
}

/* No scan runs while nothing changes: when the use ended is not known. */
static void the_end_of_a_long_use_is_waited_for_too(void **state)
{
	struct bench *b = *state;

	bench_look(b, used);
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	bench_advance(b, 60000);
	bench_serve(b);
	bench_look(b, free_nic);
	bench_binds_between(b, 4900, 5100);
}

/* A claim that is made while the device is free for a moment waits as one that was made before. */
static void a_new_claim_waits_too(void **state)
{
	struct bench *b = *state;

	bench_look(b, used);
	bench_look(b, free_nic);
	bench_advance(b, 100);
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	bench_binds_between(b, 4700, 5100);
}

/* It does not know for how long the device has been free. */
static void an_agent_that_begins_waits_too(void **state)
{
	static const char refused[] =
		"{'conditions':[{'type':'Ready','status':'False','reason':'InUse'}]}";
	struct bench *b = *state;

	bench_advance(b, 60000);
	bench_create(b, NAME, CLAIM);
	fake_server_write_status(b->server, NAME, refused);
	bench_list(b, DEVICE);
	bench_look(b, free_nic);
	bench_binds_between(b, 4900, 5100);
}

static void a_busy_group_is_tried_again_soon(void **state)
{
	struct bench *b = *state;

	bench_end(b, OUTCOME(TASK_BUSY, "Busy"));
	bench_serve(b);
	bench_advance(b, 200);
	assert_int_equal(bench_asking(b) + fake.binder->jobs.len, 0);
	bench_advance(b, 100);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
}

/* A slow helper is reported with its step, and ends as usual. */
static void a_helper_that_takes_long_is_waited_for(void **state)
{
	struct bench *b = *state;

	fake_binder_late();
	bench_serve(b);
	bench_has(b, NAME, "\"step\":\"Unbind\"");
	bench_has(b, NAME, "takes longer than usual");
	bench_has(b, NAME, "\"reason\":\"Binding\"");
	fake_binder_late();
	assert_int_equal(bench_asking(b), 0);
	bench_end(b, BOUND);
	bench_serve(b);
	bench_has(b, NAME, "\"reason\":\"Ready\"");
	assert_int_equal(fake.binder->started, 1);
}

static void a_helper_that_ends_while_that_is_told_has_ended(void **state)
{
	struct bench *b = *state;

	fake_binder_late();
	assert_int_equal(bench_asking(b), 1);
	bench_end(b, BOUND);
	assert_int_equal(bench_asking(b), 1);
	bench_serve(b);
	bench_has(b, NAME, "\"reason\":\"Ready\"");
	assert_int_equal(fake.binder->started, 1);
}

static void claims_can_be_freed_while_that_is_told(void **state)
{
	struct bench *b = *state;

	fake_binder_late();
	assert_int_equal(bench_asking(b), 1);
}

static void a_stuck_helper_is_waited_for(void **state)
{
	struct bench *b = *state;

	bench_end(b, OUTCOME(TASK_STUCK, "Stuck"));
	bench_serve(b);
	bench_has(b, NAME, "\"reason\":\"Stuck\"");
	bench_said(b, "Warning Stuck of the device\nWarning Stuck\n");
	bench_look(b, free_nic);
	bench_advance(b, 3600000);
	bench_look(b, free_nic);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
	fake_binder_unstick();
	bench_advance(b, 10);
	assert_int_equal(bench_asking(b) + fake.binder->jobs.len, 0);
	bench_look(b, free_nic);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 2);
}

/* A path that is not served says nothing of the claim. */
static void a_kind_that_is_gone_releases_nothing(void **state)
{
	struct bench *b = *state;

	bench_list(b, DEVICE);
	bench_look(b, bound_nic);
	bench_serve_with(b, FAULT_NOT_SERVED);
	assert_int_equal(fake.binder->started, 0);
	bench_advance(b, 60000);
	assert_int_equal(bench_asking(b), 1);
}

/* However far it is, the end of the agent leaves nothing behind. */
static void the_agent_may_end_at_any_time(void **state)
{
	struct bench b;

	open_free(&b);
	bench_create(&b, NAME, CLAIM);
	assert_int_equal(bench_asking(&b), 1);
	bench_close(&b);
	open_binding(&b);
	bench_close(&b);
	open_releasing(&b);
	bench_end(&b, HELD);
	bench_serve(&b);
	bench_close(&b);
}

static void an_edit_ends_the_wait_after_a_failure(void **state)
{
	struct bench *b = *state;

	bench_end(b, OUTCOME(TASK_REFUSED, "OverrideOwned"));
	bench_serve(b);
	bench_look(b, free_nic);
	fake_server_write(b->server, NAME, "{'spec':{'userName':'root'}}");
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
}

static void a_claim_that_failed_can_be_deleted_at_once(void **state)
{
	struct bench *b = *state;

	bench_end(b, OUTCOME(TASK_FAILED, "UnbindFailed"));
	bench_serve(b);
	bench_look(b, free_nic);
	bench_delete(b, NAME);
	bench_serve(b);
	bench_has_none(b);
	assert_int_equal(fake.binder->started, 1);
}

static void a_stuck_claim_that_is_deleted_waits_for_the_helper(void **state)
{
	struct bench *b = *state;

	bench_end(b, OUTCOME(TASK_STUCK, "Stuck"));
	bench_serve(b);
	bench_look(b, bound_nic);
	bench_delete(b, NAME);
	bench_serve(b);
	bench_advance(b, 600000);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
	fake_binder_unstick();
	bench_look(b, bound_nic);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 2);
	assert_string_equal(fake.binder->jobs.items[0]->text, RETURN);
	bench_end(b, RETURNED);
	bench_serve(b);
	bench_has_none(b);
}

/* Its helper runs before its first record, so nothing shows that it may yet bind the device. */
static void a_claim_deleted_under_a_helper_without_a_record_stays(void **state)
{
	struct bench *b = *state;

	bench_end(b, OUTCOME(TASK_STUCK, "Stuck"));
	bench_serve(b);
	bench_look(b, free_nic);
	assert_false(fake.binder->jobs.items[0]->cancelled);
	bench_delete(b, NAME);
	bench_serve(b);
	assert_true(fake.binder->jobs.items[0]->cancelled);
	bench_look(b, free_nic);
	bench_advance(b, 600000);
	bench_serve(b);
	assert_int_equal(fake_server_count(b->server), 1);
	fake_binder_unstick();
	bench_serve(b);
	assert_int_equal(fake_server_count(b->server), 1);
	bench_look(b, bound_nic);
	bench_serve(b);
	assert_string_equal(fake.binder->jobs.items[0]->text, RETURN);
	bench_end(b, RETURNED);
	bench_serve(b);
	bench_has_none(b);
}

/* A pod has lost its device, whose number would be this one's. */
static void a_number_that_becomes_free_cancels_the_bind(void **state)
{
	struct bench *b = *state;

	assert_false(fake.binder->jobs.items[0]->cancelled);
	bench_look(b, free_nic);
	bench_serve(b);
	assert_false(fake.binder->jobs.items[0]->cancelled);
	b->bind_trouble = "a pod may still open it";
	bench_look(b, free_nic);
	bench_serve(b);
	assert_true(fake.binder->jobs.items[0]->cancelled);
}

static void a_deleted_claim_cancels_its_bind(void **state)
{
	struct bench *b = *state;

	bench_look(b, free_nic);
	assert_false(fake.binder->jobs.items[0]->cancelled);
	bench_delete(b, NAME);
	assert_true(fake.binder->jobs.items[0]->cancelled);
	bench_end(b, OUTCOME(TASK_BUSY, "ClaimDeleted"));
	bench_look(b, free_nic);
	bench_serve(b);
	bench_has_none(b);
	assert_int_equal(fake.binder->started, 1);
}

/* clang-format off */
static struct claims_case {
	const char *name;
	const struct suite_fixture *fixture;
	CMUnitTestFunction test;
} cases[] = {
	{ "a conflict waits for the newer claim",
	  &free_fixture, a_conflict_waits_for_the_newer_claim },
	{ "a watch that stays behind is believed again after 3 s",
	  &free_fixture, a_watch_that_stays_behind_is_believed_again },
	{ "a claim deleted before the mark leaves nothing",
	  &free_fixture, a_claim_deleted_before_the_mark_leaves_nothing },
	{ "a claim deleted while it is bound is given back",
	  &binding_fixture, a_claim_deleted_while_it_is_bound_is_given_back },
	{ "a held device is given back when its holder ends",
	  &releasing_fixture, a_held_device_waits_for_its_holder },
	{ "a holder that stays is looked for every 5 s, without a write",
	  &releasing_fixture, a_holder_that_stays_is_looked_for_every_5_s },
	{ "a failure is told once and tried again with backoff",
	  &binding_fixture, a_failure_is_told_once_and_tried_again_with_backoff },
	{ "a refusal waits for a change of the device",
	  &binding_fixture, a_refusal_waits_for_a_change },
	{ "a change during a refused attempt is a reason to try again",
	  &binding_fixture, a_change_during_a_try_is_seen },
	{ "the first scan after a failure is no reason to try again",
	  &binding_fixture, a_failure_waits_whatever_the_first_scan_shows },
	{ "a refusal is tried again after 30 s",
	  &binding_fixture, a_refusal_is_tried_again_after_30_s },
	{ "a use that ends for a moment is none that has ended",
	  &free_fixture, what_ends_for_a_moment_is_not_taken },
	{ "so is the end of one that lasted long",
	  &free_fixture, the_end_of_a_long_use_is_waited_for_too },
	{ "a claim that was made since waits, too", &free_fixture, a_new_claim_waits_too },
	{ "an agent that begins waits, too", &bench_fixture, an_agent_that_begins_waits_too },
	{ "a busy group is tried again after 250 ms",
	  &binding_fixture, a_busy_group_is_tried_again_soon },
	{ "a helper that takes long is waited for, and that is told",
	  &binding_fixture, a_helper_that_takes_long_is_waited_for },
	{ "a helper that ends while that is told has ended",
	  &binding_fixture, a_helper_that_ends_while_that_is_told_has_ended },
	{ "claims can be freed while that is told",
	  &binding_fixture, claims_can_be_freed_while_that_is_told },
	{ "a stuck helper is waited for, then the devices are looked at first",
	  &binding_fixture, a_stuck_helper_is_waited_for },
	{ "a 404 that does not name the claim releases nothing",
	  &bench_fixture, a_kind_that_is_gone_releases_nothing },
	{ "the agent may end at any time",NULL, the_agent_may_end_at_any_time },
	{ "an edit ends the wait after a refusal",
	  &binding_fixture, an_edit_ends_the_wait_after_a_failure },
	{ "a claim that failed can be deleted at once",
	  &binding_fixture, a_claim_that_failed_can_be_deleted_at_once },
	{ "a stuck claim that is deleted waits for the helper, then is given back",
	  &binding_fixture, a_stuck_claim_that_is_deleted_waits_for_the_helper },
	{ "a claim deleted under a helper that has recorded nothing stays until that ends",
	  &binding_fixture, a_claim_deleted_under_a_helper_without_a_record_stays },
	{ "a number that becomes free cancels the bind", &binding_fixture,
	  a_number_that_becomes_free_cancels_the_bind },
	{ "a deleted claim cancels its bind", &binding_fixture, a_deleted_claim_cancels_its_bind },
};
/* clang-format on */

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		suite_fixture(&suite, cases[i].fixture);
		suite_add(&suite, cases[i].name, cases[i].test, NULL);
	}
	return suite_run(&suite, "claims_trouble");
}
