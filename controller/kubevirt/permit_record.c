#include "controller/kubevirt/permit_record.h"

#include <string.h>

#include <jansson.h>

#include "api/json_map.h"
#include "api/json_values.h"
#include "base/map.h"
#include "base/mem.h"

static const char created[] = "created";

struct permit_record permit_record_new(void)
{
	struct permit_record record = { .created = false };

	for (int i = 0; i < PERMIT_LISTS; i++)
		record.keys[i] = map_new();
	return record;
}

void permit_record_done(struct permit_record *record)
{
	for (int i = 0; i < PERMIT_LISTS; i++)
		record->keys[i] = map_free(record->keys[i]);
}

void permit_record_add(struct permit_record *record, enum permit_list list, const char *key)
{
	map_set(record->keys[list], key, record->keys[list]);
}

bool permit_record_has(const struct permit_record *record, enum permit_list list, const char *key)
{
	return map_get(record->keys[list], key) != NULL;
}

bool permit_record_empty(const struct permit_record *record)
{
	size_t len = 0;

	for (int i = 0; i < PERMIT_LISTS; i++)
		len += map_len(record->keys[i]);
	return len == 0;
}

struct permit_record permit_record_read(const char *text)
{
	struct permit_record record = permit_record_new();
	auto_json json_t *json = NULL;

	if (!text || json_map_load(text, strlen(text), &json, NULL) < 0)
		return record;
	record.created = json_is_true(json_object_get(json, created));
	for (int i = 0; i < PERMIT_LISTS; i++) {
		const json_t *keys = json_object_get(json, permit_list_name((enum permit_list)i));

		for (size_t j = 0; j < json_array_size(keys); j++) {
			const char *key = json_string_value(json_array_get(keys, j));

			if (key)
				permit_record_add(&record, (enum permit_list)i, key);
		}
	}
	return record;
}

/* NULL: an empty list is omitted. */
static json_t *list_json(struct map *keys)
{
	struct json_strs sorted = { 0 };
	json_t *list = map_len(keys) > 0 ? json_array() : NULL;
	const char *key;
	size_t cursor = 0;

	while (map_next(keys, &cursor, &key, NULL))
		json_strs_add(&sorted, key);
	json_strs_sort(&sorted);
	for (size_t i = 0; i < sorted.len; i++)
		json_array_append_new(list, json_string(sorted.items[i]));
	json_strs_done(&sorted);
	return list;
}

char *permit_record_text(const struct permit_record *record)
{
	auto_json json_t *json = json_object();

	for (int i = 0; i < PERMIT_LISTS; i++) {
		json_t *list = list_json(record->keys[i]);

		if (list)
			json_object_set_new(json, permit_list_name((enum permit_list)i), list);
	}
	if (record->created)
		json_object_set_new(json, created, json_true());
	return json_object_size(json) > 0 ? json_map_text(json) : NULL;
}
