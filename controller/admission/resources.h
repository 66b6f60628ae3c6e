/*
 * resources: the extended resources that there are in the cluster: those that devices, claims and the
 * HostDeviceConfig name, and those that nodes offer.
 *
 * A count per name, so that a question needs no walk over all devices.
 */
#pragma once

#include <stdbool.h>

#include "controller/views/view.h"

struct entry;
struct resources;

struct resources *resources_new(void);
/* Takes NULL, returns NULL. */
struct resources *resources_free(struct resources *resources);

/* One more, one less; NULL and "" are none. */
void resources_add(struct resources *resources, const char *name);
void resources_remove(struct resources *resources, const char *name);

bool resources_has(const struct resources *resources, const char *name);

/* An object of @kind changed, as an informer tells it; those of most kinds have no resources. */
void resources_hear(struct resources *resources, enum view_kind kind, const struct entry *before,
		    const struct entry *after);
