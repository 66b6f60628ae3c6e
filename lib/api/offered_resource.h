/*
 * offered_resource: the extended resource under which a claimed PCI device is offered.
 *
 * The first of these that the kubelet accepts and that is not reserved for KubeVirt: the override
 * annotation of the PCIDevice, that of the claim, a name unique to the device if the claim disables
 * pooling, the name in the inventory.
 */
#pragma once

struct api_meta;
struct pcidevice;
struct pcideviceclaim;

/* The resource name of @device from the inventory. @seen is its object at the API server, @claim
 * its claim; both may be NULL. The caller frees it. */
char *offered_resource(const struct pcidevice *device, const struct api_meta *seen,
		       const struct pcideviceclaim *claim);

/* The override annotation that is ignored because the kubelet would refuse it or it is reserved
 * for KubeVirt: the device's, or the claim's; NULL: none. Borrowed, and exactly as the user
 * wrote it. */
const char *offered_resource_refused(const struct api_meta *seen,
				     const struct pcideviceclaim *claim);

/* Why the name @refused is ignored. A static string. */
const char *offered_resource_reason(const char *refused);
