/* objects: JSON objects as an API server keeps them: merge patches, versions, and stores of a
 * cache. */
#pragma once

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/kind.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "kube/store.h"
#include "unit/made_json.h"
#include "unit/suite.h"

/* JSON with ' for ". The caller releases it. */
static inline json_t *object_json(const char *text)
{
	auto_free char *copy = made_json(text);
	struct err err = { 0 };
	json_t *json = NULL;

	if (json_map_load(copy, strlen(copy), &json, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return json;
}

/* Merge @patch into @target (RFC 7396): null removes a key. */
static inline void object_merge(json_t *target, json_t *patch)
{
	const char *key;
	json_t *value;

	json_object_foreach (patch, key, value) {
		if (json_is_null(value)) {
			json_object_del(target, key);
			continue;
		}
		if (!json_is_object(value)) {
			json_object_set(target, key, value);
			continue;
		}
		if (!json_is_object(json_object_get(target, key)))
			json_object_set_new(target, key, json_object());
		object_merge(json_object_get(target, key), value);
	}
}

static inline json_t *object_meta(const json_t *object)
{
	return json_object_get(object, "metadata");
}

/* The text @key of the metadata; NULL without it. */
static inline const char *object_meta_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object_meta(object), key));
}

/* A new resourceVersion, the next after *@version. */
static inline void object_stamp(json_t *object, int *version)
{
	auto_free char *text = xasprintf("%d", ++*version);

	if (!object_meta(object))
		json_object_set_new(object, "metadata", json_object());
	json_object_set_new(object_meta(object), "resourceVersion", json_string(text));
}

static inline void object_set_deleted(json_t *object)
{
	json_object_set_new(object_meta(object), "deletionTimestamp",
			    json_string("2026-01-02T03:04:05Z"));
}

/* Is the object deleted and without finalizers, so that the API server removes it? */
static inline bool object_is_gone(const json_t *object)
{
	return object_meta_text(object, "deletionTimestamp") &&
	       json_array_size(json_object_get(object_meta(object), "finalizers")) == 0;
}

/* A callback of stores that does nothing. */
static inline void object_ignore_change(void *arg, const struct entry *before,
					const struct entry *after)
{
	(void)arg;
	(void)before;
	(void)after;
}

/* Put @object into @store, in place of an earlier one of its name. */
static inline void object_put(struct store *store, const struct api_kind *kind,
			      const json_t *object)
{
	auto_free char *text = json_map_text(object);
	struct json_text all = { text, strlen(text) };
	struct err err = { 0 };
	struct entry *entry = entry_decode(kind, &all, &err);

	if (!entry || !entry->object) {
		fail_msg("%s: %s", text, err.msg);
		return;
	}
	store_remove(store, entry->name, NULL, object_ignore_change, NULL);
	store_put(store, entry, object_ignore_change, NULL);
}
