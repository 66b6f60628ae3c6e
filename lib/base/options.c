#include "base/options.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

static void *field(const struct options *o, const struct option_row *row)
{
	return (char *)o->target + row->offset;
}

static void list_clear(struct option_list *list)
{
	for (size_t i = 0; i < list->len; i++)
		free(list->items[i]);
	array_done(list);
}

static int bad_value(const char *where, const char *value, const char *want, struct err *err)
{
	return err_set(err, ERR_INVALID, -EINVAL, "%s: '%s' is not %s", where, value, want);
}

static int set_number(const struct option_row *row, uint64_t *at, const char *value,
		      const char *where, struct err *err)
{
	bool duration = row->type == OPTION_DURATION;
	const char *unit = duration ? "ms" : "";
	uint64_t number;

	if (duration ? !str_to_duration_ms(value, &number) : !str_to_u64(value, &number))
		return bad_value(where, value,
				 duration ? "a duration like 250ms, 30s or 5m" : "a number", err);
	if (number < row->min && !row->max)
		return err_set(err, ERR_INVALID, -ERANGE, "%s: '%s' is less than %llu%s", where,
			       value, (unsigned long long)row->min, unit);
	if (number < row->min || (row->max && number > row->max))
		return err_set(err, ERR_INVALID, -ERANGE,
			       "%s: '%s' is not between %llu%s and %llu%s", where, value,
			       (unsigned long long)row->min, unit, (unsigned long long)row->max,
			       unit);
	*at = number;
	return 0;
}

/* "a, b or c" */
static void add_choices(struct str *out, const struct option_row *row)
{
	for (size_t i = 0; row->choices[i]; i++) {
		if (i > 0)
			str_add(out, row->choices[i + 1] ? ", " : " or ");
		str_add(out, row->choices[i]);
	}
}

static int set_choice(const struct option_row *row, int *at, const char *value, const char *where,
		      struct err *err)
{
	auto_str struct str want = STR_INIT;

	for (int i = 0; row->choices[i]; i++) {
		if (strcmp(row->choices[i], value) == 0) {
			*at = i;
			return 0;
		}
	}
	add_choices(&want, row);
	return bad_value(where, value, str_cstr(&want), err);
}

static int list_add(struct option_list *list, const char *value, const char *separator,
		    const char *where, struct err *err)
{
	while (*value) {
		size_t len = strcspn(value, separator);

		if (list->len >= OPTION_LIST_MAX)
			return err_set(err, ERR_INVALID, -E2BIG, "%s: more than %d values", where,
				       OPTION_LIST_MAX);
		if (len > 0)
			*array_add(list) = xstrndup(value, len);
		value += len + (value[len] != '\0');
	}
	return 0;
}

static int set_value(const struct options *o, const struct option_row *row, const char *value,
		     enum option_source source, const char *where, struct err *err)
{
	void *at = field(o, row);

	switch (row->type) {
	case OPTION_STRING:
		free(*(char **)at);
		*(char **)at = xstrdup(value);
		return 0;
	case OPTION_BOOL:
		return str_to_bool(value, at) ? 0 : bad_value(where, value, "true or false", err);
	case OPTION_U64:
	case OPTION_DURATION:
		return set_number(row, at, value, where, err);
	case OPTION_ENUM:
		return set_choice(row, at, value, where, err);
	case OPTION_LIST:
		/* A file has real lists, so a value there may contain a comma. */
		return list_add(at, value, source == OPTION_FILE || row->whole ? "" : ",", where,
				err);
	}
	return 0;
}

static int unknown(const struct options *o, const char *where, const char *dashes, const char *name,
		   struct err *err)
{
	const char *nearest = NULL;
	size_t least = str_far(name);

	for (size_t i = 0; i < o->len; i++) {
		size_t distance = str_distance(name, o->rows[i].name);

		if (distance < least && !o->rows[i].unsuggested &&
		    !(*dashes && o->rows[i].file_only)) {
			least = distance;
			nearest = o->rows[i].name;
		}
	}
	if (nearest)
		return err_set(err, ERR_INVALID, -ENOENT, "%s '%s%s': did you mean '%s%s'?", where,
			       dashes, name, dashes, nearest);
	return err_set(err, ERR_INVALID, -ENOENT, "%s '%s%s': see --help", where, dashes, name);
}

static size_t find_name(const struct options *o, const char *name, size_t len)
{
	size_t i = 0;

	while (i < o->len && (strncmp(o->rows[i].name, name, len) != 0 || o->rows[i].name[len]))
		i++;
	return i;
}

static int set_row(struct options *o, size_t i, const char *value, enum option_source source,
		   const char *where, struct err *err)
{
	const struct option_row *row = &o->rows[i];

	if (source < o->source[i])
		return 0;
	if (source > o->source[i] && row->type == OPTION_LIST)
		list_clear(field(o, row));
	o->source[i] = source;
	return set_value(o, row, value, source, where, err);
}

