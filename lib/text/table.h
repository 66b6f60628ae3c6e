/*
 * table: rows of text in columns, as kubectl prints them: titles in capitals, three blanks between.
 *
 * Widths are counted in characters, not bytes; colours take no room. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "text/out.h"

struct out;
struct str;

enum {
	TABLE_COLUMNS_MAX = 16,
	TABLE_WRAP_LEAST = 40, /* with less space, a wrapped column gets lines of its own */
	TABLE_WRAP_INDENT = 4,
	TABLE_NAME_LEAST = 8, /* enough of a name of a pod, a user or a node */
};

struct table_column {
	const char *title;
	bool wide;    /* only with -o wide                                     */
	size_t least; /* least width to which a terminal cuts it; 0: never cut */
	bool wraps;   /* only the last: broken into lines where the terminal ends */
	int spare;    /* left out of a narrow terminal, the lowest first; 0: never */
	bool first;   /* of spare columns: left out before any other column is cut */
	/* of spare columns: before it is left out, all columns are cut to their final width */
	bool kept;
	bool headed;  /* where it is cut, "class: name" loses the class first */
	size_t final; /* width to which it is cut when all else is not enough; 0: never */
};

struct table_cell {
	char *text;
	enum out_colour colour;
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

/* Append a cell to the last row, or the first one to a new row. @text is cleaned; NULL is "". */
void table_add(struct table *table, const char *text);
/* The same in a colour. */
void table_add_coloured(struct table *table, const char *text, enum out_colour colour);

/* Append the table to @to with the columns of @out's format, and with titles unless @out is
 * headless. Where it is wider than out->width, empty columns that may be cut are left out, and
 * spare columns that go first, and the others are cut, the last one first, with an ellipsis. If
 * that is not enough, columns are cut to their final width: spare ones first, and if these do not
 * fit either they are left out, then the others. A spare column that is kept is left out only where
 * even that is not enough. In a column that wraps, text that does not fit is
 * broken into lines: the other columns are cut and left out until it has room for them. If that is
 * not enough, the others stay, and each text gets lines of its own. -o wide is never cut or
 * wrapped. */
void table_print(const struct table *table, const struct out *out, bool titles, struct str *to);
