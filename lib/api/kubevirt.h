/* kubevirt: KubeVirt of kubevirt.io/v1: that there is one. What it configures is read and written as JSON,
 * so that what others wrote there stays as it is. */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

struct kubevirt {
	struct api_meta meta;
};

extern const struct api_kind kubevirt_kind;
