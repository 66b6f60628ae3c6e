#include "cli/model/dra.h"

#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "api/pcidevice.h"
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

/* --- ResourceClaim ---------------------------------------------------------------------------- */

static const struct json_row cel_map[] = {
	JSON_STR(struct dra_cel, expression, "expression", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row selector_map[] = {
	JSON_STRUCT(struct dra_selector, cel, "cel", JSON_OPTIONAL, struct dra_cel, cel_map),
	JSON_END,
};

#define S struct dra_exactly
static const struct json_row exactly_map[] = {
	JSON_STR(S, device_class, "deviceClassName", JSON_OPTIONAL),
	JSON_LIST(S, selectors, "selectors", JSON_OPTIONAL, struct dra_selector, selector_map),
	JSON_STR(S, allocation_mode, "allocationMode", JSON_OPTIONAL),
	JSON_INT(S, count, "count", JSON_OPTIONAL),
	JSON_END,
};
#undef S

#define S struct dra_request
static const struct json_row request_map[] = {
	JSON_STR(S, name, "name", JSON_REQUIRED),
	JSON_STRUCT(S, exactly, "exactly", JSON_OPTIONAL, struct dra_exactly, exactly_map),
	JSON_END,
};
#undef S

static const struct json_row requests_map[] = {
	JSON_LIST(struct dra_requests, requests, "requests", JSON_OPTIONAL, struct dra_request,
		  request_map),
	JSON_END,
};

static const struct json_row claim_spec_map[] = {
	JSON_STRUCT(struct dra_claim_spec, devices, "devices", JSON_OPTIONAL, struct dra_requests,
		    requests_map),
	JSON_END,
};

#define S struct dra_result
static const struct json_row result_map[] = {
	JSON_STR(S, request, "request", JSON_REQUIRED),
	JSON_STR(S, driver, "driver", JSON_REQUIRED),
	JSON_STR(S, pool, "pool", JSON_REQUIRED),
	JSON_STR(S, device, "device", JSON_REQUIRED),
	JSON_BOOL(S, admin_access, "adminAccess", JSON_OPTIONAL),
	JSON_END,
};
#undef S

static const struct json_row results_map[] = {
	JSON_LIST(struct dra_results, results, "results", JSON_OPTIONAL, struct dra_result,
		  result_map),
	JSON_END,
};

static const struct json_row allocation_map[] = {
	JSON_STRUCT(struct dra_allocation, devices, "devices", JSON_OPTIONAL, struct dra_results,
		    results_map),
	JSON_END,
};

#define S struct dra_consumer
static const struct json_row consumer_map[] = {
	JSON_STR(S, resource, "resource", JSON_REQUIRED),
	JSON_STR(S, name, "name", JSON_REQUIRED),
	JSON_END,
};
#undef S

#define S struct dra_claim_status
static const struct json_row claim_status_map[] = {
	JSON_STRUCT(S, allocation, "allocation", JSON_OPTIONAL, struct dra_allocation,
		    allocation_map),
	JSON_LIST(S, reserved_for, "reservedFor", JSON_OPTIONAL, struct dra_consumer, consumer_map),
	JSON_END,
};
#undef S

#define S struct dra_claim
static const struct json_row claim_map[] = {
	API_META(S),
	JSON_STRUCT(S, spec, "spec", JSON_OPTIONAL, struct dra_claim_spec, claim_spec_map),
	JSON_STRUCT(S, status, "status", JSON_OPTIONAL, struct dra_claim_status, claim_status_map),
	JSON_END,
};
#undef S

/* Of all namespaces, unless a caller names one. */
const struct api_kind dra_claim_kind = {
	.group = GROUP,
	.version = VERSION,
	.kind = "ResourceClaim",
	.plural = "resourceclaims",
	.size = sizeof(struct dra_claim),
	.map = claim_map,
};

/* --- DeviceClass, ResourceClaimTemplate ------------------------------------------------------- */

static const struct json_row class_map[] = {
	API_META(struct dra_class),
	JSON_STRUCT(struct dra_class, spec, "spec", JSON_OPTIONAL, struct dra_exactly, exactly_map),
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

bool dra_is_prepared(const struct cluster_device *device, const struct dra_claim *claim)
{
	const struct pcidevice_allocations *list = device->allocations;

	for (size_t i = 0; list && i < list->len; i++) {
		if (str_match(list->items[i].resource_claim, claim->meta.name) &&
		    str_match(list->items[i].namespace, claim->meta.namespace_))
			return true;
	}
	return false;
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

char *dra_pods(const struct dra_claim *claim)
{
	auto_str struct str text = STR_INIT;

	for (size_t i = 0; i < claim->status.reserved_for.len; i++) {
		const struct dra_consumer *consumer = &claim->status.reserved_for.items[i];
		bool pod = strcmp(consumer->resource, "pods") == 0;

		str_addf(&text, "%s%s %s/%s", text.len ? ", " : "",
			 pod ? "pod" : consumer->resource, str_or_empty(claim->meta.namespace_),
			 consumer->name);
	}
	return str_detach(&text);
}
