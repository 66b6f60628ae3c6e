#include "api/migconfiguration.h"

#include "api/names.h"

static const struct json_row request_map[] = {
	JSON_STR(struct mig_request, name, "name", JSON_OPTIONAL),
	JSON_INT_OR(struct mig_request, id, "id", JSON_OPTIONAL, -1),
	JSON_INT(struct mig_request, requested, "requested", JSON_ALWAYS),
	JSON_END,
};

static const struct json_row profile_map[] = {
	JSON_STR(struct mig_profile, name, "name", JSON_ALWAYS),
	JSON_INT(struct mig_profile, id, "id", JSON_ALWAYS),
	JSON_INT(struct mig_profile, available, "available", JSON_ALWAYS),
	JSON_INT(struct mig_profile, total, "total", JSON_ALWAYS),
	JSON_STRS(struct mig_profile, instances, "vGPUID", JSON_ALWAYS),
	JSON_END,
};

#define S struct migconfiguration_spec
static const struct json_row spec_map[] = {
	JSON_BOOL(S, enabled, "enabled", JSON_ALWAYS),
	JSON_STR(S, gpu_address, "gpuAddress", JSON_OPTIONAL),
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_LIST(S, profiles, "profileSpec", JSON_OPTIONAL, struct mig_request, request_map),
	JSON_END,
};
#undef S

#define S struct migconfiguration_status
const struct json_row migconfiguration_status_map[] = {
	JSON_LIST(S, profiles, "profileStatus", JSON_OPTIONAL, struct mig_profile, profile_map),
	JSON_STR(S, status, "status", JSON_ALWAYS),
	JSON_STR(S, message, "message", JSON_ALWAYS),
	JSON_INT(S, observed_generation, "observedGeneration", JSON_OPTIONAL),
	JSON_BOOL(S, managed, "managed", JSON_OPTIONAL),
	API_CONDITIONS(S),
	JSON_END,
};
#undef S

static const struct json_row map[] = {
	API_META(struct migconfiguration),
	JSON_STRUCT(struct migconfiguration, spec, "spec", JSON_OPTIONAL,
		    struct migconfiguration_spec, spec_map),
	JSON_STRUCT(struct migconfiguration, status, "status", JSON_OPTIONAL,
		    struct migconfiguration_status, migconfiguration_status_map),
	JSON_END,
};

const struct api_kind migconfiguration_kind = {
	.group = NAMES_GROUP,
	.version = NAMES_VERSION,
	.kind = "MigConfiguration",
	.plural = "migconfigurations",
	.size = sizeof(struct migconfiguration),
	.map = map,
};
