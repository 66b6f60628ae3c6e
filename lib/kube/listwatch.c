#include "kube/listwatch.h"

#include <errno.h>
#include <stdlib.h>

#include "api/json_map_read.h"
#include "api/meta.h"
#include "api/status.h"
#include "base/err.h"
#include "base/mem.h"

/* --- lists --- */

struct reader {
	struct json_read json;
	void (*item)(void *arg, const struct json_text *object);
	void *arg;
	struct json_text meta;
};

static void read_items(struct reader *r)
{
	struct json_text object;

	if (json_read_peek(&r->json) == 'n') { /* Go encodes an empty list as null */
		json_read_value(&r->json, NULL);
		return;
	}
	json_read_open(&r->json, '[');
	while (json_read_item(&r->json)) {
		if (json_read_value(&r->json, &object))
			r->item(r->arg, &object);
	}
}

static bool read_members(struct reader *r)
{
	struct json_text key;

	if (!json_read_open(&r->json, '{'))
		return false;
	while (json_read_member(&r->json, &key)) {
		if (json_text_is(&key, "metadata"))
			json_read_value(&r->json, &r->meta);
		else if (json_text_is(&key, "items"))
			read_items(r);
		else
			json_read_value(&r->json, NULL);
	}
	return json_read_end(&r->json);
}

int list_page_read(const char *text, size_t len,
		   void (*item)(void *arg, const struct json_text *object), void *arg,
		   struct list_page *ret_page, struct err *err)
{
	struct reader reader = { .json = json_read_start(text, len), .item = item, .arg = arg };
	struct api_list_meta meta;
	int r;

	if (!read_members(&reader))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "a list of %zu bytes is not JSON, or nested more than %d deep", len,
			       JSON_READ_DEPTH);
	if (!reader.meta.text)
		return err_set(err, ERR_INVALID, -EINVAL, "a list without metadata");
	r = json_map_read(api_list_meta_map, reader.meta.text, reader.meta.len, &meta, err);
	if (r < 0)
		return err_wrap(err, "metadata of a list");
	if (!meta.resource_version) {
		json_map_done(api_list_meta_map, &meta);
		return err_set(err, ERR_INVALID, -EINVAL, "a list without resourceVersion");
	}
	ret_page->version = take_ptr(meta.resource_version);
	ret_page->next_page = take_ptr(meta.continue_);
	json_map_done(api_list_meta_map, &meta);
	return 0;
}

void list_page_done(struct list_page *page)
{
	free(page->version);
	free(page->next_page);
	*page = (struct list_page){ 0 };
}

/* --- watches --- */

/* --- lines of a watch --- */

/* etcd's versions are numbers of up to 20 digits; other servers may use longer strings. */
enum { VERSION_MAX = 256 };

static const char *const types[] = {
	[WATCH_EVENT_ADDED] = "ADDED",     [WATCH_EVENT_MODIFIED] = "MODIFIED",
	[WATCH_EVENT_DELETED] = "DELETED", [WATCH_EVENT_BOOKMARK] = "BOOKMARK",
	[WATCH_EVENT_ERROR] = "ERROR",
};

static int parse_type(const struct json_text *word, enum watch_event_type *ret_type,
		      struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (json_text_is(word, types[i])) {
			*ret_type = (enum watch_event_type)i;
			return 0;
		}
	}
	return err_set(err, ERR_INVALID, -EINVAL, "watch event of unknown type '%.*s'",
		       word->len < 32 ? (int)word->len : 32, word->text);
}

/* Only two members are used; others are ignored. */
static bool parse_members(const char *line, size_t len, struct json_text *type,
			  struct json_text *object)
{
	struct json_read r = json_read_start(line, len);
	struct json_text key;

	if (!json_read_open(&r, '{'))
		return false;
	while (json_read_member(&r, &key)) {
		if (json_text_is(&key, "type"))
			json_read_string(&r, type);
		else if (json_text_is(&key, "object"))
			json_read_value(&r, object);
		else
			json_read_value(&r, NULL);
	}
	return json_read_end(&r);
}

int watch_event_parse(const char *line, size_t len, struct watch_event *ret_event, struct err *err)
{
	struct json_text type = { 0 };
	struct json_text object = { 0 };
	int r;

	if (!parse_members(line, len, &type, &object))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "a line of %zu bytes is not JSON, or nested more than %d deep", len,
			       JSON_READ_DEPTH);
	if (!type.text || !object.text || object.text[0] != '{')
		return err_set(err, ERR_INVALID, -EINVAL, "watch event without type or object");
	r = parse_type(&type, &ret_event->type, err);
	if (r < 0)
		return r;
	ret_event->object = object;
	return 0;
}

