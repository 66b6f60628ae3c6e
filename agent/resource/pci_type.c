#include "agent/resource/pci_type.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/vendor_vfio.h"
#include "agent/node/this_node.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugin_offers.h"
#include "agent/resource/group_pods.h"
#include "agent/resource/pci_selected.h"
#include "agent/resource/resource_env.h"
#include "agent/resource/vfio_node.h"
#include "api/names.h"
#include "api/offered_resource.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/array.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/store.h"

/* --- what the kernel has now ------------------------------------------------------------------ */

static const char *or_none(const char *driver)
{
	return driver ? driver : "no driver";
}

/* NULL with errno set on error. */
static char *link_name(const char *folder, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", folder, name);

	return file_link_name(path);
}

/* What has no driver has no link. -1 with errno set: it could not be read. */
static int driver_now(const char *folder, char **ret_driver)
{
	char *driver = link_name(folder, "driver");

	if (!driver && errno != ENOENT)
		return -1;
	*ret_driver = driver;
	return 0;
}

static char *own_trouble(const char *folder, const struct pcidevice *device, const char *wanted)
{
	auto_free char *driver = NULL;
	auto_free char *group = NULL;

	if (access(folder, F_OK) < 0)
		return errno == ENOENT
			       ? xstrdup("it is gone from the node")
			       : xasprintf("'%s' cannot be read: %s", folder, strerror(errno));
	if (driver_now(folder, &driver) < 0)
		return xasprintf("its driver cannot be read: %s", strerror(errno));
	if (strcmp(or_none(driver), or_none(wanted)) != 0)
		return xasprintf("it is on %s now, not on %s", or_none(driver), or_none(wanted));
	group = link_name(folder, "iommu_group");
	if (!group)
		return xasprintf("its IOMMU group cannot be read: %s", strerror(errno));
	if (!device->status.iommu_group || strcmp(group, device->status.iommu_group) != 0)
		return xasprintf("it is in the IOMMU group %s now", group);
	return NULL;
}

static char *other_trouble(const struct pci_view *view, const char *folder, const char *address)
{
	auto_free char *other = xasprintf("%s/%s", folder, address);
	auto_free char *driver = NULL;

	if (driver_now(other, &driver) < 0)
		return xasprintf("the driver of %s of its IOMMU group cannot be read: %s", address,
				 strerror(errno));
	if (!pci_selected_hinders(view, address, driver))
		return NULL;
	return xasprintf("%s of its IOMMU group is bound to %s now", address, driver);
}

/*
 * Why @device cannot be handed out, for the caller to free; NULL: it is there, in its group and on
 * the driver @wanted, and the group's others have drivers that the kernel lets beside it. Reads
 * links, which asks no driver.
 */
static char *pci_now_trouble(const struct pci_view *view, const struct pcidevice *device,
			     const char *wanted)
{
	auto_free char *folder =
		xasprintf("%s/bus/pci/devices/%s",
			  view->node->helper.sysfs_root ? view->node->helper.sysfs_root : "/sys",
			  device->status.address);
	auto_free char *members = xasprintf("%s/iommu_group/devices", folder);
	char *trouble = own_trouble(folder, device, wanted);
	const char *name;
	struct dir dir;

	if (trouble)
		return trouble;
	if (dir_open(&dir, AT_FDCWD, members) < 0)
		return xasprintf("its IOMMU group cannot be read: %s", strerror(errno));
	while (!trouble && (name = dir_next(&dir))) {
		if (strcmp(name, device->status.address) != 0)
			trouble = other_trouble(view, members, name);
	}
	if (!trouble && dir.code < 0)
		trouble = xasprintf("its IOMMU group cannot be read: %s", strerror(-dir.code));
	dir_done(&dir);
	return trouble;
}

/* --- the type --------------------------------------------------------------------------------- */

static const char env_prefix[] = "PCI_RESOURCE";

struct last_offers {
	struct pci_last_offer *items;
	size_t len, cap;
};

struct pci_type {
	const struct pci_view *view;
	struct last_offers offered;
};

/* A function to offer. Texts are borrowed from the view, except two. */
struct pci_offer {
	const char *address;
	const struct pcidevice *device; /* the inventory's */
	const char *root;
	bool claimed;
	char *resource;
	char *trouble;    /* NULL: it is healthy                                   */
	bool group_taken; /* the trouble: a pod has another function of its group */
	bool by_claim;    /* the trouble: its claim is not ready, or is deleted   */
	bool dra;         /* offered by DRA, not to the kubelet                   */
	bool on_demand;   /* likewise: its driver is its own until it is prepared */
	char *bound_for;  /* the ResourceClaim that it is; NULL: none             */
};

