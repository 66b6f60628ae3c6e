#include "cli/model/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "api/devicepool.h"
#include "api/mediateddevice.h"
#include "api/migconfiguration.h"
#include "api/node.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/cluster_view.h"
#include "cli/model/dra.h"

struct cluster {
	struct map *objects[CLUSTER_KINDS]; /* by name */
	struct cluster_made made;
	char *caller;      /* NULL: not known */
	unsigned hidden;   /* kinds of claims */
	unsigned unlisted; /* likewise, that may not be listed */
	bool nodes_known;
	bool changed;
};

const struct api_kind *cluster_kind(enum cluster_kind kind)
{
	static const struct api_kind *const kinds[CLUSTER_KINDS] = {
		[CLUSTER_PCIDEVICE] = &pcidevice_kind,
		[CLUSTER_PCICLAIM] = &pcideviceclaim_kind,
		[CLUSTER_USBDEVICE] = &usbdevice_kind,
		[CLUSTER_USBCLAIM] = &usbdeviceclaim_kind,
		[CLUSTER_MDEV] = &mediateddevice_kind,
		[CLUSTER_SRIOV] = &sriovnetworkdevice_kind,
		[CLUSTER_GPU] = &sriovgpudevice_kind,
		[CLUSTER_VGPU] = &vgpudevice_kind,
		[CLUSTER_MIG] = &migconfiguration_kind,
		[CLUSTER_POOL] = &devicepool_kind,
		[CLUSTER_NODE] = &node_kind,
		[CLUSTER_SLICE] = &dra_slice_kind,
		[CLUSTER_RESOURCECLAIM] = &resourceclaim_kind,
		[CLUSTER_DEVICECLASS] = &dra_class_kind,
	};

	return kinds[kind];
}

const char *device_type_word(enum device_type type)
{
	static const char *const words[] = {
		[DEVICE_PCI] = "PCI",
		[DEVICE_USB] = "USB",
		[DEVICE_MDEV] = "mdev",
	};

	return words[type];
}

struct cluster *cluster_new(void)
{
	struct cluster *cluster = xcalloc(1, sizeof(*cluster));

	for (int kind = 0; kind < CLUSTER_KINDS; kind++)
		cluster->objects[kind] = map_new();
	cluster->changed = true;
	return cluster;
}

static void free_objects(struct map *objects, const struct api_kind *kind)
{
	size_t cursor = 0;
	const char *name;
	void *object;

	while (map_next(objects, &cursor, &name, &object))
		api_object_free(kind, object);
	map_free(objects);
}

struct cluster *cluster_free(struct cluster *cluster)
{
	if (!cluster)
		return NULL;
	cluster_made_done(&cluster->made);
	for (int kind = 0; kind < CLUSTER_KINDS; kind++)
		free_objects(cluster->objects[kind], cluster_kind((enum cluster_kind)kind));
	free(cluster->caller);
	free(cluster);
	return NULL;
}

void cluster_put(struct cluster *cluster, enum cluster_kind kind, void *object)
{
	const struct api_meta *meta = object;
	auto_free char *name = meta->namespace_ ? xasprintf("%s/%s", meta->namespace_, meta->name)
						: xstrdup(meta->name);

	api_object_free(cluster_kind(kind), map_set(cluster->objects[kind], name, object));
	cluster->changed = true;
}

void cluster_remove(struct cluster *cluster, enum cluster_kind kind, const char *name)
{
	api_object_free(cluster_kind(kind), map_remove(cluster->objects[kind], name));
	cluster->changed = true;
}

const void *cluster_get(const struct cluster *cluster, enum cluster_kind kind, const char *name)
{
	return map_get(cluster->objects[kind], name);
}

void cluster_know_nodes(struct cluster *cluster)
{
	cluster->nodes_known = true;
	cluster->changed = true;
}

bool cluster_nodes_known(const struct cluster *cluster)
{
	return cluster->nodes_known;
}

void cluster_set_caller(struct cluster *cluster, const char *user)
{
	str_set(&cluster->caller, user);
	cluster->changed = true;
}

void cluster_hide_claims(struct cluster *cluster, unsigned kinds, unsigned unlisted)
{
	cluster->hidden = kinds;
	cluster->unlisted = unlisted;
	cluster->changed = true;
}

bool cluster_hides_claims(const struct cluster *cluster, enum cluster_kind kind)
{
	return cluster->hidden & CLUSTER_SET(kind);
}

bool cluster_lists_claims(const struct cluster *cluster, enum cluster_kind kind)
{
	return !(cluster->unlisted & CLUSTER_SET(kind));
}

bool cluster_is_others(const struct cluster *cluster, const char *user)
{
	return *user && cluster->caller && strcmp(user, cluster->caller) != 0;
}

struct node_fault cluster_node_fault(const struct cluster *cluster, const char *name)
{
	if (!cluster->nodes_known)
		return (struct node_fault){ 0 };
	return node_judge(cluster_get(cluster, CLUSTER_NODE, name));
}

size_t cluster_count(const struct cluster *cluster, enum cluster_kind kind)
{
	return map_len(cluster->objects[kind]);
}

static int by_name(const void *a, const void *b)
{
	const struct api_meta *const *x = a;
	const struct api_meta *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

const void **cluster_objects(const struct cluster *cluster, enum cluster_kind kind, size_t *ret_len)
{
	const struct map *map = cluster->objects[kind];
	const void **list = xcalloc(map_len(map) + 1, sizeof(*list));
	size_t cursor = 0;
	size_t len = 0;
	const char *name;
	void *object;

	while (map_next(map, &cursor, &name, &object))
		list[len++] = object;
	qsort(list, len, sizeof(*list), by_name);
	*ret_len = len;
	return list;
}

const struct cluster_view *cluster_view(struct cluster *cluster)
{
	if (cluster->changed) {
		cluster_made_done(&cluster->made);
		cluster_made_init(&cluster->made, cluster);
		cluster->changed = false;
	}
	return &cluster->made.view;
}

struct cluster_device *cluster_device(struct cluster *cluster, enum device_type type,
				      const char *name)
{
	(void)cluster_view(cluster);
	return cluster_made_named(&cluster->made, type, name);
}

bool cluster_device_behind(const struct cluster_device *device, const char *address)
{
	const struct pcidevice *pci = device->type == DEVICE_PCI ? device->object : NULL;

	for (size_t i = 0; pci && i < pci->status.bridges.len; i++) {
		if (strcmp(pci->status.bridges.items[i], address) == 0)
			return true;
	}
	return false;
}

struct cluster_device *cluster_device_at(struct cluster *cluster, const char *node,
					 const char *address)
{
	(void)cluster_view(cluster);
	return cluster_made_at(&cluster->made, node, address);
}
