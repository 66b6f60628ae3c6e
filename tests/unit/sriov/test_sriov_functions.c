/* sriov: virtual functions that somebody has, that wait for their settings, and what they are
 * called. */
#include "agent/sriov/sriov.h"

#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/sriov/sriov_bench.h"

static void a_claim_is_waited_for(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("2"), two);
	fake_server_write(b->claim_server, "node1-000003102", "{'spec':{}}");
	bench_settle(b);
	bench_edit(b, "{'numVFs':3}");
	bench_settle(b);
	assert_ready(b, "False VFsInUse");
	assert_int_equal(fake_task.starts, 0);
	fake_server_delete(b->claim_server, "node1-000003102");
	bench_settle(b);
	assert_int_equal(fake_task.starts, 1);
	assert_string_equal(str_cstr(&fake_task.words), JOB " count=3 autoprobe=0");
}

/* The claim is gone, and the record of it in the inventory is older than its release. */
static void an_old_record_is_no_claim(void **state)
{
	static const char *const recorded[] = {
		CARD_2, VF("0", ",'driver':'vfio-pci'"), VF("2", ""),
		"{'kind':'record','address':'0000:03:10.0','claim':'node1-000003100','uid':'c1'}",
		NULL
	};
	struct bench *b = *state;

	b->moving = true;
	bench_begin(b, OBJECT_SEEN("0"), recorded);
	bench_run(b, 2000);
	assert_int_equal(fake_task.starts, 0);
	assert_string_equal(str_cstr(&b->events.recorded), "");
	b->moving = false;
	bench_scan(b, two);
	bench_settle(b);
	assert_int_equal(fake_task.starts, 1);
	bench_task_done(b);
	bench_scan(b, none);
	bench_settle(b);
	assert_string_equal(str_cstr(&b->events.recorded), "Applied ");
}

/* One that was not released is. */
static void a_record_is_waited_for(void **state)
{
	static const char *const recorded[] = {
		CARD_2, VF("0", ",'driver':'vfio-pci'"), VF("2", ""),
		"{'kind':'record','address':'0000:03:10.0','claim':'node1-000003100','uid':'c1'}",
		NULL
	};
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("0"), recorded);
	assert_ready(b, "False VFsInUse");
	assert_int_equal(fake_task.starts, 0);
}

/* The list of claims comes late. */
static void nothing_is_removed_before_the_claims_are_known(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->claim_server, "node1-000003102", "{'spec':{}}");
	fake_server_write(b->server, NAME, OBJECT_SEEN("0"));
	bench_scan(b, two);
	for (int i = 0; i < 50; i++) {
		(void)fake_server_serve(b->server, FAULT_NONE);
		(void)fake_server_show(b->server, 1);
		fake_clock_advance(b->clock, 100);
	}
	assert_int_equal(fake_server_writes(b->server), 1);
	assert_int_equal(fake_task.starts, 0);
	bench_settle(b);
	assert_ready(b, "False VFsInUse");
	assert_int_equal(fake_task.starts, 0);
}

static void a_pod_is_waited_for(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("2"), two);
	b->pod = "";
	bench_edit(b, "{'numVFs':0}");
	bench_settle(b);
	assert_ready(b, "True Ready");
	b->pod = "pod default/vm-1";
	bench_run(b, 500);
	assert_ready(b, "False VFsInUse");
	assert_int_equal(fake_task.starts, 0);
	b->pod = NULL;
	sriov_enqueue_all(b->sriov);
	bench_settle(b);
	assert_int_equal(fake_task.starts, 1);
}

/* A virtual function that the node itself uses, or may use, is removed when that has ended. */
static struct use_case {
	const char *name;
	const char *use; /* of 0000:03:10.2 */
	bool waits;
} uses[] = {
	{ "the node uses one", "InterfaceUp", true },
	{ "the node needs one", "HostNetwork", true },
	{ "the node may use one", "Unknown", true },
	{ "the node uses another device", NULL, false },
};

static void the_node_is_waited_for(void **state)
{
	const struct use_case *row = suite_row(state);
	auto_free char *use = xasprintf(
		"{'kind':'use','pci':'%s','reason':'%s','detail':'it is up'}",
		row->use ? "0000:03:10.2" : "0000:04:00.0", row->use ? row->use : "InterfaceUp");
	const char *const lines[] = { CARD_2, VF("0", ""), VF("2", ""), use, NULL };
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("2"), lines);
	bench_edit(b, "{'numVFs':3}");
	bench_settle(b);
	assert_int_equal(fake_task.starts, row->waits ? 0 : 1);
	if (row->waits)
		assert_ready(b, "False VFsInUse");
}

