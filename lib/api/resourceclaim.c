#include "api/resourceclaim.h"

#include <string.h>

#include "api/object.h"
#include "base/mem.h"

static const struct json_row cel_map[] = {
	JSON_STR(struct resourceclaim_cel, expression, "expression", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row selector_map[] = {
	JSON_STRUCT(struct resourceclaim_selector, cel, "cel", JSON_OPTIONAL,
		    struct resourceclaim_cel, cel_map),
	JSON_END,
};

#define S struct resourceclaim_exactly
const struct json_row resourceclaim_exactly_map[] = {
	JSON_STR(S, device_class, "deviceClassName", JSON_OPTIONAL),
	JSON_LIST(S, selectors, "selectors", JSON_OPTIONAL, struct resourceclaim_selector,
		  selector_map),
	JSON_STR(S, allocation_mode, "allocationMode", JSON_OPTIONAL),
	JSON_INT(S, count, "count", JSON_OPTIONAL),
	JSON_END,
};
#undef S

#define S struct resourceclaim_request
static const struct json_row request_map[] = {
	JSON_STR(S, name, "name", JSON_REQUIRED),
	JSON_STRUCT(S, exactly, "exactly", JSON_OPTIONAL, struct resourceclaim_exactly,
		    resourceclaim_exactly_map),
	JSON_END,
};
#undef S

static const struct json_row requests_map[] = {
	JSON_LIST(struct resourceclaim_requests, requests, "requests", JSON_OPTIONAL,
		  struct resourceclaim_request, request_map),
	JSON_END,
};

static const struct json_row spec_map[] = {
	JSON_STRUCT(struct resourceclaim_spec, devices, "devices", JSON_OPTIONAL,
		    struct resourceclaim_requests, requests_map),
	JSON_END,
};

#define S struct resourceclaim_result
static const struct json_row result_map[] = {
	JSON_STR(S, request, "request", JSON_REQUIRED),
	JSON_STR(S, driver, "driver", JSON_REQUIRED),
	JSON_STR(S, pool, "pool", JSON_REQUIRED),
	JSON_STR(S, device, "device", JSON_REQUIRED),
	JSON_BOOL(S, admin_access, "adminAccess", JSON_OPTIONAL),
	JSON_END,
};
#undef S

#define S struct resourceclaim_opaque
static const struct json_row opaque_map[] = {
	JSON_STR(S, driver, "driver", JSON_OPTIONAL),
	JSON_RAW(S, parameters, "parameters", JSON_OPTIONAL),
	JSON_END,
};
#undef S

#define S struct resourceclaim_config
static const struct json_row config_map[] = {
	JSON_STR(S, source, "source", JSON_OPTIONAL),
	JSON_STRS(S, requests, "requests", JSON_OPTIONAL),
	JSON_STRUCT(S, opaque, "opaque", JSON_OPTIONAL, struct resourceclaim_opaque, opaque_map),
	JSON_END,
};
#undef S

#define S struct resourceclaim_devices
static const struct json_row devices_map[] = {
	JSON_LIST(S, results, "results", JSON_OPTIONAL, struct resourceclaim_result, result_map),
	JSON_LIST(S, config, "config", JSON_OPTIONAL, struct resourceclaim_config, config_map),
	JSON_END,
};
#undef S

static const struct json_row allocation_map[] = {
	JSON_STRUCT(struct resourceclaim_allocation, devices, "devices", JSON_OPTIONAL,
		    struct resourceclaim_devices, devices_map),
	JSON_END,
};

#define S struct resourceclaim_consumer
static const struct json_row consumer_map[] = {
	JSON_STR(S, resource, "resource", JSON_REQUIRED),
	JSON_STR(S, name, "name", JSON_REQUIRED),
	JSON_END,
};
#undef S

#define S struct resourceclaim_device
static const struct json_row device_map[] = {
	JSON_STR(S, driver, "driver", JSON_OPTIONAL),
	JSON_STR(S, pool, "pool", JSON_OPTIONAL),
	JSON_STR(S, device, "device", JSON_OPTIONAL),
	API_CONDITIONS(S),
	JSON_END,
};
#undef S

#define S struct resourceclaim_status
static const struct json_row status_map[] = {
	JSON_STRUCT(S, allocation, "allocation", JSON_OPTIONAL, struct resourceclaim_allocation,
		    allocation_map),
	JSON_LIST(S, reserved_for, "reservedFor", JSON_OPTIONAL, struct resourceclaim_consumer,
		  consumer_map),
	JSON_LIST(S, devices, "devices", JSON_OPTIONAL, struct resourceclaim_device, device_map),
	JSON_END,
};
#undef S

#define S struct resourceclaim
static const struct json_row map[] = {
	API_META(S),
	JSON_STRUCT(S, spec, "spec", JSON_OPTIONAL, struct resourceclaim_spec, spec_map),
	JSON_STRUCT(S, status, "status", JSON_OPTIONAL, struct resourceclaim_status, status_map),
	JSON_END,
};
#undef S

/* Of all namespaces, unless a caller passes one in its request. */
const struct api_kind resourceclaim_kind = {
	.group = "resource.k8s.io",
	.version = "v1",
	.kind = "ResourceClaim",
	.plural = "resourceclaims",
	.size = sizeof(struct resourceclaim),
	.map = map,
};

int resourceclaim_parse(const char *text, size_t len, struct resourceclaim **ret_claim,
			struct err *err)
{
	auto_json json_t *json = NULL;
	void *claim = NULL;
	int r = json_map_load(text, len, &json, err);

	if (r < 0)
		return r;
	r = api_object_decode(&resourceclaim_kind, json, &claim, err);
	if (r == 0)
		*ret_claim = claim;
	return r;
}

struct resourceclaim *resourceclaim_free(struct resourceclaim *claim)
{
	return api_object_free(&resourceclaim_kind, claim);
}

char *resourceclaim_base_request(const char *request)
{
	return xstrndup(request, strcspn(request, "/"));
}
