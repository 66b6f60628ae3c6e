#include "kube/feed.h"

#include <errno.h>
#include <stdlib.h>

#include "api/json_map_read.h"
#include "api/status.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/watch_event.h"

/* Decode @object; NULL if even its name cannot be read. Errors are reported through
 * on_unreadable. */
static struct entry *decode(struct feed *feed, const struct json_text *object)
{
	struct err err = { 0 };
	struct entry *entry = entry_decode(feed->kind, object, &err);

	if (!entry || !entry->object)
		feed->on_unreadable(feed->arg, &err);
	return entry;
}

static void ignore_change(void *arg, const struct entry *before, const struct entry *after)
{
	(void)arg;
	(void)before;
	(void)after;
}

void feed_item(struct feed *feed, struct store *list, const struct json_text *object)
{
	struct entry *entry = decode(feed, object);

	if (entry)
		store_put(list, entry, ignore_change, NULL);
}

/* For bookmarks, and for objects with nothing readable but the version. */
static void apply_version(struct feed *feed, const struct json_text *object)
{
	auto_free char *version = NULL;

	if (watch_event_version(object, &version, NULL) == 0)
		reflector_seen(feed->reflector, version);
}

static void apply_object(struct feed *feed, const struct watch_event *event)
{
	struct entry *entry = decode(feed, &event->object);

	if (!entry) {
		apply_version(feed, &event->object);
		return;
	}
	if (entry->version[0] != '\0')
		reflector_seen(feed->reflector, entry->version);
	if (event->type == WATCH_EVENT_DELETED) {
		store_remove(feed->store, entry->name, entry->uid, feed->on_change, feed->arg);
		entry_free(feed->kind, entry);
	} else {
		store_put(feed->store, entry, feed->on_change, feed->arg);
	}
}

static int apply_error(struct feed *feed, const struct json_text *object, struct err *err)
{
	struct api_status status;
	int r = json_map_read(api_status_map, object->text, object->len, &status, err);

	if (r < 0) {
		feed->verdict = REFLECTOR_BROKEN;
		return r;
	}
	feed->verdict = reflector_classify_status(status.code, status.reason, status.message);
	if (status.details.retry_after_seconds > 0)
		feed->retry_after_ms = (uint64_t)status.details.retry_after_seconds * 1000;
	err_set(err, ERR_RETRY, -EPROTO, "the watch ended: %s",
		status.message ? status.message : "no reason given");
	json_map_done(api_status_map, &status);
	return -EPROTO;
}

int feed_line(struct feed *feed, const char *line, size_t len, struct err *err)
{
	struct watch_event event;
	int r;

	if (len == 0)
		return 0;
	r = watch_event_parse(line, len, &event, err);
	if (r < 0) {
		feed->verdict = REFLECTOR_BROKEN;
		return r;
	}
	switch (event.type) {
	case WATCH_EVENT_ADDED:
	case WATCH_EVENT_MODIFIED:
	case WATCH_EVENT_DELETED:
		apply_object(feed, &event);
		return 0;
	case WATCH_EVENT_BOOKMARK:
		apply_version(feed, &event.object);
		return 0;
	case WATCH_EVENT_ERROR:
		return apply_error(feed, &event.object, err);
	}
	return 0;
}
