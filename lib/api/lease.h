/* lease: Lease of coordination.k8s.io/v1. Times are MicroTimes (timefmt_rfc3339_micro). */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

struct lease_spec {
	char *holder_identity; /* NULL: released */
	int64_t lease_duration_seconds;
	char *acquire_time;
	char *renew_time;
	int64_t lease_transitions;
};

struct lease {
	struct api_meta meta;
	struct lease_spec spec;
};

extern const struct api_kind lease_kind;
