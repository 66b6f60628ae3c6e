/*
 * nvidia_type: the device type of NVIDIA's GPUs. Resources, IDs and answers are those of NVIDIA's
 * device plugin: nvidia.com/gpu and nvidia.com/mig-PROFILE; units are named by UUID, shares of a
 * device "UUID::0", "UUID::1" and so on.
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

/* How the container runtime learns which GPUs a container has; bits. */
enum nvidia_list {
	NVIDIA_LIST_ENVVAR = 1,          /* the variable NVIDIA_VISIBLE_DEVICES   */
	NVIDIA_LIST_VOLUME_MOUNTS = 2,   /* mounts of /dev/null instead of it     */
	NVIDIA_LIST_CDI_ANNOTATIONS = 4, /* CDI devices in an annotation          */
	NVIDIA_LIST_CDI_CRI = 8,         /* CDI devices in the answer itself      */
	NVIDIA_LIST_CDI = NVIDIA_LIST_CDI_ANNOTATIONS | NVIDIA_LIST_CDI_CRI,
};

/* The argument of the device type. Borrowed. */
struct nvidia_type {
	const struct nvidia_gpus *gpus;
	const struct nvidia_config *config;
	enum nvidia_mig_strategy mig;
	unsigned lists;
	struct clock *clock;              /* for random names */
	const struct helper_place *place; /* its /dev and /proc */
	/* Why a healthy device cannot be allocated; NULL: it can. Valid until the GPUs change. The
	 * callback may be NULL. */
	const char *(*hindrance)(void *arg, const struct nvidia_device *device);
	void *arg;
};

/* The bit of "envvar", "volume-mounts", "cdi-annotations" or "cdi-cri"; 0 for any other text. */
unsigned nvidia_list_from_text(const char *text);

/* Why @device is not allocated to containers; NULL: it is. Valid until the GPUs change. */
const char *nvidia_type_trouble(const struct nvidia_type *type, const struct nvidia_device *device);

/* Offer the devices whose UUID is known through @plugins. All units of a change go in one call. */
void nvidia_type_offer(struct nvidia_type *type, struct plugins *plugins);
