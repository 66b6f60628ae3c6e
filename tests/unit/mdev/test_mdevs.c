/* mdevs: what the type manager starts, when, and what it says of it. */
#include "agent/mdev/mdevs.h"

#include "fake/fake_clock.h"
#include "unit/mdev/mdevs_bench.h"

static void nothing_is_done_before_all_is_known(void **state)
{
	bench_open(WORDS END, one, 1);
	bench_see();
	bench_ask(WANT("'a-1'"));
	assert_started("");
	assert_result("c1", "(not known)");
	bench_label();
	bench_run_until_moved(1);
	assert_started("+c1");
	assert_result("c1", "Creating");
	bench_close();
}

/* What was seen before a helper ended says nothing about what it has done. */
static void an_old_scan_starts_nothing_again(void **state)
{
	bench_open(WORDS END, one, 1);
	bench_label();
	bench_see();
	bench_ask(WANT("'a-1'"));
	bench_run_until_moved(1);
	mdevs_plan(bench.mdevs);
	fake_clock_settle(bench.clock);
	assert_started("+c1");
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555551", "c1", "a-1",
		    MDEV_OWNER_TYPES);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555552", "c1", "a-1",
		    MDEV_OWNER_TYPES);
	bench_see();
	assert_started("+c1");
	assert_result("c1", "Configured");
	bench_close();
}

static void what_is_being_removed_is_not_healthy(void **state)
{
	bench_open(WORDS "read x <$gate\n" END, one, 1);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555551", "c1", "a-1",
		    MDEV_OWNER_TYPES);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555552", "c1", "a-1", NULL);
	bench_label();
	bench_ask("'mediatedDevices':[{'resourceName':'x.com/a','mdevNameSelector':'a-1'}]");
	bench_see();
	bench.type.offer(bench.type.arg, NULL);
	assert_string_equal(str_cstr(bench_offered()), "-+");
	assert_result("c1", "Removing");
	fake_helper_open_gate(&bench.fake);
	bench_run_until_moved(1);
	assert_started("-c1");
	bench.type.offer(bench.type.arg, NULL);
	assert_string_equal(str_cstr(bench_offered()), "++");
	bench_close();
}

static void what_a_pod_has_waits_for_it(void **state)
{
	bench_open(WORDS END, one, 1);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555551", "c1", "a-1",
		    MDEV_OWNER_TYPES);
	bench.holder = "pod default/vm-1";
	bench_label();
	bench_ask("");
	bench_see();
	assert_started("");
	assert_result("c1", "InUse");
	assert_non_null(strstr(mdevs_condition(bench.mdevs, "c1")->message, "pod default/vm-1"));
	bench.holder = NULL;
	bench.updated = 0;
	mdevs_enqueue_all(bench.mdevs);
	fake_clock_settle(bench.clock);
	assert_int_equal(bench.updated,
			 1); /* the kubelet's list changes before it can allocate it again */
	bench_run_until_moved(1);
	assert_started("-c1");
	assert_int_equal(bench.updated, 2);
	bench_close();
}

/* Nothing tells that the pod is gone. */
static void what_a_pod_could_open_is_not_created(void **state)
{
	bench_open(WORDS END, one, 1);
	bench.bind_trouble = "a pod could open it";
	bench_label();
	bench_see();
	bench_ask(WANT("'a-1'"));
	fake_clock_advance(bench.clock, 60000);
	fake_clock_settle(bench.clock);
	assert_started("");
	assert_result("c1", "Held");
	bench.bind_trouble = NULL;
	fake_clock_advance(bench.clock, 5000);
	bench_run_until_moved(1);
	assert_started("+c1");
	bench_close();
}

static void a_label_of_the_node_acts_at_once(void **state)
{
	struct json_pairs labels = { 0 };

	bench_open(WORDS END, two, 2);
	bench_label();
	bench_ask(
		"'mediatedDevicesConfiguration':{'nodeMediatedDeviceTypes':[{'nodeSelector':{'gpu':"
		"'big'},'mediatedDeviceTypes':['b-1']}]}");
	bench_see();
	assert_started("");
	assert_result("c1", "NotConfigured");
	json_pairs_set(&labels, "gpu", "big");
	mdevs_set_labels(bench.mdevs, &labels);
	json_pairs_done(&labels);
	bench_run_until_moved(2);
	assert_started("+c1 +c2");
	bench_close();
}

static void nothing_is_reported_without_a_change(void **state)
{
	int changed;

	bench_open(WORDS END, one, 1);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555551", "c1", "a-1", NULL);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555552", "c1", "a-1", NULL);
	bench_label();
	bench_ask(WANT("'a-1'"));
	bench_see();
	changed = bench.changed;
	bench_see();
	bench_label();
	mdevs_enqueue_all(bench.mdevs);
	fake_clock_settle(bench.clock);
	assert_int_equal(bench.changed, changed);
	assert_started("");
	bench_close();
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "before inventory, config and labels are known nothing is done",
		  nothing_is_done_before_all_is_known, NULL);
	suite_add(&suite, "a look from before a helper's end starts nothing",
		  an_old_scan_starts_nothing_again, NULL);
	suite_add(&suite, "what is being removed is not healthy",
		  what_is_being_removed_is_not_healthy, NULL);
	suite_add(&suite, "what a pod has waits for it", what_a_pod_has_waits_for_it, NULL);
	suite_add(&suite, "what a pod could open is not created",
		  what_a_pod_could_open_is_not_created, NULL);
	suite_add(&suite, "kubevirt-contract 2 (trigger): a label of the node acts at once",
		  a_label_of_the_node_acts_at_once, NULL);
	suite_add(&suite, "nothing is reported without a change",
		  nothing_is_reported_without_a_change, NULL);
	return suite_run(&suite, "mdevs");
}
