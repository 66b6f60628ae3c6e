#include "agent/claim/claim_limits.h"

#include "agent/inventory/limits.h"
#include "api/pcideviceclaim.h"
#include "base/mem.h"

/* As in crds/devices.harvesterhci.io_pcideviceclaims.yaml. */
enum {
	DRIVER_MAX = 255,
	GROUP_MAX = 10,
	MEMBERS_MAX = 1024,
	ADDRESS_MAX = 16,
	STEP_MAX = 64,
	HOLDER_MAX = 1024,
};

#define S struct pcideviceclaim_status
static const struct limit limits[] = {
	LIMIT(S, kernel_driver_to_unbind, DRIVER_MAX, NULL),
	LIMIT(S, iommu_group, GROUP_MAX, limit_is_number),
	LIMIT(S, step, STEP_MAX, NULL),
	LIMIT(S, holder, HOLDER_MAX, NULL),
};
#undef S

void claim_limits_apply(struct pcideviceclaim_status *status)
{
	limits_apply(limits, ARRAY_LEN(limits), status);
	limit_list(&status->iommu_group_members, MEMBERS_MAX, ADDRESS_MAX, limit_is_address);
	if (status->observed_generation < 0)
		status->observed_generation = 0;
}
