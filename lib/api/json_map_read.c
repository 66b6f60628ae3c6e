#include "api/json_map_read.h"

#include <limits.h>
#include <string.h>

#include "api/json_map.h"
#include "base/array.h"
#include "base/json_read.h"

/* Every function below returns false if the text needs the slow path; the object then holds what
 * was decoded so far. */

enum { ROWS_MAX = 64, DIGITS_MAX = 18 };

/* As in json_map.c: accessed with memcpy(), because to the compiler each list is a different
 * type. */
struct any_list {
	char *items;
	size_t len;
	size_t cap;
};

static bool read_object(const struct json_row *map, struct json_read *r, void *object);

/* A string without escapes, whose text is its value. */
static bool read_plain(struct json_read *r, struct json_text *ret_text)
{
	return json_read_string(r, ret_text) && !memchr(ret_text->text, '\\', ret_text->len);
}

static char *copy(const struct json_text *text)
{
	return xstrndup(text->text, text->len);
}

static bool read_str(const struct json_row *row, struct json_read *r, char **member)
{
	struct json_text text;

	if (!read_plain(r, &text))
		return false;
	if (text.len == 0)
		return row->need != JSON_REQUIRED;
	*member = copy(&text);
	return true;
}

static bool read_bool(struct json_read *r, bool *member)
{
	struct json_text text;

	if (!json_read_value(r, &text))
		return false;
	*member = text.text[0] == 't';
	return text.text[0] == 't' || text.text[0] == 'f';
}

/* Any number of eighteen digits fits into 64 bits. */
static bool read_number(struct json_read *r, int64_t *ret_number)
{
	struct json_text text;
	int64_t number = 0;
	size_t sign;

	if (!json_read_value(r, &text))
		return false;
	sign = text.text[0] == '-';
	if (text.len == sign || text.len - sign > DIGITS_MAX)
		return false;
	for (size_t i = sign; i < text.len; i++) {
		if (text.text[i] < '0' || text.text[i] > '9')
			return false;
		number = number * 10 + (text.text[i] - '0');
	}
	*ret_number = sign ? -number : number;
	return true;
}

static bool read_int(struct json_read *r, int *member)
{
	int64_t number;

	if (!read_number(r, &number) || number < INT_MIN || number > INT_MAX)
		return false;
	*member = (int)number;
	return true;
}

static bool read_strs(struct json_read *r, struct json_strs *list)
{
	struct json_text text;

	if (!json_read_open(r, '['))
		return false;
	while (json_read_item(r)) {
		if (list->len == JSON_ITEMS_MAX || !read_plain(r, &text))
			return false;
		*array_add(list) = copy(&text);
	}
	return !r->failed;
}

static bool pairs_have_duplicates(const struct json_pairs *list)
{
	for (size_t i = 1; i < list->len; i++) {
		if (strcmp(list->items[i - 1].key, list->items[i].key) == 0)
			return true;
	}
	return false;
}

static bool read_pairs(struct json_read *r, struct json_pairs *list)
{
	struct json_text key;
	struct json_text value;

	if (!json_read_open(r, '{'))
		return false;
	while (json_read_member(r, &key)) {
		if (list->len == JSON_ITEMS_MAX || memchr(key.text, '\\', key.len))
			return false;
		if (!read_plain(r, &value))
			return false;
		*array_add(list) = (struct json_pair){ .key = copy(&key), .value = copy(&value) };
	}
	json_pairs_sort(list);
	return !r->failed && !pairs_have_duplicates(list);
}

/* Append an initialised item to the list @member. */
static void *list_add(const struct json_row *row, void *member)
{
	struct any_list list;
	void *item;

	memcpy(&list, member, sizeof(list));
	list.items = array_room_(list.items, list.len, &list.cap, row->item);
	item = list.items + list.len++ * row->item;
	json_map_init(row->map, item);
	memcpy(member, &list, sizeof(list));
	return item;
}

static bool read_list(const struct json_row *row, struct json_read *r, void *member)
{
	if (!json_read_open(r, '['))
		return false;
	for (size_t n = 0; json_read_item(r); n++) {
		if (n == JSON_ITEMS_MAX || !read_object(row->map, r, list_add(row, member)))
			return false;
	}
	return !r->failed;
}

static bool read_row(const struct json_row *row, struct json_read *r, void *object)
{
	void *member = (char *)object + row->at;

	switch (row->type) {
	case JSON_ROW_STR:
		return read_str(row, r, member);
	case JSON_ROW_BOOL:
		return read_bool(r, member);
	case JSON_ROW_INT:
		return read_int(r, member);
	case JSON_ROW_INT64:
		return read_number(r, member);
	case JSON_ROW_STRS:
		return read_strs(r, member);
	case JSON_ROW_PAIRS:
		return read_pairs(r, member);
	case JSON_ROW_STRUCT:
		return read_object(row->map, r, member);
	case JSON_ROW_LIST:
		return read_list(row, r, member);
	case JSON_ROW_RAW: /* compact only after jansson has written it */
	case JSON_ROW_END:
		break;
	}
	return false;
}

static bool is_key(const struct json_row *row, const struct json_text *key)
{
	return row->key[0] == key->text[0] && json_text_is(key, row->key);
}

/* The index of the row; that of JSON_END for an unknown field. */
static size_t find_row(const struct json_row *map, const struct json_text *key)
{
	size_t i = 0;

	while (map[i].type != JSON_ROW_END && !is_key(&map[i], key))
		i++;
	return i;
}

static bool has_required(const struct json_row *map, uint64_t seen)
{
	for (size_t i = 0; map[i].type != JSON_ROW_END; i++) {
		if (i == ROWS_MAX || (map[i].need == JSON_REQUIRED && !(seen & (1ULL << i))))
			return false;
	}
	return true;
}

/* Decode a member of the object, or skip it if it is unknown. @seen has one bit per row already
 * decoded. */
static bool read_member(const struct json_row *map, struct json_read *r,
			const struct json_text *key, void *object, uint64_t *seen)
{
	size_t i = find_row(map, key);

	if (memchr(key->text, '\\', key->len))
		return false;
	if (map[i].type == JSON_ROW_END)
		return json_read_value(r, NULL);
	if (i >= ROWS_MAX || (*seen & (1ULL << i)))
		return false;
	*seen |= 1ULL << i;
	if (json_read_peek(r) != 'n')
		return read_row(&map[i], r, object);
	return map[i].need != JSON_REQUIRED && json_read_value(r, NULL);
}

static bool read_object(const struct json_row *map, struct json_read *r, void *object)
{
	struct json_text key;
	uint64_t seen = 0;

	if (!json_read_open(r, '{'))
		return false;
	while (json_read_member(r, &key)) {
		if (!read_member(map, r, &key, object, &seen))
			return false;
	}
	return !r->failed && has_required(map, seen);
}

int json_map_read(const struct json_row *map, const char *text, size_t len, void *object,
		  struct err *err)
{
	struct json_read r = json_read_start(text, len);

	json_map_init(map, object);
	if (len <= JSON_TEXT_MAX && read_object(map, &r, object) && json_read_end(&r) &&
	    !r.large_number) /* jansson refuses these even in ignored fields */
		return 0;
	json_map_done(map, object);
	return json_map_parse(map, text, len, object, err);
}
