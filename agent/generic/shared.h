/*
 * shared: the resources of one device type whose units are all alike, and what of them this node
 * cannot have.
 *
 * Tells the plugins only what has changed, however many units there are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/config/config.h"
#include "api/json_values.h"

struct plugin_device;
struct device_type;
struct plugins;

/* Zero at first. */
struct units {
	struct plugin_device *devices; /* as plugins_set() takes them */
	size_t len;
	struct json_strs ids;
};

/* One resource. */
struct shared_item {
	const char *list; /* of the config, static */
	int64_t index;    /* in that list */
	char *resource;
	const void *entry; /* the config's own, for the type; borrowed */
	struct units units;
	char *trouble;      /* why it is not healthy; NULL: it is       */
	char *report;       /* why the entry cannot be carried out here */
	const char *reason; /* the same in one word, static */
};

/* Zero at first. */
struct shared {
	struct shared_item *items;
	size_t len, cap;
	struct config_troubles troubles; /* entries that were not added */
	bool changed;
	const struct plugins *told; /* the plugins that know all but `changed` */
};

/* Forget all resources. What replaces them follows. */
void shared_clear(struct shared *shared);
/* Release. */
void shared_done(struct shared *shared);

/* Add a resource with @count units, all unhealthy at first. Set list, index, resource and entry of
 * @item. False if the resource exists already: then nothing is added, and the conflict is
 * reported. */
bool shared_add(struct shared *shared, const struct shared_item *item, size_t count);

/* Add to @troubles that @item has no effect. Set its list, index and resource. @reason is
 * static. */
void shared_tell(const struct shared_item *item, const char *reason, const char *message,
		 struct config_troubles *troubles);

/* The place of @resource; shared->len: there is none. */
size_t shared_find(const struct shared *shared, const char *resource);
/* The config's entry of @resource; NULL: there is none. */
const void *shared_entry(const struct shared *shared, const char *resource);

/* What is wrong with @item now; takes @trouble (NULL: nothing). */
void shared_set(struct shared *shared, struct shared_item *item, char *trouble);
/* What this node cannot do for the entry; takes @report (NULL: nothing). @reason is static. */
void shared_report(struct shared_item *item, const char *reason, char *report);

/* Make what @plugins offer of @type what there is, and add to @troubles what they do not take and
 * what was reported. */
void shared_offer(struct shared *shared, struct plugins *plugins, const struct device_type *type,
		  void *arg, struct config_troubles *troubles);

/* @count units, named after what stands behind the '/' of @resource, not healthy yet. */
void units_init(struct units *units, const char *resource, size_t count);

/* Release; there are none again. */
void units_done(struct units *units);
