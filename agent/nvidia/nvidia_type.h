/*
 * nvidia_type: NVIDIA's GPUs as devices of the kubelet, under the names and with the answers of
 * NVIDIA's device plugin: nvidia.com/gpu and nvidia.com/mig-PROFILE, units by UUID, and shares of a
 * device by "UUID::0", "UUID::1" and so on.
 */
#pragma once

#include <stddef.h>

#include "agent/nvidia/nvidia_devices.h"

struct helper_place;
struct nvidia_config;
struct nvidia_gpus;
struct plugins;

extern const struct device_type nvidia_device_type;

#define NVIDIA_CDI_KIND "nvidia.com/gpu"

/* How a container's runtime is told of its GPUs; bits. */
enum nvidia_list {
	NVIDIA_LIST_ENVVAR = 1,          /* the variable NVIDIA_VISIBLE_DEVICES   */
	NVIDIA_LIST_VOLUME_MOUNTS = 2,   /* mounts of /dev/null, in its place     */
	NVIDIA_LIST_CDI_ANNOTATIONS = 4, /* CDI devices in an annotation          */
	NVIDIA_LIST_CDI_CRI = 8,         /* CDI devices in the answer itself      */
	NVIDIA_LIST_CDI = NVIDIA_LIST_CDI_ANNOTATIONS | NVIDIA_LIST_CDI_CRI,
};

/* What the device type has as its argument. Borrowed. */
struct nvidia_type {
	const struct nvidia_gpus *gpus;
	const struct nvidia_config *config;
	enum nvidia_mig_strategy mig;
	unsigned lists;
	struct clock *clock;              /* for random names */
	const struct helper_place *place; /* its /dev and /proc */
	/* Why a healthy device cannot be given to a container; NULL: it can. Valid until they
	 * change; may be NULL itself. */
	const char *(*hindrance)(void *arg, const struct nvidia_device *device);
	void *arg;
};

/* The bit of "envvar", "volume-mounts", "cdi-annotations" or "cdi-cri"; 0: it is none of these. */
unsigned nvidia_list_from_text(const char *text);

/* Why @device is not given to containers; NULL: it is. Valid until the GPUs change. */
const char *nvidia_type_trouble(const struct nvidia_type *type, const struct nvidia_device *device);

/* Make what @plugins offer the devices that have told their UUID; all units of a change in one
 * call. */
void nvidia_type_offer(struct nvidia_type *type, struct plugins *plugins);
