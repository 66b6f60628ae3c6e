/* mdevs: the type manager's helpers: their arguments, failures, stuck ones, and many at once. */
#include "agent/mdev/mdevs.h"

#include "agent/mdev/mdev_uuid.h"
#include "fake/fake_clock.h"
#include "unit/mdev/mdevs_bench.h"

#define FAILED(r) \
	SAY("{\"kind\":\"end\",\"result\":\"Failed\",\"reason\":\"" r "\",\"message\":\"no\"}")
#define UUID1   "11111111-2222-3333-4444-555555555551"
#define UUID2   "11111111-2222-3333-4444-555555555552"
#define FAIL_C1 "case \"$*\" in *parent=c1*) " FAILED_INLINE "; exit 0;; esac\n"
#define FAILED_INLINE \
	"echo '{\"kind\":\"end\",\"result\":\"Failed\",\"reason\":\"CreateFailed\",\"message\":\"no\"}'"

static void the_helper_gets_the_words(void **state)
{
	auto_free char *words = NULL;

	bench_open(WORDS END, one, 1);
	bench_label();
	bench_ask(WANT("'Type A'"));
	bench_see();
	bench_run_until_moved(1);
	words = fake_helper_wrote(&bench.fake, "words");
	assert_non_null(strstr(words, "mdev-create --state-dir /state parent=c1 owner=types "
				      "type=a-1 uuid="));
	assert_non_null(strstr(strstr(words, " uuid=") + 1, " uuid="));
	bench_close();
}

static void records_of_what_is_gone_are_removed_too(void **state)
{
	auto_free char *words = NULL;

	bench_open(WORDS END, one, 1);
	machine_add(bench.machine, UUID1, "c1", "a-1", MDEV_OWNER_TYPES);
	machine_add(bench.machine, UUID2, "c1", "a-1", MDEV_OWNER_TYPES);
	bench.machine->rebooted = true; /* what exists now is somebody else's */
	bench_label();
	bench_ask("");
	bench_see();
	bench_run_until_moved(1);
	words = fake_helper_wrote(&bench.fake, "words");
	assert_string_equal(words,
			    "mdev-remove --state-dir /state parent=c1 owner=types uuid=" UUID1
			    " uuid=" UUID2 "\n");
	bench_close();
}

/* A helper with patience is read in the middle of its deadline. */
static void the_deadline_grows_with_the_instances(void **state)
{
	uint64_t due_ms = 0;

	bench_open(WORDS END, one, 1);
	bench_label();
	bench_ask(WANT("'a-1'"));
	bench_see();
	uv_walk(&bench.fake.loop, fake_helper_find_due, &due_ms);
	assert_int_equal(due_ms, (AMPLE_MS + 2 * 500) / 2);
	bench_run_until_moved(1);
	bench_close();
}

static void a_failing_parent_waits_and_blocks_no_other(void **state)
{
	bench_open(WORDS FAIL_C1 END, two, 2);
	bench_label();
	bench_ask(WANT("'a-1'"));
	bench_see();
	bench_run_until_moved(2);
	assert_started("+c1 +c2");
	assert_result("c1", "CreateFailed");
	assert_string_equal(str_cstr(&bench.events), "!CreateFailed=no;");
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555551", "c2", "a-1",
		    MDEV_OWNER_TYPES);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555552", "c2", "a-1",
		    MDEV_OWNER_TYPES);
	bench_see();
	assert_result("c2", "Configured");
	assert_started("+c1 +c2");
	fake_clock_advance(bench.clock, MDEVS_RETRY_MS);
	bench_run_until_moved(3);
	bench_see();
	fake_clock_advance(bench.clock, MDEVS_RETRY_MS);
	assert_started("+c1 +c1 +c2"); /* it waits twice as long now */
	fake_clock_advance(bench.clock, MDEVS_RETRY_MS);
	bench_run_until_moved(4);
	assert_started("+c1 +c1 +c1 +c2");
	assert_string_equal(str_cstr(&bench.events), "!CreateFailed=no;"); /* no news */
	bench_close();
}

static void one_that_comes_right_again_is_reported(void **state)
{
	bench_open(WORDS FAILED("CreateFailed"), one, 1);
	bench_label();
	bench_ask(WANT("'a-1'"));
	bench_see();
	bench_run_until_moved(1);
	fake_helper_does(&bench.fake, WORDS END);
	bench_see();
	fake_clock_advance(bench.clock, MDEVS_RETRY_MS);
	bench_run_until_moved(2);
	assert_result("c1", "Creating");
	fake_helper_does(&bench.fake, WORDS FAILED("CreateFailed"));
	bench_see();
	bench_run_until_moved(3);
	assert_string_equal(str_cstr(&bench.events), "!CreateFailed=no;!CreateFailed=no;");
	bench_close();
}

