#include "api/object.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/err.h"
#include "base/mem.h"

enum { NAME_SHOWN = 100 }; /* bytes of a name in a message */

void *api_object_new(const struct api_kind *kind)
{
	void *object = xmalloc(kind->size);

	assert(kind->map->owner == kind->size);
	json_map_init(kind->map, object);
	return object;
}

void *api_object_free(const struct api_kind *kind, void *object)
{
	if (object)
		json_map_done(kind->map, object);
	free(object);
	return NULL;
}

void *api_object_copy(const struct api_kind *kind, const void *object)
{
	void *copy = xmalloc(kind->size);

	json_map_copy(kind->map, copy, object);
	return copy;
}

bool api_object_equal(const struct api_kind *kind, const void *a, const void *b)
{
	return json_map_equal(kind->map, a, b);
}

char *api_kind_api_version(const struct api_kind *kind)
{
	if (!kind->group[0])
		return xstrdup(kind->version);
	return xasprintf("%s/%s", kind->group, kind->version);
}

/* Check that the field @key, if present, equals @expected. */
static int check_type(const json_t *json, const char *key, const char *expected, struct err *err)
{
	const char *found = json_string_value(json_object_get(json, key));

	if (!found || strcmp(found, expected) == 0)
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "%s: expected '%s', got '%s'", key, expected,
		       found);
}

static int decode(const struct api_kind *kind, json_t *json, void *object, struct err *err)
{
	auto_free char *api_version = api_kind_api_version(kind);
	int r;

	json_map_init(kind->map, object);
	r = check_type(json, "kind", kind->kind, err);
	if (r == 0)
		r = check_type(json, "apiVersion", api_version, err);
	return r < 0 ? r : json_map_decode(kind->map, json, object, err);
}

int api_object_decode(const struct api_kind *kind, json_t *json, void **ret_object, struct err *err)
{
	const json_t *meta = json_object_get(json, "metadata");
	const char *name = json_string_value(json_object_get(meta, "name"));
	void *object = xmalloc(kind->size);
	int r = decode(kind, json, object, err);

	if (r < 0) {
		free(object);
		return err_wrap(err, "%s '%.*s'", kind->kind, NAME_SHOWN, name ? name : "");
	}
	*ret_object = object;
	return 0;
}

json_t *api_object_encode(const struct api_kind *kind, const void *object)
{
	auto_free char *api_version = api_kind_api_version(kind);
	auto_json json_t *body = json_map_encode(kind->map, object);
	json_t *json = json_pack("{ss,ss}", "apiVersion", api_version, "kind", kind->kind);

	if (!json || json_object_update(json, body) < 0)
		abort();
	return json;
}
