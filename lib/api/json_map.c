#include "api/json_map.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

/* A position in the document: a linked list on the stack, innermost first; NULL is the root. */
struct json_path {
	const struct json_path *up;
	const char *key; /* NULL: item number @index */
	size_t index;
};

struct json_row_ops {
	/* @value is neither missing nor null; @member is in its initial state. */
	int (*decode)(const struct json_row *row, json_t *value, void *member,
		      const struct json_path *path, struct err *err);
	json_t *(*encode)(const struct json_row *row, const void *member);
	bool (*absent)(const struct json_row *row, const void *member);
	bool (*equal)(const struct json_row *row, const void *a, const void *b);
	/* @to is in its initial state. */
	void (*copy)(const struct json_row *row, void *to, const void *from);
	void (*done)(const struct json_row *row, void *member); /* NULL: nothing to release */
};

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

/* "<path>: <what>", ERR_INVALID, -EINVAL. */
static int json_row_fail(const struct json_path *path, struct err *err, const char *what)
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

static int json_row_fail_type(const struct json_path *path, struct err *err, const char *expected,
			      const json_t *value)
{
	auto_str struct str what = STR_INIT;

	assert(value);
	str_addf(&what, "expected %s, got %s", expected, type_name(value));
	return json_row_fail(path, err, str_cstr(&what));
}

/* Check that @value is a list, and not too long. */
static int json_row_check_list(const json_t *value, const struct json_path *path, struct err *err)
{
	if (!json_is_array(value))
		return json_row_fail_type(path, err, "a list", value);
	if (json_array_size(value) > JSON_ITEMS_MAX)
		return json_row_fail(path, err, "too many items, at most 65536 are allowed");
	return 0;
}

/* Return @json; abort if it is NULL, because jansson had no memory. */
static json_t *json_row_new(json_t *json)
{
	if (!json)
		abort();
	return json;
}

/* A JSON string; text that is not UTF-8 is sanitized. */
static json_t *json_row_text(const char *text)
{
	auto_str struct str clean = STR_INIT;
	json_t *json = json_string(text);

	if (json)
		return json;
	str_add_clean(&clean, text, strlen(text));
	return json_row_new(json_string(str_cstr(&clean)));
}

/* A copy of a JSON string, with U+FFFD for each NUL in it; the caller frees it. */
static char *json_row_dup(const json_t *string)
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

