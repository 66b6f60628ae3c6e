#include "api/kubevirt.h"

static const struct json_row map[] = {
	API_META(struct kubevirt),
	JSON_END,
};

const struct api_kind kubevirt_kind = {
	.group = "kubevirt.io",
	.version = "v1",
	.kind = "KubeVirt",
	.plural = "kubevirts",
	.size = sizeof(struct kubevirt),
	.map = map,
};
