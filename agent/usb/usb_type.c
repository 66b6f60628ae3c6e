#include "agent/usb/usb_type.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/inventory.h"
#include "agent/node/this_node.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugin_offers.h"
#include "agent/resource/offers.h"
#include "agent/resource/resource_env.h"
#include "agent/usb/usb_bundles.h"
#include "agent/usb/usb_node.h"
#include "agent/usb/usb_offer.h"
#include "agent/usb/usb_owners.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

static const char env_prefix[] = "USB_RESOURCE";

struct usb_selected_list {
	struct usb_selected *items;
	size_t len, cap;
};

struct usb_type {
	const struct usb_view *view;
	struct usb_selected_list selected;
	struct json_strs by_dra; /* ports of healthy devices */
	struct usb_bundles bundles;
	struct usb_owners *owners;
	struct map *seen; /* port path -> uint64_t *: inode of its node when it was scanned */
};

static struct usb_node_at node_at(const struct usb_type *type, const char *device_path)
{
	return (struct usb_node_at){ type->view->node->helper.dev_root, device_path,
				     type->view->calls };
}

/* --- nodes ------------------------------------------------------------------------------------ */

void usb_type_seen(struct usb_type *type)
{
	const struct inventory_set *set = &type->view->node->inventory->sets[INVENTORY_USB];

	map_free_with(type->seen, free);
	type->seen = map_new();
	for (size_t i = 0; i < set->len; i++) {
		const struct usbdevice_status *is =
			&((const struct usbdevice *)set->objects[i])->status;
		struct usb_node_at at = node_at(type, is->device_path);
		struct usb_node node;
		uint64_t *inode;

		if (!is->device_path || !is->port_path || usb_node_read(&at, &node, NULL) < 0)
			continue;
		inode = xcalloc(1, sizeof(*inode));
		*inode = node.inode;
		free(map_set(type->seen, is->port_path, inode));
	}
}

void usb_type_restore_node(struct usb_type *type, const char *port_path)
{
	usb_owners_restore(type->owners, port_path);
}

/* Its node must be the one that was there when the device was scanned: the kernel makes another one
 * for each device that it enumerates. */
static int chown_node(struct usb_type *type, const struct usbdevice_status *device, struct err *err)
{
	const uint64_t *seen = map_get(type->seen, device->port_path);
	struct usb_node_at at = node_at(type, device->device_path);
	struct usb_node owner = { .uid = USB_NODE_UID, .gid = USB_NODE_GID };
	struct usb_node node;
	int r = usb_node_read(&at, &node, err);

	if (r < 0)
		return err_wrap(err, "device in port '%s' is gone, or was plugged in again",
				device->port_path);
	if (!seen || *seen != node.inode)
		return err_set(err, ERR_RETRY, -ESTALE,
			       "device in port '%s' was plugged in again and is not known yet",
			       device->port_path);
	owner.inode = node.inode;
	r = usb_owners_add(type->owners, device, &node, err);
	if (r == 0)
		r = usb_node_set_owner(&at, &owner, err);
	return r < 0 ? err_wrap(err, "device in port '%s'", device->port_path) : 0;
}

static bool pod_has(const struct usb_type *type, const char *port_path)
{
	const struct pcidevice_allocations *list =
		offers_allocations(type->view->offers, port_path);

	return list && list->len > 0;
}

/* Set QEMU's owner again if the owner was restored while the kubelet did not list the pod, or if
 * udev applied its rule again: a restarted container gets the owner that the node has then. */
static void chown_again(struct usb_type *type, const struct usbdevice_status *is)
{
	struct usb_node_at at = node_at(type, is->device_path);
	struct err err = { 0 };
	struct usb_node node;

	if (!is->device_path || usb_node_read(&at, &node, NULL) < 0)
		return;
	if (!usb_node_is_for_qemu(&node) && pod_has(type, is->port_path) &&
	    chown_node(type, is, &err) < 0)
		log_warn("a pod's device node is not its own any more",
			 log_str("node", is->device_path), log_str("reason", err.msg));
}

static void chown_all_again(struct usb_type *type, const struct usb_offers *offers)
{
	for (size_t i = 0; i < offers->len; i++) {
		for (size_t k = 0; k < offers->items[i].len; k++)
			chown_again(type, &offers->items[i].devices[k]->status);
	}
}

