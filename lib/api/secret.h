/* secret: Secret of the core group (v1). The values of data are in base64, as they come. */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

struct secret {
	struct api_meta meta;
	struct json_pairs data;
};

extern const struct api_kind secret_kind;
