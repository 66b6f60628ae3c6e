#include "text/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/str.h"

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

void table_add_coloured(struct table *table, const char *text, enum out_colour colour)
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
	bool empty[TABLE_COLUMNS_MAX];  /* all its cells are empty */
	bool hidden[TABLE_COLUMNS_MAX]; /* for lack of space */
	size_t last;                    /* the last column that is shown */
	size_t last_at;                 /* where it begins */
	size_t wrap_at;                 /* where its lines begin if it is wrapped; 0: it fits */
};

static bool is_shown(const struct printing *p, size_t column)
{
	return (!p->table->columns[column].wide || p->out->format == OUT_WIDE) &&
	       !p->hidden[column];
}

/* Append @len characters: the beginning of @text, and an ellipsis. */
static void add_cut(const struct printing *p, const char *text, size_t len)
{
	const char *ellipsis = p->out->utf8 ? "…" : "...";
	size_t keep = len - out_width(ellipsis);
	const char *end = text;

	while (*end && (keep > 0 || ((unsigned char)*end & 0xc0) == 0x80)) {
		keep -= ((unsigned char)*end & 0xc0) != 0x80;
		end++;
	}
	str_add_mem(p->to, text, (size_t)(end - text));
	str_add(p->to, ellipsis);
}

/* End a line, without trailing blanks. */
static void end_line(struct str *to)
{
	while (to->len > 0 && to->buf[to->len - 1] == ' ')
		to->buf[--to->len] = '\0';
	str_add_char(to, '\n');
}

static void print_wrapped(const struct printing *p, const char *text)
{
	size_t at = p->wrap_at;

	if (at == TABLE_WRAP_INDENT && text[0]) {
		end_line(p->to);
		add_blanks(p->to, at);
	}
	out_wrap(p->out, p->to, text, at, at);
}

static void print_cell(const struct printing *p, size_t column, const char *text,
		       enum out_colour colour)
{
	size_t len = out_width(text);

	if (!is_shown(p, column))
		return;
	if (p->wrap_at && column == p->last && p->last_at + len > p->out->width) {
		print_wrapped(p, text);
		return;
	}
	if (colour != COLOUR_NONE && text[0])
		out_colour(p->out, p->to, colour);
	if (len > p->widths[column] && p->table->columns[column].headed && strstr(text, ": ")) {
		text = strstr(text, ": ") + 2;
		len = out_width(text);
	}
	if (len > p->widths[column])
		add_cut(p, text, p->widths[column]);
	else
		str_add(p->to, text);
	if (colour != COLOUR_NONE && text[0])
		out_colour(p->out, p->to, COLOUR_NONE);
	if (column < p->last)
		add_blanks(p->to, p->widths[column] -
					  (len < p->widths[column] ? len : p->widths[column]) +
					  GAP);
}

static void find_last(struct printing *p)
{
	for (size_t i = 0; i < p->table->columns_len; i++) {
		if (is_shown(p, i))
			p->last = i;
	}
}

static void measure(struct printing *p, bool titles)
{
	const struct table *table = p->table;

	for (size_t i = 0; i < table->columns_len; i++) {
		p->widths[i] = titles ? out_width(table->columns[i].title) : 0;
		p->empty[i] = true;
	}
	find_last(p);
	for (size_t i = 0; i < table->len; i++) {
		size_t cell = out_width(table->cells[i].text);

		p->empty[i % table->columns_len] &= cell == 0;
		if (cell > p->widths[i % table->columns_len])
			p->widths[i % table->columns_len] = cell;
	}
}

static size_t total_width(const struct printing *p)
{
	size_t total = 0;

	for (size_t i = 0; i < p->table->columns_len; i++)
		total += is_shown(p, i) ? p->widths[i] + (i < p->last ? GAP : 0) : 0;
	return total;
}

/* The width to which the table can be cut before a spare column is left out. Spare columns are cut
 * to their final width first. */
static size_t least_width(const struct printing *p)
{
	size_t total = total_width(p);

	for (size_t i = 0; i < p->table->columns_len; i++) {
		const struct table_column *column = &p->table->columns[i];
		bool final = column->spare && column->final && !column->kept;
		size_t least = final ? column->final : column->least;

		if (is_shown(p, i) && least && p->widths[i] > least)
			total -= p->widths[i] - least;
	}
	return total;
}

/* The width to which the table can be cut at all. */
static size_t final_width(const struct printing *p)
{
	size_t total = total_width(p);

	for (size_t i = 0; i < p->table->columns_len; i++) {
		const struct table_column *column = &p->table->columns[i];
		size_t final = column->final ? column->final : column->least;

		if (is_shown(p, i) && final && p->widths[i] > final)
			total -= p->widths[i] - final;
	}
	return total;
}

