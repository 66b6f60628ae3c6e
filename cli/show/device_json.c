#include "cli/show/device_json.h"

#include <stdlib.h>

#include "api/json_values.h"
#include "api/meta.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/cluster.h"
#include "cli/model/part.h"
#include "cli/show/out.h"

static void add_text(json_t *object, const char *key, const char *text)
{
	if (text && text[0])
		json_object_set_new(object, key, json_string(text));
}

static json_t *pods_json(const struct pcidevice_allocations *list)
{
	json_t *pods = json_array();

	for (size_t i = 0; i < list->len; i++) {
		json_t *pod = json_object();

		add_text(pod, "namespace", list->items[i].namespace);
		add_text(pod, "pod", list->items[i].pod);
		add_text(pod, "container", list->items[i].container);
		json_array_append_new(pods, pod);
	}
	return pods;
}

static json_t *claim_json(const struct cluster_device *device)
{
	json_t *claim = json_object();

	add_text(claim, "name", device->claim->name);
	add_text(claim, "userName", device->user);
	add_text(claim, "since", device->claim->creation_timestamp);
	add_text(claim, "deletedSince", device->claim->deletion_timestamp);
	return claim;
}

json_t *node_fault_json(const struct node_fault *fault)
{
	json_t *json = json_object();

	add_text(json, "reason", fault->reason);
	add_text(json, "nodeReason", fault->why);
	add_text(json, "message", fault->message);
	add_text(json, "since", fault->since);
	return json;
}

static void add_verdict(json_t *json, const struct state_verdict *verdict)
{
	add_text(json, "state", state_look(verdict->state)->key);
	add_text(json, "reason", verdict->reason);
	add_text(json, "message", verdict->message);
	add_text(json, "since", verdict->since);
}

json_t *part_json(const struct part *part)
{
	json_t *json = json_object();

	add_text(json, "type", part->what);
	add_text(json, "description", part->text);
	add_verdict(json, &part->verdict);
	return json;
}

static void add_bridges(json_t *json, const struct cluster_device *device)
{
	const struct pcidevice *pci = device->type == DEVICE_PCI ? device->object : NULL;
	json_t *list = json_array();

	for (size_t i = 0; pci && i < pci->status.bridges.len; i++)
		json_array_append_new(list, json_string(pci->status.bridges.items[i]));
	if (json_array_size(list) > 0)
		json_object_set(json, "bridges", list);
	json_decref(list);
}

json_t *device_json(const struct cluster_device *device)
{
	json_t *json = json_object();

	add_text(json, "type", device_type_word(device->type));
	add_text(json, "name", device->name);
	add_text(json, "nodeName", device->node);
	add_text(json, "address", device->address);
	add_bridges(json, device);
	add_verdict(json, &device->verdict);
	add_text(json, "iommuGroup", device->group);
	add_text(json, "driver", device->driver);
	add_text(json, "resourceName", device->resource);
	add_text(json, "description", device->description);
	add_text(json, "holder", device->holder);
	add_text(json, "parent", device->parent ? device->parent->name : "");
	if (device->fault)
		json_object_set_new(json, "nodeFault", node_fault_json(device->fault));
	if (device->numa_node >= 0)
		json_object_set_new(json, "numaNode", json_integer(device->numa_node));
	if (device->claim)
		json_object_set_new(json, "claim", claim_json(device));
	if (device->allocations && device->allocations->len > 0)
		json_object_set_new(json, "pods", pods_json(device->allocations));
	return json;
}

static enum cluster_kind kind_of(const struct cluster_device *device)
{
	switch (device->type) {
	case DEVICE_PCI:
		return device->is_there ? CLUSTER_PCIDEVICE : CLUSTER_PCICLAIM;
	case DEVICE_USB:
		return device->is_there ? CLUSTER_USBDEVICE : CLUSTER_USBCLAIM;
	case DEVICE_MDEV:
		break;
	}
	return CLUSTER_MDEV;
}

void device_add_name(struct str *to, const struct cluster_device *device)
{
	out_kind_name(to, cluster_kind(kind_of(device)), device->name);
}

char *device_pods(const struct cluster_device *device)
{
	const struct pcidevice_allocations *list = device->allocations;
	struct json_strs pods = { 0 };
	auto_str struct str text = STR_INIT;

	for (size_t i = 0; list && i < list->len; i++) {
		const struct pcidevice_allocation *a = &list->items[i];
		auto_free char *pod =
			xasprintf("%s/%s", a->namespace ? a->namespace : "", a->pod ? a->pod : "");

		json_strs_add_new(&pods, pod);
	}
	for (size_t i = 0; i < pods.len; i++)
		str_addf(&text, "%s%s", i > 0 ? "," : "", pods.items[i]);
	json_strs_done(&pods);
	return str_detach(&text);
}
