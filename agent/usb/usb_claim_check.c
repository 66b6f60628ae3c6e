#include "agent/usb/usb_claim_check.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/usb/usb_claim_plan.h"
#include "api/names.h"
#include "api/override.h"
#include "api/pcideviceclaim.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"
#include "base/num.h"
#include "kube/store.h"

void usb_claim_verdict_done(struct usb_claim_verdict *verdict)
{
	free(verdict->message);
	*verdict = (struct usb_claim_verdict){ 0 };
}

static const char *or_none(const char *text)
{
	return text && *text ? text : "none";
}

/* Takes @message. */
static void refuse(struct usb_claim_verdict *v, const char *reason, char *message)
{
	v->ok = false;
	v->reason = reason;
	v->message = message;
}

/* Hubs are not among the objects, as a rule. */
static bool is_hub(const struct usb_claim_case *c)
{
	const struct facts *facts = c->inventory->facts;

	for (size_t i = 0; i < facts->usb.len; i++) {
		const struct usb_facts *usb = &facts->usb.items[i];
		uint64_t ids[2] = { 0 };
		auto_free char *name = NULL;

		if (!usb->hub || usb->bus < 0 || usb->device < 0)
			continue;
		(void)str_to_hex(usb->vendor, &ids[0]);
		(void)str_to_hex(usb->product, &ids[1]);
		name = names_usbdevice(c->node_name, (uint16_t)ids[0], (uint16_t)ids[1],
				       (unsigned)usb->bus, (unsigned)usb->device);
		if (strcmp(name, c->claim->meta.name) == 0)
			return true;
	}
	return false;
}

/* The controller's address if it is claimed as a PCI device. */
static bool is_controller_claimed(const struct usb_claim_case *c, const char *address)
{
	auto_free char *name = NULL;
	const struct pcideviceclaim *claim;

	if (!address || !*address)
		return false;
	name = names_pcidevice(c->node_name, address);
	claim = store_object(c->pci_claims, name);
	return claim && (!claim->spec.node_name || !*claim->spec.node_name ||
			 strcmp(claim->spec.node_name, c->node_name) == 0);
}

static bool refuse_controller(const struct usb_claim_case *c, const char *address,
			      struct usb_claim_verdict *v)
{
	if (!is_controller_claimed(c, address))
		return false;
	refuse(v, "ControllerClaimed",
	       xasprintf("its controller %s is claimed as a PCI device: delete that claim, or this "
			 "one",
			 address));
	return true;
}

static void check_missing(const struct usb_claim_case *c, struct usb_claim_verdict *v)
{
	if (is_hub(c))
		refuse(v, "Hub", xstrdup("a hub: other devices are behind it"));
	else
		refuse(v, "DeviceNotFound",
		       xstrdup("the node has no USB device of this name: the claim waits for it; "
			       "if the device was plugged in again it has another name, see "
			       "kubectl get usbdevices"));
}

static void check_gone(const struct usb_claim_case *c, struct usb_claim_verdict *v)
{
	const struct usbdeviceclaim_status *status = &c->claim->status;

	if (refuse_controller(c, status->pci_address, v))
		return;
	refuse(v, "DeviceGone",
	       v->seen.ambiguous
		       ? xasprintf("port %s is empty, and several devices could be this one: plug "
				   "it in there, or delete the claim and create one for the other "
				   "port",
				   status->port_path)
		       : xasprintf("port %s is empty: the claim waits for the device to come back",
				   status->port_path));
}

static void check_different(const struct usb_claim_case *c, struct usb_claim_verdict *v)
{
	const struct usbdeviceclaim_status *claimed = &c->claim->status;
	const struct usbdevice_status *is = &v->seen.device->status;

	refuse(v, "DifferentDevice",
	       xasprintf(
		       "port %s has another device (%s:%s, serial number %s) than the one that was "
		       "claimed (%s:%s, %s), and is not offered: plug the claimed one in again, "
		       "or delete the claim",
		       claimed->port_path, or_none(is->vendor_id), or_none(is->product_id),
		       or_none(is->serial_number), or_none(claimed->vendor_id),
		       or_none(claimed->product_id), or_none(claimed->serial_number)));
}

