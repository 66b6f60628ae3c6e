#include "kube/options_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/options.h"
#include "kube/yaml.h"

/* The string that a flag would have; NULL if @value is not a scalar. */
static char *scalar_text(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return xstrdup(json_string_value(value));
	case JSON_TRUE:
	case JSON_FALSE:
		return xstrdup(json_is_true(value) ? "true" : "false");
	case JSON_INTEGER:
		return xasprintf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
	case JSON_REAL:
	case JSON_NULL:
	case JSON_OBJECT:
	case JSON_ARRAY:
		return NULL;
	}
	return NULL;
}

static int set_scalar(struct options *o, const char *path, const char *key, const json_t *value,
		      struct err *err)
{
	auto_free char *text = scalar_text(value);

	if (!text)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "%s: %s: give text, a whole number, true or false", path, key);
	return options_set(o, key, text, OPTION_FILE, path, err);
}

static int set_list(struct options *o, const char *path, const char *key, const json_t *list,
		    struct err *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		int r = set_scalar(o, path, key, item, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* A key without a value leaves the option unchanged. */
static int set_key(struct options *o, const char *path, const char *key, const json_t *value,
		   struct err *err)
{
	if (json_is_null(value))
		return 0;
	if (json_is_array(value))
		return set_list(o, path, key, value, err);
	return set_scalar(o, path, key, value, err);
}

static int set_all(struct options *o, const char *path, json_t *doc, struct err *err)
{
	const char *key;
	json_t *value;

	if (json_is_null(doc))
		return 0;
	if (!json_is_object(doc))
		return err_set(err, ERR_INVALID, -EINVAL, "%s: not a mapping of settings", path);
	json_object_foreach (doc, key, value) {
		int r = set_key(o, path, key, value, err);

		if (r < 0)
			return r;
	}
	return 0;
}

int options_file(struct options *o, const char *path, struct err *err)
{
	auto_free char *text = NULL;
	json_t *doc = NULL;
	size_t len;
	int r;

	r = file_read(AT_FDCWD, path, YAML_TEXT_MAX, &text, &len, err);
	if (r < 0)
		return err_wrap(err, "settings");
	r = yaml_parse(path, text, len, &doc, err);
	if (r < 0)
		return r;
	r = set_all(o, path, doc, err);
	json_decref(doc);
	return r;
}
