#include "api/pcideviceclaim.h"

#include <string.h>

#include "api/names.h"
#include "base/mem.h"

static const struct json_row spec_map[] = {
	JSON_STR(struct pcideviceclaim_spec, address, "address", JSON_OPTIONAL),
	JSON_STR(struct pcideviceclaim_spec, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(struct pcideviceclaim_spec, user_name, "userName", JSON_OPTIONAL),
	JSON_BOOL(struct pcideviceclaim_spec, disable_resource_pooling, "disableResourcePooling",
		  JSON_OPTIONAL),
	JSON_BOOL(struct pcideviceclaim_spec, include_iommu_group, "includeIOMMUGroup",
		  JSON_OPTIONAL),
	JSON_STR(struct pcideviceclaim_spec, driver, "driver", JSON_OPTIONAL),
	JSON_STR(struct pcideviceclaim_spec, release, "release", JSON_OPTIONAL),
	JSON_END,
};

#define S struct pcideviceclaim_status
const struct json_row pcideviceclaim_status_map[] = {
	JSON_STR(S, kernel_driver_to_unbind, "kernelDriverToUnbind", JSON_ALWAYS),
	JSON_BOOL(S, passthrough_enabled, "passthroughEnabled", JSON_ALWAYS),
	JSON_INT(S, observed_generation, "observedGeneration", JSON_OPTIONAL),
	JSON_STR(S, iommu_group, "iommuGroup", JSON_OPTIONAL),
	JSON_STRS(S, iommu_group_members, "iommuGroupMembers", JSON_OPTIONAL),
	JSON_STR(S, step, "step", JSON_OPTIONAL),
	JSON_STR(S, holder, "holder", JSON_OPTIONAL),
	API_CONDITIONS(S),
	JSON_END,
};
#undef S

static const struct json_row map[] = {
	API_META(struct pcideviceclaim),
	JSON_STRUCT(struct pcideviceclaim, spec, "spec", JSON_OPTIONAL, struct pcideviceclaim_spec,
		    spec_map),
	JSON_STRUCT(struct pcideviceclaim, status, "status", JSON_OPTIONAL,
		    struct pcideviceclaim_status, pcideviceclaim_status_map),
	JSON_END,
};

const struct api_kind pcideviceclaim_kind = {
	.group = NAMES_GROUP,
	.version = NAMES_VERSION,
	.kind = "PCIDeviceClaim",
	.plural = "pcideviceclaims",
	.size = sizeof(struct pcideviceclaim),
	.map = map,
};

bool pcideviceclaim_is_ready_to_offer(const struct pcideviceclaim *claim)
{
	/* Reasons of the condition Offered: agent/claim/claim_status.c. */
	static const char *const awaited[] = { "NotOffered", "NameTaken", "GroupInUse",
					       "Unhealthy",  "NodeGone",  "NodeUnreadable" };
	const struct api_condition *ready = api_conditions_find(&claim->status.conditions, "Ready");

	if (!ready || !ready->status)
		return false;
	if (strcmp(ready->status, "True") == 0)
		return true;
	for (size_t i = 0; ready->reason && i < ARRAY_LEN(awaited); i++) {
		if (strcmp(ready->reason, awaited[i]) == 0)
			return true;
	}
	return false;
}

bool pcideviceclaim_is_skipped(const struct pcideviceclaim *claim)
{
	return api_meta_annotation(&claim->meta, NAMES_ANNOTATION_SKIP_VFIO) != NULL;
}
