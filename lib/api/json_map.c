#include "api/json_map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_row.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

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
		if (json_object_set_new(json, row->key, ops_of(row)->encode(row, member)) < 0)
			abort();
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
