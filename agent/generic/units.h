/* units: the units of a resource that many containers share: "kvm0", "kvm1" and so on, all in one
 * state. */
#pragma once

#include <stddef.h>

#include "api/json_values.h"

struct plugin_device;

/* Zero at first. */
struct units {
	struct plugin_device *devices; /* as plugins_set() takes them */
	size_t len;
	struct json_strs ids;
};

/* @count units, named after what stands behind the '/' of @resource, not healthy yet. */
void units_init(struct units *units, const char *resource, size_t count);
/* Release; there are none again. */
void units_done(struct units *units);

/* All of them are healthy (@trouble NULL), or not for this reason, which is borrowed. */
void units_set(struct units *units, const char *trouble);
