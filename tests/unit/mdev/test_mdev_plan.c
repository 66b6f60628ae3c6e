/*
 * The type manager's plan: every rule of KubeVirt's that is kept, and every defect of it that is not.
 * Cards are divided by mdev_machine.
 */
#include "agent/mdev/mdev_plan.h"

#include <string.h>

#include "unit/mdev/mdev_machine.h"

#define A                          \
	{                          \
		"a-1", "Type A", 4 \
	}
#define B                          \
	{                          \
		"b-1", "Type B", 2 \
	}
#define C                          \
	{                          \
		"c-1", "Type C", 1 \
	}

#define U1 "11111111-2222-3333-4444-555555555551"
#define U2 "11111111-2222-3333-4444-555555555552"

/* clang-format off */
#define CARD(name_, ...) { .name = (name_), .types = { __VA_ARGS__ } }
#define FAILING(name_, ...) { .name = (name_), .types = { __VA_ARGS__ }, .fails = true }
#define THREE_CARDS { CARD("c1", A, B), CARD("c2", A, B), CARD("c3", A, B) }

/* What becomes of cards on which there is nothing. */
static struct deal_case {
	const char *name;
	struct machine_card cards[CARDS_MAX];
	const char *wish;
	const char *comes_to;
} deals[] = {
	{ "no types are wanted: nothing is made", THREE_CARDS, "", "c1: c2: c3:" },
	{ "kubevirt-contract 2 (edge: three cards): three like cards and types A, B become A, B, A", THREE_CARDS, "a-1 b-1",
	  "c1:a-1*4 c2:b-1*2 c3:a-1*4" },
	{ "the user's order counts: B, A become B, A, B", THREE_CARDS, "b-1 a-1",
	  "c1:b-1*2 c2:a-1*4 c3:b-1*2" },
	{ "kubevirt-contract 2 (step 4): one type goes to all cards, with all of its instances", THREE_CARDS, "a-1",
	  "c1:a-1*4 c2:a-1*4 c3:a-1*4" },
	{ "kubevirt-contract 2 (edge: one card): one card and several types: the first one", { CARD("c1", A, B, C) }, "c-1 a-1 b-1",
	  "c1:c-1*1" },
	{ "kubevirt-contract 2 (step 3): a type matches by name, with underscores for blanks", THREE_CARDS, "Type_A",
	  "c1:a-1*4 c2:a-1*4 c3:a-1*4" },
	{ "kubevirt-contract 2 (step 3): a type matches by id", { CARD("c1", { "i915-GVTg_V5_4", NULL, 2 }) }, "i915-GVTg_V5_4",
	  "c1:i915-GVTg_V5_4*2" },
	{ "name and id of one type are one type", { CARD("c1", A, B), CARD("c2", A, B) }, "a-1 Type_A b-1",
	  "c1:a-1*4 c2:a-1*4" },
	{ "a card that supports none of them is left alone", { CARD("c1", C), CARD("c2", A) }, "a-1 b-1",
	  "c1: c2:a-1*4" },
	{ "kubevirt-contract 2 (step 4): a type that is out of cards leaves the others to the rest",
	  { CARD("c1", A), CARD("c2", A, B), CARD("c3", A), CARD("c4", A) }, "a-1 b-1",
	  "c1:a-1*4 c2:b-1*2 c3:a-1*4 c4:a-1*4" },
	{ "a type that no card has is passed over", THREE_CARDS, "z-9 b-1", "c1:b-1*2 c2:b-1*2 c3:b-1*2" },
	{ "a card that can make none now is left out of the deal",
	  { CARD("c1", { "a-1", "Type A", 0 }), CARD("c2", A) }, "a-1", "c1: c2:a-1*4" },
	{ "kubevirt-contract 2 (edge: creation fails): a failing card blocks no other",
	  { FAILING("c1", A, B), CARD("c2", A, B), CARD("c3", A, B) },
	  "a-1 b-1", "c1: c2:b-1*2 c3:a-1*4" },
	{ "more instances than one run makes are made in several",
	  { CARD("c1", { "a-1", "Type A", 200 }) }, "a-1", "c1:a-1*200" },
};
/* clang-format on */

static void deal_matches_table(void **state)
{
	const struct deal_case *c = *state;
	static struct machine m;
	auto_free char *text = NULL;

	memset(&m, 0, sizeof(m));
	memcpy(m.cards, c->cards, sizeof(m.cards));
	machine_wish(&m, c->wish);
	machine_settle(&m);
	text = machine_text(&m);
	assert_string_equal(text, c->comes_to);
	machine_done(&m);
}

/* --- from one wish to the next ------------------------------------------------------------ */

