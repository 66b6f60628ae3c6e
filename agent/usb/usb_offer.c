#include "agent/usb/usb_offer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/use_log.h"
#include "agent/node/this_node.h"
#include "agent/resource/offers.h"
#include "agent/usb/usb_bundles.h"
#include "agent/usb/usb_claim_check.h"
#include "agent/usb/usb_identity.h"
#include "agent/usb/usb_node.h"
#include "agent/usb/usb_type.h"
#include "api/pcidevice.h"
#include "api/resource_name.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/store.h"

static bool is_claimable(const struct usbdevice *device)
{
	return api_conditions_status(&device->status.conditions, "Claimable") == API_TRUE;
}

static char *use_trouble(const struct usbdevice *device)
{
	const struct api_condition *claimable =
		api_conditions_find(&device->status.conditions, "Claimable");

	return xasprintf("the node needs it: %s",
			 claimable ? claimable->message : "nothing is known");
}

/* What the node needed a moment ago it may need again. */
static bool was_just_used(const struct usb_view *view, const struct usbdevice *device)
{
	return view->uses && device->status.port_path &&
	       use_log_unproven_ms(view->uses, device->status.port_path, false,
				   clock_now_ms(view->node->clock)) > 0;
}

/* Why a claimable device that is present is not healthy; NULL: it is. */
static char *reach_trouble(const struct usb_view *view, const struct usbdevice *device)
{
	struct usb_node_at at = { view->node->helper.dev_root, device->status.device_path,
				  view->calls };
	struct usb_node node;
	struct err err = { 0 };

	if (was_just_used(view, device))
		return xasprintf("the node used it a moment ago: it is offered when it has been "
				 "free for %d s",
				 USE_LOG_FREE_MS / 1000);
	if (!at.device_path)
		return xstrdup("it has no number on its bus");
	if (usb_node_read(&at, &node, &err) < 0)
		return xstrdup(err.msg);
	if (usb_node_is_out_of_reach(&node))
		return usb_node_advice(at.device_path);
	return device->status.port_path
		       ? offers_number_trouble(view->offers, device->status.port_path)
		       : NULL;
}

static char *device_trouble(const struct usb_view *view, const struct usbdevice *device)
{
	return is_claimable(device) ? reach_trouble(view, device) : use_trouble(device);
}

bool usb_offer_is_out_of_reach(const struct usb_view *view, const struct usbdevice *device)
{
	struct usb_node_at at = { view->node->helper.dev_root, device->status.device_path,
				  view->calls };
	struct usb_node node;

	return at.device_path && usb_node_read(&at, &node, NULL) == 0 &&
	       usb_node_is_out_of_reach(&node);
}

static char *claim_trouble(const struct usb_view *view, const struct usbdeviceclaim *claim,
			   const struct usb_sighting *seen)
{
	if (claim->meta.deletion_timestamp)
		return xstrdup("its USBDeviceClaim is being deleted");
	switch (seen->sight) {
	case USB_HERE:
		return usb_claim_spares(claim, seen->device) ? reach_trouble(view, seen->device)
							     : use_trouble(seen->device);
	case USB_DIFFERENT:
		return xstrdup("another device is in its port");
	case USB_UNKNOWN:
	case USB_MOVED:
	case USB_GONE:
		return xstrdup("its port is empty");
	}
	return NULL;
}

static void add_device(struct usb_offer *offer, const struct usbdevice *device)
{
	offer->devices = xreallocarray((void *)offer->devices, offer->len + 1,
				       sizeof(const struct usbdevice *));
	offer->devices[offer->len++] = device;
}

/* By the device that the claim is for, there or not. A pod that got it from the kubelet keeps it
 * from DRA. */
static bool is_for_dra(const struct usb_view *view, const struct usbdeviceclaim *claim)
{
	const struct usbdeviceclaim_status *is = &claim->status;
	const struct usbdevice device = { .status = { .vendor_id = is->vendor_id,
						      .product_id = is->product_id,
						      .serial_number = is->serial_number,
						      .port_path = is->port_path } };
	bool ours = false;

	return usb_bundles_for_dra(view->config, &device) &&
	       !offers_resource(view->offers, is->port_path, &ours);
}

