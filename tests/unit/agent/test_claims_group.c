/* claims: several claims at a time, of one IOMMU group and of many. */
#include "agent/claim/claims.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "unit/agent/claims_bench.h"
#include "unit/captured.h"

#define PART(nth, group, driver)                                                    \
	"{\"kind\":\"pci\",\"address\":\"0000:07:0" nth ".0\",\"vendor\":\"10ec\"," \
	"\"device\":\"8139\",\"class\":\"020000\",\"iommuGroup\":\"" group          \
	"\",\"driver\":\"" driver "\"}"
#define PART_DEVICE(nth)                                                               \
	"{\"metadata\":{\"name\":\"node1-0000070" nth "0\",\"uid\":\"d" nth "\","      \
	"\"resourceVersion\":\"7\",\"annotations\":{\"harvesterhci.io/pcideviceDriver" \
	"\":\"8139cp\"}},\"status\":{\"kernelDriverInUse\":\"vfio-pci\"}}"
#define PART_CLAIM(nth) "{\"address\":\"0000:07:0" nth ".0\",\"nodeName\":\"node1\"}"

static struct binder_seen both_on_vfio[] = {
	{ TEXT("0000:07:01.0"), TEXT("vfio-pci"), TEXT("vfio-pci") },
	{ TEXT("0000:07:02.0"), TEXT("vfio-pci"), TEXT("vfio-pci") },
};

/* One helper moves the group for all its claims; the second claim gets the same outcome. */
static void claims_of_one_group_share_a_helper(void **state)
{
	static const char *const lines[] = { PART("1", "7", "8139cp"), PART("2", "7", "8139cp"),
					     NULL };
	struct bench *b = *state;

	bench_list(b, PART_DEVICE("1") "," PART_DEVICE("2"));
	bench_look(b, lines);
	bench_create(b, "node1-000007010", PART_CLAIM("1"));
	bench_serve(b);
	assert_int_equal(fake.binder->started, 0);
	bench_has(b, "node1-000007010", "GroupShared");
	bench_create(b, "node1-000007020", PART_CLAIM("2"));
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text,
			    "bind 7: 0000:07:02.0 8139cp->vfio-pci for node1-000007020/u2 "
			    "0000:07:01.0 8139cp->vfio-pci for node1-000007010/u1");
	assert_true(claims_moving(b->claims, "node1-000007020"));
	bench_end(b, (struct binder_outcome){
			     .task = { .result = TASK_DONE, .message = TEXT("bound") },
			     .seen = { .items = both_on_vfio, .len = 2 } });
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
	bench_has(b, "node1-000007010", "\"passthroughEnabled\":true");
	bench_has(b, "node1-000007020", "\"passthroughEnabled\":true");
}

/* Nothing is said of a group, or done with it, while it is between two drivers. */
static void a_claim_of_a_group_under_way_rests(void **state)
{
	static const char *const lines[] = { PART("1", "7", "8139cp"), PART("2", "7", "8139cp"),
					     NULL };
	struct bench *b = *state;

	bench_create(b, "node1-000007010",
		     "{\"address\":\"0000:07:01.0\",\"includeIOMMUGroup\":true}");
	bench_list(b, PART_DEVICE("1") "," PART_DEVICE("2"));
	bench_look(b, lines);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_int_equal(fake.binder->jobs.items[0]->addresses.len, 2);
	bench_create(b, "node1-000007020", PART_CLAIM("2"));
	bench_advance(b, 60000);
	assert_int_equal(bench_asking(b), 0);
	bench_end(b, (struct binder_outcome){
			     .task = { .result = TASK_DONE, .message = TEXT("bound") },
			     .seen = { .items = both_on_vfio, .len = 2 } });
	assert_int_equal(bench_asking(b), 2);
}

#define PART_RECORD(nth, uid)                                                                   \
	"{\"kind\":\"record\",\"address\":\"0000:07:0" nth ".0\",\"claim\":\"node1-0000070" nth \
	"0\",\"uid\":\"" uid                                                                    \
	"\",\"driver\":\"vfio-pci\",\"native\":\"8139cp\",\"id\":\"10ec:8139\"}"

/* A watch on a process of another pid namespace fires at once: none is made a second time because
 * the claim had to wait for the attempt of another one. */