struct pci_offers {
	struct pci_offer *items;
	size_t len, cap;
};

static void pci_offer_done(struct pci_offer *offer)
{
	free(offer->resource);
	free(offer->trouble);
	free(offer->bound_for);
}

static const char *driver_of(const struct pcideviceclaim *claim)
{
	return claim->spec.driver && *claim->spec.driver ? claim->spec.driver : "vfio-pci";
}

/* Is it on the driver that the claim asks for, which may be its vendor's? */
static bool on_driver(const struct pci_view *view, const struct pcidevice *device,
		      const struct pcideviceclaim *claim)
{
	if (str_match(device->status.kernel_driver_in_use, driver_of(claim)))
		return true;
	return api_meta_annotation(&claim->meta, NAMES_ANNOTATION_SKIP_VFIO) &&
	       vendor_vfio_serves_at(view->node->inventory->facts, device->status.address);
}

/* The claim that has, or had, the device bound; NULL: none. A claim has its node's name before the
 * bind. */
static const struct pcideviceclaim *claim_of(const struct pci_view *view,
					     const struct pcidevice *device)
{
	const struct pcideviceclaim *claim = store_object(view->claims, device->meta.name);

	if (!claim || !str_match(claim->spec.node_name, view->node->name))
		return NULL;
	if (claim->status.passthrough_enabled)
		return claim;
	return on_driver(view, device, claim) ? claim : NULL;
}

/* NULL: its nodes are there, and no other pod could open them. */
static char *node_trouble(const struct pci_view *view, const struct pcidevice *device)
{
	auto_free char *node = vfio_group_node(device->status.iommu_group);

	if (!node)
		return xstrdup("it is in no IOMMU group");
	if (!vfio_node_exists(view->node->helper.dev_root, node))
		return xasprintf("%s is not there", node);
	if (!vfio_node_exists(view->node->helper.dev_root, VFIO_CONTAINER_NODE))
		return xstrdup(VFIO_CONTAINER_NODE " is not there: load the module vfio");
	return view->number ? view->number(view->arg, device->status.address) : NULL;
}

/* Why the device is not healthy now; NULL: it is. */
static char *trouble_of(const struct pci_view *view, const struct pcidevice *device,
			const struct pcideviceclaim *claim)
{
	const struct api_condition *ready = api_conditions_find(&claim->status.conditions, "Ready");
	const char *driver = device->status.kernel_driver_in_use;

	if (claim->meta.deletion_timestamp)
		return xstrdup("its PCIDeviceClaim is being deleted");
	if (!pcideviceclaim_is_ready_to_offer(claim))
		return xasprintf("its PCIDeviceClaim is not ready: %s",
				 ready && ready->message ? ready->message : "it says nothing yet");
	if (!on_driver(view, device, claim))
		return xasprintf("it is on %s, not on %s", driver ? driver : "no driver",
				 driver_of(claim));
	return node_trouble(view, device);
}

static bool find_selected_offer(const struct pci_view *view, const struct pcidevice *device,
				struct pci_offer *ret_offer)
{
	const char *resource = pci_selected_resource(view, device);
	char *trouble;

	if (!resource)
		return false;
	trouble = pci_selected_trouble(view, device);
	*ret_offer =
		(struct pci_offer){ .address = device->status.address,
				    .device = device,
				    .resource = xstrdup(resource),
				    .trouble = trouble ? trouble : node_trouble(view, device) };
	return true;
}

/* While it is bound for one, it is healthy: its ResourceClaim has it, and the others of its group
 * have not. */
static bool find_on_demand_offer(const struct pci_view *view, const struct pcidevice *device,
				 struct pci_offer *ret_offer)
{
	const char *resource =
		view->on_demand_trouble ? pci_selected_on_demand(view, device) : NULL;
	const char *address = device->status.address;

	if (!resource)
		return false;
	*ret_offer = (struct pci_offer){
		.address = address,
		.device = device,
		.resource = xstrdup(resource),
		.dra = true,
		.on_demand = true,
		.bound_for = view->bound_for ? view->bound_for(view->arg, address) : NULL,
	};
	if (!ret_offer->bound_for)
		ret_offer->trouble = view->on_demand_trouble(view->arg, address);
	return true;
}

