/* meta: the parts of metav1.ObjectMeta and ListMeta that we use. */
#pragma once

#include "api/json_map.h"

struct api_owner_ref {
	char *api_version;
	char *kind;
	char *name;
	char *uid;
	bool controller;
	bool block_owner_deletion;
};

struct api_owner_refs {
	struct api_owner_ref *items;
	size_t len;
	size_t cap;
};

struct api_meta {
	char *name; /* required: an object without a name does not decode */
	char *namespace_;
	char *uid;
	char *resource_version; /* opaque: compare for equality only */
	int64_t generation;
	char *creation_timestamp;
	char *deletion_timestamp; /* NULL: not being deleted */
	struct json_pairs labels;
	struct json_pairs annotations;
	struct json_strs finalizers;
	struct api_owner_refs owner_refs;
};

extern const struct json_row api_meta_map[];

/* The first row of every kind's map. */
#define API_META(type) \
	JSON_STRUCT(type, meta, "metadata", JSON_REQUIRED, struct api_meta, api_meta_map)

/* The value of a label or annotation; NULL if there is none. */
const char *api_meta_label(const struct api_meta *meta, const char *key);
const char *api_meta_annotation(const struct api_meta *meta, const char *key);

bool api_meta_has_finalizer(const struct api_meta *meta, const char *finalizer);

/* The first owner of kind @kind (any API version); NULL if there is none. */
const struct api_owner_ref *api_meta_owner(const struct api_meta *meta, const char *kind);

/* metadata of a list; also fits a bookmark event's object. */
struct api_list_meta {
	char *resource_version;
	char *continue_; /* NULL: last page */
	int64_t remaining;
};

extern const struct json_row api_list_meta_map[];