/* Settings come before anybody is given the function, and are read after every scan. */
static void functions_are_held_until_their_settings_are_right(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, NAME, OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, ""));
	bench_scan(b, two);
	assert_true(sriov_holds(b->sriov, "0000:03:10.0")); /* nothing is known yet */
	assert_false(sriov_holds(b->sriov, PF));
	bench_settle(b);
	assert_string_equal(str_cstr(&fake_task.words), JOB " vf=1 vlan=5");
	assert_true(sriov_holds(b->sriov, "0000:03:10.0"));
	bench_task_done(b);
	assert_int_equal(b->frees, 2); /* with the list, and now */
	assert_int_equal(b->moves, 0);
	assert_false(sriov_holds(b->sriov, "0000:03:10.0"));
	assert_ready(b, "True Ready");

	(void)fake_server_log(b->server);
	bench_scan(b, two);
	assert_true(sriov_holds(b->sriov, "0000:03:10.2"));
	bench_settle(b);
	assert_int_equal(fake_task.starts, 2);
	assert_true(sriov_holds(b->sriov, "0000:03:10.2"));
	bench_task_done(b);
	assert_false(sriov_holds(b->sriov, "0000:03:10.2"));
	assert_log(b, "GET " NAME "|");
}

/* No watch event follows, since nothing was written. */
static void settings_that_cannot_be_read_are_reported(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN), two);
	bench_task_done(b);
	assert_ready(b, "True Ready");
	bench_run(b, 10000);
	fake_task.refuses = true;
	bench_scan(b, two);
	bench_settle(b);
	assert_ready(b, "False HelperFailed");
}

/* A stuck helper may never end: claims rely on their own checks meanwhile. */
static void a_stuck_helper_holds_nobody(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN), two);
	assert_true(sriov_holds(b->sriov, "0000:03:10.0"));
	fake_task_get_stuck();
	bench_settle(b);
	assert_ready(b, "False Stuck");
	assert_false(sriov_holds(b->sriov, "0000:03:10.0"));
}

static void settings_that_fail_hold_nobody(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN), two);
	bench_task_fails(b, "SettingsFailed");
	assert_ready(b, "False SettingsFailed");
	assert_false(sriov_holds(b->sriov, "0000:03:10.0"));
}

static void functions_are_named_after_their_card(void **state)
{
	struct bench *b = *state;

	bench_begin(b, NULL, two);
	assert_string_equal(str_cstr(&b->named), "0000:03:10.0 0000:03:10.2 ");
	assert_string_equal(sriov_parent(b->sriov, "0000:03:10.2"), NAME);
	assert_null(sriov_parent(b->sriov, PF));
	assert_null(sriov_parent(b->sriov, "0000:07:00.0"));
	fake_server_delete(b->server, NAME);
	assert_true(fake_server_show(b->server, 9));
	assert_null(sriov_parent(b->sriov, "0000:03:10.2"));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_rows(&suite, uses, the_node_is_waited_for);
	suite_add(&suite, "a claim is waited for", a_claim_is_waited_for, NULL);
	suite_add(&suite, "an old record is no claim", an_old_record_is_no_claim, NULL);
	suite_add(&suite, "a record is waited for", a_record_is_waited_for, NULL);
	suite_add(&suite, "a pod is waited for", a_pod_is_waited_for, NULL);
	suite_add(&suite, "nothing is removed before the claims are known",
		  nothing_is_removed_before_the_claims_are_known, NULL);
	suite_add(&suite, "settings that cannot be read are reported",
		  settings_that_cannot_be_read_are_reported, NULL);
	suite_add(&suite, "a stuck helper holds nobody", a_stuck_helper_holds_nobody, NULL);
	suite_add(&suite, "settings that fail hold nobody", settings_that_fail_hold_nobody, NULL);
	suite_add(&suite, "functions are named after their card",
		  functions_are_named_after_their_card, NULL);
	suite_add(&suite, "functions are held until their settings are right",
		  functions_are_held_until_their_settings_are_right, NULL);
	return suite_run(&suite, "sriov_functions");
}
