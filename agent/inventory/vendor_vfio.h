/*
 * vendor_vfio: functions that their vendor's own driver hands over to virtual machines, with no
 * need of vfio-pci. Pure.
 *
 * As KubeVirt has it: on the driver nvidia, no physical function, and a vGPU (its current_vgpu_type
 * is not zero). Such a driver serves the function's IOMMU group as vfio-pci would.
 */
#pragma once

#include <stdbool.h>

struct facts;
struct json_strs;
struct pci_facts;
struct vgpu_facts;

/* Append the addresses of the functions that may be vGPUs and are to be read. */
void vendor_vfio_candidates(const struct facts *facts, struct json_strs *addresses);

/* What was seen of the function @address; NULL: nothing, or it cannot be a vGPU. */
const struct vgpu_facts *vendor_vfio_find(const struct facts *facts, const char *address);

/* Can the function be handed over as it is? */
bool vendor_vfio_serves(const struct facts *facts, const struct pci_facts *pci);
/* The same for the function at @address, which may not be there. */
bool vendor_vfio_serves_at(const struct facts *facts, const char *address);