static void add_claims(const struct usb_view *view, struct usb_offers *offers)
{
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(view->claims, &cursor))) {
		const struct usbdeviceclaim *claim = entry->object;
		struct usb_sighting seen;
		struct usb_offer *offer;

		if (!claim || !usbdeviceclaim_is_offered(claim) ||
		    !str_match(claim->status.node_name, view->node->name))
			continue;
		seen = usb_identity_find(claim, view->node->inventory, view->claims);
		offer = array_add(offers);
		*offer = (struct usb_offer){ .id = claim->status.port_path,
					     .resource = resource_name_usb(claim->meta.name),
					     .claimed = true,
					     .dra = is_for_dra(view, claim),
					     .trouble = claim_trouble(view, claim, &seen) };
		if (seen.sight == USB_HERE)
			add_device(offer, seen.device);
	}
}

/* Is one of the bundle's devices in a pod that got it as part of another bundle? */
static bool is_elsewhere(const struct usb_view *view, const struct usb_bundle *bundle,
			 const char *port)
{
	const struct pcidevice_allocations *own = offers_allocations(view->offers, bundle->id);
	const struct pcidevice_allocations *all = offers_allocations(view->offers, port);

	return all && all->len > 0 && (!own || own->len == 0);
}

static char *bundle_trouble(const struct usb_view *view, const struct usb_bundle *bundle)
{
	char *trouble = NULL;

	for (size_t i = 0; i < bundle->len && !trouble; i++) {
		const struct usbdevice *device = bundle->devices[i];

		if (!device)
			trouble = xstrdup("a port of it is empty");
		else if (is_elsewhere(view, bundle, device->status.port_path))
			trouble = xstrdup("a pod has a device of it as part of another one");
		else
			trouble = device_trouble(view, device);
	}
	return trouble;
}

/* A device that a pod has under another resource keeps that resource: under two names the kubelet
 * would allocate it to two pods. */
static void keep_name(const struct usb_view *view, const struct usb_bundle *bundle,
		      struct usb_offer *offer)
{
	bool ours = false;
	const char *held = offers_resource(view->offers, bundle->id, &ours);

	if (held && ours && strcmp(held, offer->resource) != 0)
		str_set(&offer->resource, held);
	for (size_t i = 0; i < bundle->len && !offer->trouble; i++) {
		held = bundle->devices[i]
			       ? offers_resource(view->offers, bundle->devices[i]->status.port_path,
						 &ours)
			       : NULL;
		if (held && strcmp(held, offer->resource) != 0)
			offer->trouble = xasprintf("a pod has a device of it as %s", held);
	}
}

static bool is_claims(const struct usb_offers *offers, const char *resource)
{
	for (size_t i = 0; i < offers->len; i++) {
		if (offers->items[i].claimed && strcmp(offers->items[i].resource, resource) == 0)
			return true;
	}
	return false;
}

/* A resource of a claim is the claimed device's alone. */
static void add_bundles(const struct usb_view *view, const struct usb_bundles *bundles,
			struct usb_offers *offers)
{
	for (size_t i = 0; i < bundles->len; i++) {
		const struct usb_bundle *bundle = &bundles->items[i];
		struct usb_offer *offer;

		if (is_claims(offers, bundle->resource))
			continue;
		offer = array_add(offers);
		*offer = (struct usb_offer){ .id = bundle->id,
					     .resource = xstrdup(bundle->resource),
					     .trouble = bundle_trouble(view, bundle) };
		keep_name(view, bundle, offer);
		for (size_t k = 0; k < bundle->len; k++) {
			if (bundle->devices[k])
				add_device(offer, bundle->devices[k]);
		}
	}
}

/* Whatever a claim is for, present or not, is no selector's. */
static void find_candidates(const struct usb_view *view, struct usb_candidates *candidates)
{
	const struct inventory_set *set = &view->node->inventory->sets[INVENTORY_USB];

	for (size_t i = 0; i < set->len; i++) {
		const struct usbdevice *device = set->objects[i];
		const struct usbdeviceclaim *claim;

		if (!device->status.port_path || device->status.hub)
			continue;
		claim = usb_identity_claim(view->claims, view->node->name, device, NULL);
		if (claim && usbdeviceclaim_waits(claim))
			claim = NULL;
		*array_add(candidates) = (struct usb_candidate){
			.device = device,
			.usable = is_claimable(device),
			.taken = claim,
			.by = claim ? device->status.resource_name : NULL,
		};
	}
}

static int by_resource(const void *a, const void *b)
{
	const struct usb_offer *x = a;
	const struct usb_offer *y = b;
	int order = strcmp(x->resource, y->resource);

	return order ? order : strcmp(x->id, y->id);
}

