/* group_pods: an IOMMU group opens once, so that it serves one pod at a time. */
#pragma once

struct json_strs;
struct pcidevice;
struct pci_view;

/*
 * Why @device cannot be given to a pod as @resource, for the caller to free: a pod has another function of its
 * group, or is about to. NULL: it can, also again to the pod that has it. @together: what is given along with
 * it in one call; NULL: nothing.
 *
 * Which pod it was that was given a device is not known at first. It is another one than the next
 * if both get theirs of one resource, since a container gets all its devices of a resource in one call;
 * else if more than CUSTODY_FRESH_MS (custody.h) went by.
 */
char *group_pods_trouble(const struct pci_view *view, const struct pcidevice *device,
			 const char *resource, const struct json_strs *together);