void usb_type_clear(struct usb_type *type)
{
	struct json_strs ports = { 0 };

	usb_owners_ports(type->owners, &ports);
	for (size_t i = 0; i < ports.len; i++) {
		auto_free char *holder = NULL;

		if (offers_allocations(type->view->offers, ports.items[i]) &&
		    offers_is_free(type->view->offers, ports.items[i], &holder))
			usb_type_restore_node(type, ports.items[i]);
	}
	json_strs_done(&ports);
}

bool usb_type_has_changed_nodes(const struct usb_type *type)
{
	return usb_owners_len(type->owners) > 0;
}

/* --- what is offered -------------------------------------------------------------------------- */

static void set_resources(struct usb_type *type, const struct usb_offers *offers,
			  struct plugins *plugins)
{
	auto_free struct plugin_offer *list = xcalloc(offers->len + 1, sizeof(*list));

	for (size_t i = 0; i < offers->len; i++) {
		const struct usb_offer *offer = &offers->items[i];

		list[i] = (struct plugin_offer){
			.resource = offer->resource,
			.claimed = offer->claimed,
			.device = {
				.id = offer->id,
				.healthy = !offer->trouble,
				.numa_node = -1,
				.trouble = offer->trouble,
				.dra = offer->dra,
			},
		};
	}
	plugin_offers_set(plugins, &usb_device_type, type, list, offers->len);
}

static void selected_list_done(struct usb_selected_list *list)
{
	for (size_t i = 0; i < list->len; i++) {
		free(list->items[i].port_path);
		free(list->items[i].resource);
		free(list->items[i].trouble);
	}
	array_done(list);
}

static bool is_selected_equal(const struct usb_selected_list *a, const struct usb_selected_list *b)
{
	bool equal = a->len == b->len;

	for (size_t i = 0; i < a->len && equal; i++)
		equal = strcmp(a->items[i].port_path, b->items[i].port_path) == 0 &&
			strcmp(a->items[i].resource, b->items[i].resource) == 0 &&
			str_equal(a->items[i].trouble, b->items[i].trouble);
	return equal;
}

/* True: it changed. */
static bool remember_selected(struct usb_type *type, const struct usb_offers *offers)
{
	struct usb_selected_list before = type->selected;
	bool changed;

	type->selected = (struct usb_selected_list){ 0 };
	for (size_t i = 0; i < offers->len; i++) {
		const struct usb_offer *offer = &offers->items[i];

		for (size_t k = 0; k < offer->len && !offer->claimed; k++)
			*array_add(&type->selected) = (struct usb_selected){
				.port_path = xstrdup(offer->devices[k]->status.port_path),
				.resource = xstrdup(offer->resource),
				.trouble = xstrdup_or_null(offer->trouble),
			};
	}
	changed = !is_selected_equal(&before, &type->selected);
	selected_list_done(&before);
	return changed;
}

static void remember_dra(struct usb_type *type, const struct usb_offers *offers)
{
	json_strs_done(&type->by_dra);
	for (size_t i = 0; i < offers->len; i++) {
		if (offers->items[i].dra && !offers->items[i].trouble)
			json_strs_add(&type->by_dra, offers->items[i].id);
	}
}

bool usb_type_offers_by_dra(const struct usb_type *type, const char *port_path)
{
	return json_strs_has(&type->by_dra, port_path);
}

bool usb_type_offer(struct usb_type *type, struct plugins *plugins,
		    struct config_troubles *troubles)
{
	struct usb_offers offers;
	bool changed;

	usb_offers_find(type->view, &type->bundles, &offers, troubles);
	set_resources(type, &offers, plugins);
	chown_all_again(type, &offers);
	changed = remember_selected(type, &offers);
	remember_dra(type, &offers);
	usb_offers_done(&offers);
	return changed;
}

const struct usb_selected *usb_type_selected(const struct usb_type *type, const char *port_path)
{
	for (size_t i = 0; i < type->selected.len; i++) {
		if (strcmp(type->selected.items[i].port_path, port_path) == 0)
			return &type->selected.items[i];
	}
	return NULL;
}

/* --- Allocate --------------------------------------------------------------------------------- */

