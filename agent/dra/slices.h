/*
 * slices: the ResourceSlices of this node and our driver, one for each pool that DRA offers.
 *
 * A slice has a fixed name and is applied, so it is written without a look-up. A pool is one slice
 * of generation 1, and so complete at every moment. The slices come back at once when somebody
 * removes or edits them, as each kubelet does at its start; slices of this node and driver that are
 * none of ours are removed. Nothing is written while they are as they should be. Fields that the API
 * server does not keep, since a feature gate of it is off, are named once in the log.
 *
 * A pool without devices keeps an empty slice as long as the HostDeviceConfig selects its kind: a
 * missing one would look as if the driver were gone. On a node whose container runtime would start
 * containers without their devices (runtime_cdi.h) there are no slices.
 *
 * The slices outlive the agent: the kubelet removes those of a driver that stays away.
 */
#pragma once

struct dra_devices;
struct slices;
struct this_node;

/* All borrowed. Nothing on the network before slices_start(). */
struct slices *slices_new(const struct this_node *node, const struct dra_devices *devices);
/* Takes NULL, returns NULL. */
struct slices *slices_free(struct slices *slices);

/* Once the driver is registered with the kubelet. A second call changes nothing. */
void slices_start(struct slices *slices);

/* The devices, what the HostDeviceConfig selects, or the Node (its UID, its container runtime) may
 * have changed. */
void slices_update(struct slices *slices);
