/*
 * nvidia_devices: which devices of the GPUs are offered, as which resource, and in how many shares. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct nvidia_config;
struct nvidia_gpu;
struct nvidia_gpus;
struct nvidia_sharing;

#define NVIDIA_RESOURCE "nvidia.com/gpu"

enum { NVIDIA_RESOURCE_SIZE = 64 };

/* Borrowed from the GPUs and the configuration. */
struct nvidia_device {
	const struct nvidia_gpu *gpu;
	const char *uuid;                     /* NULL: not told yet */
	char resource[NVIDIA_RESOURCE_SIZE];  /* by what it is      */
	const struct nvidia_sharing *sharing; /* NULL: it is offered as a whole */
};

struct nvidia_devices {
	struct nvidia_device *items;
	size_t len, cap;
};

/* All of them, by the address of their GPU. */
void nvidia_devices_make(const struct nvidia_gpus *gpus, const struct nvidia_config *config,
			 struct nvidia_devices *ret_devices);
/* Release. */
void nvidia_devices_done(struct nvidia_devices *devices);

/* The resource that it is offered as. */
const char *nvidia_device_resource(const struct nvidia_device *device);

/* How many units of it there are: its shares, or 1. */
unsigned nvidia_device_units(const struct nvidia_device *device);

/* The kubelet's ID of a unit: "GPU-...", or of a share "GPU-...::0". The caller frees. */
char *nvidia_unit_id(const struct nvidia_device *device, unsigned unit);

/* Is the unit @id a share? */
bool nvidia_unit_is_share(const char *id);

/* The UUID of the device that the unit @id is of. The caller frees. */
char *nvidia_unit_uuid(const char *id);
