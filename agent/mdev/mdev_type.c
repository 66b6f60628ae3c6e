#include "agent/mdev/mdev_type.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/mdev_names.h"
#include "agent/node/this_node.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugin_offers.h"
#include "agent/resource/resource_env.h"
#include "agent/resource/vfio_node.h"
#include "api/mediateddevice.h"
#include "base/array.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

static const char env_prefix[] = "MDEV_PCI_RESOURCE";

struct mdev_type {
	const struct mdev_view *view;
};

/* One instance to offer. */
struct mdev_offer {
	const struct mediateddevice *device;
	const char *resource;
	bool claimed;  /* else by the HostDeviceConfig      */
	bool dra;      /* offered by DRA, not to the kubelet */
	char *trouble; /* NULL: it is healthy                */
};

struct mdev_offers {
	struct mdev_offer *items;
	size_t len;
	size_t cap;
};

/* The entry that offers an instance of this type; NULL: none. */
static const struct config_mdev *entry_for(const struct config *config,
					   const struct mediateddevice_status *status)
{
	for (size_t i = 0; config && status->type && i < config->mdevs.len; i++) {
		if (mdev_type_is(config->mdevs.items[i].type, status->type, status->type_name))
			return &config->mdevs.items[i];
	}
	return NULL;
}

const char *mdev_type_resource(const struct mdev_view *view, const struct mediateddevice *device)
{
	const struct mediateddevice_status *status = &device->status;
	const struct config_mdev *entry = entry_for(view->config, status);

	if (entry)
		return entry->external ? NULL : entry->resource;
	return view->otherwise ? view->otherwise(view->arg, status->uuid) : NULL;
}

/* Why the instance is not healthy now; NULL: it is. */
static char *own_trouble(const struct mdev_view *view, const struct mediateddevice *device)
{
	auto_free char *node = vfio_group_node(device->status.iommu_group);

	if (view->removing && view->removing(view->arg, device->status.uuid))
		return xstrdup("it is being removed");
	if (!node)
		return xstrdup("it is in no IOMMU group");
	if (!vfio_node_exists(view->node->helper.dev_root, node))
		return xasprintf("%s is not there", node);
	if (!vfio_node_exists(view->node->helper.dev_root, VFIO_CONTAINER_NODE))
		return xstrdup(VFIO_CONTAINER_NODE " is not there: load the module vfio");
	return view->number ? view->number(view->arg, device->status.uuid) : NULL;
}

/* False: it is not offered. Under two names the kubelet could allocate it to two pods, so it keeps
 * the resource while a pod has it; and a pod that got it from the kubelet keeps it from DRA. */
static bool find_offer(const struct mdev_view *view, const struct mediateddevice *device,
		       struct mdev_offer *ret_offer)
{
	const struct config_mdev *entry = entry_for(view->config, &device->status);
	const char *uuid = device->status.uuid;
	const char *resource = mdev_type_resource(view, device);
	bool ours = false;
	const char *held = resource && view->held_as ? view->held_as(view->arg, uuid, &ours) : NULL;

	if (!resource)
		return false;
	*ret_offer =
		(struct mdev_offer){ .device = device,
				     .resource = held && ours ? held : resource,
				     .claimed = !entry,
				     .dra = entry && entry->dra == CONFIG_DRA_CLAIMED && !held };
	ret_offer->trouble = held && strcmp(held, ret_offer->resource) != 0
				     ? xasprintf("a pod has it as %s", held)
				     : own_trouble(view, device);
	return true;
}

/* --- what is offered -------------------------------------------------------------------------- */

static int by_resource(const void *a, const void *b)
{
	const struct mdev_offer *x = a;
	const struct mdev_offer *y = b;
	int order = strcmp(x->resource, y->resource);

	return order ? order : strcmp(x->device->status.uuid, y->device->status.uuid);
}

static void find_offers(const struct mdev_view *view, struct mdev_offers *offers)
{
	const struct inventory_set *set = &view->node->inventory->sets[INVENTORY_MDEV];

	for (size_t i = 0; i < set->len; i++) {
		struct mdev_offer offer;

		if (find_offer(view, set->objects[i], &offer))
			*array_add(offers) = offer;
	}
	if (offers->len > 0)
		qsort(offers->items, offers->len, sizeof(*offers->items), by_resource);
}

