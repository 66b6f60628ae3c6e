/*
 * patch: bodies of merge patches of one object: finalizer, owner, conditions, status.
 *
 * Pure. Every body carries the object's uid and resourceVersion, so that the API server refuses it
 * if the object has changed. A merge patch replaces whole lists, so other owners' items are
 * repeated. If the status does not differ, there is no body: this is where unchanged objects are
 * left unwritten.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/condition.h"

struct api_kind;
struct api_meta;
struct json_row;

/* {"metadata": {"uid", "resourceVersion"}} of the object @meta; see apply_merge(). The caller
 * releases this and all other bodies with json_decref(). */
json_t *patch_new(const struct api_meta *meta);

/* The same from uid and resourceVersion, for example of a store's entry. */
json_t *patch_new_at(const char *uid, const char *version);

/* Add a finalizer to the object @meta, or remove it. Other finalizers are kept. */
void patch_add_finalizer(json_t *body, const struct api_meta *meta, const char *finalizer);
void patch_remove_finalizer(json_t *body, const struct api_meta *meta, const char *finalizer);

/* Position of an owner in the list. */
enum patch_place { PATCH_FIRST, PATCH_LAST };

/* Add @owner, of @kind, to the owner references of the object @meta. */
void patch_add_owner(json_t *body, const struct api_meta *meta, const struct api_kind *kind,
		     const struct api_meta *owner, enum patch_place place);

/* An update of an object's status. Borrowed. */
struct patch_status {
	const struct api_meta *meta;
	const struct json_row *map;        /* of the status */
	const void *have;                  /* the current status */
	void *want;                        /* a copy of it with the desired values */
	struct api_conditions *conditions; /* of @want */
	int64_t now_wall_ms;
};

/* Set one condition, with the object's generation as observedGeneration; otherwise like
 * api_conditions_set(). */
void patch_status_condition(const struct patch_status *status, const char *type,
			    enum api_truth truth, const char *reason, const char *message);

/* The patch from @have to @want, with null for each field or map key to remove; NULL if nothing
 * differs. */
json_t *patch_status_body(const struct patch_status *status);
