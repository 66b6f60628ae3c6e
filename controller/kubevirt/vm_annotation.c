#include "controller/kubevirt/vm_annotation.h"

#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/json_values.h"
#include "api/names.h"
#include "api/patch.h"
#include "api/virtualmachine.h"
#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/cache/view.h"
#include "controller/kubevirt/kubevirt.h"
#include "controller/kubevirt/launcher.h"
#include "kube/reconcile.h"
#include "kube/store.h"

/* --- the text of the annotation --- */

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

void vm_allocation_add(struct vm_allocation *allocation, const struct virtualmachine *vm,
		       const char *resource, const char *device)
{
	json_t **part = vm_requests_gpu(vm, resource) ? &allocation->gpus : &allocation->devices;
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

char *vm_allocation_text(struct vm_allocation *allocation)
{
	auto_json json_t *whole = json_object();
	char *text;

	sort_lists(allocation->gpus);
	sort_lists(allocation->devices);
	if (allocation->gpus)
		json_object_set_new(whole, "gpus", allocation->gpus);
	if (allocation->devices)
		json_object_set_new(whole, "hostdevices", allocation->devices);
	*allocation = (struct vm_allocation){ 0 };
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

/* --- virtual machines --- */

/* A device that a pod uses. */
struct vm_index_item {
	enum view_kind kind;
	char *device;
	char *pod; /* "namespace/name" */
};

struct vm_index_items {
	struct vm_index_item *items;
	size_t len;
	size_t cap;
};

/* The devices of virtual machines' pods, updated with each device change. Pods and devices are
 * known only by name; a pod's virtual machine is derived from its name (launcher). */
struct vm_index {
	struct map *by_key; /* struct vm_index_items, none empty */
};

static struct vm_index *vm_index_new(void)
{
	struct vm_index *index = xcalloc(1, sizeof(*index));

	index->by_key = map_new();
	return index;
}

static void item_done(struct vm_index_item *item)
{
	free(item->device);
	free(item->pod);
}

static void items_free(struct vm_index_items *list)
{
	for (size_t i = 0; i < list->len; i++)
		item_done(&list->items[i]);
	array_done(list);
	free(list);
}

/* Takes NULL, returns NULL. */
static struct vm_index *vm_index_free(struct vm_index *index)
{
	void *list;
	const char *key;
	size_t cursor = 0;

	if (!index)
		return NULL;
	while (map_next(index->by_key, &cursor, &key, &list))
		items_free(list);
	map_free(index->by_key);
	free(index);
	return NULL;
}

static void index_remove(struct vm_index *index, enum view_kind kind, const char *name,
			 const char *pod)
{
	auto_free char *key = pod ? launcher_key_of_pod(pod) : NULL;
	struct vm_index_items *list = key ? map_get(index->by_key, key) : NULL;
	size_t kept = 0;

	if (!list)
		return;
	for (size_t i = 0; i < list->len; i++) {
		struct vm_index_item *item = &list->items[i];

		if (item->kind == kind && strcmp(item->device, name) == 0)
			item_done(item);
		else
			list->items[kept++] = *item;
	}
	list->len = kept;
	if (kept > 0)
		return;
	map_remove(index->by_key, key);
	items_free(list);
}

static void index_add(struct vm_index *index, enum view_kind kind, const char *name,
		      const char *pod)
{
	auto_free char *key = pod ? launcher_key_of_pod(pod) : NULL;
	struct vm_index_items *list;

	if (!key)
		return;
	list = map_get(index->by_key, key);
	if (!list) {
		list = xcalloc(1, sizeof(*list));
		map_set(index->by_key, key, list);
	}
	*array_add(list) = (struct vm_index_item){ kind, xstrdup(name), xstrdup(pod) };
}

/* The device @name moved from pod @before to @pod. Either may be NULL; a pod that is not a
 * virt-launcher counts as NULL. */
static void vm_index_move(struct vm_index *index, enum view_kind kind, const char *name,
			  const char *before, const char *pod)
{
	index_remove(index, kind, name, before);
	index_add(index, kind, name, pod);
}

/* The devices of pods with the key @key (launcher_key_of_vm), in any order; NULL: none. Valid
 * until the next vm_index_move(). */
static const struct vm_index_items *vm_index_get(const struct vm_index *index, const char *key)
{
	return map_get(index->by_key, key);
}

enum { RUNS_AT_A_TIME = 4 };

struct vm_annotation {
	const struct kubevirt_env *env;
	struct vm_index *index;
	struct reconcile *reconcile; /* of virtual machines, by "namespace/name" */
};

/* --- changes --- */

static const struct store *vms_of(const struct vm_annotation *annotation)
{
	return annotation->env->stores[VIEW_VM];
}

static void enqueue(struct vm_annotation *annotation, const char *vm)
{
	reconcile_enqueue_after(annotation->reconcile, vm, KUBEVIRT_QUIET_MS);
}

static void enqueue_of_pod(struct vm_annotation *annotation, const char *pod)
{
	auto_free char *key = pod ? launcher_key_of_pod(pod) : NULL;
	const struct entry *entry;
	size_t cursor = 0;

	if (!key)
		return;
	if (!launcher_is_cut(pod)) {
		enqueue(annotation, key); /* which is the virtual machine's name */
		return;
	}
	while ((entry = store_next(vms_of(annotation), &cursor))) {
		if (launcher_runs(pod, entry->name))
			enqueue(annotation, entry->name);
	}
}

static const char *pod_of(const struct entry *entry)
{
	const struct view *view = entry ? entry->object : NULL;

	return view ? view->pod : NULL;
}

static const struct vm_index_items *devices_of_vm(const struct vm_annotation *annotation,
						  const char *vm)
{
	auto_free char *key = launcher_key_of_vm(vm);

	return vm_index_get(annotation->index, key);
}

/* Virtual machines whose names share a key may match each other's pods. */
static void enqueue_same_pods(struct vm_annotation *annotation, const char *vm)
{
	const struct vm_index_items *devices = devices_of_vm(annotation, vm);

	for (size_t i = 0; devices && i < devices->len; i++)
		enqueue_of_pod(annotation, devices->items[i].pod);
}

/* True if the virtual machine requests or has devices. */
static bool needs_annotation(const struct vm_annotation *annotation, const char *name,
			     const struct entry *entry)
{
	const struct virtualmachine *vm = entry ? entry->object : NULL;

	return vm && (vm->meta.annotations.allocation || devices_of_vm(annotation, name));
}

static void change_machine(struct vm_annotation *annotation, const char *name,
			   const struct entry *before, const struct entry *after)
{
	const struct virtualmachine *was = before ? before->object : NULL;
	const struct virtualmachine *is = after ? after->object : NULL;

	if (!was || !is)
		enqueue_same_pods(annotation, name);
	if (was && is && vm_requests_equal(was, is))
		return;
	if (needs_annotation(annotation, name, before) || needs_annotation(annotation, name, after))
		reconcile_changed(annotation->reconcile, name);
}

void vm_annotation_on_change(struct vm_annotation *annotation, enum view_kind kind,
			     const char *name, const struct entry *before,
			     const struct entry *after)
{
	const struct view *device;

	if (view_is_device(kind)) {
		vm_index_move(annotation->index, kind, name, pod_of(before), pod_of(after));
		enqueue_of_pod(annotation, pod_of(before));
		enqueue_of_pod(annotation, pod_of(after));
	} else if (kind == VIEW_PCICLAIM) { /* the claim determines the device's resource */
		device = store_object(annotation->env->stores[VIEW_PCIDEVICE], name);
		enqueue_of_pod(annotation, device ? device->pod : NULL);
	} else if (kind == VIEW_VM) {
		change_machine(annotation, name, before, after);
	}
}

void vm_annotation_enqueue_all(struct vm_annotation *annotation)
{
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(vms_of(annotation), &cursor))) {
		if (needs_annotation(annotation, entry->name, entry))
			enqueue(annotation, entry->name);
	}
}

