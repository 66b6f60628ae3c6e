/*
 * map_board: the cards that the page shows, by id, as text, and what has changed of them.
 *
 * Changes are only noted until somebody asks for them: however often an object changes in between, its
 * card is made once, and not told if it says the same as before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct map_board;
struct str;

/* The card of @id as one line of JSON, which the caller frees; NULL: there is none (any more). */
typedef char *map_board_fn(void *arg, const char *id);

struct map_board *map_board_new(map_board_fn *make, void *arg);
/* Takes NULL, returns NULL. */
struct map_board *map_board_free(struct map_board *board);

/* The card of @id is to be made anew. */
void map_board_touch(struct map_board *board, const char *id);

/* Is there anything to be made anew? */
bool map_board_touched(const struct map_board *board);

/* Append what has changed since the last time, as server-sent events "change". False: nothing has. */
bool map_board_take(struct map_board *board, struct str *out);

/* Append all cards, as the changes that make them of nothing. */
void map_board_all(const struct map_board *board, struct str *out);

size_t map_board_len(const struct map_board *board);
