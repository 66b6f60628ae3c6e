#include "cli/map/map_board.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

enum { CHUNK = 64 * 1024 }; /* bytes of cards in one event: the page draws between events */

struct map_board {
	map_board_fn *make;
	void *arg;
	struct map *cards;       /* id -> char *, the card as last sent */
	struct map *changed_ids; /* id -> the board (a set: the value does not matter) */
};

struct map_board *map_board_new(map_board_fn *make, void *arg)
{
	struct map_board *board = xcalloc(1, sizeof(*board));

	board->make = make;
	board->arg = arg;
	board->cards = map_new();
	board->changed_ids = map_new();
	return board;
}

struct map_board *map_board_free(struct map_board *board)
{
	if (!board)
		return NULL;
	map_free_with(board->cards, free);
	map_free(board->changed_ids);
	free(board);
	return NULL;
}

void map_board_mark(struct map_board *board, const char *id)
{
	map_set(board->changed_ids, id, board);
}

bool map_board_has_changes(const struct map_board *board)
{
	return map_len(board->changed_ids) > 0;
}

size_t map_board_len(const struct map_board *board)
{
	return map_len(board->cards);
}

/* The cards and ids of one event. */
struct change {
	struct str cards;
	struct str gone;
};

static void flush(struct change *change, struct str *out)
{
	if (change->cards.len == 0 && change->gone.len == 0)
		return;
	str_addf(out, "event: change\ndata: {\"cards\":[%s],\"gone\":[%s]}\n\n",
		 str_cstr(&change->cards), str_cstr(&change->gone));
	str_clear(&change->cards);
	str_clear(&change->gone);
}

static void add_card(struct change *change, const char *card, struct str *out)
{
	if (change->cards.len > 0)
		str_add_char(&change->cards, ',');
	str_add(&change->cards, card);
	if (change->cards.len > CHUNK)
		flush(change, out);
}

/* Ids are encoded as JSON, because names from an API server are not checked. */
static void add_gone(struct change *change, const char *id)
{
	json_write_str(&change->gone, NULL, id);
}

/* True if the card is new or has changed. */
static bool update_card(struct map_board *board, const char *id, struct change *change,
			struct str *out)
{
	auto_free char *card = board->make(board->arg, id);
	const char *before = map_get(board->cards, id);

	if (!card && !before)
		return false;
	if (card && before && strcmp(card, before) == 0)
		return false;
	if (card) {
		add_card(change, card, out);
		free(map_set(board->cards, id, card));
		(void)take_ptr(card);
	} else {
		add_gone(change, id);
		free(map_remove(board->cards, id));
	}
	return true;
}

bool map_board_write_changes(struct map_board *board, struct str *out)
{
	struct change change = { 0 };
	bool changed = false;
	size_t cursor = 0;
	const char *id;

	while (map_next(board->changed_ids, &cursor, &id, NULL))
		changed |= update_card(board, id, &change, out);
	map_free(board->changed_ids);
	board->changed_ids = map_new();
	flush(&change, out);
	str_done(&change.cards);
	str_done(&change.gone);
	return changed;
}

struct card_ref {
	const char *id;
	const char *card;
};

static int by_id(const void *a, const void *b)
{
	const struct card_ref *one = a;
	const struct card_ref *other = b;

	return strcmp(one->id, other->id);
}

/* Sorted, so that the page gets one node after the other. */
void map_board_write_all(const struct map_board *board, struct str *out)
{
	auto_free struct card_ref *all = xcalloc(map_len(board->cards) + 1, sizeof(*all));
	struct change change = { 0 };
	size_t cursor = 0;
	size_t len = 0;
	const char *id;
	void *card;

	while (map_next(board->cards, &cursor, &id, &card))
		all[len++] = (struct card_ref){ .id = id, .card = card };
	qsort(all, len, sizeof(*all), by_id);
	for (size_t i = 0; i < len; i++)
		add_card(&change, all[i].card, out);
	flush(&change, out);
	str_done(&change.cards);
	str_done(&change.gone);
}
