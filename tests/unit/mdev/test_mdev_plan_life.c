/* The type manager's plan: which instances there are in the end, what is said of parents, and what
 * holds whatever happens in between. */
#include "agent/mdev/mdev_plan.h"

#include "unit/mdev/mdev_cards.h"

/* --- identity --------------------------------------------------------------------------------- */

static void the_same_instances_after_a_reboot(void **state)
{
	static struct machine before;
	struct machine *after = *state;

	machine_init(&before);
	desire_and_settle(&before, "a-1 b-1");
	desire_and_settle(after, "a-1 b-1");
	assert_int_equal(before.len, 10);
	for (size_t i = 0; i < before.len; i++)
		assert_non_null(machine_instance(after, before.instances[i].uuid));
	machine_done(&before);
}

static void a_uuid_that_is_taken_is_passed_over(void **state)
{
	struct machine *m = *state;
	char uuid[37];

	desire_and_settle(m, "a-1");
	memcpy(uuid, m->instances[0].uuid, sizeof(uuid));
	m->len = 0;
	machine_add(m, uuid, "c2", "b-1", NULL);
	machine_settle(m);
	assert_cards(m, "c1:a-1*4 c2:~b-1*1 c3:a-1*4");
	assert_string_equal(machine_instance(m, uuid)->type, "b-1");
}

static void records_of_what_is_gone_are_forgotten(void **state)
{
	struct machine *m = *state;
	struct facts *facts;
	struct mdev_plan plan;

	machine_desire(m, "");
	facts = machine_facts(m);
	machine_line(facts, "{\"kind\":\"mdevRecord\",\"uuid\":\"" U1 "\",\"parent\":\"gone\","
			    "\"type\":\"a-1\",\"owner\":\"types\",\"thisBoot\":true}");
	machine_line(facts, "{\"kind\":\"mdevRecord\",\"uuid\":\"" U2 "\",\"parent\":\"c1\","
			    "\"type\":\"a-1\",\"owner\":\"vgpu\",\"thisBoot\":false}");
	mdev_plan_make(&(struct mdev_plan_case){ .node_name = "n",
						 .facts = facts,
						 .desired = &m->desired },
		       &plan);
	assert_int_equal(plan.len, 4);
	assert_string_equal(plan.items[3].parent, "gone");
	assert_int_equal(plan.items[3].forget.len, 1);
	assert_string_equal(plan.items[3].forget.items[0], U1);
	assert_int_equal(plan.items[0].forget.len, 0);
	mdev_plan_done(&plan);
	facts_free(facts);
}

/* --- states ----------------------------------------------------------------------------------- */

static void states_say_why(void **state)
{
	static const struct machine cards = { .cards = { CARD("c1", A, B), CARD("c2", C),
							 CARD("c3", A),
							 CARD("c4", { "a-1", "Type A", 0 }) } };
	static struct machine m;
	struct mdev_plan plan;

	m = cards;
	machine_add(&m, U1, "c3", "c-1", NULL);
	machine_desire(&m, "a-1");
	machine_plan(&m, &plan);
	assert_int_equal(plan.items[0].state, MDEV_INCOMPLETE);
	assert_string_equal(plan.items[0].type, "a-1");
	assert_int_equal(plan.items[1].state, MDEV_NO_TYPE_FITS);
	assert_int_equal(plan.items[2].state, MDEV_TAKEN);
	assert_int_equal(plan.items[3].state, MDEV_NOT_DEALT);
	mdev_plan_done(&plan);
	machine_settle(&m);
	machine_plan(&m, &plan);
	assert_int_equal(plan.items[0].state, MDEV_COMPLETE);
	assert_int_equal(plan.items[0].there, 4);
	mdev_plan_done(&plan);
	machine_desire(&m, "");
	machine_plan(&m, &plan);
	assert_int_equal(plan.items[0].state, MDEV_TO_REMOVE);
	assert_int_equal(plan.items[1].state, MDEV_UNCONFIGURED);
	mdev_plan_done(&plan);
	machine_done(&m);
}

/* --- whatever happens ------------------------------------------------------------------------- */

