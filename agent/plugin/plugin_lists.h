/* plugin_lists: what the messages of the kubelet's device plugin API say, as structs of ours, which own
 * all that they hold. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/plugin/device_type.h"

/* One list of IDs per container. */
struct plugin_ids {
	struct json_strs *items;
	size_t len, cap;
};

/* What GetPreferredAllocation asks for one container. */
struct plugin_wish {
	struct json_strs available;
	struct json_strs must_include;
	size_t size;
};

struct plugin_wishes {
	struct plugin_wish *items;
	size_t len, cap;
};

struct plugin_allocations {
	struct allocation *items;
	size_t len, cap;
};

struct plugin_listed_device {
	char *id;
	char *health;
	int64_t numa_node; /* -1: none */
};

/* What a kubelet makes of a ListAndWatchResponse. */
struct plugin_listed {
	struct plugin_listed_device *items;
	size_t len, cap;
};

struct plugin_options {
	bool pre_start_required;
	bool preferred_allocation;
};

/* Release; the list is empty again. */
void plugin_ids_done(struct plugin_ids *ids);
void plugin_wishes_done(struct plugin_wishes *wishes);
void plugin_allocations_done(struct plugin_allocations *allocations);
void plugin_listed_done(struct plugin_listed *list);
