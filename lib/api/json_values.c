#include "api/json_values.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"

void json_strs_add(struct json_strs *list, const char *text)
{
	assert(text);
	*array_add(list) = xstrdup(text);
}

bool json_strs_add_new(struct json_strs *list, const char *text)
{
	if (json_strs_has(list, text))
		return false;
	json_strs_add(list, text);
	return true;
}

bool json_strs_has(const struct json_strs *list, const char *text)
{
	for (size_t i = 0; i < list->len; i++) {
		if (strcmp(list->items[i], text) == 0)
			return true;
	}
	return false;
}

bool json_strs_remove(struct json_strs *list, const char *text)
{
	size_t kept = 0;
	size_t len = list->len;

	for (size_t i = 0; i < len; i++) {
		if (strcmp(list->items[i], text) == 0)
			free(list->items[i]);
		else
			list->items[kept++] = list->items[i];
	}
	list->len = kept;
	return kept < len;
}

static int compare_strs(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void json_strs_sort(struct json_strs *list)
{
	if (list->len)
		qsort(list->items, list->len, sizeof(*list->items), compare_strs);
}

bool json_strs_equal(const struct json_strs *a, const struct json_strs *b)
{
	if (a->len != b->len)
		return false;
	for (size_t i = 0; i < a->len; i++) {
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	}
	return true;
}

void json_strs_done(struct json_strs *list)
{
	for (size_t i = 0; i < list->len; i++)
		free(list->items[i]);
	array_done(list);
}

/* Index of the first key that is not less than @key. */
static size_t pairs_place(const struct json_pairs *list, const char *key)
{
	size_t low = 0;
	size_t high = list->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(list->items[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct json_pair *pairs_find(const struct json_pairs *list, const char *key)
{
	size_t at = pairs_place(list, key);

	if (at < list->len && strcmp(list->items[at].key, key) == 0)
		return &list->items[at];
	return NULL;
}

const char *json_pairs_get(const struct json_pairs *list, const char *key)
{
	const struct json_pair *pair = pairs_find(list, key);

	return pair ? pair->value : NULL;
}

bool json_pairs_include(const struct json_pairs *list, const struct json_pairs *part)
{
	for (size_t i = 0; i < part->len; i++) {
		if (!str_match(json_pairs_get(list, part->items[i].key), part->items[i].value))
			return false;
	}
	return true;
}

static void pairs_insert(struct json_pairs *list, const char *key, const char *value)
{
	size_t at = pairs_place(list, key);

	array_add(list);
	memmove(&list->items[at + 1], &list->items[at],
		(list->len - 1 - at) * sizeof(*list->items));
	list->items[at] = (struct json_pair){ .key = xstrdup(key), .value = xstrdup(value) };
}

bool json_pairs_set(struct json_pairs *list, const char *key, const char *value)
{
	struct json_pair *pair = pairs_find(list, key);
	char *copy;

	assert(value);
	if (!pair) {
		pairs_insert(list, key, value);
		return true;
	}
	if (strcmp(pair->value, value) == 0)
		return false;

	copy = xstrdup(value); /* copy before freeing the old value: @value may point into it */
	free(pair->value);
	pair->value = copy;
	return true;
}

bool json_pairs_remove(struct json_pairs *list, const char *key)
{
	struct json_pair *pair = pairs_find(list, key);

	if (!pair)
		return false;
	free(pair->key);
	free(pair->value);
	list->len--;
	memmove(pair, pair + 1, (size_t)(&list->items[list->len] - pair) * sizeof(*pair));
	return true;
}

static int compare_pairs(const void *a, const void *b)
{
	return strcmp(((const struct json_pair *)a)->key, ((const struct json_pair *)b)->key);
}

void json_pairs_sort(struct json_pairs *list)
{
	if (list->len)
		qsort(list->items, list->len, sizeof(*list->items), compare_pairs);
}

bool json_pairs_equal(const struct json_pairs *a, const struct json_pairs *b)
{
	if (a->len != b->len)
		return false;
	for (size_t i = 0; i < a->len; i++) {
		if (strcmp(a->items[i].key, b->items[i].key) != 0 ||
		    strcmp(a->items[i].value, b->items[i].value) != 0)
			return false;
	}
	return true;
}

void json_pairs_done(struct json_pairs *list)
{
	for (size_t i = 0; i < list->len; i++) {
		free(list->items[i].key);
		free(list->items[i].value);
	}
	array_done(list);
}
