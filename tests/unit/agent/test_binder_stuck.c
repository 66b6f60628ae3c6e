/* binder: helpers that do not end in time, and binders that end before their helpers. */
#include "agent/binder/binder.h"

#include <signal.h>

#include "unit/agent/binder_bench.h"

static void a_stuck_group_is_free_when_its_helper_ends(void **state)
{
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];
	struct binder_trouble trouble;
	int pid;

	bench_begin(b, STEP("SetOverride") STEP("Unbind") HANG STEP("Probe") DONE);
	owner_init(owner, b, "12", "0000:01:00.0");
	owner_add(owner, "0000:01:00.1");
	owner_get_stuck(owner, "0000:01:00.1");
	pid = owner->outcome.task.holder_pid;
	assert_int_equal(kill(pid, 0), 0);
	assert_string_equal(owner->outcome.task.reason, "Stuck");
	assert_string_equal(owner->outcome.task.step, "Unbind");
	assert_string_equal(owner->outcome.task.address, "0000:01:00.0");
	assert_non_null(
		strstr(owner->outcome.task.message, ") waits in step Unbind of 0000:01:00.0 for "));
	assert_non_null(strstr(owner->outcome.task.message,
			       " s; nothing else is started for its IOMMU group until it ends: "));
	assert_int_equal(binder_look(b->binder, "0000:01:00.0", NULL), BINDER_IS_STUCK);
	assert_int_equal(binder_look(b->binder, "0000:01:00.1", &trouble), BINDER_IS_STUCK);
	assert_int_equal(trouble.pid, pid);
	assert_string_equal(trouble.verb, "bind");
	assert_string_equal(trouble.step, "Unbind");
	assert_string_equal(trouble.address, "0000:01:00.0");
	bench_assert_metric(b, "hostdev_transitions_total{verb=\"bind\",result=\"Stuck\"} 1\n");
	bench_assert_metric(b, "hostdev_transitions_running 1\n");
	bench_assert_metric(b, "hostdev_transitions_stuck 1\n");
	fake_helper_open_gate(&b->fake);
	bench_run_until(b, &b->freed, 1);
	bench_assert_metric(b, "hostdev_transitions_running 0\n");
	bench_assert_metric(b, "hostdev_transitions_stuck 0\n");
	bench_assert_metric(b, "hostdev_transitions_oldest_start_timestamp_seconds 0\n");
	assert_string_equal(b->freed_group, "12");
	assert_int_equal(binder_look(b->binder, "0000:01:00.0", NULL), BINDER_IDLE);
	assert_int_equal(binder_look(b->binder, "0000:01:00.1", NULL), BINDER_IDLE);
	bench_assert_metric(b, "hostdev_transition_seconds_count{verb=\"bind\"} 1\n");
	bench_done(b);
	assert_int_equal(owner->ended, 1);
	assert_int_equal(b->freed, 1);
}

/* On a busy machine the deadline may strike between the last line and the exit. */
static void a_helper_that_told_its_end_is_not_stuck(void **state)
{
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];

	bench_begin(b, "printf '%s\\n%s\\n'"
		       " '{\"kind\":\"step\",\"address\":\"0000:01:00.0\",\"step\":\"Unbind\"}'"
		       " '{\"kind\":\"end\",\"result\":\"Done\"}'\n" HANG);
	owner_init(owner, b, "12", "0000:01:00.0");
	owner_start(owner);
	bench_run_until_step(b, "0000:01:00.0", "Unbind");
	bench_pass_deadlines(b, &owner->ended);
	assert_int_equal(owner->outcome.task.result, TASK_DONE);
	assert_int_equal(binder_look(b->binder, "0000:01:00.0", NULL), BINDER_IDLE);
	fake_helper_open_gate(&b->fake);
	uv_run(&b->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(owner->ended, 1);
	assert_int_equal(b->freed, 0);
}