static bool find_claimed_offer(const struct pci_view *view, const struct pcidevice *device,
			       struct pci_offer *ret_offer)
{
	const struct pcideviceclaim *claim = claim_of(view, device);
	const struct pcidevice *seen = store_object(view->devices, device->meta.name);
	char *resource = claim ? offered_resource(device, seen ? &seen->meta : NULL, claim) : NULL;

	if (!resource)
		return find_selected_offer(view, device, ret_offer);
	*ret_offer = (struct pci_offer){ .address = device->status.address,
					 .device = device,
					 .claimed = true,
					 .resource = resource,
					 .dra = pci_selected_for_dra(view, device),
					 .trouble = trouble_of(view, device, claim),
					 .by_claim = claim->meta.deletion_timestamp ||
						     !pcideviceclaim_is_ready_to_offer(claim) };
	return true;
}

/* Under two names the kubelet would allocate it to two pods. A pod that got it from the kubelet
 * keeps it from DRA. */
static void keep_name(const struct pci_view *view, struct pci_offer *offer)
{
	bool ours = false;
	const char *held = view->held_as ? view->held_as(view->arg, offer->address, &ours) : NULL;

	if (!held)
		return;
	offer->dra = false;
	offer->on_demand = false;
	if (strcmp(held, offer->resource) == 0)
		return;
	if (!ours) {
		free(offer->trouble);
		offer->trouble = xasprintf("a pod has it as %s", held);
		offer->by_claim = false;
		return;
	}
	str_set(&offer->resource, held);
}

/* False: it is not offered. The caller releases. */
static bool find_offer(const struct pci_view *view, const struct pcidevice *device,
		       struct pci_offer *ret_offer)
{
	if (!find_on_demand_offer(view, device, ret_offer) &&
	    !find_claimed_offer(view, device, ret_offer))
		return false;
	keep_name(view, ret_offer);
	return true;
}

/* --- what is offered -------------------------------------------------------------------------- */

static int by_resource(const void *a, const void *b)
{
	const struct pci_offer *x = a;
	const struct pci_offer *y = b;
	int order = strcmp(x->resource, y->resource);

	return order ? order : strcmp(x->address, y->address);
}

static void find_offers(const struct pci_view *view, struct pci_offers *offers)
{
	const struct facts *facts = view->node->inventory->facts;

	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];
		auto_free char *name = names_pcidevice(view->node->name, pci->address);
		const struct pcidevice *device =
			inventory_find(view->node->inventory, INVENTORY_PCI, name);
		struct pci_offer offer;

		if (!device || !find_offer(view, device, &offer))
			continue;
		if (!offer.trouble) {
			offer.trouble = group_pods_trouble(view, device, offer.resource, NULL);
			offer.group_taken = offer.trouble != NULL;
		}
		offer.root = pci->parents.len > 0 ? pci->parents.items[0] : NULL;
		*array_add(offers) = offer;
	}
	if (offers->len > 0)
		qsort(offers->items, offers->len, sizeof(*offers->items), by_resource);
}

static void set_resources(struct pci_type *type, const struct pci_offers *offers,
			  struct plugins *plugins)
{
	auto_free struct plugin_offer *list = xcalloc(offers->len + 1, sizeof(*list));

	for (size_t i = 0; i < offers->len; i++) {
		const struct pci_offer *offer = &offers->items[i];

		list[i] = (struct plugin_offer){
			.resource = offer->resource,
			.claimed = offer->claimed,
			.device = {
				.id = offer->address,
				.healthy = !offer->trouble,
				.numa_node = offer->device->status.numa_node,
				.root = offer->root,
				.group = offer->device->status.iommu_group,
				.trouble = offer->trouble,
				.group_taken = offer->group_taken,
				.dra = offer->dra,
				.on_demand = offer->on_demand,
			},
		};
	}
	plugin_offers_set(plugins, &pci_device_type, type, list, offers->len);
}

static void last_offers_done(struct last_offers *list)
{
	for (size_t i = 0; i < list->len; i++) {
		free(list->items[i].address);
		free(list->items[i].resource);
		free(list->items[i].trouble);
		free(list->items[i].bound_for);
	}
	array_done(list);
}

static const struct pci_last_offer *find_last_offer(const struct last_offers *list,
						    const char *address)
{
	for (size_t i = 0; i < list->len; i++) {
		if (strcmp(list->items[i].address, address) == 0)
			return &list->items[i];
	}
	return NULL;
}

