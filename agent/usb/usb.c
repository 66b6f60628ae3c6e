#include "agent/usb/usb.h"

#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/use_log.h"
#include "agent/node/this_node.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/podresources.h"
#include "agent/resource/last_holder.h"
#include "agent/resource/offers.h"
#include "agent/usb/usb_claims.h"
#include "agent/usb/usb_identity.h"
#include "agent/usb/usb_names.h"
#include "agent/usb/usb_offer.h"
#include "agent/usb/usb_type.h"
#include "api/pcidevice.h"
#include "api/resource_name.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/informer.h"
#include "kube/store.h"

/* No event reports that a pod never started after Allocate, so the agent checks at this
 * interval. */
enum { OWNERS_MS = 30000 };

struct usb {
	const struct this_node *node;
	struct usb_deps deps;
	/* The node's inventory, whose USBDevices are named here; NULL: none yet */
	struct inventory *named;
	struct usb_view view;
	const struct config *config; /* the view's, once the USBDevices are known */
	struct usb_claims *claims;
	struct usb_type *type;
	struct clock_timer *timer;
	struct use_log *uses;           /* of sockets */
	struct clock_timer *free_timer; /* runs until all of them count as free, or are used */
	struct json_strs taken; /* claims whose resource claimed devices of another kind have */
	bool offered;           /* everything that is claimed has been offered once */
	bool selects;           /* everything that the HostDeviceConfig selects, too */
};

/* The claim that has the device of the socket @port; NULL: none. */
static const struct usbdeviceclaim *claim_of(const struct usb *usb, const char *port)
{
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(usb->view.claims, &cursor))) {
		const struct usbdeviceclaim *claim = entry->object;

		if (claim && str_match(claim->status.port_path, port) &&
		    !usbdeviceclaim_waits(claim) &&
		    str_match(claim->status.node_name, usb->node->name))
			return claim;
	}
	return NULL;
}

/* The USBDevice that was in the socket @port when it was written last, rather one that a pod had;
 * NULL: none. */
static const struct usbdevice *published_device(const struct usb *usb, const char *port)
{
	const struct store *devices = informer_store(usb->node->devices[INVENTORY_USB]);
	const struct usbdevice *found = NULL;
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(devices, &cursor))) {
		const struct usbdevice *device = entry->object;

		if (device && str_match(device->status.port_path, port) &&
		    (!found || device->status.allocations.len > 0))
			found = device;
	}
	return found;
}

/* The pod that had it when its USBDevice or its claim was written last, for the caller to free;
 * NULL: none. */
static char *last_pod(const struct usb *usb, const char *port)
{
	const struct usbdeviceclaim *claim = claim_of(usb, port);
	const struct usbdevice *device = published_device(usb, port);

	char *pod = device ? last_holder_first_pod(&device->status.allocations) : NULL;

	if (pod)
		return pod;
	return claim && last_holder_is_pod(claim->status.holder) ? xstrdup(claim->status.holder)
								 : NULL;
}

static bool names(const struct pcidevice_allocations *list, const struct pod_device *by)
{
	for (size_t i = 0; i < list->len; i++) {
		if (str_match(list->items[i].namespace, by->namespace) &&
		    str_match(list->items[i].pod, by->pod) &&
		    str_match(list->items[i].container, by->container))
			return true;
	}
	return false;
}

/* A device of a bundle that is still there shows it. */
static bool had(void *arg, const struct pod_device *by)
{
	const struct usb *usb = arg;
	auto_free char *copy = xstrdup(by->device);
	char *rest = copy;
	const char *port;

	while ((port = strsep(&rest, ","))) {
		const struct usbdevice *device = published_device(usb, port);

		if (device && names(&device->status.allocations, by))
			return true;
	}
	return false;
}

bool usb_is_free(struct usb *usb, const char *port, char **ret_holder)
{
	*ret_holder = NULL;
	if (!usb->offered && offers_is_on(usb->deps.offers)) {
		offers_update_soon(usb->deps.offers);
		return false; /* offers knows the holders of offered resources */
	}
	if (!offers_is_free(usb->deps.offers, port, ret_holder))
		return false;
	if (!offers_allocations(usb->deps.offers, port)) /* the kubelet has not answered yet */
		*ret_holder = last_pod(usb, port);
	return !*ret_holder;
}

static bool is_free(void *arg, const char *port, char **ret_holder)
{
	return usb_is_free(arg, port, ret_holder);
}

/* Before the first offer, use the last status. */
static bool is_taken(void *arg, const char *name)
{
	const struct usb *usb = arg;
	const struct usbdeviceclaim *claim = store_object(usb->view.claims, name);
	const struct api_condition *ready =
		claim ? api_conditions_find(&claim->status.conditions, "Ready") : NULL;

	if (!usb->offered && offers_is_on(usb->deps.offers))
		return ready && str_match(ready->reason, "NameTaken");
	return json_strs_has(&usb->taken, name);
}

