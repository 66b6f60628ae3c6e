#include "cli/show/jsonpath.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "cli/show/out.h"

enum { RANGES_MAX = 16 }; /* nested */

/* Values, borrowed from the root. Without any, a path is parsed and has no result. */
struct values {
	struct value {
		json_t *json;
	} * items;
	size_t len;
	size_t cap;
};

struct reader {
	const char *at;
	json_t *root;
	unsigned ranges; /* that are open */
	struct err *err;
};

static int wrong(struct reader *r, const char *what)
{
	return err_set(r->err, ERR_INVALID, -EINVAL, "jsonpath: %s at '%.40s'", what, r->at);
}

static void values_add(struct values *values, json_t *value)
{
	if (value)
		array_add(values)->json = value;
}

static void skip_blanks(struct reader *r)
{
	while (*r->at == ' ')
		r->at++;
}

/* --- steps of a path ---------------------------------------------------------------------------- */

static void add_all(struct values *to, json_t *value)
{
	void *at;

	for (size_t i = 0; i < json_array_size(value); i++)
		values_add(to, json_array_get(value, i));
	at = json_is_object(value) ? json_object_iter(value) : NULL;
	for (; at; at = json_object_iter_next(value, at))
		values_add(to, json_object_iter_value(at));
}

static void step_all(struct values *values)
{
	struct values next = { 0 };

	for (size_t i = 0; i < values->len; i++)
		add_all(&next, values->items[i].json);
	array_done(values);
	*values = next;
}

static void step_name(struct values *values, const char *name)
{
	struct values next = { 0 };

	for (size_t i = 0; i < values->len; i++)
		values_add(&next, json_object_get(values->items[i].json, name));
	array_done(values);
	*values = next;
}

static void step_index(struct values *values, uint64_t index, bool from_end)
{
	struct values next = { 0 };

	for (size_t i = 0; i < values->len; i++) {
		size_t len = json_array_size(values->items[i].json);

		if (from_end && index <= len)
			values_add(&next, json_array_get(values->items[i].json, len - index));
		else if (!from_end)
			values_add(&next, json_array_get(values->items[i].json, index));
	}
	array_done(values);
	*values = next;
}

/* Parse a quoted text, "..." or '...', with \n, \t, and \ before any other character. */
static int read_quoted(struct reader *r, struct str *to)
{
	char quote = *r->at++;

	for (; *r->at && *r->at != quote; r->at++) {
		char c = *r->at;

		if (c == '\\' && r->at[1]) {
			c = *++r->at;
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
		}
		str_add_char(to, c);
	}
	if (!*r->at)
		return wrong(r, "a quote is not closed");
	r->at++;
	return 0;
}

static int read_path(struct reader *r, json_t *here, struct values *ret_values);

/* --- filters ------------------------------------------------------------------------------------ */

enum comparison { IS_THERE, IS_EQUAL, IS_OTHER };

struct filter {
	const char *path; /* where it begins */
	enum comparison comparison;
	json_t *value;
};

static json_t *plain_value(const char *text)
{
	uint64_t number;

	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		return json_boolean(text[0] == 't');
	return str_to_u64(text, &number) ? json_integer((json_int_t)number) : NULL;
}

static int read_value(struct reader *r, json_t **ret_value)
{
	auto_str struct str text = STR_INIT;

	skip_blanks(r);
	if (*r->at == '"' || *r->at == '\'') {
		if (read_quoted(r, &text) < 0)
			return -EINVAL;
		*ret_value = json_string(str_cstr(&text));
		return *ret_value ? 0 : wrong(r, "a text is not UTF-8");
	}
	while (isalnum((unsigned char)*r->at))
		str_add_char(&text, *r->at++);
	*ret_value = plain_value(str_cstr(&text));
	return *ret_value ? 0 : wrong(r, "a text in quotes, a number, true or false is missing");
}

