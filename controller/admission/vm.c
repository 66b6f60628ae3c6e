#include "controller/admission/rule.h"

#include "api/json_map.h"
#include "api/pcideviceclaim.h"
#include "api/usbdeviceclaim.h"
#include "api/virtualmachine.h"
#include "base/map.h"
#include "base/mem.h"
#include "controller/admission/device_use.h"
#include "controller/admission/known.h"
#include "controller/admission/resources.h"
#include "controller/cache/view.h"
#include "controller/webhook/admission_review.h"

#define HOSTNAME "kubernetes.io/hostname"

enum { DEVICES_MAX = 256 }; /* more than the slots of a machine */

/* A device that a virtual machine names. */
struct named {
	const char *node;
	const char *resource;
	bool claimed;
	const char *claim_kind;
};

static bool find_named(const struct known *known, const char *name, struct named *ret_named)
{
	const struct view *pci = known_pcidevice(known, name);
	const struct view *usb = pci ? NULL : known_usbdevice(known, name);

	if (pci)
		*ret_named =
			(struct named){ view_text(pci, VIEW_TEXT_NODE),
					view_text(pci, VIEW_TEXT_RESOURCE),
					known_pciclaim(known, name) != NULL, "PCIDeviceClaim" };
	else if (usb)
		*ret_named =
			(struct named){ view_text(usb, VIEW_TEXT_NODE),
					view_text(usb, VIEW_TEXT_RESOURCE),
					known_usbclaim(known, name) != NULL, "USBDeviceClaim" };
	return pci || usb;
}

/* State of the iteration over a virtual machine's devices. */
struct walk {
	const struct rule_case *c;
	const struct virtualmachine *vm;
	struct map *seen; /* names of devices */
	const char *node; /* of the first named device, and that device's name */
	const char *first;
};

/* DRA device requests have no resource. */
static bool refuse_unknown(const struct walk *w, const struct virtualmachine_device *device)
{
	auto_free char *resource = NULL;
	auto_free char *name = NULL;

	if (known_empty(device->device_name) ||
	    resources_has(w->c->known->resources, device->device_name))
		return false;
	resource = rule_quote(device->device_name);
	name = rule_quote(device->name);
	return rule_refuse(
		w->c, RULE_INVALID,
		"device '%s' requests resource '%s', which no device has and no node offers: "
		"kubectl get pcidevices,usbdevices -o yaml shows the names "
		"(status.resourceName)",
		name, resource);
}

static bool refuse_twice(struct walk *w, const char *name)
{
	if (!map_set(w->seen, name, w))
		return false;
	return rule_refuse(w->c, RULE_INVALID, "it names device '%s' twice: remove one of the two",
			   name);
}

static bool refuse_other_node(struct walk *w, const char *name, const struct named *named)
{
	if (known_empty(named->node))
		return false;
	if (!w->node) {
		w->node = named->node;
		w->first = name;
		return false;
	}
	if (known_same(w->node, named->node))
		return false;
	return rule_refuse(
		w->c, RULE_INVALID,
		"device '%s' is on node %s, but '%s' on node %s: a machine runs on one node, "
		"so name devices of one",
		w->first, w->node, name, named->node);
}

/* Do not name a virtual machine in another namespace. The caller frees it. */
static char *rival_text(const struct walk *w, const struct virtualmachine *rival)
{
	const struct api_meta *meta = &rival->meta.meta;

	if (!known_same(meta->namespace_, w->vm->meta.meta.namespace_))
		return xstrdup("a virtual machine of another namespace");
	return xasprintf("virtual machine %s/%s", meta->namespace_ ? meta->namespace_ : "",
			 meta->name);
}

/* Two virtual machines that never run at the same time may share a device. A name in another
 * namespace's virtual machine does not block this one. */
static bool refuse_shared(const struct walk *w, const char *name)
{
	bool excludes;
	const struct virtualmachine *other = device_use_rival(w->c->known, name, w->vm, &excludes);
	auto_free char *rival = other ? rival_text(w, other) : NULL;

	if (!other)
		return false;
	if (excludes && virtualmachine_may_run(w->vm))
		return rule_refuse(w->c, RULE_CONFLICT,
				   "%s names device '%s' too: remove it from that one, or halt "
				   "that one first",
				   rival, name);
	rule_warn(w->c, "%s names device '%s' too: only one of them can have it", rival, name);
	return false;
}

static void warn_named(const struct walk *w, const struct virtualmachine_device *device,
		       const struct named *named)
{
	if (!named->claimed)
		rule_warn(w->c,
			  "device '%s' is not claimed: it starts once there is a %s of that name",
			  device->name, named->claim_kind);
	if (!known_empty(device->device_name) && !known_same(device->device_name, named->resource))
		rule_warn(w->c, "device '%s' has another resource than it requests: %s",
			  device->name, named->resource ? named->resource : "none");
}

