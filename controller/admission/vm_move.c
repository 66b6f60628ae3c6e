#include "controller/admission/vm_move.h"

#include <stdlib.h>

#include "api/json_map.h"
#include "base/mem.h"
#include "controller/admission/known.h"
#include "controller/admission/resources.h"
#include "controller/admission/rule.h"
#include "controller/webhook/admission_answer.h"

#define DEVICES "/spec/template/spec/domain/devices"

enum { ITEMS_MAX = 1024 };

static const json_t *devices_of(const json_t *object)
{
	static const char *const path[] = { "spec", "template", "spec", "domain", "devices" };

	for (size_t i = 0; i < ARRAY_LEN(path); i++)
		object = json_object_get(object, path[i]);
	return object;
}

/* True if the item has only fields that both lists have. */
static bool is_plain(json_t *item)
{
	static const char *const fields[] = { "name", "deviceName", "tag" };
	size_t known = 0;

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		known += json_is_string(json_object_get(item, fields[i]));
	return json_is_object(item) && known == json_object_size(item);
}

static bool can_move(const struct rule_case *c, json_t *item)
{
	return is_plain(item) &&
	       resources_has(c->known->resources,
			     json_string_value(json_object_get(item, "deviceName")));
}

static json_t *not_null(json_t *json)
{
	if (!json)
		abort();
	return json;
}

void vm_move(const struct rule_case *c, const json_t *object)
{
	const json_t *devices = devices_of(object);
	const json_t *gpus = json_object_get(devices, "gpus");
	json_t *before = json_object_get(devices, "hostDevices");
	auto_json json_t *stay = not_null(json_array());
	auto_json json_t *all = NULL;

	if (!json_is_array(gpus) || json_array_size(gpus) > ITEMS_MAX ||
	    (before && !json_is_null(before) && !json_is_array(before)))
		return;
	all = not_null(json_is_array(before) ? json_copy(before) : json_array());
	for (size_t i = 0; i < json_array_size(gpus); i++) {
		json_t *item = json_array_get(gpus, i);

		if (json_array_append(can_move(c, item) ? all : stay, item) < 0)
			abort();
	}
	if (json_array_size(stay) == json_array_size(gpus))
		return;
	admission_answer_patch(c->answer, "add", DEVICES "/hostDevices", take_ptr(all));
	if (json_array_size(stay) > 0)
		admission_answer_patch(c->answer, "replace", DEVICES "/gpus", take_ptr(stay));
	else
		admission_answer_patch(c->answer, "remove", DEVICES "/gpus", NULL);
}
