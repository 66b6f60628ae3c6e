/*
 * slices: keeps the ResourceSlices of this node and driver, one per pool that DRA offers.
 *
 * Slices have fixed names and are written by server-side apply. A pool is a single slice of
 * generation 1, so it is complete at any time. A slice that somebody removes or edits is written
 * again at once; each kubelet removes them when it starts. Other slices of this node and driver are
 * removed. Slices that are up to date are not written. Fields that the API server drops because a
 * feature gate is off are logged once.
 *
 * An unhealthy device is not in its slice. Only while a ResourceClaim has it, it stays there with
 * the taint SLICES_TAINT, if the API server keeps taints (KEP-5055) and the slice is not too long
 * for them. Its effect is NoSchedule: NoExecute would delete the pods, and so end virtual machines.
 *
 * A pool without devices keeps an empty slice while the HostDeviceConfig selects its kind, because
 * without a slice the driver would seem to be gone. If the node's container runtime would start
 * containers without their devices (runtime_cdi.h), there are no slices.
 *
 * The slices stay when the agent ends; the kubelet removes those of a driver that does not return.
 */
#pragma once

#include <stdbool.h>

/* Of a device that is not healthy. */
#define SLICES_TAINT "hostdev.io/unhealthy"

enum { SLICES_TAINTED_MAX = 64 }; /* devices in a slice with taints; limit of the API */

struct dra_devices;
struct slices;
struct this_node;

/* Both are borrowed. No network traffic before slices_start(). @is_held: has a ResourceClaim the
 * device @id? Call slices_update() when that changes for a device that is not healthy. */
struct slices *slices_new(const struct this_node *node, const struct dra_devices *devices,
			  bool (*is_held)(void *arg, const char *id), void *arg);
/* Takes NULL, returns NULL. */
struct slices *slices_free(struct slices *slices);

/* Call it when the driver is registered with the kubelet. Later calls have no effect. */
void slices_start(struct slices *slices);

/* Call it when the devices, the selection of the HostDeviceConfig, or the Node (its UID or
 * container runtime) may have changed. */
void slices_update(struct slices *slices);
