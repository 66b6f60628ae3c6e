#include "controller/admission/resources.h"

#include <stdlib.h>

#include "api/hostdeviceconfig.h"
#include "base/map.h"
#include "base/mem.h"
#include "controller/cache/view.h"
#include "kube/store.h"

struct resources {
	struct map *counts; /* name -> size_t */
};

struct resources *resources_new(void)
{
	struct resources *resources = xcalloc(1, sizeof(*resources));

	resources->counts = map_new();
	return resources;
}

struct resources *resources_free(struct resources *resources)
{
	if (!resources)
		return NULL;
	map_free_with(resources->counts, free);
	free(resources);
	return NULL;
}

void resources_add(struct resources *resources, const char *name)
{
	size_t *count;

	if (!name || !*name)
		return;
	count = map_get(resources->counts, name);
	if (!count) {
		count = xcalloc(1, sizeof(*count));
		map_set(resources->counts, name, count);
	}
	++*count;
}

static void resources_remove(struct resources *resources, const char *name)
{
	size_t *count = name ? map_get(resources->counts, name) : NULL;

	if (!count || --*count > 0)
		return;
	map_remove(resources->counts, name);
	free(count);
}

bool resources_has(const struct resources *resources, const char *name)
{
	return name && map_get(resources->counts, name);
}

typedef void count_fn(struct resources *resources, const char *name);

/* Add the new names before removing the old ones, so that an unchanged name never disappears. */
static void recount(struct resources *resources, const struct entry *before,
		    const struct entry *after,
		    void (*each)(struct resources *resources, const void *object, count_fn *count))
{
	if (after && after->object)
		each(resources, after->object, resources_add);
	if (before && before->object)
		each(resources, before->object, resources_remove);
}

/* The name in the status and the one in the annotation. */
static void each_of_owned(struct resources *resources, const void *object, count_fn *count)
{
	const struct view *view = object;

	count(resources, view_text(view, VIEW_TEXT_RESOURCE));
	count(resources, view_text(view, VIEW_TEXT_OVERRIDE));
}

static void each_of_node(struct resources *resources, const void *object, count_fn *count)
{
	const char *name;
	size_t at = 0;

	while ((name = view_node_resource(object, &at)))
		count(resources, name);
}

#define COUNT_LIST(list_)                                   \
	for (size_t i = 0; i < config->spec.list_.len; i++) \
	count(resources, config->spec.list_.items[i].resource_name)

static void each_of_config(struct resources *resources, const void *object, count_fn *count)
{
	const struct hostdeviceconfig *config = object;

	COUNT_LIST(pci_host_devices);
	COUNT_LIST(usb);
	COUNT_LIST(mediated_devices);
	COUNT_LIST(generic_devices);
	COUNT_LIST(socket_devices);
	if (config->spec.iommufd.enabled)
		count(resources, hostdeviceconfig_iommufd_resource(&config->spec.iommufd));
}

void resources_on_change(struct resources *resources, enum view_kind kind,
			 const struct entry *before, const struct entry *after)
{
	if (kind < VIEW_OWNED)
		recount(resources, before, after, each_of_owned);
	else if (kind == VIEW_CONFIG)
		recount(resources, before, after, each_of_config);
	else if (kind == VIEW_NODE)
		recount(resources, before, after, each_of_node);
}
