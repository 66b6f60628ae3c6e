/*
 * group_pods: an IOMMU group opens once, so that it serves one pod at a time.
 *
 * The kubelet names no pod when it asks for devices, a list of its pods comes later, and nothing else tells who asks.
 * What it lets us know (pkg/kubelet/cm/devicemanager/manager.go, 1.34) is
 * - that a pod's device goes to no other pod, only to the pod's next container (an init container's devices are used
 *   again): who asks for a device again is the pod that had it last, or that pod is gone;
 * - that it admits one container after the other, calls once for each resource of it, and writes its checkpoint, with
 *   the pod's UID, before anything else is admitted: what was given and is not written yet is of the container that
 *   asks now, or of one that was refused something and never runs.
 * So whoever asks has what a pod has in the group
 * - if it asks for a device again that this pod has, or for both in one call. That one pod has both say their calls
 *   (the device was given again after the other, or with it) or the UIDs in the checkpoint;
 * - or if it asks for a device of another resource while the container that was given the first one is not done yet
 *   (custody_gift.open). Without a checkpoint none is.
 * An agent that began anew knows no calls, and a list of a kubelet that began anew may name nobody. While the kubelet does not
 * say who has what (custody_written()), a function that its checkpoint names is somebody's, and so is each one while the
 * checkpoint cannot be read.
 * Everybody else is refused, at any distance in time. That may be the same pod: two of its containers that are given
 * different functions of a group, of which the second has none of the first's, look like two pods; side by side they
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