static void add_trouble(const struct config_usb *entry, const char *reason, const char *text,
			struct config_troubles *troubles)
{
	config_troubles_add(troubles, &(struct config_trouble_value){
					      .list = CONFIG_LIST_USB,
					      .index = (int64_t)entry->index,
					      .reason = reason,
					      .resource = entry->resource,
					      .message = text,
				      });
}

/* What is the matter with the device's node, for the caller to free; NULL: nothing. *@ret_reason is
 * one of config.h's. */
static char *node_trouble(const struct usb_view *view, const struct usbdevice *device,
			  const char **ret_reason)
{
	struct usb_node_at at = { view->node->helper.dev_root, device->status.device_path,
				  view->calls };
	struct usb_node node;
	struct err err = { 0 };

	if (!at.device_path)
		return NULL;
	if (usb_node_read(&at, &node, &err) < 0) {
		*ret_reason = err.code == -ENOENT ? CONFIG_NODE_MISSING : CONFIG_NODE_UNUSABLE;
		return xstrdup(err.msg);
	}
	*ret_reason = CONFIG_NODE_NOT_WRITABLE;
	return usb_node_is_out_of_reach(&node) ? usb_node_advice(at.device_path) : NULL;
}

/* True: a device of the bundle has a wrong node, or one whose owner cannot be changed. */
static bool add_node_trouble(const struct usb_view *view, const struct config_usb *entry,
			     const struct usb_bundle *bundle, struct config_troubles *troubles)
{
	for (size_t i = 0; i < bundle->len; i++) {
		const struct usbdevice *device = bundle->devices[i];
		const char *reason = NULL;
		auto_free char *trouble = device ? node_trouble(view, device, &reason) : NULL;
		auto_free char *text = NULL;

		if (!trouble)
			continue;
		text = xasprintf("the device in port %s: %s", device->status.port_path, trouble);
		add_trouble(entry, reason, text, troubles);
		return true;
	}
	return false;
}

/* Report the first bundle of the entry that has trouble. */
static void add_node_troubles(const struct usb_view *view, const struct config_usb *entry,
			      const struct usb_bundles *bundles, struct config_troubles *troubles)
{
	bool found = false;

	for (size_t i = 0; i < bundles->len && !found; i++)
		found = str_match(bundles->items[i].resource, entry->resource) &&
			add_node_trouble(view, entry, &bundles->items[i], troubles);
}

static void add_unmet(const struct usb_view *view, const struct usb_candidates *candidates,
		      const struct usb_bundles *bundles, const struct usb_offers *offers,
		      struct config_troubles *troubles)
{
	const struct config *config = view->config;

	for (size_t i = 0; config && i < config->usb.len; i++) {
		const struct config_usb *entry = &config->usb.items[i];
		const char *reason = NULL;
		auto_free char *text = usb_bundles_unmet(entry, candidates, bundles, &reason);

		if (!entry->external && entry->dra == CONFIG_DRA_OFF &&
		    is_claims(offers, entry->resource))
			add_trouble(
				entry, CONFIG_NAME_TAKEN,
				"the resource is that of a USBDeviceClaim on this node: give it "
				"another name",
				troubles);
		else if (text)
			add_trouble(entry, reason, text, troubles);
		else if (!entry->external && entry->dra == CONFIG_DRA_OFF)
			add_node_troubles(view, entry, bundles, troubles);
	}
}

void usb_offers_find(const struct usb_view *view, struct usb_bundles *bundles,
		     struct usb_offers *ret_offers, struct config_troubles *troubles)
{
	struct usb_candidates candidates = { 0 };

	*ret_offers = (struct usb_offers){ 0 };
	if (!view->node->inventory)
		return;
	candidates.facts = view->node->inventory->facts;
	find_candidates(view, &candidates);
	usb_bundles_make(view->config, &candidates, bundles);
	add_claims(view, ret_offers);
	if (troubles)
		add_unmet(view, &candidates, bundles, ret_offers, troubles);
	add_bundles(view, bundles, ret_offers);
	if (ret_offers->len > 0)
		qsort(ret_offers->items, ret_offers->len, sizeof(*ret_offers->items), by_resource);
	array_done(&candidates);
}

void usb_offers_done(struct usb_offers *offers)
{
	for (size_t i = 0; i < offers->len; i++) {
		free(offers->items[i].resource);
		free(offers->items[i].trouble);
		free((void *)offers->items[i].devices);
	}
	array_done(offers);
}
