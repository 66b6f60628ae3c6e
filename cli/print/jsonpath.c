#include "cli/print/jsonpath.h"

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
#include "text/out.h"

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
	if (!*r->at)
		return err_set(r->err, ERR_INVALID, -EINVAL,
			       "jsonpath: %s at the end of the template", what);
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

/* --- steps of a path -------------------------------------------------------------------------- */

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

/* Add @value and all that is in it. */
static void add_deep(struct values *to, json_t *value)
{
	struct values children = { 0 };

	values_add(to, value);
	add_all(&children, value);
	for (size_t i = 0; i < children.len; i++)
		add_deep(to, children.items[i].json);
	array_done(&children);
}

static void step_deep(struct values *values)
{
	struct values next = { 0 };

	for (size_t i = 0; i < values->len; i++)
		add_deep(&next, values->items[i].json);
	array_done(values);
	*values = next;
}

/* An end of a slice; @negative counts from the end of the list. */
struct bound {
	bool given;
	bool negative;
	uint64_t number;
};

static size_t bound_in(const struct bound *bound, size_t len, size_t otherwise)
{
	if (!bound->given)
		return otherwise;
	if (bound->number >= len)
		return bound->negative ? 0 : len;
	return bound->negative ? len - bound->number : bound->number;
}

static void step_slice(struct values *values, const struct bound *from, const struct bound *to)
{
	struct values next = { 0 };

	for (size_t i = 0; i < values->len; i++) {
		json_t *list = values->items[i].json;
		size_t len = json_array_size(list);
		size_t end = bound_in(to, len, len);

		for (size_t j = bound_in(from, len, 0); j < end; j++)
			values_add(&next, json_array_get(list, j));
	}
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

/* --- filters ---------------------------------------------------------------------------------- */

enum comparison { IS_THERE, IS_EQUAL, IS_OTHER, IS_AT_MOST, IS_AT_LEAST, IS_LESS, IS_MORE };

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

/* "" for none. Those of two characters come first. */
static enum comparison read_comparison(struct reader *r)
{
	static const struct {
		const char *sign;
		enum comparison comparison;
	} signs[] = { { "==", IS_EQUAL },    { "!=", IS_OTHER }, { "<=", IS_AT_MOST },
		      { ">=", IS_AT_LEAST }, { "<", IS_LESS },   { ">", IS_MORE } };

	skip_blanks(r);
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		size_t len = strlen(signs[i].sign);

		if (strncmp(r->at, signs[i].sign, len) == 0) {
			r->at += len;
			return signs[i].comparison;
		}
	}
	return IS_THERE;
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
	ret_filter->comparison = read_comparison(r);
	if (ret_filter->comparison != IS_THERE)
		status = read_value(r, &ret_filter->value);
	skip_blanks(r);
	if (status == 0 && *r->at != ')')
		return wrong(r, "a filter has one of == != < <= > >=, and ends with )");
	r->at++;
	return status;
}

/* Numbers and texts have an order, each among themselves. */
static bool is_ordered(enum comparison comparison, json_t *a, json_t *b)
{
	json_int_t order;

	if (json_is_integer(a) && json_is_integer(b))
		order = (json_integer_value(a) > json_integer_value(b)) -
			(json_integer_value(a) < json_integer_value(b));
	else if (json_is_string(a) && json_is_string(b))
		order = strcmp(json_string_value(a), json_string_value(b));
	else
		return false;
	return (order < 0 && (comparison == IS_LESS || comparison == IS_AT_MOST)) ||
	       (order > 0 && (comparison == IS_MORE || comparison == IS_AT_LEAST)) ||
	       (order == 0 && (comparison == IS_AT_MOST || comparison == IS_AT_LEAST));
}

static bool compares(const struct filter *filter, json_t *value)
{
	switch (filter->comparison) {
	case IS_THERE:
		return true;
	case IS_EQUAL:
		return json_equal(value, filter->value) == 1;
	case IS_OTHER:
		return json_equal(value, filter->value) != 1;
	case IS_AT_MOST:
	case IS_AT_LEAST:
	case IS_LESS:
	case IS_MORE:
		break;
	}
	return is_ordered(filter->comparison, value, filter->value);
}

