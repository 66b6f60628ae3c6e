#include "api/patch.h"

#include <string.h>

#include "api/json_map.h"
#include "api/kind.h"
#include "api/meta.h"
#include "api/object.h"
#include "base/mem.h"

json_t *patch_new_at(const char *uid, const char *version)
{
	json_t *body = json_object();
	json_t *meta = json_object();

	json_put_text(meta, "uid", uid);
	json_put_text(meta, "resourceVersion", version);
	json_put(body, "metadata", meta);
	return body;
}

json_t *patch_new(const struct api_meta *meta)
{
	return patch_new_at(meta->uid, meta->resource_version);
}

/* --- metadata --------------------------------------------------------------------------------- */

static void set_finalizers(json_t *body, const struct api_meta *meta, const char *ours, bool with)
{
	json_t *list = json_array();

	for (size_t i = 0; i < meta->finalizers.len; i++) {
		const char *text = meta->finalizers.items[i];

		if (strcmp(text, ours) != 0)
			json_add(list, json_string(text));
	}
	if (with)
		json_add(list, json_string(ours));
	json_put(json_object_get(body, "metadata"), "finalizers", list);
}

void patch_add_finalizer(json_t *body, const struct api_meta *meta, const char *finalizer)
{
	set_finalizers(body, meta, finalizer, true);
}

void patch_remove_finalizer(json_t *body, const struct api_meta *meta, const char *finalizer)
{
	set_finalizers(body, meta, finalizer, false);
}

void patch_add_owner(json_t *body, const struct api_meta *meta, const struct api_kind *kind,
		     const struct api_meta *owner, enum patch_place place)
{
	auto_free char *api_version = api_kind_api_version(kind);
	auto_json json_t *known = json_map_encode(api_meta_map, meta);
	json_t *list = json_incref(json_object_get(known, "ownerReferences"));
	json_t *ours = json_object();

	if (!list)
		list = json_array();
	json_put_text(ours, "apiVersion", api_version);
	json_put_text(ours, "kind", kind->kind);
	json_put_text(ours, "name", owner->name);
	json_put_text(ours, "uid", owner->uid);
	json_array_insert_new(list, place == PATCH_FIRST ? 0 : json_array_size(list), ours);
	json_put(json_object_get(body, "metadata"), "ownerReferences", list);
}

/* --- the status ------------------------------------------------------------------------------- */

void patch_status_condition(const struct patch_status *status, const char *type,
			    enum api_truth truth, const char *reason, const char *message)
{
	api_conditions_set(status->conditions,
			   &(struct api_condition_value){
				   .type = type,
				   .status = truth,
				   .reason = reason,
				   .message = message,
				   .observed_generation = status->meta->generation,
			   },
			   status->now_wall_ms);
}

/* A merge patch merges into objects, so a removed key inside an object needs its own null. */
static void add_nulls(json_t *want, json_t *have)
{
	const char *key;
	json_t *was;

	json_object_foreach (have, key, was) {
		json_t *is = json_object_get(want, key);

		if (!is)
			json_put(want, key, json_null());
		else if (json_is_object(is) && json_is_object(was))
			add_nulls(is, was);
	}
}

json_t *patch_status_body(const struct patch_status *status)
{
	auto_json json_t *have = json_map_encode(status->map, status->have);
	json_t *want = json_map_encode(status->map, status->want);
	json_t *body;

	if (json_equal(want, have)) {
		json_decref(want);
		return NULL;
	}
	add_nulls(want, have);
	body = patch_new(status->meta);
	json_put(body, "status", want);
	return body;
}