static void assert_cards(const struct machine *m, const char *expected)
{
	auto_free char *text = machine_text(m);

	assert_string_equal(text, expected);
}

static void machine_init(struct machine *m)
{
	static const struct machine_card cards[] = THREE_CARDS;

	memset(m, 0, sizeof(*m));
	memcpy(m->cards, cards, sizeof(cards));
}

static void wish_and_settle(struct machine *m, const char *types)
{
	machine_wish(m, types);
	machine_settle(m);
}

static void a_type_back_takes_no_cards(void **state)
{
	static struct machine m;

	(void)state;
	machine_init(&m);
	wish_and_settle(&m, "a-1 b-1");
	wish_and_settle(&m, "a-1");
	assert_cards(&m, "c1:a-1*4 c2:a-1*4 c3:a-1*4");
	wish_and_settle(&m, "a-1 b-1");
	assert_cards(&m, "c1:a-1*4 c2:a-1*4 c3:a-1*4");
	machine_done(&m);
}

static void another_order_moves_nothing(void **state)
{
	static struct machine m;

	(void)state;
	machine_init(&m);
	wish_and_settle(&m, "a-1 b-1");
	machine_wish(&m, "b-1 a-1");
	assert_int_equal(machine_settle(&m), 0);
	assert_cards(&m, "c1:a-1*4 c2:b-1*2 c3:a-1*4");
	machine_done(&m);
}

static void nothing_wanted_removes_only_ours(void **state)
{
	static struct machine m;

	(void)state;
	machine_init(&m);
	machine_add(&m, U1, "c1", "b-1", NULL);
	machine_add(&m, U2, "c2", "b-1", "vgpu");
	wish_and_settle(&m, "a-1");
	assert_cards(&m, "c1:~b-1*1 c2:b-1*1 c3:a-1*4");
	wish_and_settle(&m, "");
	assert_cards(&m, "c1:~b-1*1 c2:b-1*1 c3:");
	machine_done(&m);
}

static void a_record_of_another_boot_owns_nothing(void **state)
{
	static struct machine m;

	(void)state;
	machine_init(&m);
	wish_and_settle(&m, "a-1");
	m.rebooted = true;
	machine_wish(&m, "");
	machine_settle(&m);
	assert_cards(&m, "c1:a-1*4 c2:a-1*4 c3:a-1*4");
	machine_done(&m);
}

/* The kernel has each UUID once: of two lines that tell of it the first counts, and here nobody has made that. */
static void a_uuid_told_twice_counts_once(void **state)
{
	static struct machine m;
	struct mdev_plan plan;

	(void)state;
	machine_init(&m);
	machine_wish(&m, "");
	machine_add(&m, U1, "c1", "b-1", NULL);
	machine_add(&m, U1, "c1", "a-1", MDEV_OWNER_TYPES);
	machine_plan(&m, &plan);
	for (size_t i = 0; i < plan.len; i++)
		assert_int_equal(plan.items[i].remove.len, 0);
	mdev_plan_done(&plan);
	machine_done(&m);
}

static void switched_off_changes_nothing(void **state)
{
	static struct machine m;
	struct mdev_plan plan;

	(void)state;
	machine_init(&m);
	wish_and_settle(&m, "a-1");
	machine_remove(&m, m.instances[0].uuid);
	machine_wish(&m, "b-1");
	m.wish.enabled = false;
	machine_plan(&m, &plan);
	for (size_t i = 0; i < plan.len; i++) {
		assert_int_equal(plan.items[i].state, MDEV_DISABLED);
		assert_int_equal(plan.items[i].create.len + plan.items[i].remove.len +
					 plan.items[i].forget.len,
				 0);
	}
	mdev_plan_done(&plan);
	machine_done(&m);
}

static void a_type_of_another_provider_is_kept(void **state)
{
	static struct machine m;

	(void)state;
	machine_init(&m);
	wish_and_settle(&m, "a-1 b-1");
	machine_wish(&m, "a-1");
	json_strs_add(&m.wish.kept, "Type_B");
	machine_settle(&m);
	assert_cards(&m, "c1:a-1*4 c2:b-1*2 c3:a-1*4");
	machine_done(&m);
}

static void what_somebody_has_is_not_removed(void **state)
{
	static struct machine m;
	struct mdev_plan plan;

	(void)state;
	machine_init(&m);
	wish_and_settle(&m, "a-1");
	m.instances[0].held = true;
	wish_and_settle(&m, "b-1");
	assert_cards(&m, "c1:a-1*1 c2:b-1*2 c3:b-1*2");
	machine_plan(&m, &plan);
	assert_int_equal(plan.items[0].state, MDEV_IN_USE);
	assert_string_equal(plan.items[0].in_use.items[0], m.instances[0].uuid);
	mdev_plan_done(&plan);
	m.instances[0].held = false;
	machine_settle(&m);
	assert_cards(&m, "c1:b-1*2 c2:b-1*2 c3:b-1*2");
	machine_done(&m);
}

