#include "agent/plugin/plugin_lists.h"

#include <stdlib.h>

#include "base/array.h"

void plugin_ids_done(struct plugin_ids *ids)
{
	for (size_t i = 0; i < ids->len; i++)
		json_strs_done(&ids->items[i]);
	array_done(ids);
}

void plugin_wishes_done(struct plugin_wishes *wishes)
{
	for (size_t i = 0; i < wishes->len; i++) {
		json_strs_done(&wishes->items[i].available);
		json_strs_done(&wishes->items[i].must_include);
	}
	array_done(wishes);
}

void plugin_allocations_done(struct plugin_allocations *allocations)
{
	for (size_t i = 0; i < allocations->len; i++)
		allocation_done(&allocations->items[i]);
	array_done(allocations);
}

void plugin_listed_done(struct plugin_listed *list)
{
	for (size_t i = 0; i < list->len; i++) {
		free(list->items[i].id);
		free(list->items[i].health);
	}
	array_done(list);
}