static const char *const desires[] = { "", "a-1", "b-1", "a-1 b-1", "b-1 a-1", "c-1 Type_A" };

/* The agent dies after any number of single steps, and another one goes on. */
static void a_cut_comes_to_the_same_end(void **state)
{
	for (size_t w = 0; w < ARRAY_LEN(desires); w++) {
		static struct machine whole;
		auto_free char *expected = NULL;

		machine_init(&whole);
		desire_and_settle(&whole, desires[w]);
		expected = machine_text(&whole);
		machine_done(&whole);
		for (int cut = 0; cut < 13; cut++) {
			static struct machine m;
			struct mdev_plan plan;
			int steps = cut;

			machine_init(&m);
			machine_desire(&m, desires[w]);
			machine_plan(&m, &plan);
			machine_do(&m, &plan, &steps);
			mdev_plan_done(&plan);
			machine_settle(&m);
			assert_cards(&m, expected);
			machine_done(&m);
		}
	}
}

/* What holds after every step of a random life; @foreign is what others have made. */
static void assert_rules(const struct machine *m, size_t foreign, size_t held)
{
	size_t others = 0;
	size_t holders = 0;

	for (size_t i = 0; i < m->len; i++) {
		others += m->instances[i].owner == NULL;
		holders += m->instances[i].held;
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(m->instances[i].uuid, m->instances[j].uuid);
			if (m->instances[i].owner && m->instances[j].owner &&
			    m->instances[i].parent == m->instances[j].parent)
				assert_string_equal(m->instances[i].type, m->instances[j].type);
		}
	}
	assert_int_equal(others, foreign);
	assert_int_equal(holders, held);
}

/* Other desired types, somebody who takes an instance, a card that fails or comes right, some
 * steps; how many instances somebody has taken. */
static size_t live_a_turn(struct machine *m, uint64_t *seed)
{
	struct mdev_plan plan;
	int steps = (int)(suite_random(seed) % 8);
	size_t taken = 0;

	if (suite_random(seed) % 3 == 0)
		machine_desire(m, desires[suite_random(seed) % ARRAY_LEN(desires)]);
	if (m->len > 0 && suite_random(seed) % 4 == 0) {
		struct machine_instance *one = &m->instances[suite_random(seed) % m->len];

		taken = one->held ? 0 : 1;
		one->held = true;
	}
	m->cards[suite_random(seed) % 3].fails = suite_random(seed) % 2;
	machine_plan(m, &plan);
	machine_do(m, &plan, &steps);
	mdev_plan_done(&plan);
	return taken;
}

static void rules_hold_in_any_life(void **state)
{
	uint64_t seed = 22;

	for (int life = 0; life < 200; life++) {
		static struct machine m;
		size_t foreign = suite_random(&seed) % 3;
		size_t held = 0;

		machine_init(&m);
		for (size_t i = 0; i < foreign; i++)
			machine_add(&m, i ? U1 : U2, m.cards[suite_random(&seed) % 3].name,
				    suite_random(&seed) % 2 ? "a-1" : "b-1", NULL);
		for (int turn = 0; turn < 12; turn++) {
			held += live_a_turn(&m, &seed);
			assert_rules(&m, foreign, held);
		}
		machine_settle(&m);
		assert_rules(&m, foreign, held);
		machine_done(&m);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "the state of each parent says why", states_say_why, NULL);
	suite_add(&suite, "a plan that was cut off anywhere comes to the same end",
		  a_cut_comes_to_the_same_end, NULL);
	suite_add(
		&suite,
		"kubevirt-contract 2 (edge: foreign mdevs): nothing of others and nothing in use goes, in any life",
		rules_hold_in_any_life, NULL);
	suite_fixture(&suite, &machine_fixture);
	suite_add(&suite, "instances have the same UUIDs after a reboot",
		  the_same_instances_after_a_reboot, NULL);
	suite_add(&suite, "a UUID that somebody else has taken is passed over",
		  a_uuid_that_is_taken_is_passed_over, NULL);
	suite_add(&suite, "records of what is gone are forgotten, but for those of others",
		  records_of_what_is_gone_are_forgotten, NULL);
	return suite_run(&suite, "mdev_plan_life");
}
