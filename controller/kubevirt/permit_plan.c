#include "controller/kubevirt/permit_plan.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/json_map.h"
#include "api/json_values.h"
#include "base/map.h"
#include "base/mem.h"
#include "controller/kubevirt/permit_desired.h"

/* --- the record of our entries --- */

static const char created[] = "created";

/* A record without entries. */
static struct permit_record permit_record_new(void)
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

static void permit_record_add(struct permit_record *record, enum permit_list list, const char *key)
{
	map_set(record->keys[list], key, record->keys[list]);
}

bool permit_record_has(const struct permit_record *record, enum permit_list list, const char *key)
{
	return map_get(record->keys[list], key) != NULL;
}

static bool permit_record_empty(const struct permit_record *record)
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

/* The annotation's text, the same for the same entries; NULL: no entries. The caller frees it. */
static char *permit_record_text(const struct permit_record *record)
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

/* --- the plan --- */

/* State while planning one list. */
struct sketch {
	enum permit_list list;
	const struct permit_desired *desired;
	const struct permit_record *was;
	struct permit_record *is;
	struct permit_plan *plan;
	json_t *entries; /* the new list */
	struct map *has; /* keys of desired entries that exist */
};

static json_t *member(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_object(value) ? value : NULL;
}

static json_t *permitted(const json_t *object)
{
	return member(member(member(object, "spec"), "configuration"), "permittedHostDevices");
}

static const char *text_at(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static const char *annotation(const json_t *object)
{
	return text_at(member(member(object, "metadata"), "annotations"), PERMIT_ANNOTATION);
}

/* The first entry of a key is corrected; duplicates are removed. */
static void plan_our_entry(struct sketch *s, const char *key, json_t *entry)
{
	const struct permit_entry *wished = permit_desired_find(s->desired, s->list, key);

	if (!wished || map_get(s->has, key)) {
		s->plan->removed++;
		return;
	}
	if (!json_equal(entry, wished->json))
		s->plan->mended++;
	json_array_append(s->entries, wished->json);
	map_set(s->has, key, s->has);
	permit_record_add(s->is, s->list, key);
}

static void plan_entry(struct sketch *s, json_t *entry)
{
	auto_free char *key = permit_key(s->list, entry);

	if (key && permit_record_has(s->was, s->list, key)) {
		plan_our_entry(s, key, entry);
		return;
	}
	json_array_append(s->entries, entry);
	if (key && permit_desired_find(s->desired, s->list, key))
		map_set(s->has, key, s->has);
}

static void add_missing(struct sketch *s)
{
	for (size_t i = 0; i < s->desired->lists[s->list].len; i++) {
		const struct permit_entry *wished = &s->desired->lists[s->list].items[i];

		if (map_get(s->has, wished->key))
			continue;
		json_array_append(s->entries, wished->json);
		permit_record_add(s->is, s->list, wished->key);
		s->plan->added++;
	}
}

/* The new content of the list @now; NULL: unchanged. */
static json_t *plan_list(struct sketch *s, const json_t *now)
{
	s->entries = json_array();
	s->has = map_new();
	for (size_t i = 0; i < json_array_size(now); i++)
		plan_entry(s, json_array_get(now, i));
	add_missing(s);
	map_free(s->has);
	if (json_is_array(now) ? json_equal(s->entries, now) : json_array_size(s->entries) == 0) {
		json_decref(s->entries);
		return NULL;
	}
	return s->entries;
}

/* --- all lists --- */

/* The changed members of permittedHostDevices; a list that becomes empty is removed. */
static json_t *plan_lists(const json_t *now, const struct sketch *common)
{
	json_t *changes = json_object();

	for (int i = 0; i < PERMIT_LISTS; i++) {
		const char *name = permit_list_name((enum permit_list)i);
		struct sketch s = *common;
		json_t *entries;

		s.list = (enum permit_list)i;
		entries = plan_list(&s, json_object_get(now, name));
		if (entries && json_array_size(entries) == 0) {
			json_decref(entries);
			entries = json_null();
		}
		if (entries)
			json_object_set_new(changes, name, entries);
	}
	return changes;
}

/* True if nothing is left of @now after @changes. */
static bool is_empty(const json_t *now, json_t *changes)
{
	auto_json json_t *copy = now ? json_deep_copy(now) : json_object();
	const char *key;
	json_t *value;

	json_object_update(copy, changes);
	json_object_foreach (copy, key, value) {
		if (!json_is_null(value) && !(json_is_array(value) && json_array_size(value) == 0))
			return false;
	}
	return true;
}

static json_t *patch_new(const json_t *object, const char *annotation, json_t *permitted)
{
	json_t *note = annotation ? json_string(annotation) : json_null();
	json_t *patch = json_pack("{s:{s:s*, s:{s:o}}}", "metadata", "resourceVersion",
				  text_at(member(object, "metadata"), "resourceVersion"),
				  "annotations", PERMIT_ANNOTATION, note);

	if (permitted)
		json_object_set_new(
			patch, "spec",
			json_pack("{s:{s:o}}", "configuration", "permittedHostDevices", permitted));
	return patch;
}

/* The changes to permittedHostDevices; NULL: none. @is is set to the entries that are ours
 * afterwards. */
static json_t *plan_permitted(const json_t *object, const struct sketch *common, bool create)
{
	const json_t *now = permitted(object);
	struct permit_record *is = common->is;
	json_t *changes;

	if (!now && !create)
		return NULL;
	changes = plan_lists(now, common);
	is->created = now ? common->was->created : json_object_size(changes) > 0;
	if (is->created && is_empty(now, changes)) {
		is->created = false;
		json_decref(changes);
		return now ? json_null() : NULL;
	}
	if (permit_record_empty(is))
		is->created = false;
	if (json_object_size(changes) > 0)
		return changes;
	json_decref(changes);
	return NULL;
}

/* --- resources that KubeVirt serves itself --- */

static bool is_external(const json_t *entry)
{
	return json_is_true(json_object_get(entry, "externalResourceProvider"));
}

static struct map *desired_resources(const struct permit_desired *desired)
{
	struct map *resources = map_new();

	for (int i = 0; i < PERMIT_LISTS; i++) {
		for (size_t j = 0; j < desired->lists[i].len; j++)
			map_set(resources, text_at(desired->lists[i].items[j].json, "resourceName"),
				resources);
	}
	return resources;
}

static char *clash_in(const json_t *list, enum permit_list which, const struct map *resources,
		      const struct permit_record *was)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		auto_free char *key = permit_key(which, entry);
		const char *resource = text_at(entry, "resourceName");

		if (key && !is_external(entry) && map_get(resources, resource) &&
		    !permit_record_has(was, which, key))
			return xstrdup(resource);
	}
	return NULL;
}

