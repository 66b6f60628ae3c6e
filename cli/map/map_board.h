/*
 * map_board: the page's cards by id, as text, and the changes that have not been sent yet.
 *
 * A change only marks a card. The card is made when the changes are sent: once, however often its
 * object has changed, and it is not sent if the text is the same.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct map_board;
struct str;

/* The card of @id as one line of JSON, which the caller frees; NULL: it does not exist (any
 * more). */
typedef char *map_board_fn(void *arg, const char *id);

struct map_board *map_board_new(map_board_fn *make, void *arg);
/* Takes NULL, returns NULL. */
struct map_board *map_board_free(struct map_board *board);

/* Mark the card of @id as changed. */
void map_board_mark(struct map_board *board, const char *id);

/* Is any card marked? */
bool map_board_has_changes(const struct map_board *board);

/* Append the changes since the last call as server-sent events "change". False: there are none. */
bool map_board_write_changes(struct map_board *board, struct str *out);

/* Append all cards, as changes for a page that has none. */
void map_board_write_all(const struct map_board *board, struct str *out);

size_t map_board_len(const struct map_board *board);