static bool check_new(const struct usb_claim_case *c, struct usb_claim_verdict *v)
{
	const struct usbdevice_status *is = &v->device->status;
	const struct usbdeviceclaim *other;

	if (!is->vendor_id || !is->product_id || !is->port_path) {
		refuse(v, "Unreadable",
		       xstrdup("the device does not say what it is: plug it in again"));
		return false;
	}
	if (refuse_controller(c, is->pci_address, v))
		return false;
	if (c->held) {
		refuse(v, "InUse",
		       xasprintf("%s has the device: the claim waits until that pod is gone",
				 c->holder ? c->holder : "a pod"));
		return false;
	}
	other = usb_identity_claim(c->claims, c->node_name, v->device, c->claim->meta.name);
	if (other && usbdeviceclaim_waits(other) &&
	    strcmp(c->claim->meta.name, other->meta.name) < 0)
		return true;
	if (other)
		refuse(v, "AlreadyClaimed",
		       xasprintf("the device in port %s is that of claim '%s'", is->port_path,
				 other->meta.name));
	return !other;
}

bool usb_claim_spares(const struct usbdeviceclaim *claim, const struct usbdevice *device)
{
	const struct api_condition *claimable =
		api_conditions_find(&device->status.conditions, "Claimable");

	return !claimable || strcmp(claimable->status, "True") == 0 ||
	       (override_lifts_usb(claimable->reason) &&
		override_applies(&claim->meta, claimable->reason));
}

static void check_device(const struct usb_claim_case *c, struct usb_claim_verdict *v)
{
	const struct api_condition *claimable =
		api_conditions_find(&v->device->status.conditions, "Claimable");

	if (!usb_claim_spares(c->claim, v->device)) {
		refuse(v, claimable->reason, xstrdup(claimable->message));
		return;
	}
	v->ok = true;
	v->reason = "Accepted";
	v->message = xasprintf("the device in port %s may be claimed", v->device->status.port_path);
}

/* A device that the claim has not got yet. */
static void check_waiting(const struct usb_claim_case *c, const struct usbdevice *device,
			  struct usb_claim_verdict *v)
{
	v->device = device;
	if (check_new(c, v))
		check_device(c, v);
}

static void check_moved(const struct usb_claim_case *c, struct usb_claim_verdict *v)
{
	if (c->held) { /* its bundle has the socket's name */
		check_gone(c, v);
		return;
	}
	v->device = v->seen.device;
	check_device(c, v);
}

void usb_claim_check(const struct usb_claim_case *c, struct usb_claim_verdict *ret_verdict)
{
	struct usb_claim_verdict *v = ret_verdict;
	const struct usbdevice *named;

	*v = (struct usb_claim_verdict){ .seen = usb_identity_find(c->claim, c->inventory,
								   c->claims) };
	switch (v->seen.sight) {
	case USB_UNKNOWN:
		named = inventory_find(c->inventory, INVENTORY_USB, c->claim->meta.name);
		if (named)
			check_waiting(c, named, v);
		else
			check_missing(c, v);
		return;
	case USB_MOVED:
		if (usbdeviceclaim_waits(c->claim))
			check_waiting(c, v->seen.device, v);
		else
			check_moved(c, v);
		return;
	case USB_HERE:
		if (usbdeviceclaim_waits(c->claim)) {
			check_waiting(c, v->seen.device, v);
			return;
		}
		v->device = v->seen.device;
		check_device(c, v);
		return;
	case USB_GONE:
		check_gone(c, v);
		return;
	case USB_DIFFERENT:
		check_different(c, v);
		return;
	}
}
