/*
 * group_pods: one process can open an IOMMU group, so its functions go to one pod at a time.
 *
 * The kubelet's calls do not name the pod, and a list of its pods comes later. What is known about
 * the calls (pkg/kubelet/cm/devicemanager/manager.go, 1.34):
 * - A pod's device goes to no other pod, only to the pod's next container (an init container's devices are used
 *   again). So a second call for a device is from the pod that had it last, or that pod is gone.
 * - The kubelet admits one container after the other, calls once for each resource of the container, and writes its
 *   checkpoint, with the pod's UID, before it admits anything else. So an allocation that is not in the checkpoint yet
 *   is of the container of the current call, or of a container that was refused another resource and never runs.
 * So the call is from the pod that has a function of the group
 * - if it asks again for a device that this pod has, or for both devices. One pod has both if the calls show it (the
 *   device was given again after the other one, or with it) or if the UIDs in the checkpoint are equal;
 * - or if it asks for a device of another resource while the container that got the first device is not complete
 *   (ledger_allocation.open). Without a checkpoint no container is.
 * After its own restart the agent knows no calls, and after the kubelet's restart the list may name
 * no pods. While the kubelet does not list its pods (ledger_written()), a function that its
 * checkpoint names is in use. While the checkpoint cannot be read, every function is. All other
 * calls are refused, at any time. Such a call may be from the same pod: two of its containers with
 * different functions of a group, where the second has no function of the first, look like two
 * pods. They could not open the group at the same time either.
 *
 * The device list follows this only LEDGER_RECENT_MS later (ledger.h): the kubelet does not call
 * for an Unhealthy device, and the pod's next container may be entitled to it.
 */
#pragma once

struct json_strs;
struct pcidevice;
struct pci_view;

/*
 * Why @device cannot be given to a pod as @resource, for the caller to free: another pod has a
 * function of its group, or is about to get one. NULL: it can, also again to the pod that has it.
 * @together: all devices of @resource that the container asks for; NULL: this is for the device
 * list.
 */
char *group_pods_trouble(const struct pci_view *view, const struct pcidevice *device,
			 const char *resource, const struct json_strs *together);
