#include "api/resourceclaim.h"

#include <string.h>

#include "api/object.h"
#include "base/mem.h"

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
	JSON_STR(S, parameters, "parameters", JSON_OPTIONAL),
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
	JSON_LIST(S, devices, "devices", JSON_OPTIONAL, struct resourceclaim_device, device_map),
	JSON_END,
};
#undef S

static const struct json_row map[] = {
	API_META(struct resourceclaim),
	JSON_STRUCT(struct resourceclaim, status, "status", JSON_OPTIONAL,
		    struct resourceclaim_status, status_map),
	JSON_END,
};

/* Callers pass the namespace in each request. */
const struct api_kind resourceclaim_kind = {
	.group = "resource.k8s.io",
	.version = "v1",
	.kind = "ResourceClaim",
	.plural = "resourceclaims",
	.size = sizeof(struct resourceclaim),
	.map = map,
};

/* The parameters are an object that the driver defines, so no map can describe it: make it a
 * string. */
static void parameters_to_text(const json_t *claim)
{
	const json_t *status = json_object_get(claim, "status");
	const json_t *allocation = json_object_get(status, "allocation");
	const json_t *devices = json_object_get(allocation, "devices");
	const json_t *config;
	size_t i;

	json_array_foreach (json_object_get(devices, "config"), i, config) {
		json_t *opaque = json_object_get(config, "opaque");
		const json_t *parameters = json_object_get(opaque, "parameters");
		auto_free char *text = NULL;

		if (!parameters || json_is_null(parameters))
			continue;
		text = json_map_text(parameters);
		json_put_text(opaque, "parameters", text);
	}
}

int resourceclaim_parse(const char *text, size_t len, struct resourceclaim **ret_claim,
			struct err *err)
{
	auto_json json_t *json = NULL;
	void *claim = NULL;
	int r = json_map_load(text, len, &json, err);

	if (r < 0)
		return r;
	parameters_to_text(json);
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
