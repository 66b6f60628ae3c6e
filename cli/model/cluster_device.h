/* cluster_device: makes a device of a cluster from its objects. Only for cluster_view.c. */
#pragma once

#include "cli/model/cluster.h"

/* Make @device from its own object (of @kind: CLUSTER_PCIDEVICE, CLUSTER_USBDEVICE or
 * CLUSTER_MDEV). */
void cluster_device_take(struct cluster_device *device, enum cluster_kind kind, const void *object);

/* Make @device from a claim (of @kind: CLUSTER_PCICLAIM or CLUSTER_USBCLAIM) whose device does
 * not exist. */
void cluster_device_take_claim(struct cluster_device *device, enum cluster_kind kind,
			       const void *object);

/* Add to @device its claim, if @cluster has one. */
void cluster_device_add_claim(struct cluster_device *device, const struct cluster *cluster);
