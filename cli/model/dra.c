#include "cli/model/dra.h"

#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/resourceclaim.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/cluster.h"

#define GROUP   "resource.k8s.io"
#define VERSION "v1"

/* --- ResourceSlice ---------------------------------------------------------------------------- */

static const struct json_row pool_map[] = {
	JSON_STR(struct dra_pool, name, "name", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row slice_device_map[] = {
	JSON_STR(struct dra_slice_device, name, "name", JSON_REQUIRED),
	JSON_END,
};

#define S struct dra_slice_spec
static const struct json_row slice_spec_map[] = {
	JSON_STR(S, driver, "driver", JSON_OPTIONAL),
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STRUCT(S, pool, "pool", JSON_OPTIONAL, struct dra_pool, pool_map),
	JSON_LIST(S, devices, "devices", JSON_OPTIONAL, struct dra_slice_device, slice_device_map),
	JSON_END,
};
#undef S

static const struct json_row slice_map[] = {
	API_META(struct dra_slice),
	JSON_STRUCT(struct dra_slice, spec, "spec", JSON_OPTIONAL, struct dra_slice_spec,
		    slice_spec_map),
	JSON_END,
};

const struct api_kind dra_slice_kind = {
	.group = GROUP,
	.version = VERSION,
	.kind = "ResourceSlice",
	.plural = "resourceslices",
	.size = sizeof(struct dra_slice),
	.map = slice_map,
};

/* --- DeviceClass, ResourceClaimTemplate ------------------------------------------------------- */

static const struct json_row class_map[] = {
	API_META(struct dra_class),
	JSON_STRUCT(struct dra_class, spec, "spec", JSON_OPTIONAL, struct resourceclaim_exactly,
		    resourceclaim_exactly_map),
	JSON_END,
};

static const struct json_row template_map[] = {
	API_META(struct dra_class),
	JSON_END,
};

const struct api_kind dra_class_kind = {
	.group = GROUP,
	.version = VERSION,
	.kind = "DeviceClass",
	.plural = "deviceclasses",
	.size = sizeof(struct dra_class),
	.map = class_map,
};

const struct api_kind dra_template_kind = {
	.group = GROUP,
	.version = VERSION,
	.kind = "ResourceClaimTemplate",
	.plural = "resourceclaimtemplates",
	.size = sizeof(struct dra_class),
	.map = template_map,
};

/* --- what they say ---------------------------------------------------------------------------- */

bool dra_is_prepared(const struct cluster_device *device, const struct resourceclaim *claim)
{
	const struct pcidevice_allocations *list = device->allocations;

	for (size_t i = 0; list && i < list->len; i++) {
		if (str_match(list->items[i].resource_claim, claim->meta.name) &&
		    str_match(list->items[i].namespace, claim->meta.namespace_))
			return true;
	}
	return false;
}

const struct api_condition *dra_refusal(const struct cluster_device *device,
					const struct resourceclaim *claim)
{
	auto_free char *name = dra_name_of(device);
	const struct api_condition *ready = NULL;

	for (size_t i = 0; name && i < claim->status.devices.len && !ready; i++) {
		const struct resourceclaim_device *one = &claim->status.devices.items[i];
		auto_free char *node = one->pool ? dra_pool_node(one->pool) : NULL;

		if (str_match(one->driver, DRA_DRIVER) && str_match(one->device, name) &&
		    str_match(node, device->node))
			ready = api_conditions_find(&one->conditions, "Ready");
	}
	return ready && str_match(ready->status, "False") ? ready : NULL;
}

struct state_verdict dra_judge(const struct cluster_device *device,
			       const struct resourceclaim *claim)
{
	const struct api_condition *refusal = dra_refusal(device, claim);

	if (!refusal)
		return (struct state_verdict){ STATE_PENDING, "Allocated",
					       "allocated to it, and no container has it yet", "" };
	return (struct state_verdict){ STATE_PENDING, str_or_empty(refusal->reason),
				       str_or_empty(refusal->message),
				       str_or_empty(refusal->last_transition_time) };
}

char *dra_name_of(const struct cluster_device *device)
{
	static const char *const types[] = {
		[DEVICE_PCI] = "pci",
		[DEVICE_USB] = "usb",
		[DEVICE_MDEV] = "mdev",
	};

	return device->address[0] ? names_dra_device(types[device->type], device->address) : NULL;
}

char *dra_pool_node(const char *pool)
{
	return xstrndup(pool, strcspn(pool, "/"));
}

char *dra_pods(const struct resourceclaim *claim)
{
	auto_str struct str text = STR_INIT;

	for (size_t i = 0; i < claim->status.reserved_for.len; i++) {
		const struct resourceclaim_consumer *consumer =
			&claim->status.reserved_for.items[i];
		bool pod = strcmp(consumer->resource, "pods") == 0;

		str_addf(&text, "%s%s %s/%s", text.len ? ", " : "",
			 pod ? "pod" : consumer->resource, str_or_empty(claim->meta.namespace_),
			 consumer->name);
	}
	return str_detach(&text);
}

char *dra_pod_names(const struct resourceclaim *claim)
{
	auto_str struct str text = STR_INIT;

	for (size_t i = 0; i < claim->status.reserved_for.len; i++) {
		const struct resourceclaim_consumer *consumer =
			&claim->status.reserved_for.items[i];

		if (strcmp(consumer->resource, "pods") == 0)
			str_addf(&text, "%s%s/%s", text.len ? "," : "",
				 str_or_empty(claim->meta.namespace_), consumer->name);
	}
	return str_detach(&text);
}