static char *find_clash(const json_t *object, const struct permit_desired *desired,
			const struct permit_record *was)
{
	const json_t *now = permitted(object);
	struct map *resources = desired_resources(desired);
	char *clash = NULL;

	for (int i = 0; i < PERMIT_LISTS && !clash; i++)
		clash = clash_in(json_object_get(now, permit_list_name((enum permit_list)i)),
				 (enum permit_list)i, resources, was);
	map_free(resources);
	return clash;
}

void permit_plan(const json_t *object, const struct permit_desired *desired, bool create,
		 struct permit_plan *ret_plan)
{
	const char *before = annotation(object);
	struct permit_record was = permit_record_read(before);
	struct permit_record is = permit_record_new();
	auto_free char *after = NULL;
	json_t *change;

	*ret_plan = (struct permit_plan){ .clash = find_clash(object, desired, &was) };
	change = plan_permitted(
		object,
		&(struct sketch){ .desired = desired, .was = &was, .is = &is, .plan = ret_plan },
		create);
	after = permit_record_text(&is);
	if (change || (before ? !after || strcmp(before, after) != 0 : after != NULL))
		ret_plan->patch = patch_new(object, after, change);
	permit_record_done(&was);
	permit_record_done(&is);
}

void permit_plan_done(struct permit_plan *plan)
{
	json_decref(plan->patch);
	free(plan->clash);
	*plan = (struct permit_plan){ 0 };
}