/* --- refill ------------------------------------------------------------------------------- */

static void what_others_remove_is_made_again(void **state)
{
	static struct machine m;
	char uuid[37];

	(void)state;
	machine_init(&m);
	wish_and_settle(&m, "a-1");
	memcpy(uuid, m.instances[2].uuid, sizeof(uuid));
	machine_remove(&m, uuid);
	machine_settle(&m);
	assert_cards(&m, "c1:a-1*4 c2:a-1*4 c3:a-1*4");
	assert_non_null(machine_instance(&m, uuid));
	machine_done(&m);
}

static void a_part_is_filled_up(void **state)
{
	static struct machine m;

	(void)state;
	machine_init(&m);
	m.cards[1].makes = 1;
	wish_and_settle(&m, "a-1");
	assert_cards(&m, "c1:a-1*4 c2:a-1*1 c3:a-1*4");
	m.cards[1].makes = 0;
	machine_settle(&m);
	assert_cards(&m, "c1:a-1*4 c2:a-1*4 c3:a-1*4");
	machine_done(&m);
}

static void a_failing_card_gets_its_own_type_later(void **state)
{
	static struct machine m;

	(void)state;
	machine_init(&m);
	m.cards[0].fails = true;
	wish_and_settle(&m, "a-1 b-1");
	m.cards[0].fails = false;
	machine_settle(&m);
	assert_cards(&m, "c1:a-1*4 c2:b-1*2 c3:a-1*4");
	machine_done(&m);
}

static void beside_an_instance_of_a_wanted_type(void **state)
{
	static struct machine m;

	(void)state;
	machine_init(&m);
	machine_add(&m, U1, "c1", "b-1", NULL);
	wish_and_settle(&m, "a-1 b-1");
	assert_cards(&m, "c1:b-1*1~b-1*1 c2:a-1*4 c3:a-1*4");
	machine_done(&m);
}

/* --- identity -------------------------------------------------------------------------------- */

static void the_same_instances_after_a_reboot(void **state)
{
	static struct machine before;
	static struct machine after;

	(void)state;
	machine_init(&before);
	machine_init(&after);
	wish_and_settle(&before, "a-1 b-1");
	wish_and_settle(&after, "a-1 b-1");
	assert_int_equal(before.len, 10);
	for (size_t i = 0; i < before.len; i++)
		assert_non_null(machine_instance(&after, before.instances[i].uuid));
	machine_done(&before);
	machine_done(&after);
}

static void a_uuid_that_is_taken_is_passed_over(void **state)
{
	static struct machine m;
	char uuid[37];

	(void)state;
	machine_init(&m);
	wish_and_settle(&m, "a-1");
	memcpy(uuid, m.instances[0].uuid, sizeof(uuid));
	m.len = 0;
	machine_add(&m, uuid, "c2", "b-1", NULL);
	machine_settle(&m);
	assert_cards(&m, "c1:a-1*4 c2:~b-1*1 c3:a-1*4");
	assert_string_equal(machine_instance(&m, uuid)->type, "b-1");
	machine_done(&m);
}

static void records_of_what_is_gone_are_forgotten(void **state)
{
	static struct machine m;
	struct facts *facts;
	struct mdev_plan plan;

	(void)state;
	machine_init(&m);
	machine_wish(&m, "");
	facts = machine_facts(&m);
	machine_line(facts, "{\"kind\":\"mdevRecord\",\"uuid\":\"" U1 "\",\"parent\":\"gone\","
			    "\"type\":\"a-1\",\"owner\":\"types\",\"thisBoot\":true}");
	machine_line(facts, "{\"kind\":\"mdevRecord\",\"uuid\":\"" U2 "\",\"parent\":\"c1\","
			    "\"type\":\"a-1\",\"owner\":\"vgpu\",\"thisBoot\":false}");
	mdev_plan_make(
		&(struct mdev_plan_case){ .node_name = "n", .facts = facts, .wish = &m.wish },
		&plan);
	assert_int_equal(plan.len, 4);
	assert_string_equal(plan.items[3].parent, "gone");
	assert_int_equal(plan.items[3].forget.len, 1);
	assert_string_equal(plan.items[3].forget.items[0], U1);
	assert_int_equal(plan.items[0].forget.len, 0);
	mdev_plan_done(&plan);
	facts_free(facts);
	machine_done(&m);
}

/* --- states ------------------------------------------------------------------------------------ */

