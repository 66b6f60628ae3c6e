/*
 * table: rows of text in columns, as kubectl prints them: titles in capitals, three blanks between.
 *
 * Widths are counted in characters, not bytes; colours take no room. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/model/state.h"

struct out;
struct str;

enum {
	TABLE_COLUMNS_MAX = 16,
	TABLE_WRAP_LEAST = 40, /* for less room, what wraps gets lines of its own */
	TABLE_WRAP_INDENT = 4,
	TABLE_NAME_LEAST = 8, /* in which a name of a pod, a user or a node says something */
};

struct table_column {
	const char *title;
	bool wide;    /* only with -o wide                                     */
	size_t least; /* characters to which a terminal may cut it; 0: it is whole */
	bool wraps;   /* the last one: broken into lines where the terminal ends */
};

struct table_cell {
	char *text;
	enum state_colour colour;
};

struct table {
	const struct table_column *columns; /* borrowed */
	size_t columns_len;
	struct table_cell *cells; /* row by row */
	size_t len;
	size_t cap;
};

void table_init(struct table *table, const struct table_column *columns, size_t len);
void table_done(struct table *table);

/* Append a cell to the last row, or the first one to a new row. @text is anybody's and is cleaned; NULL
 * is "". */
void table_add(struct table *table, const char *text);
/* The same in a colour. */
void table_add_coloured(struct table *table, const char *text, enum state_colour colour);

/* Append the table to @to, with the columns that @out's format has, with or without titles;
 * without any if @out is headless. Where it is wider than out->width, columns that may be cut are left out if nothing
 * stands in them, and else cut, an ellipsis at the end; the last one first; one that wraps is broken into lines.
 * Never in -o wide. */
void table_print(const struct table *table, const struct out *out, bool titles, struct str *to);
