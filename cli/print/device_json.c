#include "cli/print/device_json.h"

#include <stdlib.h>

#include "api/condition.h"
#include "api/json_values.h"
#include "api/meta.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/cluster.h"
#include "cli/model/dra.h"
#include "cli/model/part.h"
#include "cli/print/out_json.h"

static json_t *pods_json(const struct pcidevice_allocations *list)
{
	json_t *pods = json_array();

	for (size_t i = 0; i < list->len; i++) {
		json_t *pod = json_object();

		out_set_text(pod, "namespace", list->items[i].namespace);
		out_set_text(pod, "pod", list->items[i].pod);
		out_set_text(pod, "container", list->items[i].container);
		out_set_text(pod, "resourceClaim", list->items[i].resource_claim);
		json_array_append_new(pods, pod);
	}
	return pods;
}

static json_t *claim_json(const struct cluster_device *device)
{
	json_t *claim = json_object();

	out_set_text(claim, "name", device->claim->name);
	out_set_text(claim, "userName", device->user);
	out_set_text(claim, "since", device->claim->creation_timestamp);
	out_set_text(claim, "deletedSince", device->claim->deletion_timestamp);
	return claim;
}

static json_t *slice_json(const struct cluster_device *device)
{
	auto_free char *name = dra_name_of(device);
	json_t *json = json_object();

	out_set_text(json, "pool", device->slice->spec.pool.name);
	out_set_text(json, "device", name);
	out_set_text(json, "resourceSlice", device->slice->meta.name);
	return json;
}

static json_t *resource_claim_json(const struct cluster_device *device)
{
	const struct resourceclaim *claim = device->resource_claim;
	const struct api_condition *refusal = dra_refusal(device, claim);
	bool prepared = dra_is_prepared(device, claim);
	json_t *reserved = json_array();
	json_t *json = json_object();

	out_set_text(json, "namespace", claim->meta.namespace_);
	out_set_text(json, "name", claim->meta.name);
	json_object_set_new(json, "prepared", json_boolean(prepared));
	if (refusal && !prepared) {
		out_set_text(json, "reason", refusal->reason);
		out_set_text(json, "message", refusal->message);
	}
	for (size_t i = 0; i < claim->status.reserved_for.len; i++) {
		const struct resourceclaim_consumer *consumer =
			&claim->status.reserved_for.items[i];
		json_t *one = json_object();

		out_set_text(one, "resource", consumer->resource);
		out_set_text(one, "name", consumer->name);
		json_array_append_new(reserved, one);
	}
	json_object_set_new(json, "reservedFor", reserved);
	return json;
}

json_t *node_fault_json(const struct node_fault *fault)
{
	json_t *json = json_object();

	out_set_text(json, "reason", fault->reason);
	out_set_text(json, "nodeReason", fault->why);
	out_set_text(json, "message", fault->message);
	out_set_text(json, "since", fault->since);
	return json;
}

static void add_verdict(json_t *json, const struct state_verdict *verdict)
{
	out_set_text(json, "state", state_look(verdict->state)->key);
	out_set_text(json, "reason", verdict->reason);
	out_set_text(json, "message", verdict->message);
	out_set_text(json, "since", verdict->since);
}

json_t *part_json(const struct part *part)
{
	json_t *json = json_object();

	out_set_text(json, "type", part->what);
	out_set_text(json, "description", part->text);
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

	out_set_text(json, "type", device_type_word(device->type));
	out_set_text(json, "name", device->name);
	out_set_text(json, "nodeName", device->node);
	out_set_text(json, "address", device->address);
	add_bridges(json, device);
	add_verdict(json, &device->verdict);
	out_set_text(json, "iommuGroup", device->group);
	out_set_text(json, "driver", device->driver);
	out_set_text(json, "resourceName", device->resource);
	out_set_text(json, "description", device->description);
	out_set_text(json, "holder", device->holder);
	out_set_text(json, "parent", device->parent ? device->parent->name : "");
	if (device->fault)
		json_object_set_new(json, "nodeFault", node_fault_json(device->fault));
	if (device->numa_node >= 0)
		json_object_set_new(json, "numaNode", json_integer(device->numa_node));
	if (device->claim)
		json_object_set_new(json, "claim", claim_json(device));
	if (device->slice)
		json_object_set_new(json, "dra", slice_json(device));
	if (device->resource_claim)
		json_object_set_new(json, "resourceClaim", resource_claim_json(device));
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

enum { USB_SHOWN = 8 };

static void add_usb_below(const struct cluster_device *device, struct str *to, size_t *len)
{
	for (const struct cluster_device *d = device->first_child; d; d = d->next) {
		const struct usbdevice *usb = d->type == DEVICE_USB ? d->object : NULL;

		if (usb && !usb->status.hub && (*len)++ < USB_SHOWN)
			str_addf(to, "%s%s%s%s%s", to->len ? ", " : "", d->address,
				 d->description[0] ? " (" : "", d->description,
				 d->description[0] ? ")" : "");
		if (d->type == DEVICE_USB)
			add_usb_below(d, to, len);
	}
}

char *device_usb_below(const struct cluster_device *device)
{
	auto_str struct str text = STR_INIT;
	size_t len = 0;

	add_usb_below(device, &text, &len);
	if (len > USB_SHOWN)
		str_addf(&text, ", and %zu more", len - USB_SHOWN);
	return str_detach(&text);
}
