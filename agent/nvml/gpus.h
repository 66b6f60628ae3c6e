/*
 * gpus: the GPUs that a question is about, or that are watched, with the handles of this session of
 * the library.
 *
 * A GPU is known by its PCI address: the index moves when another one falls off the bus, and a
 * handle is of no use after a reset. Taking a handle initializes the GPU, which takes seconds on a
 * cold one. An error stays with its GPU: a problem in the reply, and the others go on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/nvml/nvml.h"

struct reply;

struct gpu {
	struct nvml_device *device;
	char address[NVML_ADDRESS_SIZE];
	char uuid[NVML_UUID_SIZE];
};

struct gpus {
	struct gpu items[NVML_GPUS_MAX];
	size_t len;
};

/* Addresses of GPUs, as PCI devices. */
struct gpu_addresses {
	char items[NVML_GPUS_MAX][NVML_ADDRESS_SIZE];
	size_t len;
};

/*
 * One GPU that is asked one thing after the other: GPU_ASK calls a function, notes an error as a
 * problem in the reply, and yields true if there was none. What this GPU or this driver does not
 * support is no problem, unless GPU_NEED calls it. After a code that says that the GPU is gone,
 * nothing more is called.
 */
struct gpu_look {
	const struct nvml *nvml;
	struct reply *reply;
	const char *address; /* NULL: not known (yet)        */
	int index;           /* where there is no address; -1: of the system */
	bool gone;
	int code; /* of the last call */
};

#define GPU_ASK(look, name, ...) \
	(!(look)->gone &&        \
	 gpu_look_took(look, false, #name, NVML_CALL((look)->nvml, name, __VA_ARGS__)))
#define GPU_NEED(look, name, ...) \
	(!(look)->gone &&         \
	 gpu_look_took(look, true, #name, NVML_CALL((look)->nvml, name, __VA_ARGS__)))

bool gpu_look_took(struct gpu_look *look, bool needed, const char *function, int code);

/* Take handles of the GPUs at @addresses; all by index if there are none. Writes "at" lines and
 * problems; those that cannot be had are left out. */
void gpus_open(const struct nvml *nvml, const struct gpu_addresses *addresses, struct reply *reply,
	       struct gpus *ret_gpus);

/* The one at @address, or with @device; NULL if there is none. */
const struct gpu *gpus_at(const struct gpus *gpus, const char *address);
const struct gpu *gpus_with(const struct gpus *gpus, const struct nvml_device *device);
