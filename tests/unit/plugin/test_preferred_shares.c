/* Which shares of cards a container had better get. */
#include "agent/plugin/preferred_shares.h"

#include "agent/plugin/preferred.h"
#include "unit/plugin/toy.h"

enum { CANDIDATES_MAX = 32 };

/* The list is "a0%a a1%a a2%a b0%b b1%b b2%b c0%c c1%c c2%c d". Candidates with "!" are musts. */
static struct share_case {
	const char *name;
	const char *candidates;
	size_t size;
	const char *distributed;
	const char *packed;
} shares[] = {
	{ "nothing is needed", "a0 b0", 0, "", "" },
	{ "nothing is there", "", 2, "", "" },
	{ "all that is there is less than needed", "a0 a1 b0", 5, "a0 b0 a1", "b0 a0 a1" },
	{ "all are free", "a0 a1 a2 b0 b1 b2 c0 c1 c2", 3, "a0 b0 c0", "a0 a1 a2" },
	{ "more than there are cards", "a0 a1 a2 b0 b1 b2 c0 c1 c2", 4, "a0 b0 c0 a1",
	  "a0 a1 a2 b0" },
	{ "the card with the fewest given away", "a2 b0 b1 b2 c1 c2", 2, "b0 c1", "a2 c1" },
	{ "the card with the most given away", "a1 a2 b0 b1 b2 c2", 2, "b0 a1", "c2 a1" },
	{ "equal, but one has given this container some", "a1 a2 b0 b1 b2", 3, "b0 a1 b1",
	  "a1 a2 b0" },
	{ "what it must have counts as given away", "!a0 a1 a2 b0 b1 b2", 2, "a0 b0", "a0 a1" },
	{ "musts beyond the size are cut", "!a0 !a1 b0", 1, "a0", "a0" },
	{ "a whole one is a card", "a0 a1 a2 d", 2, "a0 d", "a0 a1" },
	{ "the order of the candidates decides between cards", "c0 c1 c2 a0 a1 a2", 2, "c0 a0",
	  "c0 c1" },
};

static size_t candidates_of(char *text, const struct device_list *list,
			    struct preferred_candidate *candidates)
{
	char *rest = text;
	char *word;
	size_t len = 0;

	while (*text && (word = strsep(&rest, " "))) {
		bool must = word[0] == '!';

		candidates[len++] = (struct preferred_candidate){
			.id = word + must,
			.card = device_list_find(list, word + must)->card,
			.must = must
		};
	}
	return len;
}

static void share_matches_table(void **state)
{
	const struct share_case *c = *state;
	struct device_list *list = toys_list("a0%a a1%a a2%a b0%b b1%b b2%b c0%c c1%c c2%c d");

	for (int packed = 0; packed < 2; packed++) {
		auto_free char *text = xstrdup(c->candidates);
		struct preferred_candidate candidates[CANDIDATES_MAX];
		size_t len = candidates_of(text, list, candidates);
		struct json_strs chosen = { 0 };
		auto_str struct str out = STR_INIT;

		preferred_shares(list, candidates, len, c->size, packed, &chosen);
		for (size_t i = 0; i < chosen.len; i++)
			str_addf(&out, "%s%s", i ? " " : "", chosen.items[i]);
		assert_string_equal(str_cstr(&out), packed ? c->packed : c->distributed);
		json_strs_done(&chosen);
	}
	device_list_unref(list);
}

/* --- one by one ------------------------------------------------------------------------------- */

enum { CARDS = 4, SHARES = 8, ALL_SHARES = CARDS * SHARES };

struct room {
	char ids[ALL_SHARES][8];
	char cards[CARDS][4];
	struct plugin_device devices[ALL_SHARES];
	struct preferred_candidate candidates[ALL_SHARES];
	size_t len;
	size_t given[CARDS];
};

static void room_fill(struct room *room, uint64_t *seed)
{
	memset(room, 0, sizeof(*room));
	for (size_t i = 0; i < ALL_SHARES; i++) {
		size_t card = i / SHARES;
		bool free_share = suite_random(seed) % 2;

		(void)snprintf(room->cards[card], sizeof(room->cards[card]), "c%zu", card);
		(void)snprintf(room->ids[i], sizeof(room->ids[i]), "c%zu-%zu", card, i % SHARES);
		room->devices[i] = (struct plugin_device){ .id = room->ids[i],
							   .card = room->cards[card],
							   .healthy = true,
							   .numa_node = -1 };
		room->given[card] += !free_share;
		if (free_share)
			room->candidates[room->len++] =
				(struct preferred_candidate){ .id = room->ids[i],
							      .card = room->cards[card] };
	}
}

/* The card that the rule names for the next share, by looking at all of them each time. */
static size_t next_card(const struct room *room, const size_t *free_shares, const size_t *got,
			bool packed)
{
	size_t best = CARDS;

	for (size_t i = 0; i < CARDS; i++) {
		size_t given = room->given[i] + got[i];
		size_t most = best < CARDS ? room->given[best] + got[best] : 0;

		if (free_shares[i] == got[i])
			continue;
		if (best == CARDS || (packed ? given > most : given < most) ||
		    (!packed && given == most && got[i] < got[best]))
			best = i;
	}
	return best;
}

static void one_by_one_is_the_same(void **state)
{
	uint64_t seed = 9;

	for (int round = 0; round < 2000; round++) {
		struct room room;
		struct device_list *list = NULL;
		struct json_strs chosen = { 0 };
		size_t free_shares[CARDS];
		size_t got[CARDS] = { 0 };
		bool packed = round % 2;

		room_fill(&room, &seed);
		assert_int_equal(
			device_list_new(room.devices, ALL_SHARES, toys_refused, NULL, &list, NULL),
			0);
		preferred_shares(list, room.candidates, room.len, suite_random(&seed) % ALL_SHARES,
				 packed, &chosen);
		for (size_t i = 0; i < CARDS; i++)
			free_shares[i] = SHARES - room.given[i];
		for (size_t i = 0; i < chosen.len; i++) {
			size_t card = next_card(&room, free_shares, got, packed);

			assert_int_equal(chosen.items[i][1] - '0', card);
			got[card]++;
		}
		json_strs_done(&chosen);
		device_list_unref(list);
	}
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_rows(&suite, shares, share_matches_table);
	suite_add(&suite, "one by one is the same", one_by_one_is_the_same, NULL);
	return suite_run(&suite, "preferred_shares");
}
