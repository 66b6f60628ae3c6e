#include "controller/admission/device_use.h"

#include <string.h>

#include "api/json_map.h"
#include "api/names.h"
#include "api/virtualmachine.h"
#include "base/mem.h"
#include "controller/admission/known.h"
#include "controller/cache/view.h"
#include "controller/kubevirt/launcher.h"

static bool list_names(const struct virtualmachine_devices *list, const char *name)
{
	for (size_t i = 0; i < list->len; i++) {
		if (known_same(list->items[i].name, name))
			return true;
	}
	return false;
}

static bool asks_for(const struct virtualmachine *vm, const char *name)
{
	const struct virtualmachine_domain_devices *devices =
		&vm->spec.template_.spec.domain.devices;

	return list_names(&devices->host_devices, name) || list_names(&devices->gpus, name);
}

static bool list_has(const json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *item = json_string_value(json_array_get(list, i));

		if (item && strcmp(item, name) == 0)
			return true;
	}
	return false;
}

/* The format is {"hostdevices":{RESOURCE:[NAME,...]},"gpus":{...}}. Anybody may write the
 * annotation; other formats are ignored. */
static bool was_given(const struct virtualmachine *vm, const char *name)
{
	static const char *const parts[] = { "hostdevices", "gpus" };
	const char *text = vm->meta.annotations.allocation;
	auto_json json_t *json = NULL;

	if (!text || !strstr(text, name) || json_map_load(text, strlen(text), &json, NULL) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		json_t *part = json_object_get(json, parts[i]);
		const char *resource;
		json_t *list;

		json_object_foreach (part, resource, list) {
			if (list_has(list, name))
				return true;
		}
	}
	return false;
}

static const char *namespace_of(const struct virtualmachine *vm)
{
	return vm->meta.meta.namespace_ ? vm->meta.meta.namespace_ : "";
}

static bool is_same_vm(const struct virtualmachine *a, const struct virtualmachine *b)
{
	return strcmp(a->meta.meta.name, b->meta.meta.name) == 0 &&
	       strcmp(namespace_of(a), namespace_of(b)) == 0;
}

static const struct view *device_of(const struct known *known, const char *name)
{
	const struct view *pci = known_pcidevice(known, name);

	return pci ? pci : known_usbdevice(known, name);
}

/* The pod that uses a mediated device on the function @name: older drivers' vGPUs are offered as
 * mediated devices. */
static const char *mdev_pod(const struct known *known, const char *name)
{
	const struct view *mdev;
	size_t cursor = 0;

	while ((mdev = known_next(known, VIEW_MEDIATEDDEVICE, &cursor, NULL))) {
		const char *parent = view_text(mdev, VIEW_TEXT_PARENT);
		auto_free char *function = NULL;

		if (known_empty(mdev->pod) || known_empty(mdev->node) || known_empty(parent))
			continue;
		function = names_pcidevice(mdev->node, parent);
		if (strcmp(function, name) == 0)
			return mdev->pod;
	}
	return NULL;
}

/* "namespace/name" of the pod that uses the device; NULL: none. */
static const char *pod_of(const struct known *known, const char *name)
{
	const struct view *device = device_of(known, name);

	return device && !known_empty(device->pod) ? device->pod : mdev_pod(known, name);
}

static bool runs_in_pod(const struct virtualmachine *vm, const char *pod)
{
	auto_free char *full = xasprintf("%s/%s", namespace_of(vm), vm->meta.meta.name);

	return pod && launcher_runs(pod, full);
}

static bool is_exclusive(const struct virtualmachine *rival, const struct virtualmachine *vm,
			 const char *pod)
{
	return virtualmachine_may_run(rival) &&
	       (strcmp(namespace_of(rival), namespace_of(vm)) == 0 || runs_in_pod(rival, pod));
}

const struct virtualmachine *device_use_rival(const struct known *known, const char *name,
					      const struct virtualmachine *vm, bool *ret_excludes)
{
	const char *pod = pod_of(known, name);
	const struct virtualmachine *other;
	const struct virtualmachine *found = NULL;
	size_t cursor = 0;

	*ret_excludes = false;
	while ((other = known_next(known, VIEW_VM, &cursor, NULL))) {
		if (other->meta.meta.deletion_timestamp || is_same_vm(other, vm) ||
		    !asks_for(other, name))
			continue;
		found = other;
		*ret_excludes = is_exclusive(other, vm, pod);
		if (*ret_excludes)
			break;
	}
	return found;
}

char *device_use_request(const struct known *known, const char *name)
{
	const struct virtualmachine *vm;
	size_t cursor = 0;

	while ((vm = known_next(known, VIEW_VM, &cursor, NULL))) {
		if (!vm->meta.meta.deletion_timestamp &&
		    (asks_for(vm, name) || was_given(vm, name)))
			return xstrdup("a virtual machine names it, and does not have it");
	}
	return NULL;
}

char *device_use(const struct known *known, const char *name)
{
	const char *pod = pod_of(known, name);

	if (!pod)
		return NULL;
	return xasprintf("pod %s has it: delete the pod, or stop its virtual machine, first", pod);
}
