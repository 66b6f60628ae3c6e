/*
 * permit_desired: the entries that KubeVirt's permittedHostDevices need for the resources we offer.
 *
 * Pure. Owns the entries; does not know existing entries. All have `externalResourceProvider:
 * true`: KubeVirt permits the resource but does not serve it with a plugin of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "controller/cache/view.h"

struct entry;
struct hostdeviceconfig;
struct store;

/* The lists of permittedHostDevices. */
enum permit_list { PERMIT_PCI, PERMIT_MEDIATED, PERMIT_USB, PERMIT_LISTS };

/* "pciHostDevices" */
const char *permit_list_name(enum permit_list list);

struct permit_entry {
	char *key; /* see permit_key() */
	json_t *json;
};

/* {0} is empty. After permit_desired_sort() it is ordered by key without duplicates. */
struct permit_desired {
	struct {
		struct permit_entry *items;
		size_t len, cap;
	} lists[PERMIT_LISTS];
};

/* A PCI device selected by "8086:10d3", or a mediated device by its type. */
void permit_desired_add(struct permit_desired *desired, enum permit_list list, const char *selector,
			const char *resource);

/* A USB device, or a bundle if there are several selectors. Takes ownership of @selectors:
 * [{"vendor","product"},...]. */
void permit_desired_add_usb(struct permit_desired *desired, const char *resource,
			    json_t *selectors);

void permit_desired_sort(struct permit_desired *desired);

/* Call after permit_desired_sort(); NULL: no entry has that key. */
const struct permit_entry *permit_desired_find(const struct permit_desired *desired,
					       enum permit_list list, const char *key);

/* Release; it is empty again. */
void permit_desired_done(struct permit_desired *desired);

/*
 * The identity of an entry: "8086:10d3=intel.com/X", "GRID_T4-1B=nvidia.com/GRID_T4-1B"; for a USB
 * entry its resource alone, because entries of one resource cannot be told apart. Ids are compared
 * without case. NULL: @entry is malformed. The caller frees it.
 */
char *permit_key(enum permit_list list, const json_t *entry);

/*
 * --- computing them ---
 *
 * From claims and configuration. Pure. A claim counts from its creation until it is deleted, so
 * that a virtual machine is not refused a device that the agent is about to bind. Configured
 * resources count as long as the configuration has them.
 */

/* @stores is indexed by enum view_kind; @config may be NULL. The entries are added to @desired,
 * which must be empty, and sorted. */
void permit_desired_compute(const struct store *const *stores,
			    const struct hostdeviceconfig *config, struct permit_desired *desired);

/* True if a change of the object @name of @kind may change the result. As in informer_handlers;
 * the stores have the new state. */
bool permit_desired_changed(const struct store *const *stores, enum view_kind kind,
			    const char *name, const struct entry *before,
			    const struct entry *after);
