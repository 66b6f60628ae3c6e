/* status: metav1.Status, the API server's error response. Not an object: it has no name. */
#pragma once

#include "api/json_map.h"

struct api_status_cause {
	char *reason; /* "FieldValueInvalid" */
	char *message;
	char *field; /* "spec.address" */
};

struct api_status_causes {
	struct api_status_cause *items;
	size_t len;
	size_t cap;
};

struct api_status_details {
	char *name;
	char *group;
	char *kind;
	char *uid;
	int64_t retry_after_seconds;
	struct api_status_causes causes;
};

struct api_status {
	char *status; /* "Success" or "Failure" */
	char *message;
	char *reason; /* "NotFound", "Conflict", "Expired", ... */
	int code;     /* HTTP status */
	struct api_status_details details;
};

extern const struct json_row api_status_map[];
