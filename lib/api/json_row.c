#include "api/json_row.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

static void path_add(struct str *text, const struct json_path *path)
{
	if (path->up)
		path_add(text, path->up);
	if (!path->key)
		str_addf(text, "[%zu]", path->index);
	else if (text->len)
		str_addf(text, ".%s", path->key);
	else
		str_add(text, path->key);
}

int json_row_fail(const struct json_path *path, struct err *err, const char *what)
{
	auto_str struct str text = STR_INIT;

	if (path) {
		path_add(&text, path);
		str_add(&text, ": ");
	}
	str_add(&text, what);
	return err_set(err, ERR_INVALID, -EINVAL, "%s", str_cstr(&text));
}

static const char *type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "a number";
	case JSON_REAL:
		return "a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		return "null";
	}
	return "something unknown";
}

int json_row_fail_type(const struct json_path *path, struct err *err, const char *expected,
		       const json_t *value)
{
	auto_str struct str what = STR_INIT;

	str_addf(&what, "expected %s, got %s", expected, type_name(value));
	return json_row_fail(path, err, str_cstr(&what));
}

int json_row_check_list(const json_t *value, const struct json_path *path, struct err *err)
{
	if (!json_is_array(value))
		return json_row_fail_type(path, err, "a list", value);
	if (json_array_size(value) > JSON_ITEMS_MAX)
		return json_row_fail(path, err, "too many items, at most 65536 are allowed");
	return 0;
}

json_t *json_row_new(json_t *json)
{
	if (!json)
		abort(); /* only possible without memory */
	return json;
}

json_t *json_row_text(const char *text)
{
	auto_str struct str clean = STR_INIT;
	json_t *json = json_string(text);

	if (json)
		return json;
	str_add_clean(&clean, text, strlen(text));
	return json_row_new(json_string(str_cstr(&clean)));
}

char *json_row_dup(const json_t *string)
{
	auto_str struct str out = STR_INIT;
	const char *text = json_string_value(string);
	const char *end = text + json_string_length(string);

	if (strlen(text) == json_string_length(string))
		return xstrdup(text);
	for (; text < end; text += strlen(text) + 1) {
		str_add(&out, text);
		if (text + strlen(text) < end)
			str_add(&out, "\xef\xbf\xbd");
	}
	return str_detach(&out);
}

/* --- strings --- */

static int str_decode(const struct json_row *row, json_t *value, void *member,
		      const struct json_path *path, struct err *err)
{
	if (!json_is_string(value))
		return json_row_fail_type(path, err, "a string", value);
	if (json_string_length(value) > 0)
		*(char **)member = json_row_dup(value);
	else if (row->need == JSON_REQUIRED)
		return json_row_fail(path, err, "is empty");
	return 0;
}

static const char *text_of(const void *member)
{
	const char *text = *(char *const *)member;

	return text ? text : "";
}

static json_t *str_encode(const struct json_row *row, const void *member)
{
	(void)row;
	return json_row_text(text_of(member));
}

static bool str_absent(const struct json_row *row, const void *member)
{
	(void)row;
	return text_of(member)[0] == '\0';
}

static bool str_equal(const struct json_row *row, const void *a, const void *b)
{
	(void)row;
	return strcmp(text_of(a), text_of(b)) == 0;
}

static void str_copy(const struct json_row *row, void *to, const void *from)
{
	(void)row;
	*(char **)to = xstrdup_or_null(*(char *const *)from);
}

static void str_release(const struct json_row *row, void *member)
{
	(void)row;
	free(*(char **)member);
}

const struct json_row_ops json_row_str = {
	.decode = str_decode,
	.encode = str_encode,
	.absent = str_absent,
	.equal = str_equal,
	.copy = str_copy,
	.done = str_release,
};

/* --- booleans --- */

static int bool_decode(const struct json_row *row, json_t *value, void *member,
		       const struct json_path *path, struct err *err)
{
	(void)row;
	if (!json_is_boolean(value))
		return json_row_fail_type(path, err, "a boolean", value);
	*(bool *)member = json_is_true(value);
	return 0;
}

static json_t *bool_encode(const struct json_row *row, const void *member)
{
	(void)row;
	return json_boolean(*(const bool *)member);
}

static bool bool_absent(const struct json_row *row, const void *member)
{
	return *(const bool *)member == (row->absent != 0);
}

static bool bool_equal(const struct json_row *row, const void *a, const void *b)
{
	(void)row;
	return *(const bool *)a == *(const bool *)b;
}

static void bool_copy(const struct json_row *row, void *to, const void *from)
{
	(void)row;
	*(bool *)to = *(const bool *)from;
}

const struct json_row_ops json_row_bool = {
	.decode = bool_decode,
	.encode = bool_encode,
	.absent = bool_absent,
	.equal = bool_equal,
	.copy = bool_copy,
};

/* --- numbers: int and int64_t --- */

static int64_t number_of(const struct json_row *row, const void *member)
{
	if (row->type == JSON_ROW_INT)
		return *(const int *)member;
	return *(const int64_t *)member;
}

static int number_decode(const struct json_row *row, json_t *value, void *member,
			 const struct json_path *path, struct err *err)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value))
		return json_row_fail_type(path, err, "a whole number", value);
	if (row->type == JSON_ROW_INT64)
		*(int64_t *)member = number;
	else if (number < INT_MIN || number > INT_MAX)
		return json_row_fail(path, err, "the number does not fit into 32 bits");
	else
		*(int *)member = (int)number;
	return 0;
}

static json_t *number_encode(const struct json_row *row, const void *member)
{
	return json_row_new(json_integer(number_of(row, member)));
}

static bool number_absent(const struct json_row *row, const void *member)
{
	return number_of(row, member) == row->absent;
}

static bool number_equal(const struct json_row *row, const void *a, const void *b)
{
	return number_of(row, a) == number_of(row, b);
}

static void number_copy(const struct json_row *row, void *to, const void *from)
{
	if (row->type == JSON_ROW_INT)
		*(int *)to = *(const int *)from;
	else
		*(int64_t *)to = *(const int64_t *)from;
}

const struct json_row_ops json_row_number = {
	.decode = number_decode,
	.encode = number_encode,
	.absent = number_absent,
	.equal = number_equal,
	.copy = number_copy,
};
