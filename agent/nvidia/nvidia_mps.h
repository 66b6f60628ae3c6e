/*
 * nvidia_mps: containers as clients of NVIDIA's Multi-Process Service. The administrator runs one
 * control daemon for each resource, as NVIDIA's plugin does: its pipes are in ROOT/RESOURCE/pipe,
 * and all share ROOT/shm.
 */
#pragma once

#include <stdbool.h>

struct allocation;

/* Does a daemon serve @resource: has its folder of pipes the pipe "control"? @host_root: NULL for
 * /. */
bool nvidia_mps_is_served(const char *host_root, const char *mps_root, const char *resource);

/* Make the container a client: CUDA_MPS_PIPE_DIRECTORY, and mounts of that folder and of
 * /dev/shm. */
void nvidia_mps_add(const char *mps_root, const char *resource, struct allocation *allocation);
