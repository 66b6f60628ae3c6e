#include "agent/generic/shared.h"

#include <stdlib.h>
#include <string.h>

#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"

/* --- units of a resource ---------------------------------------------------------------------- */

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

/* All of them are healthy (@trouble NULL), or not for this reason, which is borrowed. */
static void units_set(struct units *units, const char *trouble)
{
	for (size_t i = 0; i < units->len; i++) {
		units->devices[i].healthy = !trouble;
		units->devices[i].trouble = trouble;
	}
}

/* --- what they share -------------------------------------------------------------------------- */

static void item_done(struct shared_item *item)
{
	free(item->resource);
	free(item->trouble);
	free(item->report);
	units_done(&item->units);
}

void shared_clear(struct shared *shared)
{
	for (size_t i = 0; i < shared->len; i++)
		item_done(&shared->items[i]);
	shared->len = 0;
	config_troubles_done(&shared->troubles);
	shared->changed = true;
}

void shared_done(struct shared *shared)
{
	shared_clear(shared);
	array_done(shared);
}

size_t shared_find(const struct shared *shared, const char *resource)
{
	size_t i = 0;

	while (i < shared->len && strcmp(shared->items[i].resource, resource) != 0)
		i++;
	return i;
}

const void *shared_entry(const struct shared *shared, const char *resource)
{
	size_t at = shared_find(shared, resource);

	return at < shared->len ? shared->items[at].entry : NULL;
}

void shared_tell(const struct shared_item *item, const char *reason, const char *message,
		 struct config_troubles *troubles)
{
	config_troubles_add(troubles, &(struct config_trouble_value){ .list = item->list,
								      .index = item->index,
								      .reason = reason,
								      .resource = item->resource,
								      .message = message });
}

bool shared_add(struct shared *shared, const struct shared_item *item, size_t count)
{
	static const char unseen[] = "it has not been looked at yet";
	size_t other = shared_find(shared, item->resource);
	struct shared_item *added;

	if (other < shared->len) {
		auto_free char *text = xasprintf("entry %lld has the same name on this node, and "
						 "the first counts",
						 (long long)shared->items[other].index);

		shared_tell(item, CONFIG_SAME_NAME, text, &shared->troubles);
		return false;
	}
	added = array_add(shared);
	*added = (struct shared_item){ .list = item->list,
				       .index = item->index,
				       .resource = xstrdup(item->resource),
				       .entry = item->entry,
				       .trouble = xstrdup(unseen) };
	units_init(&added->units, item->resource, count);
	units_set(&added->units, added->trouble);
	shared->changed = true;
	return true;
}

void shared_set(struct shared *shared, struct shared_item *item, char *trouble)
{
	if (str_equal(item->trouble, trouble)) {
		free(trouble);
		return;
	}
	free(item->trouble);
	item->trouble = trouble;
	units_set(&item->units, trouble);
	shared->changed = true;
}

void shared_report(struct shared_item *item, const char *reason, char *report)
{
	free(item->report);
	item->report = report;
	item->reason = reason;
}

static void tell_plugins(const struct shared *shared, struct plugins *plugins,
			 const struct device_type *type, void *arg)
{
	auto_free struct plugin_resource *resources = xcalloc(shared->len + 1, sizeof(*resources));

	for (size_t i = 0; i < shared->len; i++)
		resources[i] = (struct plugin_resource){
			.name = shared->items[i].resource,
			.devices = shared->items[i].units.devices,
			.ndevices = shared->items[i].units.len,
		};
	plugins_set(plugins, type, arg, resources, shared->len);
}

static void tell_taken(const struct shared_item *item, const char *owner,
		       struct config_troubles *troubles)
{
	auto_free char *text = xasprintf(
		"devices of another type (%s) already have this resource name on this node: give "
		"the entry another name",
		owner);

	shared_tell(item, CONFIG_NAME_TAKEN, text, troubles);
}

void shared_offer(struct shared *shared, struct plugins *plugins, const struct device_type *type,
		  void *arg, struct config_troubles *troubles)
{
	if (shared->changed || shared->told != plugins)
		tell_plugins(shared, plugins, type, arg);
	shared->changed = false;
	shared->told = plugins;
	config_troubles_join(troubles, &shared->troubles);
	for (size_t i = 0; i < shared->len; i++) {
		const struct shared_item *item = &shared->items[i];
		const char *owner = plugins_owner(plugins, item->resource);

		if (item->report)
			shared_tell(item, item->reason, item->report, troubles);
		if (owner && strcmp(owner, type->name) != 0)
			tell_taken(item, owner, troubles);
	}
}
