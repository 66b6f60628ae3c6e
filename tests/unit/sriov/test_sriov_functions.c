/* sriov: virtual functions that somebody has, that wait for their settings, and what they are called. */
#include "agent/sriov/sriov.h"

#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/sriov/sriov_bench.h"

static void a_claim_is_waited_for(void **state)
{
	static const char claim[] =
		"{'metadata':{'name':'node1-000003102','uid':'c','resourceVersion':"
		"'3'},'spec':{}}";
	struct bench *b = *state;
	auto_json json_t *claimed = scene_json(claim);

	bench_begin(b, OBJECT_SEEN("2"), two);
	bench_tell(b, CLAIMS_PATH, "ADDED", claimed);
	bench_edit(b, "{'numVFs':3}");
	bench_settle(b);
	assert_ready(b, "False VFsInUse");
	assert_int_equal(fake.starts, 0);
	bench_tell(b, CLAIMS_PATH, "DELETED", claimed);
	bench_settle(b);
	assert_int_equal(fake.starts, 1);
	assert_string_equal(str_cstr(&fake.words), JOB " count=3 autoprobe=0");
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
	fake_clock_advance(b->clock, 500);
	bench_settle(b);
	assert_ready(b, "False VFsInUse");
	assert_int_equal(fake.starts, 0);
	b->pod = NULL;
	sriov_touch_waiting(b->sriov);
	fake_clock_settle(b->clock);
	bench_settle(b);
	assert_int_equal(fake.starts, 1);
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
	assert_int_equal(fake.starts, row->waits ? 0 : 1);
	if (row->waits)
		assert_ready(b, "False VFsInUse");
}

/* Settings come before anybody is given the function, and are looked at after every scan. */
static void functions_are_held_until_their_settings_are_right(void **state)
{
	struct bench *b = *state;
	int writes;

	b->object = scene_json(OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN));
	scene_world(&b->world, two, 8);
	b->world.inventory->began_ms = clock_now_ms(fake_clock_as_clock(b->clock));
	sriov_set(b->sriov, b->world.inventory);
	assert_true(sriov_holds(b->sriov, "0000:03:10.0")); /* nothing is known yet */
	assert_false(sriov_holds(b->sriov, PF));
	bench_list(b, CARDS_PATH, OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN));
	bench_list(b, CLAIMS_PATH, "");
	assert_true(sriov_holds(b->sriov, "0000:03:10.0"));
	bench_settle(b);
	assert_string_equal(str_cstr(&fake.words), JOB " vf=1 vlan=5");
	assert_true(sriov_holds(b->sriov, "0000:03:10.0"));
	bench_end_helper(b, (struct sriov_outcome){ .done = true });
	assert_int_equal(b->frees, 2); /* with the list, and now */
	assert_int_equal(b->moves, 0);
	assert_false(sriov_holds(b->sriov, "0000:03:10.0"));
	assert_ready(b, "True Ready");

	writes = b->writes;
	bench_look(b, two);
	bench_settle(b);
	assert_int_equal(fake.starts, 2);
	assert_true(sriov_holds(b->sriov, "0000:03:10.2"));
	bench_end_helper(b, (struct sriov_outcome){ .done = true });
	assert_int_equal(b->writes, writes);
}

static void settings_that_fail_hold_nobody(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN), two);
	bench_fail_helper(b, "SettingsFailed");
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
	bench_tell(b, CARDS_PATH, "DELETED", b->object);
	assert_null(sriov_parent(b->sriov, "0000:03:10.2"));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_rows(&suite, uses, the_node_is_waited_for);
	suite_add(&suite, "a claim is waited for", a_claim_is_waited_for, NULL);
	suite_add(&suite, "a pod is waited for", a_pod_is_waited_for, NULL);
	suite_add(&suite, "settings that fail hold nobody", settings_that_fail_hold_nobody, NULL);
	suite_add(&suite, "functions are named after their card",
		  functions_are_named_after_their_card, NULL);
	suite_add(&suite, "functions are held until their settings are right",
		  functions_are_held_until_their_settings_are_right, NULL);
	return suite_run(&suite, "sriov_functions");
}