static void a_holder_stays_known_while_another_claim_moves_the_group(void **state)
{
	static const char *const unbound[] = { PART("1", "7", "8139cp"), PART("2", "7", "8139cp"),
					       NULL };
	static const char *const bound[] = { PART("1", "7", "vfio-pci"), PART("2", "7", "vfio-pci"),
					     PART_RECORD("1", "u1"), PART_RECORD("2", "u2"), NULL };
	const struct binder_outcome held = { .task = { .result = TASK_HELD,
						       .reason = TEXT("Held"),
						       .message = TEXT("process 123 has it"),
						       .holder = TEXT("process 123"),
						       .holder_pid = 123 },
					     .seen = { .items = both_on_vfio, .len = 2 } };
	struct bench *b = *state;

	bench_create(b, "node1-000007010", PART_CLAIM("1"));
	bench_create(b, "node1-000007020", PART_CLAIM("2"));
	bench_list(b, PART_DEVICE("1") "," PART_DEVICE("2"));
	bench_look(b, unbound);
	bench_serve(b);
	bench_end(b, (struct binder_outcome){
			     .task = { .result = TASK_DONE, .message = TEXT("bound") },
			     .seen = { .items = both_on_vfio, .len = 2 } });
	bench_serve(b);
	bench_look(b, bound);
	bench_delete(b, "node1-000007010");
	bench_delete(b, "node1-000007020");
	bench_serve(b);
	assert_int_equal(fake.binder->started, 2);
	bench_end(b, held);
	bench_serve(b);
	assert_int_equal(fake.watches, 2);
	for (size_t i = 0; i < 3; i++) {
		bench_advance(b, 5100);
		bench_serve(b);
		assert_int_equal(fake.binder->started, 3 + i);
		bench_end(b, held);
		bench_serve(b);
	}
	assert_int_equal(fake.watches, 2);
}

static void claims_of_many_groups_run_side_by_side(void **state)
{
	static const char *const lines[] = { PART("1", "1", "8139cp"), PART("2", "2", "8139cp"),
					     PART("3", "3", "8139cp"), PART("4", "4", "8139cp"),
					     NULL };
	struct bench *b = *state;

	bench_create(b, "node1-000007010", PART_CLAIM("1"));
	bench_create(b, "node1-000007020", PART_CLAIM("2"));
	bench_create(b, "node1-000007030", PART_CLAIM("3"));
	bench_create(b, "node1-000007040", PART_CLAIM("4"));
	bench_list(b,
		   PART_DEVICE("1") "," PART_DEVICE("2") "," PART_DEVICE("3") "," PART_DEVICE("4"));
	bench_look(b, lines);
	assert_int_equal(bench_asking(b), 4);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 4);
}

static struct binder_seen both_on_native[] = {
	{ TEXT("0000:07:01.0"), TEXT("8139cp"), NULL },
	{ TEXT("0000:07:02.0"), TEXT("8139cp"), NULL },
};

/* A scan that began before the end of the release still has the old driver, and no record any
 * more. */
static void a_released_group_is_not_left_alone(void **state)
{
	static const char *const free_parts[] = { PART("1", "7", "8139cp"),
						  PART("2", "7", "8139cp"), NULL };
	static const char *const bound_parts[] = { PART("1", "7", "vfio-pci"),
						   PART("2", "7", "vfio-pci"),
						   PART_RECORD("1", "u1"), PART_RECORD("2", "u1"),
						   NULL };
	static const char *const no_records[] = { PART("1", "7", "vfio-pci"),
						  PART("2", "7", "vfio-pci"), NULL };
	struct captured captured;
	auto_free char *text = NULL;
	struct bench *b = *state;

	bench_create(b, "node1-000007010",
		     "{\"address\":\"0000:07:01.0\",\"includeIOMMUGroup\":true}");
	bench_list(b, PART_DEVICE("1") "," PART_DEVICE("2"));
	bench_look(b, free_parts);
	bench_serve(b);
	bench_end(b, (struct binder_outcome){
			     .task = { .result = TASK_DONE, .message = TEXT("bound") },
			     .seen = { .items = both_on_vfio, .len = 2 } });
	bench_serve(b);
	bench_delete(b, "node1-000007010");
	bench_look(b, bound_parts);
	bench_serve(b);
	bench_look(b, no_records);
	b->events.said.len = 0;
	captured_begin(&captured);
	bench_end(b, (struct binder_outcome){
			     .task = { .result = TASK_DONE, .message = TEXT("given") },
			     .seen = { .items = both_on_native, .len = 2 } });
	bench_serve(b);
	text = captured_end(&captured);
	if (!strstr(text, "device=node1-000007020 node=node1 reason=Released "
			  "message=\"0000:07:02.0 is back on 8139cp\""))
		fail_msg("%s", text);
	bench_has_none(b);
	claims_enqueue_all(b->claims);
	bench_said(b, "Normal Released of the device\nNormal Released of the device\n"
		      "Normal Released\n");
	bench_look(b, free_parts);
	bench_said(b, "");
	bench_look(b, no_records);
	bench_said(b, "Normal LeftAlone of the device\nNormal LeftAlone of the device\n");
}

/* clang-format off */
static struct claims_case {
	const char *name;
	const struct suite_fixture *fixture;
	CMUnitTestFunction test;
} cases[] = {
	{ "claims of one group share a helper",
	  &bench_fixture, claims_of_one_group_share_a_helper },
	{ "a claim of a group under way rests",
	  &bench_fixture, a_claim_of_a_group_under_way_rests },
	{ "a holder stays known while another claim moves the group",
	  &bench_fixture, a_holder_stays_known_while_another_claim_moves_the_group },
	{ "a group that was released is not told to be left alone",
	  &bench_fixture, a_released_group_is_not_left_alone },
	{ "claims of many groups run side by side",
	  &bench_fixture, claims_of_many_groups_run_side_by_side },
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
	return suite_run(&suite, "claims_group");
}