static bool passes(struct reader *r, const struct filter *filter, json_t *item)
{
	struct reader again = { .at = filter->path, .root = r->root, .err = r->err };
	struct values found;
	bool passed = false;

	(void)read_path(&again, item, &found);
	for (size_t i = 0; i < found.len && !passed; i++)
		passed = compares(filter, found.items[i].json);
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

/* --- paths ------------------------------------------------------------------------------------ */

static int read_bound(struct reader *r, struct bound *ret_bound)
{
	auto_str struct str text = STR_INIT;

	*ret_bound = (struct bound){ .negative = *r->at == '-' };
	r->at += ret_bound->negative;
	while (isdigit((unsigned char)*r->at))
		str_add_char(&text, *r->at++);
	ret_bound->given = ret_bound->negative || text.len > 0;
	if (ret_bound->given && (!str_to_u64(str_cstr(&text), &ret_bound->number) ||
				 (ret_bound->negative && ret_bound->number == 0)))
		return wrong(r, "in brackets stands a number, *, a name in quotes or ?(...)");
	return 0;
}

/* "3", "-1", "0:2", ":-1". */
static int read_index(struct reader *r, struct values *values)
{
	struct bound from;
	struct bound to;

	if (read_bound(r, &from) < 0)
		return -EINVAL;
	if (*r->at == ':') {
		r->at++;
		if (read_bound(r, &to) < 0)
			return -EINVAL;
		step_slice(values, &from, &to);
		return 0;
	}
	if (!from.given)
		return wrong(r, "in brackets stands a number, *, a name in quotes or ?(...)");
	step_index(values, from.number, from.negative);
	return 0;
}

static int read_selector(struct reader *r, struct values *values)
{
	auto_str struct str name = STR_INIT;
	int status;

	skip_blanks(r);
	if (*r->at != '\'' && *r->at != '"')
		return read_index(r, values);
	status = read_quoted(r, &name);
	if (status == 0)
		step_name(values, str_cstr(&name));
	return status;
}

/* One or more, with commas between: "0,2", "'name','state'". */
static int read_selectors(struct reader *r, struct values *values)
{
	struct values all = { 0 };
	bool more = true;
	int status = 0;

	while (status == 0 && more) {
		struct values one = { 0 };

		for (size_t i = 0; i < values->len; i++)
			values_add(&one, values->items[i].json);
		status = read_selector(r, &one);
		for (size_t i = 0; i < one.len; i++)
			values_add(&all, one.items[i].json);
		array_done(&one);
		skip_blanks(r);
		more = *r->at == ',';
		r->at += more;
	}
	array_done(values);
	*values = all;
	return status;
}

/* Parse an index or a filter, from after "[". */
static int read_bracket(struct reader *r, struct values *values)
{
	int status = 0;

	if (*r->at == '*') {
		r->at++;
		step_all(values);
	} else if (strncmp(r->at, "?(", 2) == 0) {
		r->at += 2;
		status = step_filter(r, values);
	} else {
		status = read_selectors(r, values);
	}
	if (status < 0)
		return status;
	if (*r->at != ']')
		return wrong(r,
			     *r->at == ':' ? "] is missing (a slice has no step)" : "] is missing");
	r->at++;
	return 0;
}

/* Parse a field, from after "."; ".." is one at any depth. */
static void read_name(struct reader *r, struct values *values)
{
	auto_str struct str name = STR_INIT;

	if (*r->at == '.') {
		r->at++;
		step_deep(values);
	}
	while (*r->at && !strchr(".[]{}()=!<> ", *r->at)) {
		r->at += *r->at == '\\' && r->at[1];
		str_add_char(&name, *r->at++);
	}
	if (strcmp(str_cstr(&name), "*") == 0)
		step_all(values);
	else if (name.len > 0)
		step_name(values, str_cstr(&name));
}

/* @here NULL: only check the path. *@ret_values needs array_done() in any case. */
static int read_path(struct reader *r, json_t *here, struct values *ret_values)
{
	int status = 0;

	*ret_values = (struct values){ 0 };
	values_add(ret_values, *r->at == '$' ? r->root : here);
	r->at += *r->at == '$' || *r->at == '@';
	while (status == 0 && (*r->at == '.' || *r->at == '[')) {
		if (*r->at++ == '[')
			status = read_bracket(r, ret_values);
		else
			read_name(r, ret_values);
	}
	return status;
}

/* --- templates -------------------------------------------------------------------------------- */

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
