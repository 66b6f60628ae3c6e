/* claim_store: claims as an API server keeps them: what is written is stored, preconditions count. */
#pragma once

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/names.h"
#include "api/object.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/num.h"
#include "kube/store.h"
#include "unit/suite.h"

#define NODE     "node1"
#define ADDRESS  "0000:01:00.0"
#define NAME     "node1-000001000"
#define SIBLING  "0000:01:00.1"
#define SIBLINGS "node1-000001001" /* name of the sibling's claim */

/* JSON with ' for ". The caller releases it. */
static inline json_t *claim_json(const char *text)
{
	auto_free char *copy = xstrdup(text);
	struct err err = { 0 };
	json_t *json = NULL;

	for (char *s = copy; *s; s++)
		*s = *s == '\'' ? '"' : *s;
	if (json_map_load(copy, strlen(copy), &json, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return json;
}

static inline void claim_store_heard(void *arg, const struct entry *before,
				     const struct entry *after)
{
	(void)arg;
	(void)before;
	(void)after;
}

static inline void claim_store_put_kind(struct store *store, const struct api_kind *kind,
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
	store_remove(store, entry->name, NULL, claim_store_heard, NULL);
	store_put(store, entry, claim_store_heard, NULL);
}

static inline void claim_store_put(struct store *store, const json_t *object)
{
	claim_store_put_kind(store, &pcideviceclaim_kind, object);
}

/* RFC 7396. */
static inline void claim_merge(json_t *target, json_t *patch)
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
		claim_merge(json_object_get(target, key), value);
	}
}

static inline const char *claim_meta_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(json_object_get(object, "metadata"), key));
}

/* Make the patch on the stored claim, which must be the one that the patch was made for. */
static inline void claim_store_patch(struct store *store, const char *name, json_t *patch)
{
	const struct pcideviceclaim *claim = store_object(store, name);
	auto_json json_t *object = NULL;
	auto_free char *version = NULL;
	uint64_t number = 0;
	json_t *meta;

	assert_non_null(claim);
	assert_string_equal(claim_meta_text(patch, "uid"), claim->meta.uid);
	assert_string_equal(claim_meta_text(patch, "resourceVersion"),
			    claim->meta.resource_version);
	object = api_object_encode(&pcideviceclaim_kind, claim);
	claim_merge(object, patch);
	meta = json_object_get(object, "metadata");
	assert_true(str_to_u64(claim->meta.resource_version, &number));
	version = xasprintf("%" PRIu64, number + 1);
	json_object_set_new(meta, "resourceVersion", json_string(version));
	if (json_object_get(patch, "spec"))
		json_object_set_new(meta, "generation", json_integer(claim->meta.generation + 1));
	claim_store_put(store, object);
}
