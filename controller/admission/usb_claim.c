#include "controller/admission/rule.h"

#include "api/override.h"
#include "api/resource_name.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"
#include "controller/admission/annotation_rule.h"
#include "controller/admission/claim.h"
#include "controller/admission/known.h"
#include "controller/cache/view.h"
#include "controller/webhook/admission_review.h"

static bool refuse_missing(const struct rule_case *c)
{
	if (known_pcidevice(c->known, c->request->name))
		return rule_refuse(c, RULE_INVALID,
				   "the device of this name is a PCIDevice: create a "
				   "PCIDeviceClaim in place of the USBDeviceClaim");
	return rule_refuse(
		c, RULE_INVALID,
		"there is no USBDevice of this name: a claim has the name of its device, "
		"which may change when it is plugged in again; see kubectl get usbdevices");
}

/* A claim of the controller, or one that includes the controller's whole group. */
static const struct view *controller_claim(const struct rule_case *c, const struct view *device,
					   const char **ret_name)
{
	const char *node = view_text(device, VIEW_TEXT_NODE);
	const struct view *controller =
		known_pci_at(c->known, node, view_text(device, VIEW_TEXT_ADDRESS));
	const struct view *claim =
		known_pciclaim_at(c->known, node, view_text(device, VIEW_TEXT_ADDRESS), ret_name);
	size_t len = controller ? view_members(controller) : 0;

	if (claim)
		return claim;
	for (size_t i = 0; i < len; i++) {
		claim = known_pciclaim_at(c->known, node, view_member(controller, i), ret_name);
		if (claim && claim->group)
			return claim;
	}
	return NULL;
}

static bool is_controller_claimed(const struct rule_case *c, const struct view *device)
{
	const char *name;

	if (!controller_claim(c, device, &name))
		return false;
	return rule_refuse(
		c, RULE_CONFLICT,
		"PCIDeviceClaim '%s' has %s, the USB controller of this device: delete that claim "
		"first",
		name, view_text(device, VIEW_TEXT_ADDRESS));
}

/* A claim is for the device in a port, whatever its name. */
static bool is_socket_claimed(const struct rule_case *c, const char *name,
			      const struct view *device)
{
	const struct view *other;
	const char *is;
	size_t cursor = 0;

	while ((other = known_next(c->known, VIEW_USBCLAIM, &cursor, &is))) {
		const char *port = view_text(other, VIEW_TEXT_PORT);

		if (known_same(is, name) || known_empty(port) ||
		    !known_same(port, view_text(device, VIEW_TEXT_PORT)) ||
		    !known_same(view_text(other, VIEW_TEXT_NODE),
				view_text(device, VIEW_TEXT_NODE)))
			continue;
		return rule_refuse(
			c, RULE_CONFLICT,
			"USBDeviceClaim '%s' is for the device in port %s, which is this "
			"one: use that claim, or delete it first",
			is, view_text(device, VIEW_TEXT_PORT));
	}
	return false;
}

void usb_claim_create(const struct rule_case *c)
{
	const struct usbdeviceclaim *claim = c->object;
	const struct view *device = known_usbdevice(c->known, claim->meta.name);
	auto_free char *resource = NULL;

	if (!device) {
		refuse_missing(c);
		return;
	}
	annotation_rule(c, &claim->meta, NULL, ANNOTATION_OF_USBCLAIM);
	if (claim_owner_refused(c, VIEW_USBDEVICE, &claim->meta) ||
	    claimable_rule(c, &claim->meta, override_lifts_usb, device) ||
	    is_controller_claimed(c, device) || is_socket_claimed(c, claim->meta.name, device))
		return;
	if (!c->request->dry_run)
		return;
	/* The device's status has the resource that it has now, which may be that of an entry of
	 * the HostDeviceConfig. */
	resource = resource_name_usb(claim->meta.name);
	rule_warn(c, "offer the device in port %s as %s",
		  view_text(device, VIEW_TEXT_PORT) ? view_text(device, VIEW_TEXT_PORT) : "?",
		  resource);
}

/* Immutable fields are enforced by the schema. */
void usb_claim_update(const struct rule_case *c)
{
	const struct usbdeviceclaim *claim = c->object;
	const struct usbdeviceclaim *old = c->old;

	if (!claim->meta.deletion_timestamp)
		annotation_rule(c, &claim->meta, &old->meta, ANNOTATION_OF_USBCLAIM);
}

void usb_claim_delete(const struct rule_case *c)
{
	const struct usbdeviceclaim *claim = c->old;
	const struct view *device = known_usbdevice(c->known, claim->meta.name);
	const char *node = claim->status.node_name;

	if (known_empty(node) && device)
		node = view_text(device, VIEW_TEXT_NODE);
	/* The pod has the device by the HostDeviceConfig, and the claim never had it. */
	if (usbdeviceclaim_waits(claim))
		return;
	claim_deletion(c, &claim->meta, node);
}
