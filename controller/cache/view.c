#include "controller/cache/view.h"

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
#include "base/str.h"
#include "controller/cache/view_kinds.h"
#include "controller/cache/view_text.h"

static const unsigned long long hash_start = 0xcbf29ce484222325;

/* Add another string to the hash @h. */
static unsigned long long hash(unsigned long long h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3;
	return h;
}

/* --- objects of a node -------------------------------------------------------------------------- */

/* NULL: none. */
static const char *text_of(const struct view *view, enum view_text text)
{
	const char *value = view_text(view, text);

	return *value ? value : NULL;
}

static uint16_t count_of(int count)
{
	if (count < 0)
		return 0;
	return count > UINT16_MAX ? UINT16_MAX : (uint16_t)count;
}

void *view_of_owned(const void *object)
{
	const struct owned *owned = object;
	struct view *view = view_with_texts(owned);
	const char *node = text_of(view, VIEW_TEXT_NODE);

	view->node = node ? node : view_text(view, VIEW_TEXT_NODE_LABEL);
	view->deleting = owned->meta.deletion_timestamp != NULL;
	view->enabled = owned->spec.enabled;
	view->vfs = count_of(owned->spec.num_vfs);
	return view;
}

void *view_of_device(const void *object)
{
	const struct owned *owned = object;
	struct view *view = view_of_owned(owned);

	view->resource = text_of(view, VIEW_TEXT_RESOURCE);
	view->model = text_of(view, VIEW_TEXT_MODEL);
	view->pod = text_of(view, VIEW_TEXT_POD);
	view->allocated = owned->status.allocations.len > 0;
	return view;
}

void *view_of_pcidevice(const void *object)
{
	const struct owned *owned = object;
	const char *class_id = owned->status.class_id;
	struct view *view = view_of_device(owned);
	const char *override = text_of(view, VIEW_TEXT_OVERRIDE);

	if (override)
		view->resource = override;
	view->fixed = override != NULL;
	view->lent = api_conditions_find(&owned->status.conditions, "Offered") != NULL;
	view->ready = api_conditions_status(&owned->status.conditions, "Offered") == API_TRUE;
	view->bridge = class_id && strcmp(class_id, "0604") == 0;
	view->vfs = count_of(owned->status.total_vfs);
	return view;
}

/* The API server increments the generation with every change of the spec. */
static uint32_t spec_hash_of(const struct api_meta *meta)
{
	auto_free char *generation = xasprintf("%lld", (long long)meta->generation);
	unsigned long long h = hash(hash_start, generation);

	for (size_t i = 0; i < meta->annotations.len; i++) {
		h = hash(h, "\n");
		h = hash(h, meta->annotations.items[i].key);
		h = hash(h, "=");
		h = hash(h, meta->annotations.items[i].value);
	}
	return (uint32_t)(h ^ h >> 32);
}

static struct view *view_of_claim(const struct owned *owned, const char *finalizer)
{
	struct view *view = view_of_owned(owned);
	const struct api_conditions *conditions = &owned->status.conditions;

	view->resource = text_of(view, VIEW_TEXT_OVERRIDE);
	view->alone = owned->spec.disable_resource_pooling;
	view->group = owned->spec.include_iommu_group;
	view->skipped = api_meta_annotation(&owned->meta, NAMES_ANNOTATION_SKIP_VFIO) != NULL;
	view->marked = api_meta_has_finalizer(&owned->meta, finalizer);
	view->ready = api_conditions_status(conditions, "Ready") == API_TRUE;
	view->reach = reach_of_conditions(conditions);
	view->spec_hash = spec_hash_of(&owned->meta);
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

char *view_resource(const char *name, const struct view *device, const struct view *claim)
{
	struct pcidevice pci = { 0 };
	struct pcideviceclaim request = { 0 };
	char *lent;

	if (device->fixed || !claim)
		return xstrdup_or_null(device->resource);
	pci.meta.name = xstrdup(name);
	pci.status.resource_name = xstrdup_or_null(device->resource);
	request.spec.disable_resource_pooling = claim->alone;
	if (claim->resource)
		json_pairs_set(&request.meta.annotations, NAMES_ANNOTATION_RESOURCE_NAME,
			       claim->resource);
	lent = resource_lent(&pci, NULL, &request);
	json_pairs_done(&request.meta.annotations);
	free(pci.status.resource_name);
	free(pci.meta.name);
	return lent;
}

/* --- nodes, their agents, pools ----------------------------------------------------------------- */

void *view_of_node(const void *object)
{
	const struct seen_node *node = object;
	const struct json_pairs *offers = &node->status.allocatable;
	auto_str struct str names = STR_INIT;
	struct view_node *view;

	for (size_t i = 0; i < offers->len; i++) {
		if (*offers->items[i].key)
			str_add_mem(&names, offers->items[i].key, strlen(offers->items[i].key) + 1);
	}
	str_add_mem(&names, "", 1);
	view = xcalloc(1, sizeof(*view) + names.len);
	memcpy(view->resources, names.buf, names.len);
	view->ready = api_conditions_status(&node->status.conditions, "Ready") == API_TRUE;
	view->deleting = node->meta.deletion_timestamp != NULL;
	return view;
}

const char *view_node_resource(const struct view_node *node, size_t *at)
{
	const char *name = node->resources + *at;

	if (!*name)
		return NULL;
	*at += strlen(name) + 1;
	return name;
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

unsigned long long view_status_hash(const struct devicepool_status *status)
{
	auto_json json_t *json = json_map_encode(devicepool_status_map, status);
	auto_free char *text = json_map_text(json);

	return hash(hash_start, text);
}

void *view_of_pool(const void *object)
{
	const struct devicepool *pool = object;
	const char *resource = pool->spec.resource_name ? pool->spec.resource_name : "";
	struct view_pool *view = xcalloc(1, sizeof(*view) + strlen(resource) + 1);

	memcpy(view->resource, resource, strlen(resource) + 1);
	view->hash = view_status_hash(&pool->status);
	view->deleting = pool->meta.deletion_timestamp != NULL;
	return view;
}
