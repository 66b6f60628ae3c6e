/*
 * permit_wish: the entries that KubeVirt's permittedHostDevices are to have because of what is lent.
 *
 * Pure. Owns the entries; knows neither who else has some there nor how they get there. All of them say
 * `externalResourceProvider: true`: KubeVirt permits the resource and serves it by no plugin of its own.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* The lists of permittedHostDevices. */
enum permit_list { PERMIT_PCI, PERMIT_MEDIATED, PERMIT_USB, PERMIT_LISTS };

/* "pciHostDevices" */
const char *permit_list_name(enum permit_list list);

struct permit_entry {
	char *key; /* of permit_key() */
	json_t *json;
};

/* {0} is empty. Ordered by key, each key once, after permit_wish_sort(). */
struct permit_wish {
	struct {
		struct permit_entry *items;
		size_t len, cap;
	} lists[PERMIT_LISTS];
};

/* A PCI device that is selected by "8086:10d3", or a mediated device by its type. */
void permit_wish_add(struct permit_wish *wish, enum permit_list list, const char *selector,
		     const char *resource);

/* A USB device, or with several selectors a bundle. Takes @selectors: [{"vendor","product"},...]. */
void permit_wish_add_usb(struct permit_wish *wish, const char *resource, json_t *selectors);

void permit_wish_sort(struct permit_wish *wish);

/* After permit_wish_sort(); NULL: there is none of that key. */
const struct permit_entry *permit_wish_find(const struct permit_wish *wish, enum permit_list list,
					    const char *key);

/* Release; the wish is empty again. */
void permit_wish_done(struct permit_wish *wish);

/*
 * What tells an entry from others: "8086:10d3=intel.com/X", "GRID_T4-1B=nvidia.com/GRID_T4-1B"; of a USB
 * entry its resource alone, as there is no telling two entries of one apart. Ids count whatever their case.
 * NULL: @entry is no entry. The caller frees.
 */
char *permit_key(enum permit_list list, const json_t *entry);