static void states_say_why(void **state)
{
	static const struct machine cards = { .cards = { CARD("c1", A, B), CARD("c2", C),
							 CARD("c3", A),
							 CARD("c4", { "a-1", "Type A", 0 }) } };
	static struct machine m;
	struct mdev_plan plan;

	(void)state;
	m = cards;
	machine_add(&m, U1, "c3", "c-1", NULL);
	machine_wish(&m, "a-1");
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
	machine_wish(&m, "");
	machine_plan(&m, &plan);
	assert_int_equal(plan.items[0].state, MDEV_TO_REMOVE);
	assert_int_equal(plan.items[1].state, MDEV_UNCONFIGURED);
	mdev_plan_done(&plan);
	machine_done(&m);
}

/* --- whatever happens ------------------------------------------------------------------------------ */

static const char *const wishes[] = { "", "a-1", "b-1", "a-1 b-1", "b-1 a-1", "c-1 Type_A" };

/* The agent dies after any number of single steps, and another one goes on. */
static void a_cut_comes_to_the_same_end(void **state)
{
	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(wishes); w++) {
		static struct machine whole;
		auto_free char *expected = NULL;

		machine_init(&whole);
		wish_and_settle(&whole, wishes[w]);
		expected = machine_text(&whole);
		machine_done(&whole);
		for (int cut = 0; cut < 13; cut++) {
			static struct machine m;
			struct mdev_plan plan;
			int steps = cut;

			machine_init(&m);
			machine_wish(&m, wishes[w]);
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

/* Another wish, somebody who takes an instance, a card that fails or comes right, some steps; how many
 * instances somebody has taken. */
static size_t live_a_turn(struct machine *m, uint64_t *seed)
{
	struct mdev_plan plan;
	int steps = (int)(suite_random(seed) % 8);
	size_t taken = 0;

	if (suite_random(seed) % 3 == 0)
		machine_wish(m, wishes[suite_random(seed) % ARRAY_LEN(wishes)]);
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

	(void)state;
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

	suite_rows(&suite, deals, deal_matches_table);
	suite_add(&suite, "kubevirt-contract 2 (edge: a type back): it takes no cards from another",
		  a_type_back_takes_no_cards, NULL);
	suite_add(&suite,
		  "kubevirt-contract 2 (step 2): another order of the same types moves nothing",
		  another_order_moves_nothing, NULL);
	suite_add(
		&suite,
		"kubevirt-contract 2 (step 1): an empty configuration removes what we made and nothing else",
		nothing_wanted_removes_only_ours, NULL);
	suite_add(&suite, "a record of another boot owns nothing",
		  a_record_of_another_boot_owns_nothing, NULL);
	suite_add(&suite, "a UUID that is told of twice counts once", a_uuid_told_twice_counts_once,
		  NULL);
	suite_add(&suite,
		  "kubevirt-contract 2 (inputs: enabled): false stops making, removing, forgetting",
		  switched_off_changes_nothing, NULL);
	suite_add(
		&suite,
		"kubevirt-contract 2 (inputs: keep-list): a type of another provider protects its instances",
		a_type_of_another_provider_is_kept, NULL);
	suite_add(&suite,
		  "kubevirt-contract 2 (step 1): what somebody has stays until he has it no more",
		  what_somebody_has_is_not_removed, NULL);
	suite_add(
		&suite,
		"kubevirt-contract 2 (edge: new UUIDs): what others remove is made again as the same",
		what_others_remove_is_made_again, NULL);
	suite_add(
		&suite,
		"kubevirt-contract 2 (edge: partial): a card that made a part of them is filled up later",
		a_part_is_filled_up, NULL);
	suite_add(&suite, "a card that failed gets the type that fell to it later",
		  a_failing_card_gets_its_own_type_later, NULL);
	suite_add(
		&suite,
		"kubevirt-contract 2 (step 2): a card with somebody's wanted instance is filled up with it",
		beside_an_instance_of_a_wanted_type, NULL);
	suite_add(&suite, "instances have the same UUIDs after a reboot",
		  the_same_instances_after_a_reboot, NULL);
	suite_add(&suite, "a UUID that somebody else has taken is passed over",
		  a_uuid_that_is_taken_is_passed_over, NULL);
	suite_add(&suite, "records of what is gone are forgotten, but for those of others",
		  records_of_what_is_gone_are_forgotten, NULL);
	suite_add(&suite, "the state of each parent says why", states_say_why, NULL);
	suite_add(&suite, "a plan that was cut off anywhere comes to the same end",
		  a_cut_comes_to_the_same_end, NULL);
	suite_add(
		&suite,
		"kubevirt-contract 2 (edge: foreign mdevs): nothing of others and nothing in use goes, in any life",
		rules_hold_in_any_life, NULL);
	return suite_run(&suite, "mdev_plan");
}
