#include "controller/kubevirt/vm_allocation.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/json_map.h"
#include "api/json_values.h"
#include "api/virtualmachine.h"
#include "base/mem.h"
#include "base/str.h"

static const struct virtualmachine_devices *gpus_of(const struct virtualmachine *vm)
{
	return &vm->spec.template_.spec.domain.devices.gpus;
}

bool vm_requests_gpu(const struct virtualmachine *vm, const char *resource)
{
	const struct virtualmachine_devices *gpus = gpus_of(vm);

	for (size_t i = 0; i < gpus->len; i++) {
		const char *name = gpus->items[i].device_name;

		if (name && strcmp(name, resource) == 0)
			return true;
	}
	return false;
}

static bool is_deleted(const struct virtualmachine *vm)
{
	return vm->meta.meta.deletion_timestamp != NULL;
}

bool vm_requests_equal(const struct virtualmachine *a, const struct virtualmachine *b)
{
	const struct virtualmachine_devices *x = gpus_of(a);
	const struct virtualmachine_devices *y = gpus_of(b);
	bool same = is_deleted(a) == is_deleted(b) && x->len == y->len &&
		    str_equal(a->meta.annotations.allocation, b->meta.annotations.allocation);

	for (size_t i = 0; same && i < x->len; i++)
		same = str_equal(x->items[i].device_name, y->items[i].device_name);
	return same;
}

void vm_allocation_add(struct vm_allocation *given, const struct virtualmachine *vm,
		       const char *resource, const char *device)
{
	json_t **part = vm_requests_gpu(vm, resource) ? &given->gpus : &given->devices;
	json_t *list;

	if (!*part)
		*part = json_object();
	list = json_object_get(*part, resource);
	if (!list) {
		list = json_array();
		json_object_set_new(*part, resource, list);
	}
	json_array_append_new(list, json_string(device));
}

static void sort_list(json_t *list)
{
	struct json_strs sorted = { 0 };

	for (size_t i = 0; i < json_array_size(list); i++)
		json_strs_add(&sorted, json_string_value(json_array_get(list, i)));
	json_strs_sort(&sorted);
	json_array_clear(list);
	for (size_t i = 0; i < sorted.len; i++)
		json_array_append_new(list, json_string(sorted.items[i]));
	json_strs_done(&sorted);
}

static void sort_lists(json_t *part)
{
	const char *resource;
	json_t *list;

	json_object_foreach (part, resource, list)
		sort_list(list);
}

char *vm_allocation_text(struct vm_allocation *given)
{
	auto_json json_t *whole = json_object();
	char *text;

	sort_lists(given->gpus);
	sort_lists(given->devices);
	if (given->gpus)
		json_object_set_new(whole, "gpus", given->gpus);
	if (given->devices)
		json_object_set_new(whole, "hostdevices", given->devices);
	*given = (struct vm_allocation){ 0 };
	if (json_object_size(whole) == 0)
		return NULL;
	text = json_dumps(whole, JSON_COMPACT | JSON_SORT_KEYS);
	if (!text)
		abort();
	return text;
}

bool vm_allocation_equal(const char *a, const char *b)
{
	auto_json json_t *x = NULL;
	auto_json json_t *y = NULL;

	if (!a || !b)
		return a == b;
	if (strcmp(a, b) == 0)
		return true;
	return json_map_load(a, strlen(a), &x, NULL) == 0 &&
	       json_map_load(b, strlen(b), &y, NULL) == 0 && json_equal(x, y);
}
