/*
 * object: operations on objects of any kind: a struct that begins with struct api_meta and is
 * described by its struct api_kind.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "api/kind.h"

struct err;

/* A new object with every field absent. */
void *api_object_new(const struct api_kind *kind);
/* Takes NULL, returns NULL. */
void *api_object_free(const struct api_kind *kind, void *object);
void *api_object_copy(const struct api_kind *kind, const void *object);

/* Decode @json into a new object, *@ret_object. A "kind" or "apiVersion" that differs from
 * @kind's is an error; both may be missing, as in lists. The message begins with kind and name. */
int api_object_decode(const struct api_kind *kind, json_t *json, void **ret_object,
		      struct err *err);

/* The object with apiVersion and kind; the caller releases it with json_decref(). For
 * server-side apply. Never PUT a decoded object, because unknown fields would be lost. */
json_t *api_object_encode(const struct api_kind *kind, const void *object);

bool api_object_equal(const struct api_kind *kind, const void *a, const void *b);

/* "group/version", or "version" in the core group; the caller frees. */
char *api_kind_api_version(const struct api_kind *kind);
