#include <stdbool.h>
#include <string.h>

#include "base/options.h"
#include "base/str.h"

enum { COLUMNS = 80, INDENT = 7, INDENT_HELP = 14 };

static void add_blanks(struct str *out, size_t n)
{
	str_addf(out, "%*s", (int)n, "");
}

/* One paragraph, wrapped at COLUMNS. */
static void add_wrapped(struct str *out, const char *text, size_t len, size_t indent)
{
	const char *end = text + len;
	size_t column = 0;

	while (text < end) {
		size_t n = 0;

		while (text + n < end && !strchr(" \n", text[n]))
			n++;
		if (n > 0 && column > 0 && column + 1 + n > COLUMNS) {
			str_add_char(out, '\n');
			column = 0;
		}
		if (n > 0) {
			add_blanks(out, column > 0 ? 1 : indent);
			str_add_mem(out, text, n);
			column += n + (column > 0 ? 1 : indent);
		}
		text += n + (text + n < end);
	}
	str_add_char(out, '\n');
}

/* A preformatted paragraph, line by line. */
static void add_lines(struct str *out, const char *text, size_t len, size_t indent)
{
	const char *end = text + len;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((newline ? newline : end) - text);

		add_blanks(out, indent);
		str_add_mem(out, text, n);
		str_add_char(out, '\n');
		text += n + 1;
	}
}

static void add_section(struct str *out, const char *heading, const char *text)
{
	if (!text)
		return;
	str_addf(out, "%s%s\n", out->len > 0 ? "\n" : "", heading);
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t len = end ? (size_t)(end - text) : strlen(text);

		if (*text == ' ')
			add_lines(out, text, len, INDENT - 1);
		else
			add_wrapped(out, text, len, INDENT);
		if (end)
			str_add_char(out, '\n');
		text += len + (end ? 2 : 0);
	}
}

static const char *argument_of(const struct option_row *row)
{
	static const char *const usual[] = {
		[OPTION_STRING] = "TEXT",       [OPTION_BOOL] = "",       [OPTION_U64] = "NUMBER",
		[OPTION_DURATION] = "DURATION", [OPTION_ENUM] = "CHOICE", [OPTION_LIST] = "LIST",
	};

	return row->argument ? row->argument : usual[row->type];
}

/* The help of a row, followed by the properties of its type. */
static void add_row_text(struct str *out, const struct option_row *row)
{
	auto_str struct str text = STR_INIT;

	str_add(&text, row->help);
	if (row->choices) {
		str_add(&text, " One of:");
		for (size_t i = 0; row->choices[i]; i++)
			str_addf(&text, " %s%s", row->choices[i], row->choices[i + 1] ? "," : ".");
	}
	if (row->type == OPTION_LIST)
		str_addf(&text, " Takes several values, %sby repeating the flag.",
			 row->whole ? "" : "separated by commas or ");
	if (row->fallback && *row->fallback)
		str_addf(&text, " Default: %s.", row->fallback);
	else if (row->type == OPTION_ENUM && row->choices)
		str_addf(&text, " Default: %s.", row->choices[0]);
	if (row->env)
		str_addf(&text, " Environment: %s.", row->env);
	add_wrapped(out, str_cstr(&text), text.len, INDENT_HELP);
}

static void add_row(struct str *out, const struct option_row *row)
{
	const char *argument = argument_of(row);

	add_blanks(out, INDENT);
	if (row->letter)
		str_addf(out, "-%c, ", row->letter);
	str_addf(out, "--%s", row->name);
	if (row->bare)
		str_addf(out, "[=%s]\n", argument);
	else
		str_addf(out, "%s%s\n", *argument ? " " : "", argument);
	add_row_text(out, row);
}

static void add_flags(struct str *out, const struct options *o, const char *common)
{
	bool headed = false;

	for (size_t i = 0; i < o->len; i++) {
		if (o->rows[i].file_only || (common && o->rows[i].common))
			continue;
		if (o->rows[i].group || !headed)
			str_addf(out, "\n%s\n", o->rows[i].group ? o->rows[i].group : "FLAGS");
		else
			str_add_char(out, '\n');
		add_row(out, &o->rows[i]);
		headed = true;
	}
	if (!headed)
		str_add(out, "\nFLAGS");
	str_add(out, "\n       -h, --help\n              Show this text.\n"
		     "\n       --version\n              Show the version.\n");
	if (common) {
		str_add_char(out, '\n');
		add_wrapped(out, common, strlen(common), INDENT);
	}
}

void options_help(const struct options *o, const struct options_prose *prose, struct str *out)
{
	auto_str struct str name = STR_INIT;

	str_addf(&name, "%s - %s", prose->program, prose->summary);
	add_section(out, "NAME", str_cstr(&name));
	add_section(out, "SYNOPSIS", prose->synopsis);
	add_section(out, "DESCRIPTION", prose->description);
	add_flags(out, o, prose->common);
	add_section(out, "EXAMPLES", prose->examples);
	add_section(out, "FILES", prose->files);
	add_section(out, "EXIT STATUS",
		    prose->exit_status
			    ? prose->exit_status
			    : "0 on success, 1 on failure, 2 for a wrong flag or setting.");
}
