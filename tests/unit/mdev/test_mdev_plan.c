/*
 * The type manager's plan: every rule of KubeVirt's that is kept, and every defect of it that is
 * not. Cards are divided by mdev_machine.
 */
#include "agent/mdev/mdev_plan.h"

#include "unit/mdev/mdev_cards.h"

/* clang-format off */
/* What becomes of cards on which there is nothing. */
static struct deal_case {
	const char *name;
	struct machine_card cards[CARDS_MAX];
	const char *desired;
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
	machine_desire(&m, c->desired);
	machine_settle(&m);
	text = machine_text(&m);
	assert_string_equal(text, c->comes_to);
	machine_done(&m);
}

/* --- from one desired state to the next ------------------------------------------------------- */

static void a_type_back_takes_no_cards(void **state)
{
	struct machine *m = *state;

	desire_and_settle(m, "a-1 b-1");
	desire_and_settle(m, "a-1");
	assert_cards(m, "c1:a-1*4 c2:a-1*4 c3:a-1*4");
	desire_and_settle(m, "a-1 b-1");
	assert_cards(m, "c1:a-1*4 c2:a-1*4 c3:a-1*4");
}

static void another_order_moves_nothing(void **state)
{
	struct machine *m = *state;

	desire_and_settle(m, "a-1 b-1");
	machine_desire(m, "b-1 a-1");
	assert_int_equal(machine_settle(m), 0);
	assert_cards(m, "c1:a-1*4 c2:b-1*2 c3:a-1*4");
}

static void nothing_wanted_removes_only_ours(void **state)
{
	struct machine *m = *state;

	machine_add(m, U1, "c1", "b-1", NULL);
	machine_add(m, U2, "c2", "b-1", "vgpu");
	desire_and_settle(m, "a-1");
	assert_cards(m, "c1:~b-1*1 c2:b-1*1 c3:a-1*4");
	desire_and_settle(m, "");
	assert_cards(m, "c1:~b-1*1 c2:b-1*1 c3:");
}

static void a_record_of_another_boot_owns_nothing(void **state)
{
	struct machine *m = *state;

	desire_and_settle(m, "a-1");
	m->rebooted = true;
	machine_desire(m, "");
	machine_settle(m);
	assert_cards(m, "c1:a-1*4 c2:a-1*4 c3:a-1*4");
}

/* The kernel has each UUID once: of two lines with it the first counts, and here its instance has
 * no record. */
static void a_uuid_listed_twice_counts_once(void **state)
{
	struct machine *m = *state;
	struct mdev_plan plan;

	machine_desire(m, "");
	machine_add(m, U1, "c1", "b-1", NULL);
	machine_add(m, U1, "c1", "a-1", MDEV_OWNER_TYPES);
	machine_plan(m, &plan);
	for (size_t i = 0; i < plan.len; i++)
		assert_int_equal(plan.items[i].remove.len, 0);
	mdev_plan_done(&plan);
}

static void switched_off_changes_nothing(void **state)
{
	struct machine *m = *state;
	struct mdev_plan plan;

	desire_and_settle(m, "a-1");
	machine_remove(m, m->instances[0].uuid);
	machine_desire(m, "b-1");
	m->desired.enabled = false;
	machine_plan(m, &plan);
	for (size_t i = 0; i < plan.len; i++) {
		assert_int_equal(plan.items[i].state, MDEV_DISABLED);
		assert_int_equal(plan.items[i].create.len + plan.items[i].remove.len +
					 plan.items[i].forget.len,
				 0);
	}
	mdev_plan_done(&plan);
}

static void a_type_of_another_provider_is_kept(void **state)
{
	struct machine *m = *state;

	desire_and_settle(m, "a-1 b-1");
	machine_desire(m, "a-1");
	json_strs_add(&m->desired.kept, "Type_B");
	machine_settle(m);
	assert_cards(m, "c1:a-1*4 c2:b-1*2 c3:a-1*4");
}

static void what_somebody_has_is_not_removed(void **state)
{
	struct machine *m = *state;
	struct mdev_plan plan;

	desire_and_settle(m, "a-1");
	m->instances[0].held = true;
	desire_and_settle(m, "b-1");
	assert_cards(m, "c1:a-1*1 c2:b-1*2 c3:b-1*2");
	machine_plan(m, &plan);
	assert_int_equal(plan.items[0].state, MDEV_IN_USE);
	assert_string_equal(plan.items[0].in_use.items[0], m->instances[0].uuid);
	mdev_plan_done(&plan);
	m->instances[0].held = false;
	machine_settle(m);
	assert_cards(m, "c1:b-1*2 c2:b-1*2 c3:b-1*2");
}

/* --- refill ----------------------------------------------------------------------------------- */

static void what_others_remove_is_made_again(void **state)
{
	struct machine *m = *state;
	char uuid[37];

	desire_and_settle(m, "a-1");
	memcpy(uuid, m->instances[2].uuid, sizeof(uuid));
	machine_remove(m, uuid);
	machine_settle(m);
	assert_cards(m, "c1:a-1*4 c2:a-1*4 c3:a-1*4");
	assert_non_null(machine_instance(m, uuid));
}

static void a_part_is_filled_up(void **state)
{
	struct machine *m = *state;

	m->cards[1].makes = 1;
	desire_and_settle(m, "a-1");
	assert_cards(m, "c1:a-1*4 c2:a-1*1 c3:a-1*4");
	m->cards[1].makes = 0;
	machine_settle(m);
	assert_cards(m, "c1:a-1*4 c2:a-1*4 c3:a-1*4");
}

static void a_failing_card_gets_its_own_type_later(void **state)
{
	struct machine *m = *state;

	m->cards[0].fails = true;
	desire_and_settle(m, "a-1 b-1");
	m->cards[0].fails = false;
	machine_settle(m);
	assert_cards(m, "c1:a-1*4 c2:b-1*2 c3:a-1*4");
}

static void beside_an_instance_of_a_wanted_type(void **state)
{
	struct machine *m = *state;

	machine_add(m, U1, "c1", "b-1", NULL);
	desire_and_settle(m, "a-1 b-1");
	assert_cards(m, "c1:b-1*1~b-1*1 c2:a-1*4 c3:a-1*4");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, deals, deal_matches_table);
	suite_fixture(&suite, &machine_fixture);
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
	suite_add(&suite, "a UUID that is listed twice counts once",
		  a_uuid_listed_twice_counts_once, NULL);
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
	return suite_run(&suite, "mdev_plan");
}
