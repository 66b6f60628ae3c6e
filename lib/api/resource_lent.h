/*
 * resource_lent: the extended resource that a claimed PCI device is lent as.
 *
 * The first of these that a kubelet takes, and that is not KubeVirt's own: the override annotation of the PCIDevice, that of the
 * claim, a name of the device's own if the claim switches pooling off, the name of the inventory.
 */
#pragma once

struct api_meta;
struct pcidevice;
struct pcideviceclaim;

/* Of @device as the inventory has it; @seen is its object at the API server, @claim its claim; both may
 * be NULL. The caller frees. */
char *resource_lent(const struct pcidevice *device, const struct api_meta *seen,
		    const struct pcideviceclaim *claim);

/* The override annotation that no kubelet would take as a name, or that is KubeVirt's, and that is ignored
 * therefore: the device's, or the claim's; NULL: there is none. Borrowed, and as it came from the user. */
const char *resource_lent_refused(const struct api_meta *seen, const struct pcideviceclaim *claim);

/* Why the name @refused is ignored. Static. */
const char *resource_lent_reason(const char *refused);
