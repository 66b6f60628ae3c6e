#include "api/meta.h"

#include <string.h>

static const struct json_row owner_ref_map[] = {
	JSON_STR(struct api_owner_ref, api_version, "apiVersion", JSON_ALWAYS),
	JSON_STR(struct api_owner_ref, kind, "kind", JSON_ALWAYS),
	JSON_STR(struct api_owner_ref, name, "name", JSON_ALWAYS),
	JSON_STR(struct api_owner_ref, uid, "uid", JSON_ALWAYS),
	JSON_BOOL(struct api_owner_ref, controller, "controller", JSON_OPTIONAL),
	JSON_BOOL(struct api_owner_ref, block_owner_deletion, "blockOwnerDeletion", JSON_OPTIONAL),
	JSON_END,
};

const struct json_row api_meta_map[] = {
	JSON_STR(struct api_meta, name, "name", JSON_REQUIRED),
	JSON_STR(struct api_meta, namespace_, "namespace", JSON_OPTIONAL),
	JSON_STR(struct api_meta, uid, "uid", JSON_OPTIONAL),
	JSON_STR(struct api_meta, resource_version, "resourceVersion", JSON_OPTIONAL),
	JSON_INT(struct api_meta, generation, "generation", JSON_OPTIONAL),
	JSON_STR(struct api_meta, creation_timestamp, "creationTimestamp", JSON_OPTIONAL),
	JSON_STR(struct api_meta, deletion_timestamp, "deletionTimestamp", JSON_OPTIONAL),
	JSON_PAIRS(struct api_meta, labels, "labels", JSON_OPTIONAL),
	JSON_PAIRS(struct api_meta, annotations, "annotations", JSON_OPTIONAL),
	JSON_STRS(struct api_meta, finalizers, "finalizers", JSON_OPTIONAL),
	JSON_LIST(struct api_meta, owner_refs, "ownerReferences", JSON_OPTIONAL,
		  struct api_owner_ref, owner_ref_map),
	JSON_END,
};

const struct json_row api_list_meta_map[] = {
	JSON_STR(struct api_list_meta, resource_version, "resourceVersion", JSON_OPTIONAL),
	JSON_STR(struct api_list_meta, continue_, "continue", JSON_OPTIONAL),
	JSON_INT(struct api_list_meta, remaining, "remainingItemCount", JSON_OPTIONAL),
	JSON_END,
};

const char *api_meta_label(const struct api_meta *meta, const char *key)
{
	return json_pairs_get(&meta->labels, key);
}

const char *api_meta_annotation(const struct api_meta *meta, const char *key)
{
	return json_pairs_get(&meta->annotations, key);
}

bool api_meta_has_finalizer(const struct api_meta *meta, const char *finalizer)
{
	return json_strs_has(&meta->finalizers, finalizer);
}

const struct api_owner_ref *api_meta_owner(const struct api_meta *meta, const char *kind)
{
	for (size_t i = 0; i < meta->owner_refs.len; i++) {
		const struct api_owner_ref *owner = &meta->owner_refs.items[i];

		if (owner->kind && strcmp(owner->kind, kind) == 0)
			return owner;
	}
	return NULL;
}
