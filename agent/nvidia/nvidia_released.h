/*
 * nvidia_released: records the GPUs that the driver was asked to release for claims, and whether
 * they were in persistence mode before. The file nvidia.json in the state directory has them, so
 * that a restarted agent restores what its predecessor changed.
 *
 * A GPU stays in the record until the driver has attached it again. A boot clears the record,
 * because the driver then starts with its defaults.
 */
#pragma once

#include <stdbool.h>

struct nvidia_released;

/* @state_dir is borrowed; NULL: keep the record in memory only. */
struct nvidia_released *nvidia_released_new(const char *state_dir);
/* Takes NULL, returns NULL. */
struct nvidia_released *nvidia_released_free(struct nvidia_released *released);

/* Is the GPU at @address in the record? */
bool nvidia_released_has(const struct nvidia_released *released, const char *address,
			 bool *ret_persistent);

/* Add or update the GPU at @address, and remove it. A change is written at once. */
void nvidia_released_set(struct nvidia_released *released, const char *address, bool persistent);
void nvidia_released_remove(struct nvidia_released *released, const char *address);
