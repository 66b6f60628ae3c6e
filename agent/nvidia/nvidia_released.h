/*
 * nvidia_released: the GPUs that the driver was asked to let go for claims, and whether they were
 * in persistence mode before: a file of the state directory, "nvidia.json", so that an agent that
 * was restarted gives back what its predecessor has taken.
 *
 * A GPU stays in it until the driver has taken it back. A boot ends it: the driver begins with its
 * defaults then.
 */
#pragma once

#include <stdbool.h>

struct nvidia_released;

/* @state_dir is borrowed; NULL: it is forgotten with this process. */
struct nvidia_released *nvidia_released_new(const char *state_dir);
/* Takes NULL, returns NULL. */
struct nvidia_released *nvidia_released_free(struct nvidia_released *released);

/* Is the GPU at @address in it? */
bool nvidia_released_has(const struct nvidia_released *released, const char *address,
			 bool *ret_persistent);

/* Add the GPU at @address, or change it; remove it. Written at once, if that is a change. */
void nvidia_released_set(struct nvidia_released *released, const char *address, bool persistent);
void nvidia_released_remove(struct nvidia_released *released, const char *address);