static void a_helper_that_cannot_be_started_is_a_failure(void **state)
{
	bench_open(END, one, 1);
	assert_int_equal(unlink(bench.fake.path), 0);
	bench_label();
	bench_ask(WANT("'a-1'"));
	bench_see();
	assert_result("c1", "HelperFailed");
	assert_int_equal(strncmp(str_cstr(&bench.events), "!HelperFailed=", 14), 0);
	assert_int_equal(bench.moved, 0); /* no scan would show anything new */
	fake_helper_does(&bench.fake, WORDS END);
	fake_clock_advance(bench.clock, MDEVS_RETRY_MS - 1);
	fake_clock_settle(bench.clock);
	assert_result("c1", "HelperFailed");
	fake_clock_advance(bench.clock, 1);
	bench_run_until_moved(1);
	assert_started("+c1");
	bench_close();
}

/* What fails for one type may work for another. */
static void another_type_is_tried_without_a_pause(void **state)
{
	static const struct machine_card both[] = { { .name = "c1", .types = { A, B } } };

	bench_open(WORDS FAILED("CreateFailed"), both, 1);
	bench_label();
	bench_ask(WANT("'a-1'"));
	bench_see();
	bench_run_until_moved(1);
	fake_helper_does(&bench.fake, WORDS "read x <$gate\n" END);
	bench_see();
	assert_started("+c1");
	bench_ask(WANT("'b-1'"));
	bench_wait_started("+c1 +c1");
	assert_result("c1", "Creating");
	fake_helper_open_gate(&bench.fake);
	bench_run_until_moved(2);
	bench_close();
}

static void what_is_done_is_an_event(void **state)
{
	bench_open(WORDS SAY("{\"kind\":\"done\"}") SAY("{\"kind\":\"done\"}") END, one, 1);
	bench_label();
	bench_ask(WANT("'a-1'"));
	bench_see();
	bench_run_until_moved(1);
	assert_string_equal(str_cstr(&bench.events),
			    "MediatedDevicesMade=2 mediated devices made;");
	machine_add(bench.machine, UUID1, "c1", "a-1", MDEV_OWNER_TYPES);
	bench_ask("");
	bench_see();
	bench_run_until_moved(2);
	assert_string_equal(str_cstr(&bench.events),
			    "MediatedDevicesMade=2 mediated devices made;"
			    "MediatedDevicesRemoved=2 mediated devices removed;");
	bench_close();
}

static void what_a_process_holds_is_tried_again(void **state)
{
	bench_open(WORDS SAY("{\"kind\":\"end\",\"result\":\"Held\",\"reason\":\"Held\",\"uuid\":"
			     "\"" UUID1 "\",\"message\":\"process 7\"}"),
		   one, 1);
	machine_add(bench.machine, UUID1, "c1", "a-1", MDEV_OWNER_TYPES);
	bench_label();
	bench_ask("");
	bench_see();
	bench_run_until_moved(1);
	assert_result("c1", "InUse");
	assert_string_equal(str_cstr(&bench.events), "!Held=" UUID1 ": process 7;");
	fake_clock_advance(bench.clock, MDEVS_RETRY_MS);
	fake_clock_settle(bench.clock);
	assert_started("-c1"); /* others may be removed: only a scan says */
	bench_see();
	bench_run_until_moved(2);
	assert_started("-c1 -c1");
	bench_close();
}

static void what_a_stuck_helper_removes_is_not_healthy(void **state)
{
	bench_open(WORDS SAY("{\"kind\":\"step\",\"step\":\"Remove\"}") "read x <$gate\n" END, one,
		   1);
	machine_add(bench.machine, UUID1, "c1", "a-1", MDEV_OWNER_TYPES);
	bench_label();
	bench_ask("'mediatedDevices':[{'resourceName':'x.com/a','mdevNameSelector':'a-1'}]");
	bench_see();
	bench_wait_started("-c1");
	bench_expire_until_moved(1);
	bench_see();
	assert_result("c1", "Stuck");
	bench.type.offer(bench.type.arg, NULL);
	assert_string_equal(str_cstr(bench_offered()), "-");
	fake_helper_open_gate(&bench.fake);
	bench_run_until_moved(2);
	bench.type.offer(bench.type.arg, NULL);
	assert_string_equal(str_cstr(bench_offered()), "+");
	bench_close();
}

