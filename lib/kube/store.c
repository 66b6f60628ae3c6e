#include "kube/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map_read.h"
#include "api/kind.h"
#include "api/meta.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/map.h"
#include "base/mem.h"

struct store {
	const struct api_kind *kind;
	struct map *entries;
	size_t unreadable;
};

struct store *store_new(const struct api_kind *kind)
{
	struct store *store = xcalloc(1, sizeof(*store));

	store->kind = kind;
	store->entries = map_new();
	return store;
}

struct store *store_free(struct store *store)
{
	size_t cursor = 0;
	void *entry;

	if (!store)
		return NULL;
	while (map_next(store->entries, &cursor, NULL, &entry))
		entry_free(store->kind, entry);
	map_free(store->entries);
	free(store);
	return NULL;
}

const struct entry *store_get(const struct store *store, const char *name)
{
	return map_get(store->entries, name);
}

struct entry *store_ref(const struct store *store, const char *name)
{
	struct entry *entry = map_get(store->entries, name);

	if (entry)
		entry->refs++;
	return entry;
}

const void *store_object(const struct store *store, const char *name)
{
	const struct entry *entry = store_get(store, name);

	return entry ? entry->object : NULL;
}

const struct entry *store_next(const struct store *store, size_t *cursor)
{
	void *entry;

	return map_next(store->entries, cursor, NULL, &entry) ? entry : NULL;
}

size_t store_len(const struct store *store)
{
	return map_len(store->entries);
}

size_t store_unreadable(const struct store *store)
{
	return store->unreadable;
}

/* --- entries --- */

static void object_free(const struct api_kind *kind, void *object)
{
	if (object && !kind->digest)
		json_map_done(kind->map, object);
	free(object);
}

struct entry *entry_free(const struct api_kind *kind, struct entry *entry)
{
	if (!entry || --entry->refs > 0)
		return NULL;
	object_free(kind, entry->object);
	free(entry);
	return NULL;
}

/* The key within the collection: name or "namespace/name". */
static char *key_of(const struct api_kind *kind, const struct api_meta *meta)
{
	if (!meta->namespace_ || kind->ns)
		return xstrdup(meta->name);
	return xasprintf("%s/%s", meta->namespace_, meta->name);
}

/* Copy @text including its NUL to *@at and advance *@at. */
static const char *put_text(char **at, const char *text)
{
	char *copy = *at;
	size_t size = strlen(text) + 1;

	memcpy(copy, text, size);
	*at += size;
	return copy;
}

/* A single allocation: there may be hundreds of thousands of entries. */
static struct entry *entry_of(const struct api_kind *kind, const struct api_meta *meta,
			      void *object)
{
	const char *uid = meta->uid ? meta->uid : "";
	const char *version = meta->resource_version ? meta->resource_version : "";
	auto_free char *name = key_of(kind, meta);
	size_t texts = strlen(name) + strlen(uid) + strlen(version) + 3;
	struct entry *entry = xmalloc(sizeof(*entry) + texts);
	char *at = (char *)(entry + 1);

	entry->name = put_text(&at, name);
	entry->uid = put_text(&at, uid);
	entry->version = put_text(&at, version);
	entry->object = object;
	entry->refs = 1;
	return entry;
}

/* The metadata of an object that does not match its kind's struct: enough to know that it
 * exists. */
struct bare {
	struct api_meta meta;
};

static const struct json_row bare_map[] = {
	API_META(struct bare),
	JSON_END,
};

static struct entry *decode_bare(const struct api_kind *kind, const struct json_text *text)
{
	struct bare bare;
	struct entry *entry;

	if (json_map_read(bare_map, text->text, text->len, &bare, NULL) < 0)
		return NULL;
	entry = entry_of(kind, &bare.meta, NULL);
	json_map_done(bare_map, &bare);
	return entry;
}

/* Takes ownership of @object. */
static struct entry *entry_of_digest(const struct api_kind *kind, void *object)
{
	struct entry *entry = entry_of(kind, object, kind->digest(object));

	json_map_done(kind->map, object);
	free(object);
	return entry;
}

struct entry *entry_decode(const struct api_kind *kind, const struct json_text *text,
			   struct err *err)
{
	void *object = xmalloc(kind->size);
	struct entry *entry;

	if (json_map_read(kind->map, text->text, text->len, object, err) == 0)
		return kind->digest ? entry_of_digest(kind, object)
				    : entry_of(kind, object, object);

	free(object);
	entry = decode_bare(kind, text);
	err_wrap(err, "%s '%s'", kind->kind, entry ? entry->name : "?");
	return entry;
}

/* --- changes --- */

static void count_unreadable(struct store *store, const struct entry *gone,
			     const struct entry *come)
{
	store->unreadable += come && !come->object;
	store->unreadable -= gone && !gone->object;
}

static bool is_same_version(const struct entry *a, const struct entry *b)
{
	return strcmp(a->uid, b->uid) == 0 && strcmp(a->version, b->version) == 0 &&
	       a->version[0] != '\0';
}

/* If the name now belongs to another object, report a deletion and an addition, so that it is
 * not mistaken for an update. */
static void report_change(const struct entry *before, const struct entry *after,
			  store_change_fn *change, void *arg)
{
	if (before && after && strcmp(before->uid, after->uid) != 0) {
		change(arg, before, NULL);
		change(arg, NULL, after);
	} else {
		change(arg, before, after);
	}
}

void store_put(struct store *store, struct entry *entry, store_change_fn *change, void *arg)
{
	struct entry *old = map_get(store->entries, entry->name);

	if (old && is_same_version(old, entry)) {
		entry_free(store->kind, entry);
		return;
	}
	map_set(store->entries, entry->name, entry);
	count_unreadable(store, old, entry);
	report_change(old, entry, change, arg);
	entry_free(store->kind, old);
}

void store_remove(struct store *store, const char *name, const char *uid, store_change_fn *change,
		  void *arg)
{
	struct entry *old = map_get(store->entries, name);

	if (!old || (uid && strcmp(old->uid, uid) != 0))
		return;
	map_remove(store->entries, name);
	count_unreadable(store, old, NULL);
	change(arg, old, NULL);
	entry_free(store->kind, old);
}

/* map_next() allows removing the entry it has just returned, and no other change. */
static void remove_missing(struct store *store, const struct store *list, store_change_fn *change,
			   void *arg)
{
	size_t cursor = 0;
	const struct entry *entry;

	while ((entry = store_next(store, &cursor))) {
		if (!list || !store_get(list, entry->name))
			store_remove(store, entry->name, NULL, change, arg);
	}
}

void store_replace(struct store *store, struct store *list, store_change_fn *change, void *arg)
{
	size_t cursor = 0;
	void *entry;

	remove_missing(store, list, change, arg);
	while (list && map_next(list->entries, &cursor, NULL, &entry))
		store_put(store, entry, change, arg);
	if (!list)
		return;
	map_free(list->entries);
	list->entries = map_new();
	list->unreadable = 0;
}