/* Parse a filter, from after "[?(" up to ")". */
static int read_filter(struct reader *r, struct filter *ret_filter)
{
	struct values none;
	int status;

	skip_blanks(r);
	if (*r->at != '@')
		return wrong(r, "a filter begins with @");
	*ret_filter = (struct filter){ .path = r->at };
	status = read_path(r, NULL, &none);
	array_done(&none);
	if (status < 0)
		return status;
	skip_blanks(r);
	if (strncmp(r->at, "==", 2) == 0)
		ret_filter->comparison = IS_EQUAL;
	else if (strncmp(r->at, "!=", 2) == 0)
		ret_filter->comparison = IS_OTHER;
	if (ret_filter->comparison != IS_THERE) {
		r->at += 2;
		status = read_value(r, &ret_filter->value);
	}
	skip_blanks(r);
	if (status == 0 && *r->at != ')')
		return wrong(r, "a filter has == or !=, and ends with )");
	r->at++;
	return status;
}

static bool passes(struct reader *r, const struct filter *filter, json_t *item)
{
	struct reader again = { .at = filter->path, .root = r->root, .err = r->err };
	struct values found;
	bool passed = false;

	(void)read_path(&again, item, &found);
	for (size_t i = 0; i < found.len && !passed; i++)
		passed = filter->comparison == IS_THERE ||
			 (json_equal(found.items[i].json, filter->value) == 1) ==
				 (filter->comparison == IS_EQUAL);
	array_done(&found);
	return passed;
}

static int step_filter(struct reader *r, struct values *values)
{
	struct values next = { 0 };
	struct filter filter = { 0 };
	int status = read_filter(r, &filter);

	for (size_t i = 0; status == 0 && i < values->len; i++) {
		for (size_t j = 0; j < json_array_size(values->items[i].json); j++) {
			json_t *item = json_array_get(values->items[i].json, j);

			if (passes(r, &filter, item))
				values_add(&next, item);
		}
	}
	json_decref(filter.value);
	array_done(values);
	*values = next;
	return status;
}

/* --- paths -------------------------------------------------------------------------------------- */

static int read_index(struct reader *r, struct values *values)
{
	auto_str struct str text = STR_INIT;
	bool from_end = *r->at == '-';
	uint64_t index;

	r->at += from_end;
	while (isdigit((unsigned char)*r->at))
		str_add_char(&text, *r->at++);
	if (!str_to_u64(str_cstr(&text), &index) || (from_end && index == 0))
		return wrong(r, "in brackets stands a number, *, a name in quotes or ?(...)");
	step_index(values, index, from_end);
	return 0;
}

/* Parse an index or a filter, from after "[". */
static int read_bracket(struct reader *r, struct values *values)
{
	auto_str struct str name = STR_INIT;
	int status = 0;

	if (*r->at == '*') {
		r->at++;
		step_all(values);
	} else if (strncmp(r->at, "?(", 2) == 0) {
		r->at += 2;
		status = step_filter(r, values);
	} else if (*r->at == '\'' || *r->at == '"') {
		status = read_quoted(r, &name);
		step_name(values, str_cstr(&name));
	} else {
		status = read_index(r, values);
	}
	if (status < 0)
		return status;
	if (*r->at != ']')
		return wrong(r, "] is missing (slices and unions are not supported)");
	r->at++;
	return 0;
}

/* Parse a field, from after ".". */
static int read_name(struct reader *r, struct values *values)
{
	auto_str struct str name = STR_INIT;

	if (*r->at == '.')
		return wrong(r, ".. is not supported");
	while (*r->at && !strchr(".[]{}()=!<> ", *r->at)) {
		r->at += *r->at == '\\' && r->at[1];
		str_add_char(&name, *r->at++);
	}
	if (strcmp(str_cstr(&name), "*") == 0)
		step_all(values);
	else if (name.len > 0)
		step_name(values, str_cstr(&name));
	return 0;
}