/* Its own words are heard until its end, however long that takes. */
static void on_a_busy_machine_a_helper_is_late_and_not_stuck(void **state)
{
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];
	struct binder_trouble trouble;

	bench_begin(b, STEP("Unbind") HANG STEP("Probe") HANG DONE);
	folder_put(&b->fake.folder, "loadavg", "9.1 9.1 9.1 9999/9999 77");
	owner_init(owner, b, "12", "0000:01:00.0");
	owner_start(owner);
	bench_run_until_step(b, "0000:01:00.0", "Unbind");
	for (int i = 0; i < 5; i++)
		fake_helper_pass_look(&b->fake, &owner->ended);
	assert_int_equal(b->late, 1);
	assert_int_equal(owner->ended, 0);
	assert_int_equal(write(b->fake.gate_fd, "\n", 1), 1);
	bench_run_until_step(b, "0000:01:00.0", "Probe");
	assert_int_equal(binder_look(b->binder, "0000:01:00.0", &trouble), BINDER_RUNNING);
	assert_false(trouble.late);
	fake_helper_open_gate(&b->fake);
	bench_run_until(b, &owner->ended, 1);
	assert_int_equal(owner->outcome.task.result, TASK_DONE);
	bench_assert_metric(b, "hostdev_transitions_stuck 0\n");
}

static void a_stuck_group_keeps_no_other_waiting(void **state)
{
	struct bench *b = *state;
	struct owner *stuck = &b->owners[0];
	struct owner *other = &b->owners[1];

	bench_begin(b, STEP("Unbind") HANG DONE);
	owner_init(stuck, b, "12", "0000:01:00.0");
	owner_get_stuck(stuck, "0000:01:00.0");
	fake_helper_does(&b->fake, DONE);
	owner_init(other, b, "13", "0000:02:00.0");
	owner_start(other);
	bench_run_until(b, &other->ended, 1);
	assert_int_equal(other->outcome.task.result, TASK_DONE);
	assert_int_equal(binder_look(b->binder, "0000:01:00.0", NULL), BINDER_IS_STUCK);
}

/* Two jobs cannot start. The callback of the first frees the binder, so the second has no
 * callback. */
static void who_is_told_can_free_the_binder(void **state)
{
	struct bench *b = *state;
	struct owner *first = &b->owners[0];
	struct owner *second = &b->owners[1];

	bench_begin(b, "exit 0");
	assert_int_equal(unlink(b->fake.path), 0);
	owner_init(first, b, "12", "0000:01:00.0");
	owner_init(second, b, "13", "0000:02:00.0");
	owner_start(first);
	owner_start(second);
	b->frees_binder = true;
	uv_run(&b->fake.loop, UV_RUN_DEFAULT);
	assert_null(b->binder);
	assert_int_equal(first->ended + second->ended, 1);
}

static void the_binder_can_be_freed_when_one_gets_stuck(void **state)
{
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];

	bench_begin(b, STEP("Unbind") HANG DONE);
	b->frees_binder = true;
	owner_init(owner, b, "12", "0000:01:00.0");
	owner_get_stuck(owner, "0000:01:00.0");
	assert_null(b->binder);
	assert_int_equal(uv_run(&b->fake.loop, UV_RUN_DEFAULT), 0);
	bench_done(b);
	assert_int_equal(b->freed, 0);
}

static void the_binder_can_be_freed_when_a_stuck_one_ends(void **state)
{
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];

	bench_begin(b, STEP("Unbind") HANG DONE);
	owner_init(owner, b, NULL, "0000:01:00.0");
	owner_get_stuck(owner, "0000:01:00.0");
	b->frees_binder = true;
	fake_helper_open_gate(&b->fake);
	bench_run_until(b, &b->freed, 1);
	assert_string_equal(b->freed_group, "");
	assert_null(b->binder);
}

/* One runs, one is stuck, one could not be started: none keeps the loop, and none is heard of. */
static void a_binder_that_is_freed_leaves_nothing_to_wait_for(void **state)
{
	struct bench *b = *state;
	struct owner *owners = b->owners;

	bench_begin(b, STEP("Unbind") HANG DONE);
	owner_init(&owners[0], b, "12", "0000:01:00.0");
	owner_init(&owners[1], b, "13", "0000:02:00.0");
	owner_init(&owners[2], b, "14", "0000:03:00.0");
	owner_get_stuck(&owners[0], "0000:01:00.0");
	owner_start(&owners[1]);
	bench_run_until_step(b, "0000:02:00.0", "Unbind");
	assert_int_equal(unlink(b->fake.path), 0);
	owner_start(&owners[2]);
	b->binder = binder_free(b->binder);
	assert_int_equal(uv_run(&b->fake.loop, UV_RUN_DEFAULT), 0);
	bench_done(b);
	assert_int_equal(owners[0].ended, 1);
	assert_int_equal(owners[1].ended + owners[2].ended + b->freed, 0);
}

