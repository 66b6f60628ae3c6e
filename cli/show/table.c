#include "cli/show/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/str.h"
#include "cli/show/out.h"

enum { GAP = 3 };

void table_init(struct table *table, const struct table_column *columns, size_t len)
{
	assert(len > 0 && len <= TABLE_COLUMNS_MAX);
	*table = (struct table){ .columns = columns, .columns_len = len };
}

void table_done(struct table *table)
{
	for (size_t i = 0; i < table->len; i++)
		free(table->cells[i].text);
	free(table->cells);
	*table = (struct table){ 0 };
}

void table_add_coloured(struct table *table, const char *text, enum state_colour colour)
{
	auto_str struct str clean = STR_INIT;

	out_text(&clean, text ? text : "");
	table->cells = array_room_(table->cells, table->len, &table->cap, sizeof(*table->cells));
	table->cells[table->len++] = (struct table_cell){ str_detach(&clean), colour };
}

void table_add(struct table *table, const char *text)
{
	table_add_coloured(table, text, COLOUR_NONE);
}

/* Characters, which is what a terminal shows of most text; the rest only shifts a column. */
static size_t width(const char *text)
{
	size_t len = 0;

	for (; *text; text++) {
		if (((unsigned char)*text & 0xc0) != 0x80)
			len++;
	}
	return len;
}

static void add_blanks(struct str *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		str_add_char(to, ' ');
}

struct printing {
	const struct table *table;
	const struct out *out;
	struct str *to;
	size_t widths[TABLE_COLUMNS_MAX];
	size_t last; /* the last column that is shown */
};

static bool is_shown(const struct printing *p, size_t column)
{
	return !p->table->columns[column].wide || p->out->format == OUT_WIDE;
}

static void print_cell(const struct printing *p, size_t column, const char *text,
		       enum state_colour colour)
{
	if (!is_shown(p, column))
		return;
	if (colour != COLOUR_NONE && text[0])
		out_colour(p->out, p->to, colour);
	str_add(p->to, text);
	if (colour != COLOUR_NONE && text[0])
		out_colour(p->out, p->to, COLOUR_NONE);
	if (column < p->last)
		add_blanks(p->to, p->widths[column] - width(text) + GAP);
}

/* No line ends in blanks. */
static void end_line(struct str *to)
{
	while (to->len > 0 && to->buf[to->len - 1] == ' ')
		to->buf[--to->len] = '\0';
	str_add_char(to, '\n');
}

static void measure(struct printing *p, bool titles)
{
	const struct table *table = p->table;

	for (size_t i = 0; i < table->columns_len; i++) {
		p->widths[i] = titles ? width(table->columns[i].title) : 0;
		if (is_shown(p, i))
			p->last = i;
	}
	for (size_t i = 0; i < table->len; i++) {
		size_t cell = width(table->cells[i].text);

		if (cell > p->widths[i % table->columns_len])
			p->widths[i % table->columns_len] = cell;
	}
}

void table_print(const struct table *table, const struct out *out, bool titles, struct str *to)
{
	struct printing p = { .table = table, .out = out, .to = to };
	const size_t columns = table->columns_len;

	titles = titles && !out->headless;
	assert(columns > 0 && table->len % columns == 0);
	measure(&p, titles);
	for (size_t i = 0; titles && i < columns; i++)
		print_cell(&p, i, table->columns[i].title, COLOUR_NONE);
	if (titles)
		end_line(to);
	for (size_t row = 0; row < table->len; row += columns) {
		for (size_t i = 0; i < columns; i++)
			print_cell(&p, i, table->cells[row + i].text, table->cells[row + i].colour);
		end_line(to);
	}
}