int options_set(struct options *o, const char *name, const char *value, enum option_source source,
		const char *where, struct err *err)
{
	auto_free char *context = xasprintf("%s: %s", where, name);
	size_t i = find_name(o, name, strlen(name));

	if (i < o->len)
		return set_row(o, i, value, source, context, err);
	free(context);
	context = xasprintf("%s: unknown key", where);
	return unknown(o, context, "", name, err);
}

void options_init(struct options *o, const struct option_row *rows, size_t len, void *target)
{
	struct err err = { 0 };
	int r = 0;

	assert(len <= OPTIONS_MAX);
	*o = (struct options){ .rows = rows, .len = len, .target = target };
	for (size_t i = 0; i < len; i++) {
		static const size_t sizes[] = {
			[OPTION_STRING] = sizeof(char *),
			[OPTION_BOOL] = sizeof(bool),
			[OPTION_U64] = sizeof(uint64_t),
			[OPTION_DURATION] = sizeof(uint64_t),
			[OPTION_ENUM] = sizeof(int),
			[OPTION_LIST] = sizeof(struct option_list),
		};

		memset(field(o, &rows[i]), 0, sizes[rows[i].type]);
		if (rows[i].fallback)
			r = set_value(o, &rows[i], rows[i].fallback, OPTION_DEFAULT, rows[i].name,
				      &err);
		assert(r == 0); /* a row must accept its own default */
	}
}

void options_done(struct options *o)
{
	for (size_t i = 0; i < o->len; i++) {
		void *at = field(o, &o->rows[i]);

		if (o->rows[i].type == OPTION_LIST)
			list_clear(at);
		if (o->rows[i].type != OPTION_STRING)
			continue;
		free(*(char **)at);
		*(char **)at = NULL;
	}
}

/* The arguments being parsed and the index of the current one. */
struct words {
	int argc;
	char *const *argv;
	int at;
};

static int take_flag(struct options *o, size_t i, const char *value, struct words *words,
		     struct err *err)
{
	const struct option_row *row = &o->rows[i];
	auto_free char *where = xasprintf("--%s", row->name);

	if (!value && row->type == OPTION_BOOL)
		value = "true";
	if (!value)
		value = row->bare;
	if (!value && words->at + 1 >= words->argc)
		return err_set(err, ERR_INVALID, -EINVAL, "--%s needs a value: --%s %s", row->name,
			       row->name, row->argument ? row->argument : "VALUE");
	if (!value)
		value = words->argv[++words->at];
	return set_row(o, i, value, OPTION_FLAG, where, err);
}

static int take_long(struct options *o, const char *name, struct words *words, struct err *err)
{
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	auto_free char *alone = NULL;
	size_t i;

	if (strcmp(name, "help") == 0)
		return OPTIONS_HELP;
	if (strcmp(name, "version") == 0)
		return OPTIONS_VERSION;
	i = find_name(o, name, len);
	if (i < o->len && !o->rows[i].file_only)
		return take_flag(o, i, value, words, err);
	alone = xstrndup(name, len);
	return unknown(o, "unknown flag", "--", alone, err);
}

static int take_short(struct options *o, const char *text, struct words *words, struct err *err)
{
	if (text[0] == 'h' && !text[1])
		return OPTIONS_HELP;
	for (size_t i = 0; i < o->len; i++) {
		if (o->rows[i].letter != text[0])
			continue;
		if (o->rows[i].type == OPTION_BOOL && text[1])
			break;
		if (text[1] == '=')
			return take_flag(o, i, text + 2, words, err);
		return take_flag(o, i, text[1] ? text + 1 : NULL, words, err);
	}
	return err_set(err, ERR_INVALID, -ENOENT, "unknown flag '-%s': see --help", text);
}

int options_args(struct options *o, int argc, char *const *argv, int *ret_rest, struct err *err)
{
	struct words words = { .argc = argc, .argv = argv, .at = 1 };
	int r = 0;

	for (; words.at < argc && r == 0; words.at++) {
		const char *word = argv[words.at];

		if (strcmp(word, "--") == 0) {
			words.at++;
			break;
		}
		if (word[0] != '-' || !word[1])
			break;
		r = word[1] == '-' ? take_long(o, word + 2, &words, err)
				   : take_short(o, word + 1, &words, err);
	}
	if (r == 0)
		*ret_rest = words.at;
	return r;
}

static const char *find_variable(char *const *variables, const char *name)
{
	size_t len = strlen(name);

	for (; *variables; variables++) {
		if (strncmp(*variables, name, len) == 0 && (*variables)[len] == '=')
			return *variables + len + 1;
	}
	return NULL;
}

int options_env(struct options *o, char *const *variables, struct err *err)
{
	for (size_t i = 0; i < o->len; i++) {
		const char *value =
			o->rows[i].env ? find_variable(variables, o->rows[i].env) : NULL;
		auto_free char *where = NULL;
		int r;

		if (!value || !*value)
			continue;
		where = xasprintf("environment variable %s", o->rows[i].env);
		r = set_row(o, i, value, OPTION_ENV, where, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- help --- */

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
		str_add(out, common ? "\nFlags" : "\nFLAGS");
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
