/*
 * device_list: the devices of one resource, checked, with the message that lists them for the
 * kubelet. Immutable; a new list replaces it.
 */
#pragma once

#include <stddef.h>

#include "agent/plugin/device_type.h"
#include "base/str.h"

struct err;
struct map;

/* To be read only. */
struct device_list {
	unsigned refs;
	struct plugin_device *items; /* texts are the list's */
	size_t len, cap;
	struct map *by_id;
	struct str message; /* a ListAndWatchResponse */
};

/* A device that is left out, and why. */
typedef void device_list_refused_fn(void *arg, const char *id, const struct err *err);

/*
 * Copy @devices, in their order. A device whose ID is empty, too long, not printable ASCII or a
 * duplicate is skipped, and @refused is called before this returns. -EMSGSIZE if the message would
 * be longer than a kubelet reads; then there is no list.
 */
int device_list_new(const struct plugin_device *devices, size_t ndevices,
		    device_list_refused_fn *refused, void *arg, struct device_list **ret_list,
		    struct err *err);

/* One more owner; returns the list. */
struct device_list *device_list_ref(struct device_list *list);
/* One owner less. Takes NULL, returns NULL. */
struct device_list *device_list_unref(struct device_list *list);

/* The device with this ID; NULL: there is none. */
const struct plugin_device *device_list_find(const struct device_list *list, const char *id);
