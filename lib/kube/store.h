/*
 * store: a copy of a collection, with one immutable entry per name that is replaced as a whole. For
 * a namespaced collection, the name is "namespace/name".
 *
 * A caller that keeps an entry across a return to the loop takes a reference to it. Changes are
 * reported when the store already has the new state. If a name now belongs to another object, a
 * deletion and an addition are reported.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct api_kind;
struct api_meta;
struct err;
struct json_text;

struct entry {
	const char *name;
	const char *uid;
	const char *version; /* opaque: compare for equality only */
	void *object;        /* the kind's struct or its digest; NULL: it could not be decoded */
	unsigned refs;
};

struct store;

struct store *store_new(const struct api_kind *kind);
/* Reports no changes. Takes NULL, returns NULL. */
struct store *store_free(struct store *store);

/* NULL if there is none. Valid until the store changes. */
const struct entry *store_get(const struct store *store, const char *name);

/* The same, which stays as it is until entry_free(), whatever becomes of the store. */
struct entry *store_ref(const struct store *store, const char *name);

/* The kind's struct or its digest; NULL if the object does not exist or is unreadable. */
const void *store_object(const struct store *store, const char *name);

/* Iterate in arbitrary order, starting with *@cursor = 0; NULL at the end. The store must not
 * change meanwhile. */
const struct entry *store_next(const struct store *store, size_t *cursor);

size_t store_len(const struct store *store);
size_t store_unreadable(const struct store *store);

/* One change: @before is NULL for an addition, @after for a deletion. Valid during the call. */
typedef void store_change_fn(void *arg, const struct entry *before, const struct entry *after);

/*
 * Decode an object's JSON text into a new entry. If only its metadata can be decoded, the entry's
 * object is NULL and @err is filled. Returns NULL if not even the metadata can be decoded.
 */
struct entry *entry_decode(const struct api_kind *kind, const struct json_text *text,
			   struct err *err);
/* Drop a reference; the last one frees the entry. Takes NULL, returns NULL. */
struct entry *entry_free(const struct api_kind *kind, struct entry *entry);

/* Takes ownership of @entry. No change is reported if the store already has this uid and
 * version. */
void store_put(struct store *store, struct entry *entry, store_change_fn *change, void *arg);

/* Remove @name if its uid is @uid (NULL: any). */
void store_remove(struct store *store, const char *name, const char *uid, store_change_fn *change,
		  void *arg);

/* Make the store equal to @list, which is empty afterwards. Objects missing in @list are
 * reported as deletions. NULL stands for an empty list. */
void store_replace(struct store *store, struct store *list, store_change_fn *change, void *arg);
