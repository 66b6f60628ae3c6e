/* secret: core/v1 Secret. The values of data are left in base64. */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

struct secret {
	struct api_meta meta;
	struct json_pairs data;
};

extern const struct api_kind secret_kind;
