/*
 * store: the copy of a collection: one immutable entry per name, replaced whole. Where the collection
 * is that of all namespaces, the name is "namespace/name".
 *
 * Readers keep no entry across a return to the loop: look again. Changes are told while the store
 * already has the new state; a deletion and an addition under one name are told as two changes.
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
	const char *version; /* opaque: equality only                                          */
	void *object; /* the kind's struct, or the digest of it; NULL: it could not be decoded */
};

struct store;

struct store *store_new(const struct api_kind *kind);
/* Tells nothing. Takes NULL, returns NULL. */
struct store *store_free(struct store *store);

/* NULL if there is none. Valid until the store changes. */
const struct entry *store_get(const struct store *store, const char *name);

/* The kind's struct or its digest, NULL if there is no such object or it is unreadable. */
const void *store_object(const struct store *store, const char *name);

/* Walk in arbitrary order, from *@cursor = 0; NULL at the end. No change while walking. */
const struct entry *store_next(const struct store *store, size_t *cursor);

size_t store_len(const struct store *store);
size_t store_unreadable(const struct store *store);

/* One change: @before is NULL for an addition, @after for a deletion. Valid during the call. */
typedef void store_change_fn(void *arg, const struct entry *before, const struct entry *after);

/*
 * A new entry of the text of an object. An object that does not decode still gives an entry, if its
 * metadata can be read: then @err is filled and its object is NULL. NULL when not even that.
 */
struct entry *entry_decode(const struct api_kind *kind, const struct json_text *text,
			   struct err *err);
struct entry *entry_free(const struct api_kind *kind, struct entry *entry);

/* Takes @entry. Nothing is told when it is what the store already has (same uid and version). */
void store_put(struct store *store, struct entry *entry, store_change_fn *change, void *arg);

/* Forget @name if its uid is @uid (NULL: whatever it is). */
void store_remove(struct store *store, const char *name, const char *uid, store_change_fn *change,
		  void *arg);

/* Make the store equal to @list (which is empty afterwards): deletions that nobody told of are told
 * now. NULL stands for an empty list. */
void store_replace(struct store *store, struct store *list, store_change_fn *change, void *arg);
