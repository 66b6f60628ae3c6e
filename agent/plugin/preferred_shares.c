#include "agent/plugin/preferred_shares.h"

#include <stdlib.h>
#include <string.h>

#include "agent/plugin/device_list.h"
#include "agent/plugin/preferred.h"
#include "base/map.h"
#include "base/mem.h"

struct card {
	size_t allocated; /* shares                           */
	size_t place;     /* of the first candidate           */
	size_t shares;    /* candidates that have been ranked */
};

/* A candidate, and how good it is: the less the better. */
struct ranked {
	const char *id;
	size_t ranks[3];
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a;
	const struct ranked *y = b;
	int order = 0;

	for (size_t i = 0; order == 0 && i < ARRAY_LEN(x->ranks); i++)
		order = (x->ranks[i] > y->ranks[i]) - (x->ranks[i] < y->ranks[i]);
	return order;
}

/* Cards by name, and the one that was asked for last: shares of a card follow each other. */
struct cards {
	struct map *by_name;
	const char *last; /* NULL: none */
	struct card *last_card;
};

/* NULL: no candidate is of the card @name. */
static struct card *card_of(struct cards *cards, const char *name)
{
	if (!cards->last || strcmp(cards->last, name) != 0) {
		cards->last = name;
		cards->last_card = map_get(cards->by_name, name);
	}
	return cards->last_card;
}

static void card_add(struct cards *cards, const char *name, struct card *card)
{
	map_set(cards->by_name, name, card);
	cards->last = name;
	cards->last_card = card;
}

/* The cards of the candidates, in @room; @places: where that of each candidate is. */
static void cards_add(struct cards *cards, const struct preferred_candidate *candidates, size_t len,
		      struct card *room, size_t *places)
{
	for (size_t i = 0; i < len; i++) {
		const struct preferred_candidate *c = &candidates[i];
		const char *name = c->card ? c->card : c->id;
		struct card *card = card_of(cards, name);

		if (!card) {
			card = &room[i];
			card->place = i;
			card_add(cards, name, card);
		}
		card->allocated -= !c->must;
		places[i] = card->place;
	}
}

static void count_allocated(struct cards *cards, const struct device_list *list)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct plugin_device *device = &list->items[i];
		struct card *card = card_of(cards, device->card ? device->card : device->id);

		if (card)
			card->allocated++;
	}
}

static struct ranked rank(const struct preferred_candidate *candidate, size_t place,
			  struct card *card, bool packed)
{
	struct ranked ranked = { .id = candidate->id };

	if (packed) {
		ranked.ranks[0] = SIZE_MAX - card->allocated;
		ranked.ranks[1] = card->place;
	} else {
		ranked.ranks[0] = card->allocated + card->shares;
		ranked.ranks[1] = card->shares;
	}
	ranked.ranks[2] = place;
	card->shares++;
	return ranked;
}

void preferred_shares(const struct device_list *list, const struct preferred_candidate *candidates,
		      size_t len, size_t size, bool packed, struct json_strs *chosen)
{
	auto_free struct card *room = xcalloc(len + 1, sizeof(*room));
	auto_free size_t *places = xcalloc(len + 1, sizeof(*places));
	auto_free struct ranked *all = xcalloc(len + 1, sizeof(*all));
	struct cards cards = { .by_name = map_new() };
	size_t n = 0;

	cards_add(&cards, candidates, len, room, places);
	count_allocated(&cards, list);
	for (size_t i = 0; i < len; i++) {
		const struct preferred_candidate *c = &candidates[i];

		if (c->must && chosen->len < size)
			json_strs_add(chosen, c->id);
		else if (!c->must)
			all[n++] = rank(c, i, &room[places[i]], packed);
	}
	qsort(all, n, sizeof(*all), by_rank);
	for (size_t i = 0; i < n && chosen->len < size; i++)
		json_strs_add(chosen, all[i].id);
	map_free(cards.by_name);
}