static bool is_offered(void *arg, const char *name, const char *port)
{
	const struct usb *usb = arg;
	auto_free char *resource = resource_name_usb(name);

	return usb_type_offers_by_dra(usb->type, port) ||
	       offers_can_allocate(usb->deps.offers, &usb_device_type, resource, port);
}

static bool is_out_of_reach(void *arg, const char *port)
{
	const struct usb *usb = arg;
	const struct usbdevice *device =
		usb->node->inventory ? usb_identity_in(usb->node->inventory, port) : NULL;

	return device && usb_offer_is_out_of_reach(&usb->view, device);
}

/* Find the claims that are not offered although their devices are healthy. */
static void find_taken(struct usb *usb)
{
	const struct entry *entry;
	size_t cursor = 0;

	json_strs_done(&usb->taken);
	while ((entry = store_next(usb->view.claims, &cursor))) {
		const struct usbdeviceclaim *claim = entry->object;
		auto_free char *resource = NULL;
		const char *owner;

		if (!claim || !usbdeviceclaim_is_offered(claim) ||
		    !str_match(claim->status.node_name, usb->node->name))
			continue;
		resource = resource_name_usb(claim->meta.name);
		owner = offers_owner(usb->deps.offers, resource);
		if (owner && strcmp(owner, usb_device_type.name) != 0)
			json_strs_add(&usb->taken, claim->meta.name);
	}
}

static uint64_t unproven_ms(void *arg, const char *port, bool refused)
{
	const struct usb *usb = arg;

	return use_log_unproven_ms(usb->uses, port, refused, clock_now_ms(usb->node->clock));
}

/* What has been free for long enough is offered without another scan; the claims wait by
 * themselves. */
static void on_free(void *arg)
{
	const struct usb *usb = arg;

	offers_update_soon(usb->deps.offers);
}

static void see_uses(struct usb *usb)
{
	const struct inventory_set *set = &usb->node->inventory->sets[INVENTORY_USB];
	uint64_t wait_ms;

	use_log_scan(usb->uses, usb->node->inventory->began_ms);
	for (size_t i = 0; i < set->len; i++) {
		const struct usbdevice_status *is =
			&((const struct usbdevice *)set->objects[i])->status;
		const struct api_condition *claimable =
			api_conditions_find(&is->conditions, "Claimable");

		if (is->port_path && claimable && !str_match(claimable->status, "True"))
			use_log_add(usb->uses, is->port_path, claimable->reason);
	}
	wait_ms = use_log_longest_ms(usb->uses, clock_now_ms(usb->node->clock));
	if (wait_ms > 0)
		clock_timer_start(usb->node->clock, usb->free_timer, wait_ms);
}

static void restore_node(void *arg, const char *port)
{
	struct usb *usb = arg;

	usb_type_restore_node(usb->type, port);
}

static void on_timer(void *arg)
{
	struct usb *usb = arg;

	usb_type_clear(usb->type);
	if (usb_type_has_changed_nodes(usb->type))
		clock_timer_start(usb->node->clock, usb->timer, OWNERS_MS);
}

static void offer(void *arg, struct plugins *plugins)
{
	struct usb *usb = arg;
	struct config_troubles troubles = { 0 };
	bool selected;
	bool known = usb->node->inventory && informer_synced(usb->node->claims[INVENTORY_USB]);

	/* A pod's bundle of an entry that was renamed meanwhile is not offered before it is known
	 * to be that pod's. */
	usb->view.config = informer_synced(usb->node->devices[INVENTORY_USB]) ? usb->config : NULL;
	selected = usb_type_offer(usb->type, plugins, &troubles);
	if (known && usb->view.config && usb->deps.report)
		usb->deps.report(usb->deps.arg, &troubles);
	config_troubles_done(&troubles);
	if (!known)
		return;
	find_taken(usb);
	usb->offered = true;
	usb_claims_enqueue_all(usb->claims);
	selected |= usb->view.config && !usb->selects;
	usb->selects |= usb->view.config != NULL;
	if (selected && usb->deps.selected)
		usb->deps.selected(usb->deps.arg);
	/* The USBDevices show the pods that have devices which are not offered any more. */
	if (informer_synced(usb->node->devices[INVENTORY_USB]))
		clock_timer_start(usb->node->clock, usb->timer, 0);
}

static void listed(void *arg)
{
	const struct usb *usb = arg;

	usb_claims_enqueue_all(usb->claims);
}