static void set_resources(struct mdev_type *type, const struct mdev_offers *offers,
			  struct plugins *plugins)
{
	auto_free struct plugin_offer *list = xcalloc(offers->len + 1, sizeof(*list));

	for (size_t i = 0; i < offers->len; i++) {
		const struct mdev_offer *offer = &offers->items[i];

		list[i] = (struct plugin_offer){
			.resource = offer->resource,
			.claimed = offer->claimed,
			.device = {
				.id = offer->device->status.uuid,
				.healthy = !offer->trouble,
				.numa_node = offer->device->status.numa_node,
				.trouble = offer->trouble,
				.dra = offer->dra,
			},
		};
	}
	plugin_offers_set(plugins, &mdev_device_type, type, list, offers->len);
}

/* The entry before @entry that has all instances that it selects; NULL: it has one, or there are
 * none, which is how most nodes are. */
static const struct config_mdev *taken_by(const struct mdev_view *view,
					  const struct config_mdev *entry)
{
	const struct inventory_set *set = &view->node->inventory->sets[INVENTORY_MDEV];
	const struct config_mdev *other = NULL;

	for (size_t i = 0; i < set->len; i++) {
		const struct mediateddevice_status *status =
			&((const struct mediateddevice *)set->objects[i])->status;

		if (!status->type || !mdev_type_is(entry->type, status->type, status->type_name))
			continue;
		other = entry_for(view->config, status);
		if (other == entry)
			return NULL;
	}
	return other;
}

static void add_name_taken(const struct mdev_view *view, struct config_troubles *troubles)
{
	const struct config *config = view->config;

	for (size_t i = 0; config && i < config->mdevs.len; i++) {
		const struct config_mdev *entry = &config->mdevs.items[i];
		const struct config_mdev *other = entry->external ? NULL : taken_by(view, entry);
		auto_free char *text = NULL;

		if (!other)
			continue;
		text = xasprintf(
			"entry %zu with resource '%s' already selects all instances of this type: "
			"remove one of the two entries",
			other->index, other->resource);
		config_troubles_add(troubles, &(struct config_trouble_value){
						      .list = CONFIG_LIST_MDEV,
						      .index = (int64_t)entry->index,
						      .reason = CONFIG_DEVICES_TAKEN,
						      .resource = entry->resource,
						      .message = text,
					      });
	}
}

void mdev_type_offer(struct mdev_type *type, struct plugins *plugins,
		     struct config_troubles *troubles)
{
	struct mdev_offers offers = { 0 };

	if (type->view->node->inventory) {
		find_offers(type->view, &offers);
		add_name_taken(type->view, troubles);
	}
	set_resources(type, &offers, plugins);
	for (size_t i = 0; i < offers.len; i++)
		free(offers.items[i].trouble);
	array_done(&offers);
}

void mdev_type_nodes(struct mdev_type *type, struct json_strs *nodes)
{
	struct mdev_offers offers = { 0 };

	if (type->view->node->inventory)
		find_offers(type->view, &offers);
	for (size_t i = 0; i < offers.len; i++) {
		vfio_nodes_add(nodes, offers.items[i].device->status.iommu_group);
		free(offers.items[i].trouble);
	}
	array_done(&offers);
}

/* --- Allocate --------------------------------------------------------------------------------- */

static const struct mediateddevice *find(const struct mdev_view *view, const char *uuid)
{
	const struct inventory_set *set =
		view->node->inventory ? &view->node->inventory->sets[INVENTORY_MDEV] : NULL;

	for (size_t i = 0; set && i < set->len; i++) {
		const struct mediateddevice *device = set->objects[i];

		if (strcmp(device->status.uuid, uuid) == 0)
			return device;
	}
	return NULL;
}

static void add_nodes(const struct mdev_view *view, const struct mediateddevice *device,
		      struct allocation *allocation)
{
	auto_free char *group = vfio_group_node(device->status.iommu_group);
	auto_free char *own = vfio_mdev_node(view->node->helper.sysfs_root,
					     view->node->helper.dev_root, device->status.uuid);

