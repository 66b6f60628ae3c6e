#include "controller/views/view.h"

#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "api/json_map.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/resource_lent.h"
#include "base/mem.h"
#include "controller/views/view_kinds.h"

/* --- objects of a node -------------------------------------------------------------------------- */

static const char *node_of(const struct owned *owned)
{
	const char *label = api_meta_label(&owned->meta, NAMES_LABEL_NODE);

	if (owned->status.node_name)
		return owned->status.node_name;
	if (owned->spec.node_name)
		return owned->spec.node_name;
	return label ? label : "";
}

static struct view *view_new(const struct owned *owned, const char *resource)
{
	const char *node = node_of(owned);
	size_t node_size = strlen(node) + 1;
	size_t resource_size = resource ? strlen(resource) + 1 : 0;
	struct view *view = xcalloc(1, sizeof(*view) + node_size + resource_size);
	char *text = (char *)(view + 1);

	view->node = memcpy(text, node, node_size);
	if (resource)
		view->resource = memcpy(text + node_size, resource, resource_size);
	view->deleting = owned->meta.deletion_timestamp != NULL;
	view->allocated = owned->status.allocations.len > 0;
	return view;
}

void *view_of_owned(const void *object)
{
	return view_new(object, NULL);
}

void *view_of_device(const void *object)
{
	const struct owned *owned = object;

	return view_new(owned, owned->status.resource_name);
}

/* What kubelets take of the annotation @meta has. */
static const char *override_of(const struct api_meta *meta)
{
	const char *name = api_meta_annotation(meta, NAMES_ANNOTATION_RESOURCE_NAME);

	return name && names_valid_lent_resource(name) ? name : NULL;
}

void *view_of_pcidevice(const void *object)
{
	const struct owned *owned = object;
	const char *name = override_of(&owned->meta);
	struct view *view = view_new(owned, name ? name : owned->status.resource_name);

	view->fixed = name != NULL;
	return view;
}

static struct view *view_of_claim(const struct owned *owned, const char *finalizer)
{
	struct view *view = view_new(owned, override_of(&owned->meta));
	const struct api_conditions *conditions = &owned->status.conditions;

	view->alone = owned->spec.disable_resource_pooling;
	view->marked = api_meta_has_finalizer(&owned->meta, finalizer);
	view->ready = api_conditions_status(conditions, "Ready") == API_TRUE;
	view->reach = reach_said(conditions);
	return view;
}

void *view_of_pciclaim(const void *object)
{
	return view_of_claim(object, NAMES_FINALIZER_HARVESTER_PCI);
}

void *view_of_usbclaim(const void *object)
{
	return view_of_claim(object, NAMES_FINALIZER_HARVESTER_USB);
}

char *view_lent(const char *name, const struct view *device, const struct view *claim)
{
	struct pcidevice pci = { 0 };
	struct pcideviceclaim wish = { 0 };
	char *lent;

	if (device->fixed || !claim)
		return xstrdup_or_null(device->resource);
	pci.meta.name = xstrdup(name);
	pci.status.resource_name = xstrdup_or_null(device->resource);
	wish.spec.disable_resource_pooling = claim->alone;
	if (claim->resource)
		json_pairs_set(&wish.meta.annotations, NAMES_ANNOTATION_RESOURCE_NAME,
			       claim->resource);
	lent = resource_lent(&pci, NULL, &wish);
	json_pairs_done(&wish.meta.annotations);
	free(pci.status.resource_name);
	free(pci.meta.name);
	return lent;
}

/* --- nodes, their agents, pools ----------------------------------------------------------------- */

void *view_of_node(const void *object)
{
	const struct seen_node *node = object;
	struct view_node *view = xcalloc(1, sizeof(*view));

	view->ready = api_conditions_status(&node->status.conditions, "Ready") == API_TRUE;
	return view;
}

void *view_of_agent(const void *object)
{
	const struct seen_pod *pod = object;
	const char *node = pod->spec.node_name ? pod->spec.node_name : "";
	struct view_agent *view = xcalloc(1, sizeof(*view) + strlen(node) + 1);

	memcpy(view->node, node, strlen(node) + 1);
	view->running = !pod->meta.deletion_timestamp &&
			api_conditions_status(&pod->status.conditions, "Ready") == API_TRUE;
	return view;
}

static unsigned long long hash(const char *text)
{
	unsigned long long h = 0xcbf29ce484222325;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3;
	return h;
}

unsigned long long view_status_hash(const struct devicepool_status *status)
{
	auto_json json_t *json = json_map_encode(devicepool_status_map, status);
	auto_free char *text = json_map_text(json);

	return hash(text);
}

void *view_of_pool(const void *object)
{
	const struct devicepool *pool = object;
	const char *resource = pool->spec.resource_name ? pool->spec.resource_name : "";
	struct view_pool *view = xcalloc(1, sizeof(*view) + strlen(resource) + 1);

	memcpy(view->resource, resource, strlen(resource) + 1);
	view->hash = view_status_hash(&pool->status);
	return view;
}
