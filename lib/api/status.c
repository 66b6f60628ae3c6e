#include "api/status.h"

static const struct json_row cause_map[] = {
	JSON_STR(struct api_status_cause, reason, "reason", JSON_OPTIONAL),
	JSON_STR(struct api_status_cause, message, "message", JSON_OPTIONAL),
	JSON_STR(struct api_status_cause, field, "field", JSON_OPTIONAL),
	JSON_END,
};

#define D struct api_status_details
static const struct json_row details_map[] = {
	JSON_STR(D, name, "name", JSON_OPTIONAL),
	JSON_STR(D, group, "group", JSON_OPTIONAL),
	JSON_STR(D, kind, "kind", JSON_OPTIONAL),
	JSON_STR(D, uid, "uid", JSON_OPTIONAL),
	JSON_INT(D, retry_after_seconds, "retryAfterSeconds", JSON_OPTIONAL),
	JSON_LIST(D, causes, "causes", JSON_OPTIONAL, struct api_status_cause, cause_map),
	JSON_END,
};
#undef D

const struct json_row api_status_map[] = {
	JSON_STR(struct api_status, status, "status", JSON_OPTIONAL),
	JSON_STR(struct api_status, message, "message", JSON_OPTIONAL),
	JSON_STR(struct api_status, reason, "reason", JSON_OPTIONAL),
	JSON_INT(struct api_status, code, "code", JSON_OPTIONAL),
	JSON_STRUCT(struct api_status, details, "details", JSON_OPTIONAL, struct api_status_details,
		    details_map),
	JSON_END,
};
