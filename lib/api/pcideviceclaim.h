/* pcideviceclaim: PCIDeviceClaim of devices.harvesterhci.io/v1beta1. The first four spec fields and the
 * first two status fields are Harvester's, the rest are ours and optional. */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

struct pcideviceclaim_spec {
	char *address;
	char *node_name;
	char *user_name;
	bool disable_resource_pooling;
	bool include_iommu_group; /* claim the whole IOMMU group with it */
	char *driver;             /* passthrough driver; NULL: vfio-pci  */
	char *release;            /* "None": without a driver afterwards */
};

struct pcideviceclaim_status {
	char *kernel_driver_to_unbind;
	bool passthrough_enabled;
	int64_t observed_generation;
	char *iommu_group;                    /* decimal; NULL: none                     */
	struct json_strs iommu_group_members; /* addresses, itself included, sorted      */
	char *step;                           /* what is being done; NULL: nothing       */
	char *holder;                         /* who stands in the way; NULL: nobody     */
	struct api_conditions conditions;
};

struct pcideviceclaim {
	struct api_meta meta;
	struct pcideviceclaim_spec spec;
	struct pcideviceclaim_status status;
};

extern const struct json_row pcideviceclaim_status_map[];
extern const struct api_kind pcideviceclaim_kind;

/* Is its device bound and fit to be lent? Then Ready is True, or waits for nothing but the kubelet's offer: whatever hinders
 * that alone. */
bool pcideviceclaim_lends(const struct pcideviceclaim *claim);