/* An object with only the version decoded; also fits lists and bookmarks. */
struct versioned {
	struct api_list_meta meta;
};

static const struct json_row versioned_map[] = {
	JSON_STRUCT(struct versioned, meta, "metadata", JSON_REQUIRED, struct api_list_meta,
		    api_list_meta_map),
	JSON_END,
};

static int check_version(const char *version, struct err *err)
{
	if (!version)
		return err_set(err, ERR_INVALID, -EINVAL, "no metadata.resourceVersion");
	if (strnlen(version, VERSION_MAX + 1) > VERSION_MAX)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "a metadata.resourceVersion of more than %d bytes", VERSION_MAX);
	return 0;
}

int watch_event_version(const struct json_text *object, char **ret_version, struct err *err)
{
	struct versioned v;
	int r = json_map_read(versioned_map, object->text, object->len, &v, err);

	if (r < 0)
		return r;
	r = check_version(v.meta.resource_version, err);
	if (r == 0)
		*ret_version = take_ptr(v.meta.resource_version);
	json_map_done(versioned_map, &v);
	return r;
}

/* --- into the store --- */

/* Decode @object; NULL if even its name cannot be read. Errors are reported through
 * on_unreadable. */
static struct entry *decode(struct listwatch *listwatch, const struct json_text *object)
{
	struct err err = { 0 };
	struct entry *entry = entry_decode(listwatch->kind, object, &err);

	if (!entry || !entry->object)
		listwatch->on_unreadable(listwatch->arg, &err);
	return entry;
}

static void ignore_change(void *arg, const struct entry *before, const struct entry *after)
{
	(void)arg;
	(void)before;
	(void)after;
}

void listwatch_add_item(struct listwatch *listwatch, struct store *list,
			const struct json_text *object)
{
	struct entry *entry = decode(listwatch, object);

	if (entry)
		store_put(list, entry, ignore_change, NULL);
}

/* For bookmarks, and for objects with nothing readable but the version. */
static void apply_version(struct listwatch *listwatch, const struct json_text *object)
{
	auto_free char *version = NULL;

	if (watch_event_version(object, &version, NULL) == 0)
		reflector_seen(listwatch->reflector, version);
}

static void apply_object(struct listwatch *listwatch, const struct watch_event *event)
{
	struct entry *entry = decode(listwatch, &event->object);

	if (!entry) {
		apply_version(listwatch, &event->object);
		return;
	}
	if (entry->version[0] != '\0')
		reflector_seen(listwatch->reflector, entry->version);
	if (event->type == WATCH_EVENT_DELETED) {
		store_remove(listwatch->store, entry->name, entry->uid, listwatch->on_change,
			     listwatch->arg);
		entry_free(listwatch->kind, entry);
	} else {
		store_put(listwatch->store, entry, listwatch->on_change, listwatch->arg);
	}
}

static int apply_error(struct listwatch *listwatch, const struct json_text *object, struct err *err)
{
	struct api_status status;
	int r = json_map_read(api_status_map, object->text, object->len, &status, err);

	if (r < 0) {
		listwatch->verdict = REFLECTOR_BROKEN;
		return r;
	}
	listwatch->verdict = reflector_classify_status(status.code, status.reason, status.message);
	if (status.details.retry_after_seconds > 0)
		listwatch->retry_after_ms = (uint64_t)status.details.retry_after_seconds * 1000;
	err_set(err, ERR_RETRY, -EPROTO, "the watch ended: %s",
		status.message ? status.message : "no reason given");
	json_map_done(api_status_map, &status);
	return -EPROTO;
}

int listwatch_apply_line(struct listwatch *listwatch, const char *line, size_t len, struct err *err)
{
	struct watch_event event;
	int r;

	if (len == 0)
		return 0;
	r = watch_event_parse(line, len, &event, err);
	if (r < 0) {
		listwatch->verdict = REFLECTOR_BROKEN;
		return r;
	}
	switch (event.type) {
	case WATCH_EVENT_ADDED:
	case WATCH_EVENT_MODIFIED:
	case WATCH_EVENT_DELETED:
		apply_object(listwatch, &event);
		return 0;
	case WATCH_EVENT_BOOKMARK:
		apply_version(listwatch, &event.object);
		return 0;
	case WATCH_EVENT_ERROR:
		return apply_error(listwatch, &event.object, err);
	}
	return 0;
}
