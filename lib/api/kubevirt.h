/* kubevirt: KubeVirt of kubevirt.io/v1; only its existence. Its configuration is read and
 * written as JSON, so that fields of others are kept. */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

struct kubevirt {
	struct api_meta meta;
};

extern const struct api_kind kubevirt_kind;
