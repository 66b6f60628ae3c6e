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

enum { TABLE_COLUMNS_MAX = 16 };

struct table_column {
	const char *title;
	bool wide; /* only with -o wide                               */
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
	size_t least[TABLE_COLUMNS_MAX]; /* to which a terminal may cut a column; 0: it may not */
};

void table_init(struct table *table, const struct table_column *columns, size_t len);
void table_done(struct table *table);

/* Append a cell to the last row, or the first one to a new row. @text is anybody's and is cleaned; NULL
 * is "". */
void table_add(struct table *table, const char *text);
/* The same in a colour. */
void table_add_coloured(struct table *table, const char *text, enum state_colour colour);

/* Where the table is wider than out->width, this column may be left out if nothing stands in it, or else cut to @least
 * characters, an ellipsis at the end; the last such column first. Never in -o wide. */
void table_may_cut(struct table *table, size_t column, size_t least);

/* Append the table to @to, with the columns that @out's format has, with or without titles;
 * without any if @out is headless. */
void table_print(const struct table *table, const struct out *out, bool titles, struct str *to);
