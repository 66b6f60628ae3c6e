/*
 * patch: bodies of merge patches of one object: finalizer, owner, conditions, status.
 *
 * Pure. Every body carries the uid and the resourceVersion of the object as it is known, so that
 * the API server refuses it once the object has changed. A merge patch replaces a list whole:
 * what others put into a list is repeated. A status without a difference gives no body: this is
 * where "an unchanged object is not written" is decided.
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
 * releases it with json_decref(), as every body here. */
json_t *patch_new(const struct api_meta *meta);

/* The same from the two values, such as those of a store's entry. */
json_t *patch_new_at(const char *uid, const char *version);

/* Add the finalizer to the object @meta, or remove it. Finalizers of others stay. */
void patch_add_finalizer(json_t *body, const struct api_meta *meta, const char *finalizer);
void patch_remove_finalizer(json_t *body, const struct api_meta *meta, const char *finalizer);

/* Where an owner goes in the list. */
enum patch_place { PATCH_FIRST, PATCH_LAST };

/* Add @owner, of @kind, to the owner references of the object @meta. */
void patch_add_owner(json_t *body, const struct api_meta *meta, const struct api_kind *kind,
		     const struct api_meta *owner, enum patch_place place);

/* The status of one object in the making. Borrowed. */
struct patch_status {
	const struct api_meta *meta;
	const struct json_row *map;        /* of the status                          */
	const void *have;                  /* the status as it is known              */
	void *want;                        /* a copy of it that says what it should  */
	struct api_conditions *conditions; /* of @want                               */
	int64_t now_wall_ms;
};

/* Set one condition, with the object's generation as observedGeneration; lastTransitionTime and
 * the rest as api_conditions_set() says. */
void patch_status_condition(const struct patch_status *status, const char *type,
			    enum api_truth truth, const char *reason, const char *message);

/* The patch from @have to @want, with null for each field, and each key of a map, that must go; NULL:
 * nothing differs. */
json_t *patch_status_body(const struct patch_status *status);