static bool is_selected_alike(const struct pci_last_offer *a, const struct pci_last_offer *b)
{
	a = a && !a->claimed ? a : NULL;
	b = b && !b->claimed ? b : NULL;
	if (!a || !b)
		return a == b;
	return strcmp(a->resource, b->resource) == 0 && a->on_demand == b->on_demand &&
	       str_equal(a->trouble, b->trouble) && str_equal(a->bound_for, b->bound_for);
}

/* Of each function in @list that @other has otherwise, or of those that it lacks if @lacks. */
static void notify_selected(const struct pci_type *type, const struct last_offers *list,
			    const struct last_offers *other, bool lacks)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct pci_last_offer *is = find_last_offer(other, list->items[i].address);

		if (!(lacks && is) && !is_selected_alike(&list->items[i], is))
			type->view->selected(type->view->arg, list->items[i].address);
	}
}

/* In the order of resources. */
static void remember_offers(struct pci_type *type, const struct pci_offers *offers)
{
	struct last_offers before = type->offered;
	size_t from = 0;
	size_t healthy = 0;

	type->offered = (struct last_offers){ 0 };
	for (size_t i = 0; i < offers->len; i++) {
		const struct pci_offer *offer = &offers->items[i];
		bool last = i + 1 == offers->len ||
			    strcmp(offers->items[i + 1].resource, offer->resource) != 0;

		*array_add(&type->offered) =
			(struct pci_last_offer){ .address = xstrdup(offer->address),
						 .resource = xstrdup(offer->resource),
						 .trouble = xstrdup_or_null(offer->trouble),
						 .group_taken = offer->group_taken,
						 .by_claim = offer->by_claim,
						 .claimed = offer->claimed,
						 .dra = offer->dra,
						 .on_demand = offer->on_demand,
						 .bound_for = xstrdup_or_null(offer->bound_for) };
		healthy += !offer->trouble && !offer->dra;
		for (; last && from <= i; from++)
			type->offered.items[from].healthy = healthy;
		if (last)
			healthy = 0;
	}
	if (type->view->selected) {
		notify_selected(type, &type->offered, &before, false);
		notify_selected(type, &before, &type->offered, true);
	}
	last_offers_done(&before);
}

const struct pci_last_offer *pci_type_last_offer(const struct pci_type *type, const char *address)
{
	return find_last_offer(&type->offered, address);
}

void pci_type_offer(struct pci_type *type, struct plugins *plugins)
{
	struct pci_offers offers = { 0 };

	if (type->view->node->inventory)
		find_offers(type->view, &offers);
	set_resources(type, &offers, plugins);
	remember_offers(type, &offers);
	for (size_t i = 0; i < offers.len; i++)
		pci_offer_done(&offers.items[i]);
	array_done(&offers);
}

void pci_type_nodes(struct pci_type *type, struct json_strs *nodes)
{
	struct pci_offers offers = { 0 };

	if (type->view->node->inventory)
		find_offers(type->view, &offers);
	for (size_t i = 0; i < offers.len; i++) {
		/* A device on demand that is free has none. */
		if (!offers.items[i].on_demand)
			vfio_nodes_add(nodes, offers.items[i].device->status.iommu_group);
		pci_offer_done(&offers.items[i]);
	}
	array_done(&offers);
}

/* --- Allocate --------------------------------------------------------------------------------- */

static int refuse(struct err *err, const char *address, const char *why)
{
	return err_set(err, ERR_INVALID, -EHOSTDOWN, "device '%s' is not ready: %s", address, why);
}

static const struct pcidevice *find(const struct pci_view *view, const char *address)
{
	auto_free char *name = names_pcidevice(view->node->name, address);
	const struct pcidevice *device =
		view->node->inventory ? inventory_find(view->node->inventory, INVENTORY_PCI, name)
				      : NULL;

	return device && str_match(device->status.address, address) ? device : NULL;
}

static void add_nodes(const struct pci_view *view, const struct pcidevice *device,
		      struct allocation *allocation)
{
	auto_free char *group = vfio_group_node(device->status.iommu_group);
	auto_free char *own = vfio_own_node(view->node->helper.sysfs_root,
					    view->node->helper.dev_root, device->status.address);

	allocation_add_device(allocation, VFIO_CONTAINER_NODE, "mrw");
	allocation_add_device(allocation, group, "mrw");
	if (own)
		allocation_add_device(allocation, own, "mrw");
}

/* A function that was offered on demand is bound now, although the inventory may not show it yet.
 * That no other claim has its IOMMU group was checked before (agent/dra/claim_draft.c). */