/* @here NULL: only check the path. *@ret_values needs array_done() in any case. */
static int read_path(struct reader *r, json_t *here, struct values *ret_values)
{
	int status = 0;

	*ret_values = (struct values){ 0 };
	values_add(ret_values, *r->at == '$' ? r->root : here);
	r->at += *r->at == '$' || *r->at == '@';
	while (status == 0 && (*r->at == '.' || *r->at == '['))
		status = *r->at++ == '.' ? read_name(r, ret_values) : read_bracket(r, ret_values);
	return status;
}

/* --- templates ---------------------------------------------------------------------------------- */

static void add_value(struct str *to, json_t *value)
{
	auto_free char *text = NULL;

	if (json_is_string(value)) {
		out_text(to, json_string_value(value));
		return;
	}
	text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	str_add(to, text && !json_is_null(value) ? text : "");
}

static int print_path(struct reader *r, json_t *here, struct str *to)
{
	struct values values;
	int status;

	if (!strchr(".[@$", *r->at))
		return wrong(r, "a path begins with . or [");
	status = read_path(r, here, &values);
	for (size_t i = 0; status == 0 && i < values.len; i++) {
		if (i > 0)
			str_add_char(to, ' ');
		add_value(to, values.items[i].json);
	}
	array_done(&values);
	return status;
}

static int read_end(struct reader *r)
{
	skip_blanks(r);
	if (*r->at != '}')
		return wrong(r, "} is missing");
	r->at++;
	return 0;
}

static int print_template(struct reader *r, json_t *here, struct str *to, bool *ret_ended);

/* From after "range": the part up to {end}, once for each value. Without values it is only
 * parsed. */
static int print_range(struct reader *r, json_t *here, struct str *to)
{
	auto_str struct str nothing = STR_INIT;
	struct values values;
	const char *body;
	bool ended = false;
	int status;

	skip_blanks(r);
	status = read_path(r, here, &values);
	if (status == 0)
		status = read_end(r);
	if (status == 0 && ++r->ranges > RANGES_MAX)
		status = wrong(r, "too many ranges in each other");
	body = r->at;
	if (status == 0 && values.len == 0)
		status = print_template(r, NULL, &nothing, &ended);
	for (size_t i = 0; status == 0 && i < values.len; i++) {
		r->at = body;
		status = print_template(r, values.items[i].json, to, &ended);
	}
	if (status == 0 && !ended)
		status = wrong(r, "{end} is missing");
	r->ranges--;
	array_done(&values);
	return status;
}

static bool is_word(const struct reader *r, const char *word)
{
	size_t len = strlen(word);

	return strncmp(r->at, word, len) == 0 && strchr(" }", r->at[len]) && r->at[len];
}

/* From after "{", including "}". *@ret_ended: it was {end}. */
static int print_action(struct reader *r, json_t *here, struct str *to, bool *ret_ended)
{
	int status;

	skip_blanks(r);
	if (is_word(r, "range")) {
		r->at += strlen("range");
		return print_range(r, here, to);
	}
	if (is_word(r, "end")) {
		if (r->ranges == 0)
			return wrong(r, "there is no range to end");
		r->at += strlen("end");
		*ret_ended = true;
		return read_end(r);
	}
	status = *r->at == '"' || *r->at == '\'' ? read_quoted(r, to) : print_path(r, here, to);
	return status < 0 ? status : read_end(r);
}

static int print_template(struct reader *r, json_t *here, struct str *to, bool *ret_ended)
{
	int status = 0;

	*ret_ended = false;
	while (status == 0 && *r->at && !*ret_ended) {
		if (*r->at != '{') {
			str_add_char(to, *r->at++);
			continue;
		}
		r->at++;
		status = print_action(r, here, to, ret_ended);
	}
	return status;
}

int jsonpath_print(const char *template_, json_t *root, struct str *to, struct err *err)
{
	struct reader r = { .at = template_, .root = root, .err = err };
	bool ended;

	return print_template(&r, root, to, &ended);
}