static int add_nodes(struct usb_type *type, const struct usb_offer *offer,
		     struct allocation *allocation, struct str *value, struct err *err)
{
	for (size_t i = 0; i < offer->len; i++) {
		const struct usbdevice_status *is = &offer->devices[i]->status;
		unsigned bus = 0;
		unsigned device = 0;
		int r = chown_node(type, is, err);

		if (r < 0)
			return r;
		(void)usb_node_numbers(is->device_path, &bus, &device);
		allocation_add_device(allocation, is->device_path, "mrw");
		str_addf(value, "%s%u:%u", value->len ? "," : "", bus, device);
	}
	return 0;
}

static const struct usb_offer *find(const struct usb_offers *offers, const char *resource,
				    const char *id)
{
	for (size_t i = 0; i < offers->len; i++) {
		if (strcmp(offers->items[i].id, id) == 0 &&
		    strcmp(offers->items[i].resource, resource) == 0)
			return &offers->items[i];
	}
	return NULL;
}

static int add_all(struct usb_type *type, const struct usb_offers *offers, const char *resource,
		   const struct json_strs *ids, struct allocation *allocation, struct err *err)
{
	auto_str struct str value = STR_INIT;
	auto_free char *name = resource_env(env_prefix, resource);

	for (size_t i = 0; i < ids->len; i++) {
		const struct usb_offer *offer = find(offers, resource, ids->items[i]);
		int r;

		if (!offer)
			return err_set(err, ERR_INVALID, -ENODEV, "'%s' is no device of '%s' now",
				       ids->items[i], resource);
		if (offer->trouble)
			return err_set(err, ERR_INVALID, -EHOSTDOWN, "device '%s' is not ready: %s",
				       offer->id, offer->trouble);
		r = add_nodes(type, offer, allocation, &value, err);
		if (r < 0)
			return r;
	}
	json_pairs_set(&allocation->envs, name, str_cstr(&value));
	return 0;
}

static int allocate(void *arg, const char *resource, const struct json_strs *ids,
		    struct allocation *allocation, struct err *err)
{
	struct usb_type *type = arg;
	struct usb_offers offers;
	int r;

	usb_offers_find(type->view, &type->bundles, &offers, NULL);
	r = add_all(type, &offers, resource, ids, allocation, err);
	usb_offers_done(&offers);
	return r;
}

static int check_start(const struct usb_view *view, const struct usb_offer *offer, struct err *err)
{
	for (size_t i = 0; i < offer->len; i++) {
		const char *port = offer->devices[i]->status.port_path;
		auto_free char *trouble = port ? offers_start_trouble(view->offers, port) : NULL;

		if (trouble)
			return err_set(err, ERR_RETRY, -EHOSTDOWN, "%s", trouble);
	}
	return 0;
}

static int find_nodes(void *arg, const char *id, struct json_strs *nodes, struct err *err)
{
	struct usb_type *type = arg;
	struct usb_offers offers;
	size_t before = nodes->len;
	int r = 0;

	usb_offers_find(type->view, &type->bundles, &offers, NULL);
	for (size_t i = 0; r == 0 && i < offers.len && nodes->len == before; i++) {
		const struct usb_offer *offer = &offers.items[i];

		if (strcmp(offer->id, id) != 0)
			continue;
		r = check_start(type->view, offer, err);
		for (size_t k = 0; r == 0 && k < offer->len; k++) {
			if (offer->devices[k]->status.device_path)
				json_strs_add(nodes, offer->devices[k]->status.device_path);
		}
	}
	usb_offers_done(&offers);
	if (r < 0 || nodes->len > before)
		return r;
	return err_set(err, ERR_INVALID, -EHOSTDOWN, "device '%s' is gone from the node", id);
}

static bool is_busy(void *arg, const char *id)
{
	const struct usb_type *type = arg;

	return offers_is_busy(type->view->offers, id);
}

const struct device_type usb_device_type = {
	.name = "usb", .allocate = allocate, .nodes = find_nodes, .is_busy = is_busy
};

/* --- life ------------------------------------------------------------------------------------- */

struct usb_type *usb_type_new(const struct usb_view *view)
{
	struct usb_type *type = xcalloc(1, sizeof(*type));

	type->view = view;
	type->seen = map_new();
	type->owners = usb_owners_new(view);
	return type;
}

struct usb_type *usb_type_free(struct usb_type *type)
{
	if (!type)
		return NULL;
	usb_owners_free(type->owners);
	map_free_with(type->seen, free);
	usb_bundles_done(&type->bundles);
	selected_list_done(&type->selected);
	json_strs_done(&type->by_dra);
	free(type);
	return NULL;
}
