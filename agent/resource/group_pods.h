/*
 * group_pods: one process can open an IOMMU group, so its functions go to one pod at a time.
 *
 * The kubelet's calls do not name the pod, and the list of its pods comes later. The kubelet's
 * source (pkg/kubelet/cm/devicemanager/manager.go, 1.34) shows what can be relied on:
 * - A device of a pod goes only to the pod's next container, because devices of an init container
 *   are used again. So a second call for a device comes from the pod that had it last, or that pod
 *   is gone.
 * - The kubelet admits one container at a time. It calls once for each resource of the container,
 *   and writes its checkpoint, with the pod's UID, before it admits the next. So an allocation that
 *   is not in the checkpoint yet belongs to the container of the current call, or to a container
 *   that was refused another resource and never runs.
 *
 * A call comes from the pod that has a function of the group in these cases:
 * - It asks again for a device that this pod has, or for both devices. One pod has both if the
 *   calls show it (the later device was requested again after the first, or together with it) or if
 *   the UIDs in the checkpoint are equal.
 * - It asks for a device of another resource while the container of the first device is incomplete
 *   (ledger_allocation.open). Without a checkpoint, no container is incomplete.
 *
 * All other calls are refused. Such a call may come from the same pod: two of its containers with
 * different functions of a group, where the second has no function of the first, look like two
 * pods. They could not open the group at the same time either.
 *
 * After its own restart the agent knows no calls, and after the kubelet's restart the list may name
 * no pods. While the kubelet does not list its pods (ledger_written()), a function that the
 * checkpoint names is in use. While the checkpoint cannot be read, every function is in use.
 *
 * A function that is prepared for a ResourceClaim keeps the others of its group from all pods that
 * do not have that claim: what is prepared together is not checked here one against the other.
 *
 * The device list shows this LEDGER_RECENT_MS later (ledger.h): the kubelet never allocates an
 * Unhealthy device, and the pod's next container may be entitled to it.
 */
#pragma once

struct json_strs;
struct pcidevice;
struct pci_view;

/*
 * Explain why @device cannot be allocated to a pod as @resource: another pod has a function of its
 * group, or is about to get one. NULL: it can, also again to the pod that has it. The caller frees.
 * @together: all devices of @resource that the container requests; NULL: asked for the device list.
 */
char *group_pods_trouble(const struct pci_view *view, const struct pcidevice *device,
			 const char *resource, const struct json_strs *together);