static char *allocate_trouble(const struct pci_view *view, const struct pci_offer *offer,
			      const char *resource, const struct json_strs *together)
{
	const struct pcidevice *device = offer->device;
	char *trouble = pci_now_trouble(
		view, device, offer->on_demand ? "vfio-pci" : device->status.kernel_driver_in_use);

	if (trouble)
		return trouble;
	return offer->on_demand ? node_trouble(view, device)
				: group_pods_trouble(view, device, resource, together);
}

/* @together: all devices that the container requests, @address included. */
static int add_device(const struct pci_view *view, const char *resource, const char *address,
		      const struct json_strs *together, struct allocation *allocation,
		      struct err *err)
{
	const struct pcidevice *device = find(view, address);
	struct pci_offer offer;
	int r = 0;

	if (!device || !find_offer(view, device, &offer))
		return err_set(err, ERR_INVALID, -ENODEV, "there is no device '%s' to allocate",
			       address);
	if (!offer.trouble)
		offer.trouble = allocate_trouble(view, &offer, resource, together);
	if (strcmp(offer.resource, resource) != 0)
		r = err_set(err, ERR_INVALID, -ENODEV, "device '%s' belongs to '%s' now", address,
			    offer.resource);
	else if (offer.trouble)
		r = refuse(err, address, offer.trouble);
	else
		add_nodes(view, device, allocation);
	pci_offer_done(&offer);
	return r;
}

static int allocate(void *arg, const char *resource, const struct json_strs *ids,
		    struct allocation *allocation, struct err *err)
{
	const struct pci_type *type = arg;
	auto_str struct str value = STR_INIT;
	auto_free char *name = resource_env(env_prefix, resource);

	for (size_t i = 0; i < ids->len; i++) {
		int r = add_device(type->view, resource, ids->items[i], ids, allocation, err);

		if (r < 0)
			return r;
		str_addf(&value, "%s%s", i ? "," : "", ids->items[i]);
	}
	json_pairs_set(&allocation->envs, name, str_cstr(&value));
	return 0;
}

/* One pod at a time has functions of a group. The caller frees. */
static char *start_trouble(const struct pci_view *view, const struct pcidevice *device)
{
	const struct json_strs *members = &device->status.iommu_group_members;
	char *trouble = view->start ? view->start(view->arg, device->status.address) : NULL;

	for (size_t i = 0; view->start && !trouble && i < members->len; i++)
		trouble = view->start(view->arg, members->items[i]);
	return trouble;
}

static int find_nodes(void *arg, const char *address, struct json_strs *nodes, struct err *err)
{
	const struct pci_type *type = arg;
	const struct pcidevice *device = find(type->view, address);
	auto_free char *trouble = NULL;
	struct allocation now = { 0 };

	if (!device)
		return refuse(err, address, "it is gone from the node");
	trouble = pci_now_trouble(type->view, device, device->status.kernel_driver_in_use);
	if (trouble)
		return refuse(err, address, trouble);
	trouble = start_trouble(type->view, device);
	if (trouble)
		return err_set(err, ERR_RETRY, -EHOSTDOWN, "%s", trouble);
	add_nodes(type->view, device, &now);
	allocation_add_nodes(&now, nodes);
	allocation_done(&now);
	return 0;
}

/* Prefer devices of a group that a pod has only for that pod, which gets @musts again. */
static void prefer(void *arg, const char *resource, const struct json_strs *musts,
		   struct json_strs *ids)
{
	const struct pci_type *type = arg;
	struct json_strs kept = { 0 };

	for (size_t i = 0; i < ids->len; i++) {
		const struct pcidevice *device = find(type->view, ids->items[i]);
		auto_free char *trouble =
			device ? group_pods_trouble(type->view, device, resource, musts) : NULL;

		if (device && !trouble)
			json_strs_add(&kept, ids->items[i]);
	}
	json_strs_done(ids);
	*ids = kept;
}

static bool is_busy(void *arg, const char *address)
{
	const struct pci_type *type = arg;

	return type->view->busy && type->view->busy(type->view->arg, address);
}

const struct device_type pci_device_type = { .name = "pci",
					     .allocate = allocate,
					     .nodes = find_nodes,
					     .is_busy = is_busy,
					     .prefer = prefer };

struct pci_type *pci_type_new(const struct pci_view *view)
{
	struct pci_type *type = xcalloc(1, sizeof(*type));

	type->view = view;
	return type;
}

struct pci_type *pci_type_free(struct pci_type *type)
{
	if (!type)
		return NULL;
	last_offers_done(&type->offered);
	free(type);
	return NULL;
}
