/* cluster_device: a device of a cluster out of its objects. A part of cluster_view.c, for nobody else. */
#pragma once

#include "cli/model/cluster.h"

/* Make @device of its own object (of @kind: CLUSTER_PCIDEVICE, CLUSTER_USBDEVICE or CLUSTER_MDEV). */
void cluster_device_take(struct cluster_device *device, enum cluster_kind kind, const void *object);

/* Make @device of a claim (of @kind: CLUSTER_PCICLAIM or CLUSTER_USBCLAIM) whose device is not there. */
void cluster_device_take_claim(struct cluster_device *device, enum cluster_kind kind,
			       const void *object);

/* Add to @device its claim, if @cluster has one. */
void cluster_device_add_claim(struct cluster_device *device, const struct cluster *cluster);
