#include "agent/generic/units.h"

#include <stdlib.h>
#include <string.h>

#include "agent/plugin/device_type.h"
#include "base/array.h"
#include "base/mem.h"

enum { NAME_MAX_LEN = PLUGIN_ID_MAX - 6 }; /* and a number of at most five digits */

void units_init(struct units *units, const char *resource, size_t count)
{
	const char *slash = strchr(resource, '/');
	const char *name = slash ? slash + 1 : resource;

	*units = (struct units){ .len = count };
	units->devices = xcalloc(count + 1, sizeof(*units->devices));
	for (size_t i = 0; i < count; i++) {
		char *id = xasprintf("%.*s%zu", NAME_MAX_LEN, name, i);

		*array_add(&units->ids) = id;
		units->devices[i] = (struct plugin_device){ .id = id, .numa_node = -1 };
	}
}

void units_done(struct units *units)
{
	free(units->devices);
	json_strs_done(&units->ids);
	*units = (struct units){ 0 };
}

void units_set(struct units *units, const char *trouble)
{
	for (size_t i = 0; i < units->len; i++) {
		units->devices[i].healthy = !trouble;
		units->devices[i].trouble = trouble;
	}
}
