/* permits_text: KubeVirts and wishes as short texts, and what becomes of a KubeVirt by a plan. */
#pragma once

#include <string.h>

#include <jansson.h>

#include "api/json_map.h"
#include "base/mem.h"
#include "controller/kubevirt/permit_desired.h"
#include "controller/kubevirt/permit_plan.h"
#include "unit/suite.h"

/* JSON with ' for ". */
static inline json_t *json_of(const char *text)
{
	auto_free char *copy = xstrdup(text);
	json_t *json;
	json_error_t error;

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	json = json_loads(copy, JSON_DECODE_ANY, &error);
	if (!json)
		fail_msg("%s: %s", copy, error.text);
	return json;
}

/* Words parted by blanks: "pci:8086:10d3=a.b/c", "mdev:TYPE=a.b/c", "usb:0951:1666=a.b/c". */
static inline void wish_read(const char *text, struct permit_desired *desired)
{
	auto_free char *copy = xstrdup(text);
	char *rest = copy;
	char *word;

	while ((word = strsep(&rest, " ")) != NULL) {
		char *selector = strchr(word, ':');
		char *resource = selector ? strchr(selector, '=') : NULL;

		if (!resource)
			continue;
		*selector++ = '\0';
		*resource++ = '\0';
		if (strcmp(word, "usb") == 0)
			permit_desired_add_usb(desired, resource,
					       json_pack("[{s:s%, s:s}]", "vendor", selector,
							 (size_t)4, "product", selector + 5));
		else
			permit_desired_add(desired,
					   strcmp(word, "pci") == 0 ? PERMIT_PCI : PERMIT_MEDIATED,
					   selector, resource);
	}
	permit_desired_sort(desired);
}

/* A KubeVirt with these permittedHostDevices (NULL: none) and this record (NULL: none). */
static inline json_t *kubevirt_of(const char *permitted, const char *record)
{
	json_t *object = json_of("{'metadata':{'name':'kubevirt','resourceVersion':'7'},'spec':"
				 "{'imageTag':'x','configuration':{'other':[1]}}}");

	if (permitted)
		json_object_set_new(
			json_object_get(json_object_get(object, "spec"), "configuration"),
			"permittedHostDevices", json_of(permitted));
	if (record) {
		auto_free char *text = xstrdup(record);

		for (char *c = text; *c; c++)
			*c = *c == '\'' ? '"' : *c;
		json_object_set_new(
			json_object_get(object, "metadata"), "annotations",
			json_pack("{s:s, s:s}", "theirs", "stays", PERMIT_ANNOTATION, text));
	}
	return object;
}

/* RFC 7396, as the API server does it. */
static inline void merge(json_t *object, json_t *patch);

static inline void merge_member(json_t *object, const char *key, json_t *value)
{
	if (json_is_null(value)) {
		json_object_del(object, key);
		return;
	}
	if (!json_is_object(value)) {
		json_object_set(object, key, value);
		return;
	}
	if (!json_is_object(json_object_get(object, key)))
		json_object_set_new(object, key, json_object());
	merge(json_object_get(object, key), value);
}

static inline void merge(json_t *object, json_t *patch)
{
	const char *key;
	json_t *value;

	json_object_foreach (patch, key, value)
		merge_member(object, key, value);
}

static inline json_t *permitted_of(json_t *object)
{
	return json_object_get(json_object_get(json_object_get(object, "spec"), "configuration"),
			       "permittedHostDevices");
}

static inline const char *record_of(json_t *object)
{
	json_t *meta = json_object_get(object, "metadata");

	return json_string_value(
		json_object_get(json_object_get(meta, "annotations"), PERMIT_ANNOTATION));
}
