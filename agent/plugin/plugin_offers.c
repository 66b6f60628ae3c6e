#include "agent/plugin/plugin_offers.h"

#include <stdlib.h>
#include <string.h>

#include "agent/plugin/plugins.h"
#include "api/json_map.h"
#include "base/array.h"
#include "base/mem.h"

void plugin_offers_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		       const struct plugin_offer *offers, size_t len)
{
	auto_free struct plugin_device *devices = xcalloc(len + 1, sizeof(*devices));
	ARRAY(struct plugin_resource) resources = { 0 };
	struct json_strs names = { 0 };
	size_t next = 0;

	for (size_t i = 0; i < len; i++)
		(void)json_strs_add_new(&names, offers[i].resource);
	for (size_t n = 0; n < names.len; n++) {
		struct plugin_resource *resource = array_add(&resources);

		*resource = (struct plugin_resource){ .name = names.items[n],
						      .devices = &devices[next] };
		for (size_t i = 0; i < len; i++) {
			if (strcmp(offers[i].resource, resource->name) != 0)
				continue;
			devices[next++] = offers[i].device;
			resource->ndevices++;
			resource->claimed = resource->claimed || offers[i].claimed;
		}
	}
	plugins_set(plugins, type, type_arg, resources.items, resources.len);
	array_done(&resources);
	json_strs_done(&names);
}
