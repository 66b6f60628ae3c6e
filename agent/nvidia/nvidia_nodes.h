/*
 * nvidia_nodes: adds the device nodes of a GPU or MIG device to an allocation (passDeviceSpecs). A
 * container runtime that updates the device cgroup of a running container denies it all other
 * nodes.
 */
#pragma once

#include <stdbool.h>

struct allocation;
struct err;
struct helper_place;
struct nvidia_device;

/* Add the nodes that all GPUs share, if they exist below the /dev of @place. */
void nvidia_nodes_add_shared(const struct helper_place *place, struct allocation *allocation);

/*
 * Add /dev/nvidia<minor>, and of a MIG device the nodes of its GPU instance and compute instance,
 * which /proc/driver/nvidia-caps/mig-minors numbers: lines "gpu<minor>/gi<gi>/ci<ci>/access <n>".
 * Errors: -ENODEV if the driver does not report a number, and those of reading the file.
 */
int nvidia_nodes_add(const struct helper_place *place, const struct nvidia_device *device,
		     struct allocation *allocation, struct err *err);

/* Does the node have IMEX channel 0 (/dev/nvidia-caps-imex-channels/channel0)? */
bool nvidia_nodes_have_imex(const struct helper_place *place);

/* Add it. */
void nvidia_nodes_add_imex(struct allocation *allocation);
