#include "api/lease.h"

#include "api/names.h"

#define S struct lease_spec
static const struct json_row spec_map[] = {
	JSON_STR(S, holder_identity, "holderIdentity", JSON_OPTIONAL),
	JSON_INT(S, lease_duration_seconds, "leaseDurationSeconds", JSON_OPTIONAL),
	JSON_STR(S, acquire_time, "acquireTime", JSON_OPTIONAL),
	JSON_STR(S, renew_time, "renewTime", JSON_OPTIONAL),
	JSON_INT(S, lease_transitions, "leaseTransitions", JSON_OPTIONAL),
	JSON_END,
};
#undef S

static const struct json_row map[] = {
	API_META(struct lease),
	JSON_STRUCT(struct lease, spec, "spec", JSON_OPTIONAL, struct lease_spec, spec_map),
	JSON_END,
};

const struct api_kind lease_kind = {
	.group = "coordination.k8s.io",
	.version = "v1",
	.kind = "Lease",
	.plural = "leases",
	.ns = NAMES_NAMESPACE,
	.size = sizeof(struct lease),
	.map = map,
};