static bool check_device(struct walk *w, const struct virtualmachine_device *device)
{
	struct named named;

	if (refuse_unknown(w, device))
		return true;
	if (known_empty(device->name) || !find_named(w->c->known, device->name, &named))
		return false;
	if (refuse_twice(w, device->name) || refuse_other_node(w, device->name, &named) ||
	    refuse_shared(w, device->name))
		return true;
	warn_named(w, device, &named);
	return false;
}

/* A resource may be on several nodes, and KubeVirt does not know the device names. */
static void warn_scheduling(const struct walk *w)
{
	const char *node = json_pairs_get(&w->vm->spec.template_.spec.node_selector, HOSTNAME);

	if (!w->node)
		return;
	if (!node)
		rule_warn(w->c,
			  "the resource decides where it runs, not the name of a device: "
			  "nodeSelector " HOSTNAME ": %s keeps it where '%s' is",
			  w->node, w->first);
	else if (!known_same(node, w->node))
		rule_warn(w->c,
			  "its nodeSelector selects node %.63s, but device '%s' is on node %s",
			  node, w->first, w->node);
}

static bool check_list(struct walk *w, const struct virtualmachine_devices *list)
{
	for (size_t i = 0; i < list->len; i++) {
		if (!check_device(w, &list->items[i]))
			continue;
		admission_answer_about(w->c->answer, list->items[i].name,
				       list->items[i].device_name);
		return true;
	}
	return false;
}

static void check_devices(const struct rule_case *c, const struct virtualmachine *vm)
{
	const struct virtualmachine_domain_devices *devices =
		&vm->spec.template_.spec.domain.devices;
	struct walk walk = { .c = c, .vm = vm };

	if (devices->host_devices.len + devices->gpus.len > DEVICES_MAX) {
		rule_refuse(c, RULE_INVALID, "it requests %zu devices: at most %d are allowed",
			    devices->host_devices.len + devices->gpus.len, DEVICES_MAX);
		return;
	}
	walk.seen = map_new();
	if (!check_list(&walk, &devices->host_devices) && !check_list(&walk, &devices->gpus))
		warn_scheduling(&walk);
	map_free(walk.seen);
}

static bool same_list(const struct virtualmachine_devices *a,
		      const struct virtualmachine_devices *b)
{
	bool same = a->len == b->len;

	for (size_t i = 0; same && i < a->len; i++)
		same = known_same(a->items[i].name, b->items[i].name) &&
		       known_same(a->items[i].device_name, b->items[i].device_name);
	return same;
}

static bool same_devices(const struct virtualmachine *a, const struct virtualmachine *b)
{
	const struct virtualmachine_domain_devices *x = &a->spec.template_.spec.domain.devices;
	const struct virtualmachine_domain_devices *y = &b->spec.template_.spec.domain.devices;

	return same_list(&x->host_devices, &y->host_devices) && same_list(&x->gpus, &y->gpus);
}

void vm_create(const struct rule_case *c)
{
	check_devices(c, c->object);
}

void vm_update(const struct rule_case *c)
{
	const struct virtualmachine *vm = c->object;
	const struct virtualmachine *old = c->old;
	bool starts = !virtualmachine_may_run(old) && virtualmachine_may_run(vm);

	if (!vm->meta.meta.deletion_timestamp && (starts || !same_devices(vm, old)))
		check_devices(c, vm);
}

/* --- Harvester: gpus[] to hostDevices[] --- */

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

void vm_move(const struct rule_case *c, const json_t *object)
{
	const json_t *devices = devices_of(object);
	const json_t *gpus = json_object_get(devices, "gpus");
	json_t *before = json_object_get(devices, "hostDevices");
	auto_json json_t *stay = json_array();
	auto_json json_t *all = NULL;

	if (!json_is_array(gpus) || json_array_size(gpus) > ITEMS_MAX ||
	    (before && !json_is_null(before) && !json_is_array(before)))
		return;
	all = json_is_array(before) ? json_copy(before) : json_array();
	for (size_t i = 0; i < json_array_size(gpus); i++) {
		json_t *item = json_array_get(gpus, i);

		json_add(can_move(c, item) ? all : stay, json_incref(item));
	}
	if (json_array_size(stay) == json_array_size(gpus))
		return;
	admission_answer_patch(c->answer, "add", DEVICES "/hostDevices", take_ptr(all));
	if (json_array_size(stay) > 0)
		admission_answer_patch(c->answer, "replace", DEVICES "/gpus", take_ptr(stay));
	else
		admission_answer_patch(c->answer, "remove", DEVICES "/gpus", NULL);
}
