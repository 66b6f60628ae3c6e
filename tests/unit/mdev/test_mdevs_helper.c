/* mdevs: the type manager's helpers: what they are told, that they fail, are stuck, or are many. */
#include "agent/mdev/mdevs.h"

#include "fake/fake_clock.h"
#include "unit/mdev/mdevs_bench.h"

#define FAILED(r) \
	SAY("{\"kind\":\"end\",\"result\":\"Failed\",\"reason\":\"" r "\",\"message\":\"no\"}")
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

static void a_failing_parent_waits_and_blocks_no_other(void **state)
{
	bench_open(WORDS FAIL_C1 END, two, 2);
	bench_label();
	bench_ask(WANT("'a-1'"));
	bench_see();
	bench_run_until_moved(2);
	assert_started("+c1 +c2");
	assert_fares("c1", "CreateFailed");
	assert_string_equal(str_cstr(&bench.events), "!CreateFailed ");
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555551", "c2", "a-1",
		    MDEV_OWNER_TYPES);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555552", "c2", "a-1",
		    MDEV_OWNER_TYPES);
	bench_see();
	assert_fares("c2", "Configured");
	assert_started("+c1 +c2");
	fake_clock_advance(bench.clock, MDEV_RETRY_MS);
	bench_run_until_moved(3);
	bench_see();
	fake_clock_advance(bench.clock, MDEV_RETRY_MS);
	assert_started("+c1 +c1 +c2"); /* it waits twice as long now */
	fake_clock_advance(bench.clock, MDEV_RETRY_MS);
	bench_run_until_moved(4);
	assert_started("+c1 +c1 +c1 +c2");
	assert_string_equal(str_cstr(&bench.events), "!CreateFailed "); /* no news */
	bench_close();
}

static void one_that_comes_right_again_is_told(void **state)
{
	bench_open(WORDS FAILED("CreateFailed"), one, 1);
	bench_label();
	bench_ask(WANT("'a-1'"));
	bench_see();
	bench_run_until_moved(1);
	fake_helper_does(&bench.fake, WORDS END);
	bench_see();
	fake_clock_advance(bench.clock, MDEV_RETRY_MS);
	bench_run_until_moved(2);
	assert_fares("c1", "Creating");
	fake_helper_does(&bench.fake, WORDS FAILED("CreateFailed"));
	bench_see();
	bench_run_until_moved(3);
	assert_string_equal(str_cstr(&bench.events), "!CreateFailed !CreateFailed ");
	bench_close();
}

static void a_helper_that_cannot_be_started_is_a_failure(void **state)
{
	bench_open(END, one, 1);
	assert_int_equal(unlink(bench.fake.path), 0);
	bench_label();
	bench_ask(WANT("'a-1'"));
	bench_see();
	bench_run_until_moved(1);
	assert_fares("c1", "HelperFailed");
	bench_close();
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
	fake_helper_expire(&bench.fake, NULL);
	bench_run_until_moved(2);
	assert_fares("c1", "Stuck");
	bench_see();
	fake_clock_advance(bench.clock, 100UL * MDEV_RETRY_MAX_MS);
	bench_run_until_moved(3); /* c2 again, which still lacks its instances */
	assert_started("+c1 +c2 +c2");
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
	suite_add(&suite, "a parent that fails waits longer each time, and blocks no other",
		  a_failing_parent_waits_and_blocks_no_other, NULL);
	suite_add(&suite, "one that has come right and fails again is news",
		  one_that_comes_right_again_is_told, NULL);
	suite_add(&suite, "a helper that cannot be started is a failure",
		  a_helper_that_cannot_be_started_is_a_failure, NULL);
	suite_add(&suite, "a stuck helper keeps its parent, and no other",
		  a_stuck_helper_keeps_its_parent_and_no_other, NULL);
	suite_add(&suite, "only a few helpers run at a time", only_a_few_helpers_run_at_a_time,
		  NULL);
	return suite_run(&suite, "mdevs_helper");
}