/* --- one virtual machine --- */

/* True if @pod may run another virtual machine. */
static bool may_run_another(const struct vm_annotation *annotation, const char *pod, const char *vm)
{
	const struct entry *entry;
	size_t cursor = 0;

	if (!launcher_is_cut(pod))
		return false;
	while ((entry = store_next(vms_of(annotation), &cursor))) {
		if (strcmp(entry->name, vm) != 0 && launcher_runs(pod, entry->name))
			return true;
	}
	return false;
}

static char *resource_of_item(const struct kubevirt_env *env, const struct vm_index_item *item)
{
	const struct view *device = store_object(env->stores[item->kind], item->device);
	const struct view *claim = item->kind == VIEW_PCIDEVICE
					   ? store_object(env->stores[VIEW_PCICLAIM], item->device)
					   : NULL;

	return device ? view_resource(item->device, device, claim) : NULL;
}

/* The annotation it should have; NULL: none. The caller frees it. */
static char *annotation_text(const struct vm_annotation *annotation, const char *name,
			     const struct virtualmachine *vm)
{
	const struct vm_index_items *devices = devices_of_vm(annotation, name);
	struct vm_allocation allocation = { 0 };

	for (size_t i = 0; devices && i < devices->len; i++) {
		const struct vm_index_item *item = &devices->items[i];
		auto_free char *resource = NULL;

		if (!launcher_runs(item->pod, name) || may_run_another(annotation, item->pod, name))
			continue;
		resource = resource_of_item(annotation->env, item);
		if (resource)
			vm_allocation_add(&allocation, vm, resource, item->device);
	}
	return vm_allocation_text(&allocation);
}

