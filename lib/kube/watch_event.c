#include "kube/watch_event.h"

#include <errno.h>

#include "api/json_map_read.h"
#include "api/meta.h"
#include "base/err.h"
#include "base/mem.h"

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
