/* migconfiguration: MigConfiguration of devices.harvesterhci.io/v1beta1. The spec and the first
 * three status fields are Harvester's; the others are ours and optional. */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

#define MIGCONFIGURATION_SYNCED      "synced"
#define MIGCONFIGURATION_OUT_OF_SYNC "out-of-sync"
#define MIGCONFIGURATION_DISABLED    "disabled"

struct mig_request {
	char *name; /* "MIG 1g.5gb" */
	int id;     /* -1: not given */
	int requested;
};

struct mig_requests {
	struct mig_request *items;
	size_t len;
	size_t cap;
};

struct mig_profile {
	char *name;
	int id;
	int available, total;
	struct json_strs instances; /* ids */
};

struct mig_profiles {
	struct mig_profile *items;
	size_t len;
	size_t cap;
};

struct migconfiguration_spec {
	bool enabled;
	char *gpu_address;
	char *node_name;
	struct mig_requests profiles;
};

struct migconfiguration_status {
	struct mig_profiles profiles;
	char *status; /* MIGCONFIGURATION_..., or NULL */
	char *message;
	int64_t observed_generation;
	bool managed; /* we created the instances */
	struct api_conditions conditions;
};

struct migconfiguration {
	struct api_meta meta;
	struct migconfiguration_spec spec;
	struct migconfiguration_status status;
};

extern const struct json_row migconfiguration_status_map[];
extern const struct api_kind migconfiguration_kind;
