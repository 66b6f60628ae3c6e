/*
 * nvidia_devices: decides which GPUs and MIG devices are offered, under which resource, and in how
 * many shares. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/json_values.h"

struct nvidia_config;
struct nvidia_gpu;
struct nvidia_gpus;
struct nvidia_mig;
struct nvidia_sharing;

#define NVIDIA_RESOURCE "nvidia.com/gpu"

enum { NVIDIA_RESOURCE_SIZE = 64 };

/* What is offered of GPUs in MIG mode: the strategies of NVIDIA's plugin. */
enum nvidia_mig_strategy {
	/* the whole GPU, like GPUs without MIG */
	NVIDIA_MIG_NONE,
	/* their MIG devices as nvidia.com/gpu, if all devices of a node are alike */
	NVIDIA_MIG_SINGLE,
	/* their MIG devices by profile: nvidia.com/mig-1g.5gb */
	NVIDIA_MIG_MIXED,
};

/* Borrowed from the GPUs and the configuration. */
struct nvidia_device {
	const struct nvidia_gpu *gpu;
	const struct nvidia_mig *mig;         /* NULL: the whole GPU */
	const char *uuid;                     /* NULL: not known yet */
	char resource[NVIDIA_RESOURCE_SIZE];  /* by its type         */
	const struct nvidia_sharing *sharing; /* NULL: not shared    */
};

struct nvidia_devices {
	struct nvidia_device *items;
	size_t len, cap;
	struct json_strs left_out; /* "GPU-...: it has no MIG device" */
};

/*
 * The devices of all @gpus, sorted by the address of the GPU. The strategy single offers only GPUs
 * that are alike: GPUs without MIG, or those whose MIG devices all have the same profile. The
 * largest such group is offered, and the first one if several are equally large.
 */
void nvidia_devices_make(const struct nvidia_gpus *gpus, const struct nvidia_config *config,
			 enum nvidia_mig_strategy strategy, struct nvidia_devices *ret_devices);
/* Release. */
void nvidia_devices_done(struct nvidia_devices *devices);

/* The device with this UUID; NULL: none is offered. */
const struct nvidia_device *nvidia_devices_find(const struct nvidia_devices *devices,
						const char *uuid);

/* Has the resource @name devices that are shares or parts of GPUs? */
bool nvidia_devices_are_parts(const struct nvidia_devices *devices, const char *name);

/* Parse "none", "single" or "mixed". False: @text is another word. */
bool nvidia_mig_strategy_from_text(const char *text, enum nvidia_mig_strategy *ret_strategy);

/* The resource under which it is offered. */
const char *nvidia_device_resource(const struct nvidia_device *device);

/* The number of its units: its shares, or 1. */
unsigned nvidia_device_units(const struct nvidia_device *device);

/* The kubelet's ID of a unit: "GPU-...", or of a share "GPU-...::0". The caller frees. */
char *nvidia_unit_id(const struct nvidia_device *device, unsigned unit);

/* Is the unit @id a share? */
bool nvidia_unit_is_share(const char *id);

/* The UUID of the device of the unit @id, also if it is a unit of HAMi, "GPU-...-0". The caller
 * frees. */
char *nvidia_unit_uuid(const char *id);