/* A scan may find it before the helper has ended. */
static void what_is_being_created_is_healthy(void **state)
{
	char uuid[MDEV_UUID_SIZE];

	bench_open(WORDS "read x <$gate\n" END, one, 1);
	mdev_uuid_make("node1", "c1", "a-1", 0, uuid);
	bench_label();
	bench_ask(WANT("'a-1'") ",'mediatedDevices':[{'resourceName':'x.com/a','mdevNameSelector':"
				"'a-1'}]");
	bench_see();
	bench_wait_started("+c1");
	machine_add(bench.machine, uuid, "c1", "a-1", MDEV_OWNER_TYPES);
	bench_see();
	bench.type.offer(bench.type.arg, NULL);
	assert_string_equal(str_cstr(bench_offered()), "+");
	fake_helper_open_gate(&bench.fake);
	bench_run_until_moved(1);
	bench_close();
}

static void assert_one_stuck_event(void)
{
	const char *text = str_cstr(&bench.events);

	assert_int_equal(strncmp(text, "!Stuck=hostdev-helper (pid ", 27), 0);
	assert_non_null(strstr(text, " is blocked in step Create; "));
	assert_ptr_equal(strrchr(text, '!'), text);
}

static void a_stuck_helper_keeps_its_parent_and_no_other(void **state)
{
	bench_open(WORDS "case \"$*\" in *parent=c1*) " SAY(
			   "{\"kind\":\"step\",\"step\":\"Create\"}") "read x <$gate;; esac\n" END,
		   two, 2);
	bench_label();
	bench_ask(WANT("'a-1'"));
	bench_see();
	bench_run_until_moved(1); /* c2 */
	bench_wait_started("+c1 +c2");
	bench_expire_until_moved(2);
	assert_result("c1", "Stuck");
	bench_see();
	fake_clock_advance(bench.clock, 100UL * MDEVS_RETRY_MAX_MS);
	bench_run_until_moved(3); /* c2 again, which still lacks its instances */
	assert_started("+c1 +c2 +c2");
	assert_one_stuck_event();
	fake_helper_open_gate(&bench.fake);
	bench_run_until_moved(4);
	bench_see();
	bench_run_until_moved(6);
	assert_started("+c1 +c1 +c2 +c2 +c2");
	bench_close();
}

static void only_a_few_helpers_run_at_a_time(void **state)
{
	static const struct machine_card many[] = {
		{ .name = "c1", .types = { A } }, { .name = "c2", .types = { A } },
		{ .name = "c3", .types = { A } }, { .name = "c4", .types = { A } },
		{ .name = "c5", .types = { A } }, { .name = "c6", .types = { A } },
	};

	auto_free char *counts = NULL;

	bench_open(WORDS "touch $here/at-work.$$; ls $here | grep -c at-work >>$here/counts\n"
			 "read x <$gate; rm $here/at-work.$$\n" END,
		   many, 6);
	bench_label();
	bench_ask(WANT("'a-1'"));
	bench_see();
	fake_helper_open_gate(&bench.fake);
	bench_run_until_moved(6);
	assert_started("+c1 +c2 +c3 +c4 +c5 +c6");
	counts = fake_helper_wrote(&bench.fake, "counts");
	assert_int_equal(strlen(counts), 6 * strlen("1\n"));
	assert_null(strpbrk(counts, "56789"));
	bench_close();
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "the helper gets parent, type, owner and UUIDs",
		  the_helper_gets_the_words, NULL);
	suite_add(&suite, "records of what is gone are removed, too",
		  records_of_what_is_gone_are_removed_too, NULL);
	suite_add(&suite, "the deadline grows with the instances",
		  the_deadline_grows_with_the_instances, NULL);
	suite_add(&suite, "a parent that fails waits longer each time, and blocks no other",
		  a_failing_parent_waits_and_blocks_no_other, NULL);
	suite_add(&suite, "one that has come right and fails again is news",
		  one_that_comes_right_again_is_reported, NULL);
	suite_add(&suite, "a helper that cannot be started is a failure",
		  a_helper_that_cannot_be_started_is_a_failure, NULL);
	suite_add(&suite, "another type is tried without a pause",
		  another_type_is_tried_without_a_pause, NULL);
	suite_add(&suite, "what is done is an event", what_is_done_is_an_event, NULL);
	suite_add(&suite, "what a process holds is tried again",
		  what_a_process_holds_is_tried_again, NULL);
	suite_add(&suite, "what a stuck helper removes is not healthy",
		  what_a_stuck_helper_removes_is_not_healthy, NULL);
	suite_add(&suite, "what is being created is healthy", what_is_being_created_is_healthy,
		  NULL);
	suite_add(&suite, "a stuck helper keeps its parent, and no other",
		  a_stuck_helper_keeps_its_parent_and_no_other, NULL);
	suite_add(&suite, "only a few helpers run at a time", only_a_few_helpers_run_at_a_time,
		  NULL);
	return suite_run(&suite, "mdevs_helper");
}