static struct deadline_case {
	const char *name;
	const char *body;
	const char *step;
	int deadlines;
} deadlines[] = {
	{ "a helper that says nothing yet only looks", HANG DONE, "", 4 },
	{ "one that takes the lock only looks", STEP("WaitLock") HANG DONE, "WaitLock", 4 },
	{ "one that looks for holders only looks", STEP("CheckHolders") HANG DONE, "CheckHolders",
	  4 },
	{ "a change has one deadline", STEP("CheckHolders") STEP("Unbind") HANG DONE, "Unbind", 1 },
	{ "so has a record", STEP("WriteRecord") HANG DONE, "WriteRecord", 1 },
};

/* The first of two looks is halfway through. */
static void deadlines_match_table(void **state)
{
	const struct deadline_case *row = suite_row(state);
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];
	uint64_t due_ms = 0;

	bench_begin(b, row->body);
	owner_init(owner, b, "12", "0000:01:00.0");
	owner_start(owner);
	bench_run_until_step(b, "0000:01:00.0", row->step);
	uv_walk(&b->fake.loop, fake_helper_find_due, &due_ms);
	assert_in_range(due_ms, (uint64_t)(row->deadlines - 1) * AMPLE_MS / 2 + 1,
			(uint64_t)row->deadlines * AMPLE_MS / 2);
}

static struct cancel_case {
	const char *name;
	enum binder_verb verb;
	const char *claim;
	const char *uid;
	bool cancelled;
} cancels[] = {
	{ "a bind stops when its claim is gone", BINDER_BIND, "vm1-000001000", NULL, true },
	{ "a bind stops when another claim has its name", BINDER_BIND, "vm1-000001000", "1-3",
	  true },
	{ "a bind goes on while its claim is there", BINDER_BIND, "vm1-000001000", "1-2", false },
	{ "a bind goes on when another claim is gone", BINDER_BIND, "vm1-000002000", NULL, false },
	{ "a release goes on when its claim is gone", BINDER_RELEASE, "vm1-000001000", NULL,
	  false },
};

/* What is not cancelled has its standard input open until the test opens the gate, or none at
 * all. */
static void cancels_match_table(void **state)
{
	const struct cancel_case *row = suite_row(state);
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];

	bench_begin(b, STEP("Unbind") "test -c /dev/stdin && exec <$gate\nread x\n" DONE);
	owner_init(owner, b, "12", "0000:01:00.0");
	owner->job.verb = row->verb;
	owner_start(owner);
	bench_run_until_step(b, "0000:01:00.0", "Unbind");
	binder_cancel(b->binder, row->claim, row->uid);
	for (int i = 0; i < 20 && !owner->ended && !row->cancelled; i++) {
		uv_run(&b->fake.loop, UV_RUN_NOWAIT);
		(void)usleep(5000);
	}
	assert_int_equal(owner->ended, 0);
	if (!row->cancelled)
		return;
	bench_run_until(b, &owner->ended, 1);
	assert_int_equal(owner->outcome.task.result, TASK_DONE); /* and it is not stuck */
}

static void nothing_can_be_freed(void **state)
{
	assert_null(binder_free(NULL));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "freeing nothing is nothing", nothing_can_be_freed, NULL);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a stuck group is free when its helper ends",
		  a_stuck_group_is_free_when_its_helper_ends, NULL);
	suite_add(&suite, "a helper that has told its end is not stuck",
		  a_helper_that_told_its_end_is_not_stuck, NULL);
	suite_add(&suite, "on a busy machine a helper is late and not stuck",
		  on_a_busy_machine_a_helper_is_late_and_not_stuck, NULL);
	suite_add(&suite, "a stuck group keeps no other waiting",
		  a_stuck_group_keeps_no_other_waiting, NULL);
	suite_add(&suite, "who is told can free the binder", who_is_told_can_free_the_binder, NULL);
	suite_add(&suite, "the binder can be freed when a helper gets stuck",
		  the_binder_can_be_freed_when_one_gets_stuck, NULL);
	suite_add(&suite, "the binder can be freed when a stuck helper ends",
		  the_binder_can_be_freed_when_a_stuck_one_ends, NULL);
	suite_add(&suite, "a binder that is freed leaves nothing to wait for",
		  a_binder_that_is_freed_leaves_nothing_to_wait_for, NULL);
	suite_rows(&suite, deadlines, deadlines_match_table);
	suite_rows(&suite, cancels, cancels_match_table);
	return suite_run(&suite, "binder_stuck");
}