static int text_decode(const struct json_row *row, json_t *value, void *member,
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

static json_t *text_encode(const struct json_row *row, const void *member)
{
	(void)row;
	return json_row_text(text_of(member));
}

static bool text_absent(const struct json_row *row, const void *member)
{
	(void)row;
	return text_of(member)[0] == '\0';
}

static bool text_equal(const struct json_row *row, const void *a, const void *b)
{
	(void)row;
	return strcmp(text_of(a), text_of(b)) == 0;
}

static void text_copy(const struct json_row *row, void *to, const void *from)
{
	(void)row;
	*(char **)to = xstrdup_or_null(*(char *const *)from);
}

static void text_release(const struct json_row *row, void *member)
{
	(void)row;
	free(*(char **)member);
}

static const struct json_row_ops json_row_str = {
	.decode = text_decode,
	.encode = text_encode,
	.absent = text_absent,
	.equal = text_equal,
	.copy = text_copy,
	.done = text_release,
};

/* --- any value, as its text --- */

static int raw_decode(const struct json_row *row, json_t *value, void *member,
		      const struct json_path *path, struct err *err)
{
	(void)row;
	(void)path;
	(void)err;
	*(char **)member = json_map_text(value);
	return 0;
}

static json_t *raw_encode(const struct json_row *row, const void *member)
{
	json_t *json = json_loads(text_of(member), JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	(void)row;
	return json ? json : json_null();
}

static const struct json_row_ops json_row_raw = {
	.decode = raw_decode,
	.encode = raw_encode,
	.absent = text_absent,
	.equal = text_equal,
	.copy = text_copy,
	.done = text_release,
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

static const struct json_row_ops json_row_bool = {
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

static const struct json_row_ops json_row_number = {
	.decode = number_decode,
	.encode = number_encode,
	.absent = number_absent,
	.equal = number_equal,
	.copy = number_copy,
};

/* --- lists of strings; null is "", as in Go --- */

static int strs_decode(const struct json_row *row, json_t *value, void *member,
		       const struct json_path *path, struct err *err)
{
	struct json_strs *list = member;
	int r = json_row_check_list(value, path, err);

	(void)row;
	for (size_t i = 0; r == 0 && i < json_array_size(value); i++) {
		const json_t *item = json_array_get(value, i);
		struct json_path here = { .up = path, .index = i };
		auto_free char *text = json_is_string(item) ? json_row_dup(item) : NULL;

		if (text)
			json_strs_add(list, text);
		else if (json_is_null(item))
			json_strs_add(list, "");
		else
			r = json_row_fail_type(&here, err, "a string", item);
	}
	return r;
}

static json_t *strs_encode(const struct json_row *row, const void *member)
{
	const struct json_strs *list = member;
	json_t *array = json_row_new(json_array());

	(void)row;
	for (size_t i = 0; i < list->len; i++) {
		if (json_array_append_new(array, json_row_text(list->items[i])) < 0)
			abort();
	}
	return array;
}

static bool strs_absent(const struct json_row *row, const void *member)
{
	(void)row;
	return ((const struct json_strs *)member)->len == 0;
}

static bool strs_equal(const struct json_row *row, const void *a, const void *b)
{
	(void)row;
	return json_strs_equal(a, b);
}

static void strs_copy(const struct json_row *row, void *to, const void *from)
{
	const struct json_strs *list = from;

	(void)row;
	for (size_t i = 0; i < list->len; i++)
		json_strs_add(to, list->items[i]);
}

static void strs_release(const struct json_row *row, void *member)
{
	(void)row;
	json_strs_done(member);
}

static const struct json_row_ops json_row_strs = {
	.decode = strs_decode,
	.encode = strs_encode,
	.absent = strs_absent,
	.equal = strs_equal,
	.copy = strs_copy,
	.done = strs_release,
};

/* --- key-value pairs; null is "", as in Go --- */

static void pairs_append(struct json_pairs *list, const char *key, const char *value)
{
	*array_add(list) = (struct json_pair){
		.key = xstrdup(key),
		.value = xstrdup(value ? value : ""),
	};
}

static int pairs_decode(const struct json_row *row, json_t *value, void *member,
			const struct json_path *path, struct err *err)
{
	struct json_pairs *list = member;
	const char *key;
	json_t *item;

	(void)row;
	if (!json_is_object(value))
		return json_row_fail_type(path, err, "an object", value);
	if (json_object_size(value) > JSON_ITEMS_MAX)
		return json_row_fail(path, err, "too many entries, at most 65536 are allowed");

	json_object_foreach (value, key, item) {
		struct json_path here = { .up = path, .key = key };
		auto_free char *text = json_is_string(item) ? json_row_dup(item) : NULL;

		if (!text && !json_is_null(item))
			return json_row_fail_type(&here, err, "a string", item);
		pairs_append(list, key, text);
	}
	json_pairs_sort(list);
	return 0;
}

static void object_set(json_t *object, const char *key, json_t *value)
{
	auto_str struct str clean = STR_INIT;

	if (!utf8_valid(key, strlen(key))) {
		str_add_clean(&clean, key, strlen(key));
		key = str_cstr(&clean);
	}
	if (json_object_set_new(object, key, value) < 0)
		abort();
}

static json_t *pairs_encode(const struct json_row *row, const void *member)
{
	const struct json_pairs *list = member;
	json_t *object = json_row_new(json_object());

	(void)row;
	for (size_t i = 0; i < list->len; i++)
		object_set(object, list->items[i].key, json_row_text(list->items[i].value));
	return object;
}

static bool pairs_absent(const struct json_row *row, const void *member)
{
	(void)row;
	return ((const struct json_pairs *)member)->len == 0;
}

static bool pairs_equal(const struct json_row *row, const void *a, const void *b)
{
	(void)row;
	return json_pairs_equal(a, b);
}

static void pairs_copy(const struct json_row *row, void *to, const void *from)
{
	const struct json_pairs *list = from;

	(void)row;
	for (size_t i = 0; i < list->len; i++)
		pairs_append(to, list->items[i].key, list->items[i].value);
}

static void pairs_release(const struct json_row *row, void *member)
{
	(void)row;
	json_pairs_done(member);
}

static const struct json_row_ops json_row_pairs = {
	.decode = pairs_decode,
	.encode = pairs_encode,
	.absent = pairs_absent,
	.equal = pairs_equal,
	.copy = pairs_copy,
	.done = pairs_release,
};

/* The layout of every list member. It is accessed with memcpy(), because to the compiler each
 * list is a different type. */
struct any_list {
	char *items;
	size_t len;
	size_t cap;
};

static int decode_at(const struct json_row *map, json_t *json, void *object,
		     const struct json_path *path, struct err *err);
static bool all_absent(const struct json_row *map, const void *object);

static struct any_list list_load(const void *member)
{
	struct any_list list;

	memcpy(&list, member, sizeof(list));
	return list;
}

/* --- nested structs --- */

static int struct_decode(const struct json_row *row, json_t *value, void *member,
			 const struct json_path *path, struct err *err)
{
	return decode_at(row->map, value, member, path, err);
}

static json_t *struct_encode(const struct json_row *row, const void *member)
{
	return json_map_encode(row->map, member);
}

static bool struct_absent(const struct json_row *row, const void *member)
{
	return all_absent(row->map, member);
}

static bool struct_equal(const struct json_row *row, const void *a, const void *b)
{
	return json_map_equal(row->map, a, b);
}

static void struct_copy(const struct json_row *row, void *to, const void *from)
{
	json_map_copy(row->map, to, from);
}

static void struct_release(const struct json_row *row, void *member)
{
	json_map_done(row->map, member);
}

static const struct json_row_ops json_row_struct = {
	.decode = struct_decode,
	.encode = struct_encode,
	.absent = struct_absent,
	.equal = struct_equal,
	.copy = struct_copy,
	.done = struct_release,
};

/* --- lists of structs; a null item is an empty struct, as in Go --- */

/* Turn the empty list @member into one of @n initialised items. */
static struct any_list list_make(const struct json_row *row, void *member, size_t n)
{
	struct any_list list = { .len = n, .cap = n };

	if (n == 0)
		return list;
	list.items = xcalloc(n, row->item);
	for (size_t i = 0; i < n; i++)
		json_map_init(row->map, list.items + i * row->item);
	memcpy(member, &list, sizeof(list));
	return list;
}

static int list_decode(const struct json_row *row, json_t *value, void *member,
		       const struct json_path *path, struct err *err)
{
	struct any_list list;
	int r = json_row_check_list(value, path, err);

	if (r < 0)
		return r;

	list = list_make(row, member, json_array_size(value));
	for (size_t i = 0; r == 0 && i < list.len; i++) {
		struct json_path here = { .up = path, .index = i };

		r = decode_at(row->map, json_array_get(value, i), list.items + i * row->item, &here,
			      err);
	}
	return r;
}

static json_t *list_encode(const struct json_row *row, const void *member)
{
	struct any_list list = list_load(member);
	json_t *array = json_row_new(json_array());

	for (size_t i = 0; i < list.len; i++) {
		json_t *item = json_map_encode(row->map, list.items + i * row->item);

		if (json_array_append_new(array, item) < 0)
			abort();
	}
	return array;
}

static bool list_absent(const struct json_row *row, const void *member)
{
	(void)row;
	return list_load(member).len == 0;
}

static bool list_equal(const struct json_row *row, const void *a, const void *b)
{
	struct any_list one = list_load(a);
	struct any_list other = list_load(b);

	if (one.len != other.len)
		return false;
	for (size_t i = 0; i < one.len; i++) {
		size_t at = i * row->item;

		if (!json_map_equal(row->map, one.items + at, other.items + at))
			return false;
	}
	return true;
}

static void list_copy(const struct json_row *row, void *to, const void *from)
{
	struct any_list old = list_load(from);
	struct any_list list = list_make(row, to, old.len);

	for (size_t i = 0; i < list.len; i++)
		json_map_copy(row->map, list.items + i * row->item, old.items + i * row->item);
}

static void list_release(const struct json_row *row, void *member)
{
	struct any_list list = list_load(member);

	for (size_t i = 0; i < list.len; i++)
		json_map_done(row->map, list.items + i * row->item);
	free(list.items);
}

static const struct json_row_ops json_row_list = {
	.decode = list_decode,
	.encode = list_encode,
	.absent = list_absent,
	.equal = list_equal,
	.copy = list_copy,
	.done = list_release,
};

/* --- whole maps --- */

static const struct json_row_ops *const ops_by_type[] = {
	[JSON_ROW_STR] = &json_row_str,       [JSON_ROW_BOOL] = &json_row_bool,
	[JSON_ROW_INT] = &json_row_number,    [JSON_ROW_INT64] = &json_row_number,
	[JSON_ROW_STRS] = &json_row_strs,     [JSON_ROW_PAIRS] = &json_row_pairs,
	[JSON_ROW_STRUCT] = &json_row_struct, [JSON_ROW_LIST] = &json_row_list,
	[JSON_ROW_RAW] = &json_row_raw,
};

static const struct json_row_ops *ops_of(const struct json_row *row)
{
	/* The row names the C type and the map separately: check that they match. */
	assert(!row->map || row->map->owner == row->item);
	return ops_by_type[row->type];
}

static void *member_of(const struct json_row *row, void *object)
{
	return (char *)object + row->at;
}

static const void *const_member_of(const struct json_row *row, const void *object)
{
	return (const char *)object + row->at;
}

static void init_row(const struct json_row *row, void *object)
{
	void *member = member_of(row, object);

	if (row->type == JSON_ROW_INT)
		*(int *)member = (int)row->absent;
	else if (row->type == JSON_ROW_INT64)
		*(int64_t *)member = row->absent;
	else if (row->type == JSON_ROW_BOOL)
		*(bool *)member = row->absent != 0;
	else if (row->type == JSON_ROW_STRUCT)
		json_map_init(row->map, member);
}

void json_map_init(const struct json_row *map, void *object)
{
	memset(object, 0, map->owner);
	for (const struct json_row *row = map; row->type != JSON_ROW_END; row++)
		init_row(row, object);
}

void json_map_done(const struct json_row *map, void *object)
{
	for (const struct json_row *row = map; row->type != JSON_ROW_END; row++) {
		if (ops_of(row)->done)
			ops_of(row)->done(row, member_of(row, object));
	}
	json_map_init(map, object);
}

static int decode_row(const struct json_row *row, json_t *value, void *object,
		      const struct json_path *up, struct err *err)
{
	struct json_path path = { .up = up, .key = row->key };

	if (value && !json_is_null(value))
		return ops_of(row)->decode(row, value, member_of(row, object), &path, err);
	if (row->need == JSON_REQUIRED)
		return json_row_fail(&path, err, "is missing");
	return 0;
}

/* json_map_decode() of the value at @path; on error @object holds what was decoded so far. */
static int decode_at(const struct json_row *map, json_t *json, void *object,
		     const struct json_path *path, struct err *err)
{
	int r = 0;

	if (!json_is_object(json) && !json_is_null(json))
		return json_row_fail_type(path, err, "an object", json);
	for (const struct json_row *row = map; r == 0 && row->type != JSON_ROW_END; row++)
		r = decode_row(row, json_object_get(json, row->key), object, path, err);
	return r;
}

int json_map_decode(const struct json_row *map, json_t *json, void *object, struct err *err)
{
	int r;

	json_map_init(map, object);
	r = decode_at(map, json, object, NULL, err);
	if (r < 0)
		json_map_done(map, object);
	return r;
}

static bool all_absent(const struct json_row *map, const void *object)
{
	for (const struct json_row *row = map; row->type != JSON_ROW_END; row++) {
		if (!ops_of(row)->absent(row, const_member_of(row, object)))
			return false;
	}
	return true;
}

json_t *json_map_encode(const struct json_row *map, const void *object)
{
	json_t *json = json_row_new(json_object());

	for (const struct json_row *row = map; row->type != JSON_ROW_END; row++) {
		const void *member = const_member_of(row, object);

		if (row->need == JSON_OPTIONAL && ops_of(row)->absent(row, member))
			continue;
		json_put(json, row->key, ops_of(row)->encode(row, member));
	}
	return json;
}

bool json_map_equal(const struct json_row *map, const void *a, const void *b)
{
	for (const struct json_row *row = map; row->type != JSON_ROW_END; row++) {
		if (!ops_of(row)->equal(row, const_member_of(row, a), const_member_of(row, b)))
			return false;
	}
	return true;
}

void json_map_copy(const struct json_row *map, void *to, const void *from)
{
	json_map_init(map, to);
	for (const struct json_row *row = map; row->type != JSON_ROW_END; row++)
		ops_of(row)->copy(row, member_of(row, to), const_member_of(row, from));
}

/* --- text --- */

int json_map_load(const char *text, size_t len, json_t **ret_json, struct err *err)
{
	auto_str struct str what = STR_INIT;
	json_error_t error;
	json_t *json;

	if (len > JSON_TEXT_MAX)
		return err_set(err, ERR_INVALID, -EMSGSIZE,
			       "JSON of %zu bytes, at most %d are allowed", len, JSON_TEXT_MAX);

	json = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	if (!json) {
		/* jansson's message may quote the text and cut it anywhere */
		str_add_clean(&what, error.text, strlen(error.text));
		return err_set(err, ERR_INVALID, -EINVAL, "JSON, line %d, column %d: %s",
			       error.line, error.column, str_cstr(&what));
	}
	*ret_json = json;
	return 0;
}

int json_map_parse(const struct json_row *map, const char *text, size_t len, void *object,
		   struct err *err)
{
	auto_json json_t *json = NULL;
	int r;

	json_map_init(map, object);
	r = json_map_load(text, len, &json, err);
	return r < 0 ? r : json_map_decode(map, json, object, err);
}

char *json_map_text(const json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);

	if (!text)
		abort();
	return text;
}

/* --- building JSON --- */

const char *json_get_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

const char *json_get_nonempty(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && *text ? text : NULL;
}

void json_put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) < 0)
		abort();
}

void json_put_text(json_t *object, const char *key, const char *text)
{
	json_put(object, key, json_string(text ? text : ""));
}

void json_add(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) < 0)
		abort();
}
