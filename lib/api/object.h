/*
 * object: what can be done with an object of any kind: a struct that begins with struct api_meta,
 * and whose struct api_kind says the rest.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "api/kind.h"

struct err;

/* A new object in which everything is absent. */
void *api_object_new(const struct api_kind *kind);
/* Takes NULL, returns NULL. */
void *api_object_free(const struct api_kind *kind, void *object);
void *api_object_copy(const struct api_kind *kind, const void *object);

/* A new object from @json, in *@ret_object. A "kind" or "apiVersion" in @json other than @kind's is
 * an error (items of a list may have none). The message begins with kind and name. */
int api_object_decode(const struct api_kind *kind, json_t *json, void **ret_object,
		      struct err *err);

/* The object with apiVersion and kind, for the caller to json_decref(). Never PUT what was decoded:
 * fields that we do not know would be lost. It is meant for server-side apply. */
json_t *api_object_encode(const struct api_kind *kind, const void *object);

bool api_object_equal(const struct api_kind *kind, const void *a, const void *b);

/* "group/version", or "version" in the core group; the caller frees. */
char *api_kind_api_version(const struct api_kind *kind);
