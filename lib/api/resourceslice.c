#include "api/resourceslice.h"

static const struct json_row map[] = {
	API_META(struct resourceslice),
	JSON_END,
};

const struct api_kind resourceslice_kind = {
	.group = "resource.k8s.io",
	.version = "v1",
	.kind = "ResourceSlice",
	.plural = "resourceslices",
	.size = sizeof(struct resourceslice),
	.map = map,
};
