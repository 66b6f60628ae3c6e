/* pcideviceclaim: PCIDeviceClaim of devices.harvesterhci.io/v1beta1. The first four spec fields
 * and the first two status fields are Harvester's; the others are ours and optional. */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

struct pcideviceclaim_spec {
	char *address;
	char *node_name;
	char *user_name;
	bool disable_resource_pooling;
	bool include_iommu_group; /* also claim the rest of the IOMMU group */
	char *driver;             /* passthrough driver; NULL: vfio-pci */
	char *release;            /* "None": leave it without a driver afterwards */
};

struct pcideviceclaim_status {
	char *kernel_driver_to_unbind;
	bool passthrough_enabled;
	int64_t observed_generation;
	char *iommu_group;                    /* decimal; NULL: none */
	struct json_strs iommu_group_members; /* addresses, including its own, sorted */
	char *step;                           /* the current step; NULL: none */
	char *holder;                         /* what blocks the claim; NULL: nothing */
	struct api_conditions conditions;
};

struct pcideviceclaim {
	struct api_meta meta;
	struct pcideviceclaim_spec spec;
	struct pcideviceclaim_status status;
};

extern const struct json_row pcideviceclaim_status_map[];
extern const struct api_kind pcideviceclaim_kind;

/* True if the claim's device is bound and can be handed out: Ready is True, or only the
 * kubelet's offer is missing. */
bool pcideviceclaim_is_ready_to_offer(const struct pcideviceclaim *claim);

/* Does its annotation leave the device on its driver? */
bool pcideviceclaim_is_skipped(const struct pcideviceclaim *claim);