/* --- callbacks of struct reconcile_spec --- */

static bool is_ready(void *arg)
{
	const struct vm_annotation *annotation = arg;

	return annotation->env->ready(annotation->env->arg);
}

static bool is_to_be_kept(void *arg, const char *key, const void *object)
{
	const struct virtualmachine *vm = object;

	(void)arg;
	(void)key;
	return vm && !vm->meta.meta.deletion_timestamp;
}

static void plan_machine(void *arg, const struct reconcile_view *view,
			 struct decision *ret_decision)
{
	const struct vm_annotation *annotation = arg;
	const struct virtualmachine *vm = view->object;
	auto_free char *text = annotation_text(annotation, view->key, vm);

	if (vm_allocation_equal(text, vm->meta.annotations.allocation))
		return;
	ret_decision->step = STEP_PATCH;
	ret_decision->body = patch_new_at(view->uid, view->version);
	json_object_set_new(json_object_get(ret_decision->body, "metadata"), "annotations",
			    json_pack("{s:s?}", NAMES_ANNOTATION_ALLOCATION, text));
}

/* --- the module's functions --- */

struct vm_annotation *vm_annotation_new(const struct kubevirt_env *env)
{
	struct vm_annotation *annotation = xcalloc(1, sizeof(*annotation));

	annotation->env = env;
	annotation->index = vm_index_new();
	annotation->reconcile = reconcile_new(&(struct reconcile_spec){
		.name = "virtualmachines",
		.kind = &virtualmachine_kind,
		.objects = env->machines,
		.field_manager = "hostdev-controller",
		.max_running = RUNS_AT_A_TIME,
		.quiet_ms = KUBEVIRT_QUIET_MS,
		.is_ready = is_ready,
		.leads = env->leads,
		.leads_arg = env->leads_arg,
		.is_ours = is_to_be_kept,
		.plan = plan_machine,
		.arg = annotation,
		.client = env->client,
		.clock = env->clock,
		.metrics = env->metrics,
	});
	return annotation;
}

struct vm_annotation *vm_annotation_free(struct vm_annotation *annotation)
{
	if (!annotation)
		return NULL;
	reconcile_free(annotation->reconcile);
	vm_index_free(annotation->index);
	free(annotation);
	return NULL;
}