	allocation_add_device(allocation, VFIO_CONTAINER_NODE, "mrw");
	allocation_add_device(allocation, group, "mrw");
	if (own)
		allocation_add_device(allocation, own, "mrw");
}

/* The number of a group that is gone is the next one's: its node would be there, and another's.
 * NULL: it is in the group that the last scan saw it in. */
static char *trouble_now(const struct mdev_view *view, const struct mediateddevice *device)
{
	const char *sysfs_root = view->node->helper.sysfs_root;
	auto_free char *path = xasprintf("%s/bus/mdev/devices/%s/iommu_group",
					 sysfs_root ? sysfs_root : "/sys", device->status.uuid);
	auto_free char *group = file_link_name(path);

	if (!group)
		return errno == ENOENT
			       ? xstrdup("it is gone from the node")
			       : xasprintf("its IOMMU group cannot be read: %s", strerror(errno));
	if (strcmp(group, device->status.iommu_group) == 0)
		return NULL;
	return xasprintf("it is in the IOMMU group %s now", group);
}

static int add_device(const struct mdev_view *view, const char *resource, const char *uuid,
		      struct allocation *allocation, struct err *err)
{
	const struct mediateddevice *device = find(view, uuid);
	auto_free char *trouble = NULL;
	struct mdev_offer offer;

	if (!device || !find_offer(view, device, &offer))
		return err_set(err, ERR_INVALID, -ENODEV,
			       "there is no mediated device '%s' to allocate", uuid);
	trouble = offer.trouble;
	if (strcmp(offer.resource, resource) != 0)
		return err_set(err, ERR_INVALID, -ENODEV, "device '%s' belongs to '%s' now", uuid,
			       offer.resource);
	if (!trouble)
		trouble = trouble_now(view, device);
	if (trouble)
		return err_set(err, ERR_INVALID, -EHOSTDOWN, "device '%s' is not ready: %s", uuid,
			       trouble);
	add_nodes(view, device, allocation);
	return 0;
}

static int allocate(void *arg, const char *resource, const struct json_strs *ids,
		    struct allocation *allocation, struct err *err)
{
	const struct mdev_type *type = arg;
	auto_str struct str value = STR_INIT;
	auto_free char *name = resource_env(env_prefix, resource);

	for (size_t i = 0; i < ids->len; i++) {
		int r = add_device(type->view, resource, ids->items[i], allocation, err);

		if (r < 0)
			return r;
		str_addf(&value, "%s%s", i ? "," : "", ids->items[i]);
	}
	json_pairs_set(&allocation->envs, name, str_cstr(&value));
	return 0;
}

static int find_nodes(void *arg, const char *uuid, struct json_strs *nodes, struct err *err)
{
	const struct mdev_type *type = arg;
	const struct mediateddevice *device = find(type->view, uuid);
	auto_free char *trouble = device ? trouble_now(type->view, device) : NULL;
	struct allocation now = { 0 };

	if (!device || trouble)
		return err_set(err, ERR_INVALID, -EHOSTDOWN, "device '%s' is not ready: %s", uuid,
			       trouble ? trouble : "it is gone from the node");
	trouble = type->view->start ? type->view->start(type->view->arg, uuid) : NULL;
	if (trouble)
		return err_set(err, ERR_RETRY, -EHOSTDOWN, "%s", trouble);
	add_nodes(type->view, device, &now);
	allocation_add_nodes(&now, nodes);
	allocation_done(&now);
	return 0;
}

static bool is_busy(void *arg, const char *uuid)
{
	const struct mdev_type *type = arg;

	return type->view->busy && type->view->busy(type->view->arg, uuid);
}

const struct device_type mdev_device_type = {
	.name = "mdev", .allocate = allocate, .nodes = find_nodes, .is_busy = is_busy
};

struct mdev_type *mdev_type_new(const struct mdev_view *view)
{
	struct mdev_type *type = xcalloc(1, sizeof(*type));

	type->view = view;
	return type;
}

struct mdev_type *mdev_type_free(struct mdev_type *type)
{
	free(type);
	return NULL;
}