/* The spare column to leave out next; the number of columns if there is none. @first: only of those
 * that go first. */
static size_t next_spare(const struct printing *p, bool first)
{
	const struct table *table = p->table;
	size_t found = table->columns_len;

	for (size_t i = 0; i < table->columns_len; i++) {
		int spare = is_shown(p, i) ? table->columns[i].spare : 0;

		if (spare && (table->columns[i].first || !first) &&
		    (found == table->columns_len || spare < table->columns[found].spare))
			found = i;
	}
	return found;
}

/* Show spare columns again, the last one first, that fit now that others are left out. */
static void show_spare(struct printing *p)
{
	const struct table_column *columns = p->table->columns;

	for (size_t i = p->table->columns_len; i-- > 0;) {
		if (!p->hidden[i] || !columns[i].spare || columns[i].first || p->empty[i])
			continue;
		p->hidden[i] = false;
		find_last(p);
		p->hidden[i] = least_width(p) > p->out->width;
		find_last(p);
	}
}

static void hide_spare(struct printing *p)
{
	const size_t columns = p->table->columns_len;
	size_t column;

	while ((total_width(p) > p->out->width && (column = next_spare(p, true)) < columns) ||
	       (least_width(p) > p->out->width && (column = next_spare(p, false)) < columns)) {
		if (p->table->columns[column].kept && final_width(p) <= p->out->width)
			break;
		p->hidden[column] = true;
		find_last(p);
	}
	show_spare(p);
}

/* Cut the columns, the last one first, down to their least or final width, until the table fits. */
static void cut(struct printing *p, bool final)
{
	const struct table_column *columns = p->table->columns;

	for (size_t i = p->table->columns_len; i-- > 0;) {
		size_t total = total_width(p);
		size_t over = total > p->out->width ? total - p->out->width : 0;
		size_t least = final ? columns[i].final : columns[i].least;
		size_t room = least && p->widths[i] > least ? p->widths[i] - least : 0;

		if (is_shown(p, i))
			p->widths[i] -= over < room ? over : room;
	}
}

/* The room that the lines of the last column need. A word is not broken. */
static size_t least_to_wrap(const struct printing *p)
{
	const struct table *table = p->table;
	size_t least = TABLE_WRAP_LEAST;

	for (size_t at = p->last; at < table->len; at += table->columns_len) {
		const char *word = table->cells[at].text;

		while (*(word += strspn(word, " "))) {
			size_t len = strcspn(word, " ");
			auto_free char *copy = xstrndup(word, len);
			size_t width = out_width(copy);

			least = width > least ? width : least;
			word += len;
		}
	}
	return least;
}

/* False: the columns that are left do not fit. */
static bool fit_columns(struct printing *p)
{
	hide_spare(p);
	cut(p, false);
	cut(p, true);
	return total_width(p) <= p->out->width;
}

/* Make room for the lines of the last column. If there is none, they are below the other
 * columns. */
static void fit_wrapped(struct printing *p)
{
	const size_t last = p->last;
	const size_t least = least_to_wrap(p);
	const struct printing whole = *p;
	bool beside;

	p->widths[last] = least < whole.widths[last] ? least : whole.widths[last];
	beside = fit_columns(p);
	if (!beside) {
		*p = whole;
		p->hidden[last] = true;
		find_last(p);
		(void)fit_columns(p);
		p->hidden[last] = false;
		find_last(p);
	}
	p->last_at = total_width(p) - p->widths[last];
	p->wrap_at = beside ? p->last_at : TABLE_WRAP_INDENT;
	p->widths[last] = whole.widths[last];
}

/* Hide empty columns that may be cut or left out, and cut the others, until the table fits. */
static void fit(struct printing *p)
{
	const struct table *table = p->table;

	if (p->out->width == 0 || p->out->format != OUT_TABLE)
		return;
	for (size_t i = table->columns_len; i-- > 0 && total_width(p) > p->out->width;) {
		p->hidden[i] = p->empty[i] && (table->columns[i].least || table->columns[i].spare);
		find_last(p);
	}
	if (table->columns[p->last].wraps && total_width(p) > p->out->width)
		fit_wrapped(p);
	else
		(void)fit_columns(p);
}

void table_print(const struct table *table, const struct out *out, bool titles, struct str *to)
{
	struct printing p = { .table = table, .out = out, .to = to };
	const size_t columns = table->columns_len;

	titles = titles && !out->headless;
	assert(columns > 0 && table->len % columns == 0);
	measure(&p, titles);
	fit(&p);
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
