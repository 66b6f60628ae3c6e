/*
 * fuzz_permit_plan: any KubeVirt, with any record and any lists, and two wishes by the first two
 * bytes. After the first plan the second has nothing to do, entries of others are all there in
 * their order, what was wished is permitted, and nothing but the lists and the annotation is in a
 * patch.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>

#include "api/json_map.h"
#include "base/mem.h"
#include "controller/kubevirt/permit_desired.h"
#include "controller/kubevirt/permit_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_wish(unsigned bits, struct permit_desired *desired)
{
	static const struct {
		enum permit_list list;
		const char *selector;
		const char *resource;
	} wishes[] = {
		{ PERMIT_PCI, "8086:10d3", "a.b/c" }, { PERMIT_PCI, "8086:10d3", "a.b/d" },
		{ PERMIT_PCI, "1:2", "a.b/c" },       { PERMIT_MEDIATED, "T", "a.b/t" },
		{ PERMIT_USB, NULL, "a.b/u" },        { PERMIT_USB, NULL, "a.b/c" },
	};

	for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
		if (!(bits >> i & 1))
			continue;
		if (wishes[i].list == PERMIT_USB)
			permit_desired_add_usb(desired, wishes[i].resource, json_array());
		else
			permit_desired_add(desired, wishes[i].list, wishes[i].selector,
					   wishes[i].resource);
	}
	permit_desired_sort(desired);
}

/* RFC 7396, as the API server does it. */
static void merge(json_t *object, json_t *patch);

static void merge_member(json_t *object, const char *key, json_t *value)
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

static void merge(json_t *object, json_t *patch)
{
	const char *key;
	json_t *value;

	json_object_foreach (patch, key, value)
		merge_member(object, key, value);
}

static json_t *permitted(const json_t *object)
{
	return json_object_get(json_object_get(json_object_get(object, "spec"), "configuration"),
			       "permittedHostDevices");
}

static struct permit_record record_of(const json_t *object)
{
	const json_t *meta = json_object_get(object, "metadata");

	return permit_record_read(json_string_value(
		json_object_get(json_object_get(meta, "annotations"), PERMIT_ANNOTATION)));
}

static void check_theirs(const json_t *was, const json_t *is, enum permit_list list,
			 const struct permit_record *record)
{
	size_t at = 0;

	for (size_t i = 0; i < json_array_size(was); i++) {
		const json_t *entry = json_array_get(was, i);
		auto_free char *key = permit_key(list, entry);

		if (key && permit_record_has(record, list, key))
			continue;
		while (at < json_array_size(is) && !json_equal(json_array_get(is, at), entry))
			at++;
		assert(at++ < json_array_size(is));
	}
}

static void check_wished(const json_t *is, enum permit_list list,
			 const struct permit_desired *desired)
{
	for (size_t i = 0; i < desired->lists[list].len; i++) {
		const char *want = desired->lists[list].items[i].key;
		size_t at = 0;

		for (; at < json_array_size(is); at++) {
			auto_free char *key = permit_key(list, json_array_get(is, at));

			if (key && strcmp(key, want) == 0)
				break;
		}
		assert(at < json_array_size(is));
	}
}

static void check_patch(const json_t *patch)
{
	const json_t *spec = json_object_get(patch, "spec");
	const json_t *configuration = json_object_get(spec, "configuration");
	const json_t *meta = json_object_get(patch, "metadata");

	assert(json_object_size(patch) == (spec ? 2 : 1));
	assert(json_object_size(json_object_get(meta, "annotations")) == 1);
	assert(!spec || json_object_size(spec) == 1);
	assert(!spec || json_object_size(configuration) == 1);
	assert(json_object_size(json_object_get(configuration, "permittedHostDevices")) <=
	       PERMIT_LISTS);
}

static void step(json_t *object, unsigned bits, bool create)
{
	auto_json json_t *before = json_deep_copy(object);
	struct permit_record was = record_of(object);
	struct permit_desired desired = { 0 };
	struct permit_plan plan;

	make_wish(bits, &desired);
	permit_plan(object, &desired, create, &plan);
	if (plan.patch) {
		check_patch(plan.patch);
		merge(object, plan.patch);
		permit_plan_done(&plan);
		permit_plan(object, &desired, create, &plan);
		assert(!plan.patch);
	}
	permit_plan_done(&plan);
	for (int i = 0; i < PERMIT_LISTS; i++) {
		enum permit_list list = (enum permit_list)i;
		const json_t *is = json_object_get(permitted(object), permit_list_name(list));

		check_theirs(json_object_get(permitted(before), permit_list_name(list)), is, list,
			     &was);
		if (json_is_object(permitted(object)))
			check_wished(is, list, &desired);
	}
	permit_desired_done(&desired);
	permit_record_done(&was);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_json json_t *object = NULL;

	if (size < 2 || json_map_load((const char *)data + 2, size - 2, &object, NULL) < 0 ||
	    !json_is_object(object))
		return 0;
	step(object, data[0], data[0] & 0x80);
	step(object, data[1], data[1] & 0x80);
	return 0;
}
