/*
 * resources: the extended resources that there are in the cluster: of devices, and what nodes offer.
 *
 * A count per name, so that a question needs no walk over all devices.
 */
#pragma once

#include <stdbool.h>

struct entry;
struct resources;

struct resources *resources_new(void);
/* Takes NULL, returns NULL. */
struct resources *resources_free(struct resources *resources);

/* One more, one less; NULL and "" are none. */
void resources_add(struct resources *resources, const char *name);
void resources_remove(struct resources *resources, const char *name);

bool resources_has(const struct resources *resources, const char *name);

/* A PCIDevice, a USBDevice or a Node changed: as an informer tells it. */
void resources_pcidevice(struct resources *resources, const struct entry *before,
			 const struct entry *after);
void resources_usbdevice(struct resources *resources, const struct entry *before,
			 const struct entry *after);
void resources_node(struct resources *resources, const struct entry *before,
		    const struct entry *after);
