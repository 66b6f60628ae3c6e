#include "api/secret.h"

#include "api/names.h"

static const struct json_row map[] = {
	API_META(struct secret),
	JSON_PAIRS(struct secret, data, "data", JSON_OPTIONAL),
	JSON_END,
};

const struct api_kind secret_kind = {
	.group = "",
	.version = "v1",
	.kind = "Secret",
	.plural = "secrets",
	.ns = NAMES_NAMESPACE,
	.size = sizeof(struct secret),
	.map = map,
};
