/*
 * schema: does the API server take this object? Holds JSON against a CRD of crds/, as far as our
 * schemas go: types, lengths, patterns, ranges, enums, required fields. A keyword that is not known
 * here is an assertion, so that nothing goes unchecked.
 */
#pragma once

#include <assert.h>
#include <fcntl.h>
#include <jansson.h>
#include <regex.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/yaml.h"

/* The schema of the first version; the caller unrefs. @file is below crds/; tests run from the root
 * of the repository. */
static inline json_t *schema_load(const char *file)
{
	auto_free char *path = xasprintf("crds/%s", file);
	auto_free char *text = NULL;
	json_t *crd = NULL;
	json_t *schema = NULL;
	struct err err = { 0 };
	size_t len = 0;
	bool ok = file_read(AT_FDCWD, path, YAML_TEXT_MAX, &text, &len, &err) == 0 &&
		  yaml_parse(path, text, len, &crd, &err) == 0 &&
		  json_unpack(crd, "{s:{s:[{s:{s:O}}]}}", "spec", "versions", "schema",
			      "openAPIV3Schema", &schema) == 0;

	assert(ok);
	(void)ok;
	json_decref(crd);
	return schema;
}

static inline bool schema_matches(const char *pattern, const char *text)
{
	regex_t regex;
	int r = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);

	assert(r == 0);
	r = regexec(&regex, text, 0, NULL, 0);
	regfree(&regex);
	return r == 0;
}

static inline size_t schema_characters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static inline bool schema_has_type(const char *type, const json_t *value)
{
	return (strcmp(type, "object") == 0 && json_is_object(value)) ||
	       (strcmp(type, "array") == 0 && json_is_array(value)) ||
	       (strcmp(type, "string") == 0 && json_is_string(value)) ||
	       (strcmp(type, "boolean") == 0 && json_is_boolean(value)) ||
	       (strcmp(type, "integer") == 0 && json_is_integer(value));
}

/* One keyword that asks nothing of other parts of the schema. */
static inline bool schema_keyword(const char *key, json_t *want, const json_t *value)
{
	static const char *const silent[] = { "description", "format", "nullable" };
	const char *text = json_string_value(value);
	json_int_t limit = json_integer_value(want);
	json_t *one;
	size_t i;

	if (strcmp(key, "type") == 0)
		return schema_has_type(json_string_value(want), value);
	if (strcmp(key, "pattern") == 0)
		return schema_matches(json_string_value(want), text);
	if (strcmp(key, "maxLength") == 0)
		return schema_characters(text) <= (size_t)limit;
	if (strcmp(key, "minLength") == 0)
		return schema_characters(text) >= (size_t)limit;
	if (strcmp(key, "minimum") == 0)
		return json_integer_value(value) >= limit;
	if (strcmp(key, "maximum") == 0)
		return json_integer_value(value) <= limit;
	if (strcmp(key, "maxItems") == 0)
		return json_array_size(value) <= (size_t)limit;
	if (strcmp(key, "required") == 0) {
		json_array_foreach (want, i, one)
			if (!json_object_get(value, json_string_value(one)))
				return false;
		return true;
	}
	if (strcmp(key, "enum") == 0) {
		json_array_foreach (want, i, one)
			if (json_equal(one, value))
				return true;
		return false;
	}
	for (i = 0; i < ARRAY_LEN(silent); i++)
		if (strcmp(key, silent[i]) == 0)
			return true;
	return strncmp(key, "x-kubernetes-list-", 18) == 0;
}

static inline bool schema_takes(json_t *schema, json_t *value, const char *at,
				struct str *ret_problem);

static inline bool schema_takes_fields(json_t *fields, json_t *value, const char *at,
				       struct str *ret_problem)
{
	const char *key;
	json_t *field;

	json_object_foreach (value, key, field) {
		auto_free char *path = xasprintf("%s.%s", at, key);

		/* the API server's own */
		if (!*at && (strcmp(key, "metadata") == 0 || strcmp(key, "kind") == 0 ||
			     strcmp(key, "apiVersion") == 0))
			continue;
		if (!schema_takes(json_object_get(fields, key), field, path, ret_problem))
			return false;
	}
	return true;
}

/* False with a line in @ret_problem that says where (@at, "" for the whole) and what. */
static inline bool schema_takes(json_t *schema, json_t *value, const char *at,
				struct str *ret_problem)
{
	const char *key;
	json_t *want;
	json_t *item;
	size_t i;

	if (!schema)
		str_addf(ret_problem, "%s is not in the schema", at);
	json_object_foreach (schema, key, want) {
		if (strcmp(key, "properties") == 0) {
			schema_takes_fields(want, value, at, ret_problem);
		} else if (strcmp(key, "items") == 0) {
			json_array_foreach (value, i, item)
				schema_takes(want, item, at, ret_problem);
		} else if (!schema_keyword(key, want, value)) {
			auto_free char *text = json_dumps(value, JSON_ENCODE_ANY);

			str_addf(ret_problem, "%s: %s breaks %s", at, text, key);
		}
		if (ret_problem->len > 0)
			return false;
	}
	return ret_problem->len == 0;
}
