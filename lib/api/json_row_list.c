#include "api/json_row.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

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

const struct json_row_ops json_row_strs = {
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

const struct json_row_ops json_row_pairs = {
	.decode = pairs_decode,
	.encode = pairs_encode,
	.absent = pairs_absent,
	.equal = pairs_equal,
	.copy = pairs_copy,
	.done = pairs_release,
};