struct usb *usb_new(const struct this_node *node, const struct usb_deps *deps)
{
	struct usb *usb = xcalloc(1, sizeof(*usb));

	usb->node = node;
	usb->deps = *deps;
	usb->uses = use_log_new();
	usb->view = (struct usb_view){ .node = node,
				       .claims = informer_store(node->claims[INVENTORY_USB]),
				       .offers = deps->offers,
				       .uses = usb->uses };
	usb->free_timer = clock_timer_new(node->clock, on_free, usb);
	usb->type = usb_type_new(&usb->view);
	usb->timer = clock_timer_new(node->clock, on_timer, usb);
	usb->claims = usb_claims_new(node, &(struct usb_claims_deps){
						   .is_free = is_free,
						   .is_taken = is_taken,
						   .is_offered = is_offered,
						   .is_out_of_reach = is_out_of_reach,
						   .unproven_ms = unproven_ms,
						   .restore_node = restore_node,
						   .arg = usb,
					   });
	offers_add(
		deps->offers,
		&(struct offers_type){ .offer = offer, .arg = usb, .had = had, .listed = listed });
	return usb;
}

struct usb *usb_free(struct usb *usb)
{
	if (!usb)
		return NULL;
	usb_claims_free(usb->claims);
	json_strs_done(&usb->taken);
	usb_type_free(usb->type);
	clock_timer_free(usb->node->clock, usb->timer);
	clock_timer_free(usb->node->clock, usb->free_timer);
	use_log_free(usb->uses);
	free(usb);
	return NULL;
}

/* Claims keep names only once they are all known; before, nothing is written either. */
static bool rename_all(struct usb *usb)
{
	return usb->named && informer_synced(usb->node->claims[INVENTORY_USB]) &&
	       usb_names_apply(usb->named, usb->view.claims, usb->node->name);
}

void usb_name_devices(struct usb *usb, struct inventory *inventory)
{
	usb->named = inventory;
	(void)rename_all(usb);
	see_uses(usb);
	usb_type_seen(usb->type);
}

void usb_set_config(struct usb *usb, const struct config *config)
{
	usb->config = config;
	if (usb->view.config)
		usb->view.config = config;
}

void usb_rename(struct usb *usb)
{
	if (!rename_all(usb))
		return;
	usb_claims_enqueue_all(usb->claims);
	offers_update_soon(usb->deps.offers);
	if (usb->deps.renamed)
		usb->deps.renamed(usb->deps.arg);
}

void usb_enqueue(struct usb *usb, const char *name)
{
	usb_claims_enqueue(usb->claims, name);
	offers_update_soon(usb->deps.offers);
	usb_rename(usb);
}

void usb_enqueue_all(struct usb *usb)
{
	usb_claims_enqueue_all(usb->claims);
}

/* A pod may have a bundle of the HostDeviceConfig that the claim's socket is, or was, in: of a
 * device that was there while the claimed one was not. */
static bool is_by_claim(const struct usb *usb, const struct usbdeviceclaim *claim)
{
	auto_free char *own = resource_name_usb(claim->meta.name);
	bool ours = false;
	const char *held = offers_resource(usb->deps.offers, claim->status.port_path, &ours);

	return !held || strcmp(held, own) == 0;
}

/* The socket of a device: a claimed one's is known although the device is gone. What a pod has of a
 * socket by a claim is the claimed device, whatever is in that socket now. */
static const char *socket_of(const struct usb *usb, const char *name)
{
	const struct usbdeviceclaim *claim = store_object(usb->view.claims, name);
	const struct usbdevice *device =
		usb->node->inventory ? inventory_find(usb->node->inventory, INVENTORY_USB, name)
				     : NULL;

	if (claim && claim->status.port_path && !usbdeviceclaim_waits(claim))
		return is_by_claim(usb, claim) ? claim->status.port_path : NULL;
	if (!device || !device->status.port_path)
		return NULL;
	claim = claim_of(usb, device->status.port_path);
	return claim && is_by_claim(usb, claim) ? NULL : device->status.port_path;
}

const struct pcidevice_allocations *usb_allocations(const struct usb *usb, const char *name)
{
	static const struct pcidevice_allocations none = { 0 };
	const char *port = socket_of(usb, name);

	return port ? offers_allocations(usb->deps.offers, port) : &none;
}

bool usb_selected(const struct usb *usb, const char *name, const struct usb_selected **ret_selected)
{
	const struct usbdevice *device =
		usb->node->inventory ? inventory_find(usb->node->inventory, INVENTORY_USB, name)
				     : NULL;

	*ret_selected = device && device->status.port_path
				? usb_type_selected(usb->type, device->status.port_path)
				: NULL;
	return !offers_is_on(usb->deps.offers) || usb->selects;
}
