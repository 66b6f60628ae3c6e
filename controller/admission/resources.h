/*
 * resources: the extended resources in the cluster: those named by devices, claims and the
 * HostDeviceConfig, and those offered by nodes.
 *
 * Counted per name, so that a lookup does not iterate over all devices.
 */
#pragma once

#include <stdbool.h>

#include "controller/cache/view.h"

struct entry;
struct resources;

struct resources *resources_new(void);
/* Takes NULL, returns NULL. */
struct resources *resources_free(struct resources *resources);

/* Add one use of a name; NULL and "" are ignored. */
void resources_add(struct resources *resources, const char *name);

bool resources_has(const struct resources *resources, const char *name);

/* An object of @kind changed, as in informer.h; most kinds have no resources. */
void resources_on_change(struct resources *resources, enum view_kind kind,
			 const struct entry *before, const struct entry *after);
