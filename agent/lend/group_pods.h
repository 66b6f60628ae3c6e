/*
 * group_pods: an IOMMU group opens once, so that it serves one pod at a time.
 *
 * The kubelet names no pod when it asks for devices, and a list of its pods comes later. Whoever asks has what
 * a pod has in the group if
 * - it asks for a device again that this pod has, or for both in one call: the kubelet gives a pod's device
 *   to no other, only to the pod's next container (an init container's devices are used again);
 * - or it asks for a device of another resource while the container that was given the first one is not
 *   done yet (custody_gift.open): the kubelet calls once for each resource of a container, and admits one pod
 *   at a time.
 * Everybody else is refused. That may be the same pod: two of its containers that are given different
 * functions of a group, of which the second has none of the first's, look like two pods; side by side they
 * could not open the group either.
 *
 * The list that the kubelet has goes by it CUSTODY_RECENT_MS later (custody.h): what is Unhealthy there the
 * kubelet does not even ask for, and the next container of the pod may have a right to it.
 */
#pragma once

struct json_strs;
struct pcidevice;
struct pci_view;

/*
 * Why @device cannot be given to a pod as @resource, for the caller to free: another pod has a function of its
 * group, or is about to. NULL: it can, also again to the pod that has it. @together: all that the container
 * asks for, as @resource; NULL: nobody asks, this is for the list.
 */
char *group_pods_trouble(const struct pci_view *view, const struct pcidevice *device,
			 const char *resource, const struct json_strs *together);
